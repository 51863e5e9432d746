#include "settings.h"
#include <filesystem>
#include "bora/base/file.h"

namespace fs = std::filesystem;
namespace bora::app {
const std::vector<config::Short>& short_forms() {
  static const std::vector<config::Short> forms = {{"lr", "optimizer.lr"},
                                                   {"warmup", "optimizer.schedule.warmup"},
                                                   {"optimizer.final_lr", "optimizer.schedule.final_lr"},
                                                   {"policy", "precision.policy"},
                                                   {"hold_out", "data.hold_out"},
                                                   {"layout", "mesh.layout"},
                                                   {"threads", "mesh.threads"},
                                                   {"checkpoint_every", "checkpoint.every"},
                                                   {"keep", "checkpoint.keep"},
                                                   {"eval_every", "eval.every"},
                                                   {"eval_rows", "eval.rows"},
                                                   {"log_every", "log.every"},
                                                   {"digest", "log.digest"},
                                                   {"trace_steps", "trace.steps"},
                                                   {"join_timeout", "transport.join_timeout"}};
  return forms;
}
namespace {
const config::Schema& all_settings() {
  static const auto schema = config::schema(Settings{});
  return schema;
}
/// `mesh: {data: 2, model: 1}` names sizes of axes: mesh.axes is data=2,model=1.
void settle_mesh(config::Document& d) {
  auto mesh = d.find("mesh");
  if (!mesh || mesh->form != config::Document::Form::group) return;
  std::string text;
  for (auto& [axis, size] : mesh->members) {
    if (axis.empty() || axis == "axes" || axis == "layout" || axis == "threads") return;
    auto digits = size.text.substr(size.text.starts_with("-"));
    if (size.form != config::Document::Form::scalar || digits.find_first_not_of("0123456789") != digits.npos) return;
    text += (text.empty() ? "" : ",") + axis + "=" + size.text;
  }
  if (text.empty()) return;
  auto where = mesh->where;
  *mesh = config::scalar(text);
  mesh->where = where;
}
/// A source whose type is not said has that of its file's name.
void settle_source(config::Document& source) {
  auto path = source.find("path");
  if (source.form != config::Document::Form::group || source.find("type") || !path) return;
  auto is = [&](const std::string& end) {
    return path->text.ends_with(end) || path->text.ends_with(end + ".gz") || path->text.ends_with(end + ".zst");
  };
  auto type = is(".jsonl") ? "jsonl" : is(".csv") ? "csv" : "text";
  source.members.insert(source.members.begin(), {"type", config::scalar(type)});
}
/// `pack: true` and `pack: false`, as other systems have it.
void settle_pack(config::Document& data) {
  auto pack = data.find("pack"), task = data.find("task");
  if (!pack || (pack->text != "true" && pack->text != "false")) return;
  auto word = task && task->find("type") ? task->find("type")->text : task ? task->text : "";
  pack->text = pack->text == "true" ? "first_fit" : word == "chat" ? "none" : "automatic";
}
/// `data: {sources: [..]}` is of type corpus. So is one source written without the list, where its type or a key of a
/// corpus shows it: `data: {type: jsonl, path: FILE, task: ..}`.
void settle_data(config::Document& d) {
  using config::Document;
  auto data = d.find("data");
  if (!data || data->form != Document::Form::group) return;
  settle_pack(*data);
  auto type = data->find("type"), path = data->find("path");
  auto word = type ? type->text : "";
  if (auto sources = data->find("sources")) {
    auto list = config::parse_flow(*sources);
    for (auto& item : list.items) settle_source(item);
    if (list.form == Document::Form::list) *sources = list;
    if (type) return;
  } else {
    bool of_corpus = word == "jsonl" || word == "csv";
    for (auto key : {"task", "pack", "cache", "on_error", "field"})
      of_corpus = of_corpus || (word.empty() && path && data->find(key));
    if (!of_corpus) return;
    Document source, list{.form = Document::Form::list}, rest;
    rest.where = data->where, rest.written = data->written;
    for (auto& [key, member] : data->members)
      (key == "type" || key == "path" || key == "field" ? source : rest).at(key) = member;
    settle_source(source);
    list.items.push_back(source);
    rest.at("sources") = list;
    *data = rest;
  }
  data->at("type") = config::scalar("corpus");
}
}  // namespace

Settings parse_settings(const std::string& yaml, const std::string& name, const std::vector<std::string>& overrides) {
  auto& schema = all_settings();
  auto all = config::parse_yaml(yaml, name), line = config::parse_items(overrides);
  for (auto* part : {&all, &line}) {
    settle_mesh(*part);
    settle_data(*part);
    config::settle(*part, schema, short_forms());
  }
  config::lay_over(all, line);
  Settings s;
  config::read(all, s, "", schema);
  return s;
}
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides) {
  if (path.empty()) {
    auto s = parse_settings("", "", overrides);
    auto paths = data_paths(s);
    if (!s.out.empty() || paths.empty()) return s;
    auto text = fs::absolute(paths[0]).lexically_normal();
    if (!text.has_filename()) text = text.parent_path();  // "texts/"
    auto name = text.stem().string();
    std::erase_if(name, [](char c) { return std::string_view("*?[]{}").find(c) != std::string_view::npos; });
    s.out = "runs/" + (name.empty() ? std::string("data") : name);
    return s;
  }
  auto s = parse_settings(config::text_of(path), path, overrides);
  if (s.out.empty()) s.out = "runs/" + fs::path(path).stem().string();
  return s;
}
Settings with_absolute_paths(Settings s) {
  for (auto* path : {&s.out, &s.trace.path}) *path = data::absolute_path(*path);
  for (auto* path : s.data.edit().paths()) *path = data::absolute_path(*path);
  if (auto cache = s.data.edit().cache()) *cache = data::absolute_path(*cache);
  return s;
}
std::string to_yaml(const Settings& s) { return config::to_yaml(config::write(s)); }
std::string settings_help(const std::string& which) { return config::help(all_settings(), short_forms(), which); }

LoopSettings loop_settings(const Settings& s) {
  LoopSettings loop{.seed = s.seed,
                    .steps = s.steps,
                    .batch = s.batch,
                    .out = s.out,
                    .layout = s.mesh.layout,
                    .policy = s.precision.policy,
                    .checkpoint = s.checkpoint,
                    .eval = s.eval,
                    .log = s.log,
                    .trace = s.trace,
                    .settings = to_yaml(s),
                    .trackers = s.trackers};
  loop.write_settings = [s](const std::string& folder) {
    auto mine = s;
    mine.out = folder;
    return write_config(folder, mine);
  };
  return loop;
}
models::ModelOptions model_options(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  auto optimizer = s.optimizer->build(s.steps);
  return {tokenizer.size(), Policy::parse(s.precision.policy),
          StepOptions{.optimizer = optimizer.transform,
                      .learning_rate = optimizer.learning_rate,
                      .accumulate = s.accumulate,
                      .storage = layout_mappings(parse_layout(s.mesh.layout), mesh).storage}};
}
std::vector<std::string> data_paths(const Settings& s) {
  std::vector<std::string> all;
  auto data = s.data;
  for (auto* path : data.edit().paths())
    if (!path->empty()) all.push_back(*path);
  return all;
}
}  // namespace bora::app
