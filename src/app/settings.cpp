#include "settings.h"
#include <algorithm>
#include <filesystem>
#include "app/companions.h"
#include "app/config_file.h"
#include "bora/base/file.h"
#include "bora/config/braces.h"
#include "bora/data/data.h"
#include "bora/models/pretrained.h"
#include "bora/optim/kind.h"
#include "bora/train/local_settings.h"
#include "text/files.h"

namespace fs = std::filesystem;
namespace bora::app {
models::LoadPretrained InitFromSettings::options() const {
  return {missing == Missing::init, unexpected == Unexpected::ignore};
}
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
bool is_mesh_field(std::string_view key) {
  bool found = false;
  fields::for_each(bora::training::MeshSettings(), [&](std::string_view f, auto&) { found = found || f == key; });
  return found;
}
/// "data=2,model=1" from sizes of axes; empty if there is another value among them.
std::string axes_text(const std::vector<std::pair<std::string, config::Document>>& sizes) {
  std::string text;
  for (auto& [axis, size] : sizes) {
    auto digits = size.text.substr(size.text.starts_with("-"));
    if (size.form != config::Document::Form::scalar || digits.find_first_not_of("0123456789") != digits.npos) return {};
    text += (text.empty() ? "" : ",") + axis + "=" + size.text;
  }
  return text;
}
/// A rule may be written as T5X has it: [batch, [replica, data]], [embed, null].
void flatten(const config::Document& d, std::vector<config::Document>& words) {
  if (d.form == config::Document::Form::list)
    for (auto& item : d.items) flatten(item, words);
  else if (d.form != config::Document::Form::null) words.push_back(d);
}
/// `mesh: {axes: {data: 2, model: 1}}` names sizes of axes: mesh.axes is data=2,model=1. So does `mesh: {data: 2, ..}`,
/// beside other settings for the usual axes, alone for all.
void settle_mesh(config::Document& d) {
  auto mesh = d.find("mesh");
  if (!mesh || mesh->form != config::Document::Form::group) return;
  auto named = [](auto& m) {
    static constexpr std::string_view usual[] = {"replica", "stage", "data", "context", "model"};
    return std::find(std::begin(usual), std::end(usual), m.first) != std::end(usual);
  };
  auto axes = mesh->find("axes");
  if (axes && axes->where == config::kCommandLine) *axes = config::parse_braces(*axes);
  for (auto& m : mesh->members)
    check<ConfigError>(!named(m) || (!axes && !mesh->find("")), m.second.where, ": 'mesh", axes ? ".axes" : "",
                       "' and 'mesh.", m.first, "' are both sizes of axes; give all of them in one place");
  if (axes && axes->form == config::Document::Form::group) {
    auto where = axes->where;
    if (auto text = axes_text(axes->members); !text.empty()) *axes = config::scalar(text), axes->where = where;
  } else if (!axes && !mesh->find("")) {
    auto& members = mesh->members;
    bool alone = std::none_of(members.begin(), members.end(), [](auto& m) { return is_mesh_field(m.first); });
    auto rest = std::stable_partition(members.begin(), members.end(), [&](auto& m) { return !(alone || named(m)); });
    auto text = axes_text({rest, members.end()});
    if (!text.empty()) {
      members.erase(rest, members.end());
      mesh->at("axes") = config::scalar(text);
      mesh->at("axes").where = mesh->where;
    }
  }
  if (auto rules = mesh->find("rules"))
    for (auto& [of, list] : rules->members) {
      list = config::parse_flow(list);
      for (auto& rule : list.items)
        if (rule.form == config::Document::Form::list) {
          std::vector<config::Document> words;
          flatten(rule, words);
          rule.items = words;
        }
    }
}
/// The ways to say how a model is spread over the ranks, each with its keys in the group mesh.
const std::vector<std::vector<std::string>> ways = {{"layout"}, {"activation_dims", "parameter_dims"}, {"rules"}};
bool says_something(const config::Document& d) {
  using Form = config::Document::Form;
  if (d.form == Form::group)
    return std::any_of(d.members.begin(), d.members.end(), [](auto& m) { return says_something(m.second); });
  return d.form == Form::list ? !d.items.empty() : d.form == Form::scalar && !d.text.empty();
}
/// The first key of this way that the document gives.
const config::Document* given(const config::Document& d, const std::vector<std::string>& way, std::string& key) {
  auto mesh = d.find("mesh");
  for (auto& field : way)
    if (auto there = mesh ? mesh->find(field) : nullptr; there && says_something(*there)) {
      key = there->written.empty() ? "mesh." + field : there->written;
      return there;
    }
  return nullptr;
}
/// Throws ConfigError for two ways in one document. Of two documents the upper one counts.
void settle_ways(config::Document& below, const config::Document& above) {
  for (auto* d : {static_cast<const config::Document*>(&below), &above})
    for (auto& one : ways)
      for (auto& other : ways) {
        std::string first, second;
        auto a = given(*d, one, first), b = &one < &other ? given(*d, other, second) : nullptr;
        check<ConfigError>(!a || !b, b ? b->where : "", ": '", first, "' and '", second,
                           "' both say how the model is spread over the ranks; give one of them");
      }
  std::string key;
  auto mesh = below.find("mesh");
  bool none_above = std::none_of(ways.begin(), ways.end(), [&](auto& way) { return given(above, way, key); });
  for (auto& way : ways)
    if (mesh && !none_above && !given(above, way, key))
      for (auto& field : way) std::erase_if(mesh->members, [&](auto& m) { return m.first == field; });
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
/// `data: {sources: [..]}` is of type corpus. So is one source written without the list, where its type or a key of a
/// corpus shows it: `data: {type: jsonl, path: FILE, task: ..}`.
void settle_data(config::Document& d) {
  using config::Document;
  auto data = d.find("data");
  if (!data || data->form != Document::Form::group) return;
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
/// Model, number of tokens and tokenizer of init_from's folder, below those that are given.
void settle_init_from(config::Document& all, bool ids) {
  auto from = all.find("init_from"), path = from ? from->find("path") : nullptr;
  if (!path || path->text.empty()) return;
  auto folder = data::absolute_path(path->text);
  auto pretrained = models::Pretrained::open(folder);
  auto model = pretrained.model.write();
  if (auto given = all.find("model")) {
    auto type = given->find("type");
    check<ConfigError>(!type || type->text == pretrained.model->type(), "model.type: ", type ? type->text : "",
                       ", but init_from has a model of type ", pretrained.model->type(), ": ", folder);
    config::lay_over(model, *given);
  }
  all.at("model") = model;
  auto& vocabulary = all.at("vocabulary");
  if (!vocabulary.find("size")) vocabulary.at("size") = config::scalar(std::to_string(pretrained.vocabulary));
  if (all.find("tokenizer")) return;
  try {
    all.at("tokenizer") = text::tokenizer_kind_at(folder, false).write();
  } catch (const IoError& e) {
    check<ConfigError>(ids, "init_from: ", e.text(), "; choose a tokenizer; with tokenizer.type=ids tokenizer.size=",
                       pretrained.vocabulary, " texts are ids");
    all.at("tokenizer") = config::parse_items({"type=ids", "size=" + std::to_string(pretrained.vocabulary)});
  }
}
/// A field of a group; of a choice that of this type. Null if it has none.
const config::Schema* field_of(const config::Schema& group, const std::string& type, const std::string& name) {
  auto* fields = &group.fields;
  for (auto& [word, own] : group.types)
    if (word == type) fields = &own;
  for (auto& field : *fields)
    if (field.name == name) return &field;
  return nullptr;
}
/// Where the command line chooses another type, keys of the file that the new type does not have are left out.
void settle_types(config::Document& below, const config::Document& above, const config::Schema& schema) {
  auto type_of = [](const config::Document& d) { return d.find("type") ? d.find("type")->text : std::string(); };
  auto before = type_of(below), now = type_of(above);
  if (schema.group && !schema.types.empty()) {  // a list of choices has the types of its items
    if (before.empty()) before = schema.fields.front().initial;
    if (now.empty()) now = before;
    if (now != before)
      std::erase_if(below.members, [&](auto& m) {
        return field_of(schema, before, m.first) && !field_of(schema, now, m.first);
      });
  }
  for (auto& [key, member] : above.members) {
    auto there = below.find(key);
    auto field = field_of(schema, now, key);
    if (there && field) settle_types(*there, member, *field);
  }
}
/// `data=FILE` and `data.field=NAME` on the command line replace those of the file's source, if it has only one.
void settle_only_source(config::Document& below, config::Document& above) {
  using Form = config::Document::Form;
  auto data = below.find("data"), given = above.find("data"), sources = data ? data->find("sources") : nullptr;
  if (!sources || !given || given->find("type") || given->find("sources")) return;
  if (sources->items.size() != 1 || sources->items[0].form != Form::group) return;
  for (auto key : {"path", "field"})
    if (auto own = given->find(key)) {
      sources->items[0].at(key) = *own;
      std::erase_if(given->members, [&](auto& m) { return m.first == key; });
    }
}
config::Document document_of(const std::string& yaml, const std::string& name,
                             const std::vector<std::string>& overrides) {
  auto& schema = all_settings();
  auto all = config::parse_yaml(yaml, name), line = config::parse_items(overrides);
  config::settle_braces(line, schema);
  for (auto* part : {&all, &line}) {
    settle_mesh(*part);
    settle_data(*part);
    config::settle(*part, schema, short_forms());
  }
  settle_only_source(all, line);
  settle_types(all, line, schema);
  settle_ways(all, line);
  config::lay_over(all, line);
  return all;
}
/// `pack: true` and `pack: false`, as other systems have it. What false means depends on the task, which may be set in
/// the file when `pack` is set on the command line: so both are read once they are in one document.
void settle_pack(config::Document& all) {
  auto data = all.find("data"), pack = data ? data->find("pack") : nullptr, how = pack ? pack->find("how") : nullptr;
  if (!how || how->written != "data.pack" || (how->text != "true" && how->text != "false")) return;
  auto task = data->find("task"), type = task ? task->find("type") : nullptr;
  how->text = how->text == "true" ? "first_fit" : type && type->text == "chat" ? "none" : "automatic";
}
Settings settings_of(config::Document all) {
  settle_pack(all);
  Settings s;
  config::read(all, s, "", all_settings());
  if (std::string key; !given(all, ways[0], key) && (s.mesh.has_dims() || !s.mesh.rules.empty())) s.mesh.layout.clear();
  return s;
}
/// Settings that a run has written have everything of init_from's folder.
Settings with_init_from(config::Document all, bool ids = false) {
  settle_init_from(all, ids);
  return settings_of(all);
}
}  // namespace

Settings parse_settings(const std::string& yaml, const std::string& name, const std::vector<std::string>& overrides) {
  return settings_of(document_of(yaml, name, overrides));
}
Settings settings_of_pretrained(const std::string& folder, const std::vector<std::string>& overrides) {
  auto all = document_of("", "", overrides);
  all.at("init_from").at("path") = config::scalar(folder);
  return with_init_from(all, true);
}
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides) {
  if (path.empty()) {
    auto s = with_init_from(document_of("", "", overrides));
    auto paths = data_paths(s);
    if (!s.out.empty() || paths.empty()) return s;
    auto text = fs::absolute(paths[0]).lexically_normal();
    if (!text.has_filename()) text = text.parent_path();  // "texts/"
    auto name = text.stem().string();
    std::erase_if(name, [](char c) { return std::string_view("*?[]{}").find(c) != std::string_view::npos; });
    s.out = "runs/" + (name.empty() ? std::string("data") : name);
    return s;
  }
  auto text = config::text_of(path);
  check_whole_config(text, path);
  auto all = document_of(text, path, overrides);
  auto s = is_written_config(text) ? settings_of(all) : with_init_from(all);
  if (s.out.empty()) s.out = "runs/" + fs::path(path).stem().string();
  return s;
}
Settings with_absolute_paths(Settings s) {
  for (auto* path : {&s.out, &s.trace.path, &s.init_from.path, &s.lora.from}) *path = data::absolute_path(*path);
  for (auto* path : s.data.edit().paths()) *path = data::absolute_path(*path);
  if (auto cache = s.data.edit().cache()) *cache = data::absolute_path(*cache);
  return with_absolute_template(with_tokenizer_path(s, data::absolute_path(tokenizer_path(s))));
}
std::string shared_settings(Settings s) {
  s = with_tokenizer_path(s, "");
  Settings defaults;
  for (auto* path : s.data.edit().paths()) path->clear();
  if (auto cache = s.data.edit().cache()) cache->clear();
  s.out = defaults.out;
  s.init_from.path.clear();
  s.lora.from.clear();
  s.trace.path = s.trace.path.empty() ? "" : "on";
  s.mesh.threads = defaults.mesh.threads;
  s.transport = defaults.transport;
  s.log.every = defaults.log.every;
  s.mesh.axes = defaults.mesh.axes;
  return to_yaml(s);
}
std::string to_yaml(const Settings& s) { return config::to_yaml(config::write(s)); }
std::string settings_help(const std::string& which) { return config::help(all_settings(), short_forms(), which); }

std::int64_t vocabulary_of(const Settings& s, const text::Tokenizer& tokenizer) {
  auto n = s.vocabulary.size ? s.vocabulary.size : tokenizer.size(), m = s.vocabulary.multiple;
  check<ConfigError>(tokenizer.size() <= n, "tokenizer: its ", tokenizer.size(), " ids exceed the ", n,
                     " tokens of the model (vocabulary); vocabulary=", tokenizer.size(), " makes the model larger");
  return (n + m - 1) / m * m;
}
std::vector<std::string> data_paths(const Settings& s) {
  std::vector<std::string> all;
  auto data = s.data;
  for (auto* path : data.edit().paths())
    if (!path->empty()) all.push_back(*path);
  return all;
}
}  // namespace bora::app
