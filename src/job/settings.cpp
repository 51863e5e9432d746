#include "bora/job/settings.h"
#include <algorithm>
#include <filesystem>
#include "base/api/file.h"
#include "bora/data/data.h"
#include "bora/models/pretrained.h"
#include "bora/optim/kind.h"
#include "bora/text/tokenizer_files.h"
#include "bora/train/local_settings.h"
#include "config/api/braces.h"
#include "job/config_file.h"
#include "train/api/initial.h"

namespace fs = std::filesystem;
namespace bora::job {
models::LoadPretrained InitFromSettings::options() const {
  return {missing == Missing::init, unexpected == Unexpected::ignore};
}
void InitFromSettings::check() const {
  for (auto& rule : rename)
    bora::check<ConfigError>(rule.size() == 2, "rename: a rule is a regular expression and what it becomes: {REGEX: ",
                             "TO}, or [REGEX, TO]; one has ", rule.size(), " words");
}
namespace {
/// `rename: {REGEX: TO}` is a list of pairs, which keeps their order.
void settle_rename(config::Document& from) {
  auto rules = from.find("rename");
  if (!rules) return;
  auto where = rules->where;
  if (rules->form == config::Document::Form::scalar) *rules = config::parse_braces(*rules);
  if (rules->form != config::Document::Form::group) return;
  config::Document list{.form = config::Document::Form::list, .where = where};
  for (auto& [pattern, to] : rules->members)
    list.items.push_back({.form = config::Document::Form::list, .items = {config::scalar(pattern, true), to},
                          .where = where});
  *rules = list;
}
}  // namespace
const config::Forms InitFromSettings::forms = {.settle = settle_rename};
const std::vector<config::Short>& short_forms() {
  static const std::vector<config::Short> forms = {{"lr", "optimizer.lr"},
                                                   {"warmup", "optimizer.schedule.warmup"},
                                                   {"optimizer.final_lr", "optimizer.schedule.final_lr"},
                                                   {"policy", "precision.policy"},
                                                   {"hold_out", "data.hold_out"},
                                                   {"layout", "mesh.layout"},
                                                   {"threads", "mesh.threads"},
                                                   {"checkpoint_every", "checkpoint.every"},
                                                   {"keep", "checkpoint.keep.last"},
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
config::Document document_of(const std::string& yaml, const std::string& name,
                             const std::vector<std::string>& overrides) {
  return config::settled(yaml, name, overrides, all_settings(), short_forms());
}
/// The same of a run: its model, vocabulary and tokenizer.
void settle_from_run(config::Document& all, const std::string& run) {
  auto file = run + "/config.yaml";
  auto text = config::text_of(file);
  check_run_config(text, file);
  auto theirs = document_of(text, file, {});
  auto word_of = [](const config::Document& d) { return d.find("type") ? d.find("type")->text : std::string(); };
  for (std::string group : {"model", "vocabulary", "tokenizer"}) {
    auto there = theirs.find(group);
    if (!there) continue;
    auto given = all.find(group);
    if (!given) {
      all.at(group) = *there;
      continue;
    }
    if (group == "tokenizer") continue;  // one that is given is meant as it is
    check<ConfigError>(group != "model" || word_of(*given).empty() || word_of(*given) == word_of(*there),
                       "model.type: ", word_of(*given), ", but init_from has a model of type ", word_of(*there), ": ",
                       run);
    auto mine = *there;
    config::lay_over(mine, *given);
    all.at(group) = mine;
  }
}
/// Model, number of tokens and tokenizer of init_from's folder, below those that are given.
void settle_init_from(config::Document& all, bool ids) {
  auto from = all.find("init_from"), path = from ? from->find("path") : nullptr;
  if (!path || path->text.empty()) return;
  auto folder = data::absolute_path(path->text);
  if (auto place = bora::training::initial_place(folder)) {
    if (!place.run.empty()) settle_from_run(all, place.run);
    return;
  }
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
    bool special = !pretrained.model->generates();  // an encoder sees [CLS] and [SEP] around each text
    all.at("tokenizer") = text::tokenizer_kind_at(folder, special).write();
  } catch (const IoError& e) {
    check<ConfigError>(ids, "init_from: ", e.text(), "; choose a tokenizer; with tokenizer.type=ids tokenizer.size=",
                       pretrained.vocabulary, " texts are ids");
    all.at("tokenizer") = text::ids_tokenizer_kind(pretrained.vocabulary).write();
  }
}
Settings settings_of(const config::Document& all) {
  Settings s;
  config::read(all, s, "", all_settings());
  return s;
}
/// `ids`: without a tokenizer in init_from's folder texts are ids. A run's own config.yaml needs none of this: it has
/// the values of that folder already.
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
namespace {
/// A line for each setting: "setting optimizer.lr", a tab, its value.
std::string lines_of(const std::string& key, const config::Document& d) {
  using Form = config::Document::Form;
  if (d.form == Form::scalar) {
    auto text = d.text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return "setting " + key + '\t' + text + '\n';
  }
  if (d.members.empty() && d.items.empty())
    return "setting " + key + '\t' + (d.form == Form::list ? "[]" : d.form == Form::group ? "{}" : "null") + '\n';
  std::string lines;
  auto below = key.empty() ? key : key + ".";
  for (auto& [name, member] : d.members) lines += lines_of(name.empty() ? key : below + name, member);
  for (std::size_t i = 0; i < d.items.size(); ++i) lines += lines_of(below + std::to_string(i), d.items[i]);
  return lines;
}
}  // namespace
std::string shared_settings(Settings s) {
  s = with_tokenizer_path(s, "");
  Settings defaults;
  for (auto* path : s.data.edit().paths()) path->clear();
  if (auto cache = s.data.edit().cache()) cache->clear();
  s.out = defaults.out;
  s.checkpoint.local = defaults.checkpoint.local;
  s.init_from.path.clear();
  s.lora.from.clear();
  s.trace.path = s.trace.path.empty() ? "" : "on";
  s.mesh.threads = defaults.mesh.threads;
  s.transport = defaults.transport;
  s.alerts = defaults.alerts;
  s.log.every = defaults.log.every;
  s.page = defaults.page;
  s.mesh.axes = defaults.mesh.axes;
  return lines_of("", config::write(s));
}
std::string to_yaml(const Settings& s) { return config::to_yaml(config::write(s)); }
std::string settings_help(const std::string& which) { return config::help(all_settings(), short_forms(), which); }

std::int64_t vocabulary_of(const Settings& s, const text::Tokenizer& tokenizer) {
  auto n = s.vocabulary.size ? s.vocabulary.size : tokenizer.size(), m = s.vocabulary.multiple;
  check<ConfigError>(tokenizer.size() <= n, "tokenizer: its ", tokenizer.size(), " ids exceed the ", n,
                     " tokens of the model (vocabulary); vocabulary=", tokenizer.size(), " makes the model larger");
  return (n + m - 1) / m * m;
}
}  // namespace bora::job
