#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include "app/config_file.h"
#include "app/job.h"
#include "app/link.h"
#include "app/settings.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/io/checkpoint.h"
#include "bora/models/pretrained.h"
#include "bora/nn/axes.h"
#include "bora/optim/kind.h"
#include "bora/shard/mesh.h"
#include "bora/train/local_settings.h"
#include "bora/train/placement.h"
#include "bora/transport/forecast.h"
#include "bora/transport/join.h"
#include "data/records.h"
#include "train/run_folder.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
/// Rules are about logical axes that models have: nn's, and this model's own.
void check_rule_axes(const std::vector<std::vector<std::string>>& rules, std::string_view key,
                     const models::Model& model) {
  std::vector<std::string> known(std::begin(nn::kAxes), std::end(nn::kAxes));
  for (auto& axis : model.axes())
    if (std::find(known.begin(), known.end(), axis.axis) == known.end()) known.emplace_back(axis.axis);
  std::string list;
  for (std::size_t i = 0; i < known.size(); ++i)
    list += (i == 0 ? "" : i + 1 == known.size() ? " and " : ", ") + known[i];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto axis = rules[i].empty() ? "" : rules[i][0];
    check<ConfigError>(axis.empty() || std::find(known.begin(), known.end(), axis) != known.end(), key, ": rule ",
                       i + 1, " is about unknown logical axis '", axis, "'; there are ", list);
  }
}
}  // namespace
void Settings::check() const {
  using config::domain;
  domain(seed >= 0, "seed", seed, "0 or more");
  domain(steps >= 0, "steps", steps, "0 or more");
  bora::check<ConfigError>(steps <= 1 << 30, "steps: ", steps, " is more than 2^30");  // they are counted as i32
  domain(batch >= 1, "batch", batch, "1 or more rows");
  bora::check<ConfigError>(batch <= 1 << 30, "batch: ", batch, " is more than 2^30");
  domain(accumulate >= 1, "accumulate", accumulate, "1 or more parts");
  bora::check<ConfigError>(batch % accumulate == 0, "accumulate: batch ", batch, " cannot be cut into ", accumulate,
                           " equal parts");
  for (auto& t : trackers) {
    auto same = [&](auto& other) { return other->type() == t->type(); };
    bora::check<ConfigError>(std::count_if(trackers.begin(), trackers.end(), same) == 1, "trackers: ", t->type(),
                             " is given twice");
  }
  bora::check<ConfigError>(!checkpoint.best || eval.every > 0,
                           "checkpoint.best: the validation loss is known only where it is evaluated; set eval.every");
  bool skips = optimizer->common.skip_not_finite != 0 || precision.loss_scale.type == "dynamic";
  bora::check<ConfigError>(!local->on() || !skips,
                           "local: steps that are left out (optimizer.skip_not_finite, precision.loss_scale=dynamic) "
                           "would differ between replicas; leave these at their defaults");
  bora::check<ConfigError>(!local->on() || reproducible.virtual_ == 0,
                           "reproducible.virtual: replicas of local steps have their own sums; leave one of both out");
  using Gradients = bora::training::WireSettings::Gradients;
  bora::check<ConfigError>(wire.gradients == Gradients::f32 || reproducible.virtual_ == 0,
                           "reproducible.virtual: gradients that travel rounded (wire) depend on the ranks that round "
                           "them; set wire=f32");
  if (wire.carries()) {
    auto what = wire.low_rank() ? "wire.gradients: powersgd" : "wire.error_feedback: it";
    bora::check<ConfigError>(!local->on(), what,
                             " is of sums in every step, replicas of local steps meet after several; leave one of both "
                             "out (local.wire rounds what replicas send)");
    bool dims = mesh.has_dims() || !mesh.rules.empty();
    auto how = dims ? Layout{} : parse_layout(mesh.layout);
    bora::check<ConfigError>(!dims && !how.fsdp && !how.tp, what, " needs whole gradients on every rank, but ",
                             dims ? "mesh.rules and dims split" : "layout " + mesh.layout + " splits",
                             " parameters; set layout=dp");
  }
  bora::check<ConfigError>(elastic.max == 0 || checkpoint.every > 0,
                           "elastic: after a loss the job goes on from its newest checkpoint; set checkpoint.every");
  bora::check<ConfigError>(elastic.max == 0 || !local->on() || local->replicas() > 0,
                           "elastic: a run keeps its replicas, whatever the number of ranks; set local.replicas=N");
  check_rule_axes(mesh.rules.storage, "mesh.rules.storage", *model);
  check_rule_axes(mesh.rules.compute, "mesh.rules.compute", *model);
}
void check_settings_without_data(const Settings& s) {
  config::check_all(s);
  if (auto link = s.local->link(); !link.empty()) (void)read_link(link, "local.link");
}
void check_settings(const Settings& s) {
  check_settings_without_data(s);
  check<ConfigError>(!data_paths(s).empty(), "data: no text given; set data=FILE, or a folder of text files");
  check<ConfigError>(!s.out.empty(), "out: no output folder given; set out=DIR");
}
void check_init_from(const Settings& s, const text::Tokenizer& tokenizer, Resume resume) {
  bool continues = resume != Resume::none && !io::list_checkpoints(s.out + "/checkpoints").empty();
  if (s.init_from.path.empty() || (continues && !s.lora)) return;  // adapters need it each time
  models::check_pretrained(s.init_from.path, *s.model, vocabulary_of(s, tokenizer), s.init_from.options());
}

void check_outside_text(const Settings& s, std::string_view what, const std::string& folder) {
  for (auto& path : data_paths(s))
    check<ConfigError>(!data::would_read(path, folder, {"config.yaml", "metrics.jsonl", "loss.svg", "rank-0.log"}),
                       what, ": ", folder, " lies in the folder of the text, ", path,
                       ": the run's own files would become text; choose another");
}

namespace {
/// Paths are kept in config.yaml and appear in lines that scripts read.
void check_path(std::string_view key, const std::string& path) {
  auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  check<ConfigError>(first_not_utf8(path) == path.npos && std::none_of(path.begin(), path.end(), control), key, ": '",
                     path,
                     "' has control characters or is not UTF-8, which config.yaml cannot keep; give it another name, "
                     "with a link for instance");
}
/// Checks that a folder can be written or made, without trying to.
void check_folder(const std::string& path) {
  std::error_code error;
  auto there = fs::absolute(path);  // its part that exists
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  check<ConfigError>(fs::is_directory(there, error), "out: cannot make the folder ", path, ": ", there.string(),
                     " is a file");
  check<ConfigError>(!fs::is_symlink(path, error) || fs::exists(path, error), "out: cannot make the folder ", path,
                     ": there is a link of this name, to ", fs::read_symlink(path, error).string(),
                     ", which is not there");
  bool writable = ::access(there.c_str(), W_OK | X_OK) == 0;
  check<ConfigError>(writable, "out: cannot write into ", there.string(), ": ", std::strerror(errno));
}
/// The options of the transport, also those that the variables of their names give, as ranks will read them.
void check_transport(const Settings& s) {
  std::set<std::string> variables;
  fields::for_each(s.transport, [&](std::string_view name, auto&) {
    std::string upper = "BORA_";
    for (char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    variables.insert(upper);
  });
  auto options = transport::config_from_environment(
      [&](const char* name) -> const char* { return variables.contains(name) ? std::getenv(name) : nullptr; });
  transport::check_options(transport::with_options(options, options_in(s)));
}
}  // namespace
void check_job(const Settings& s, int ranks) {
  for (auto& path : data_paths(s)) check_path("data", path);
  auto data = s.data;
  if (auto cache = data.edit().cache()) check_path("data.cache", *cache);
  check_path("out", s.out);
  check_path("trace", s.trace.path);
  check_settings(s);
  resolve_mesh(s.mesh, ranks);
  check_transport(s);
  auto algorithms = std::getenv("BORA_ALGORITHMS");
  transport::check_wire(s.wire.wire(), s.transport.algorithms.value_or(algorithms ? algorithms : ""));
  s.data->check_files(s.model->positions());
  check_rows(s);
  check_outside_text(s, "out", s.out);
  std::error_code error;
  if (auto& trace = s.trace.path; !trace.empty()) {
    check<ConfigError>(fs::is_directory(fs::absolute(trace).parent_path(), error), "trace: no folder for ", trace);
    auto there = fs::status(trace, error);
    check<ConfigError>(there.type() == fs::file_type::regular || there.type() == fs::file_type::not_found,
                       "trace: cannot write ", trace, ": ",
                       there.type() == fs::file_type::none ? error.message() : "it is no file");
  }
  for (auto& folder : {s.out, s.out + "/checkpoints"}) check_folder(folder);
  check_run_folder(s.out);
}

void check_rows(const Settings& s) {
  bool inputs = s.data->shape(s.model->positions()).inputs > 0, encoder = s.model->decoder_start().has_value();
  check<ConfigError>(encoder || !inputs, "data.task: its rows are for an encoder and a decoder, and the model ",
                     s.model->type(), " has no encoder; choose a task such as lm");
  check<ConfigError>(inputs || !encoder, "data.task: its rows have no inputs for the encoder of the model ",
                     s.model->type(), "; choose a task such as spans or seq2seq");
}
void check_rows(const Settings& s, const text::Tokenizer& tokenizer) {
  check_rows(s);
  auto first = tokenizer.padding().value_or(0);  // in the rows, before a decoder's first target
  auto start = s.model->decoder_start().value_or(first);
  check<ConfigError>(start == first, "model.decoder_start: ", start, ", but rows begin with the tokenizer's token ",
                     first, "; set model.decoder_start=", first);
}
namespace {
/// What a sequence split over ranks needs of the model and of its positions.
void check_context(const Settings& s, const AxisMapping& compute, const MeshShape& mesh, bool training) {
  AxisName context("context");
  auto positions = s.data->shape(s.model->positions()).positions;
  auto split = placement_of({{nn::kBatch, s.batch}, {nn::kPosition, positions}, {nn::kHeads, 1}, {nn::kHeadGroup, 1}},
                            compute, mesh)
                   .spec[1];
  bool has = mesh.has(context) && mesh.axis_size(context) > 1;
  if (!has || !split.has(context)) return;
  auto refusal = s.model->no_context(training);
  check<ConfigError>(refusal.empty(), refusal, ", or leave axis 'context' (", mesh.axis_size(context),
                     " ranks that share each sequence) out of the mesh");
  auto ranks = mesh.parts(split);
  check<ConfigError>(positions % (2 * ranks) == 0, "model.positions: ", positions, " cannot be cut into 2 equal parts ",
                     "for each of the ", ranks, " ranks of mesh axis '", to_string(split), "'; use a multiple of ",
                     2 * ranks);
  check<ConfigError>(!s.local->on(), "local: replicas of local steps have whole sequences; leave axis 'context' out ",
                     "of the mesh, or local");
}
}  // namespace
void check_parts(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh,
                 std::string_view purpose) {
  for (auto name : {"stage", "context"})
    check<ConfigError>(!s.wire.carries() || !mesh.has(AxisName(name)) || mesh.axis_size(AxisName(name)) == 1,
                       "wire: residuals and factors are of gradients that are whole on every rank; leave axis '", name,
                       "' out of the mesh, or wire.error_feedback and powersgd");
  auto sizes = s.model->axes();
  sizes.push_back(
      {"batch", "batch", s.batch / s.accumulate, "row", s.accumulate > 1 ? " in each part of the batch" : ""});
  sizes.push_back({"vocab", "vocabulary", vocabulary_of(s, tokenizer), "token"});
  sizes.push_back({"position", "model.positions", s.model->positions(), "position"});
  auto counted = [](std::int64_t n, std::string_view noun) {
    return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
  };
  auto mappings = mappings_of(s.mesh, mesh);
  if (purpose == "train" || purpose == "eval") check_context(s, mappings.compute, mesh, purpose == "train");
  bool layout = !s.mesh.has_dims() && s.mesh.rules.empty();
  for (auto* mapping : {&mappings.compute, &mappings.storage})
    for (auto& rule : mapping->rules())
      for (auto& size : sizes) {
        if (size.axis != rule.axis) continue;
        auto ranks = mesh.parts(rule.mesh);
        check<ConfigError>(size.size >= ranks, size.key, ": ", counted(size.size, size.noun), size.of,
                           " cannot be spread over ", ranks, " ranks (mesh axis '", to_string(rule.mesh), "', ",
                           layout ? "layout " : "", placement_name(s.mesh), "); use at most ",
                           counted(size.size, "rank"), " there", size.key == "vocabulary" ? "" : ", or raise it");
      }
}

// ---- OUT/config.yaml ------------------------------------------------------------------------------------------------
namespace {
constexpr std::string_view kMark = "# Written by bora: the settings of the run in this folder.\n",
                           kEnd = "# The settings end here.\n";
using Leaves = std::vector<std::pair<std::string, std::string>>;
std::string text_of(const config::Document& d) {
  if (d.form == config::Document::Form::list && d.items.empty()) return "[]";
  auto text = d.text;
  for (auto& item : d.items)
    text += (text.empty() ? "" : ", ") +
            (item.form == config::Document::Form::list ? "[" + text_of(item) + "]" : text_of(item));
  return text;
}
void append_leaves(const config::Document& d, const std::string& key, Leaves& all) {
  bool groups = std::any_of(d.items.begin(), d.items.end(),
                            [](auto& item) { return item.form == config::Document::Form::group; });
  if (d.form == config::Document::Form::group)
    for (auto& [name, member] : d.members) append_leaves(member, config::below(key, name), all);
  else if (groups) {  // as many, and each of them: data.sources[1].path
    all.emplace_back(key, std::to_string(d.items.size()) + (d.items.size() == 1 ? " entry" : " entries"));
    for (std::size_t i = 0; i < d.items.size(); ++i)
      append_leaves(d.items[i], key + "[" + std::to_string(i + 1) + "]", all);
  } else { all.emplace_back(key, d.quoted ? "\"" + text_of(d) + "\"" : text_of(d)); }
}
Leaves leaves_of(const config::Document& d) {
  Leaves all;
  append_leaves(d, "", all);
  return all;
}
/// Whether a text without remarks gives nearly all of the settings that the first version had, which are in all later
/// ones: it is a dump.
bool is_dump(std::string text) {
  constexpr std::size_t first = 34;
  if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
  try {
    auto d = config::parse_yaml(text, "config.yaml");
    (void)parse_settings(text, "config.yaml");
    return text.find('#') == text.npos && 4 * leaves_of(d).size() >= 3 * first;
  } catch (const ConfigError&) { return false; }
}
/// "changed: optimizer.lr: 0.1 -> 0.2" for each setting that differs.
std::vector<std::string> changes(const Settings& before, const Settings& now) {
  std::map<std::string, std::string> old;
  for (auto& [key, text] : leaves_of(config::write(before))) old[key] = text;
  std::vector<std::string> found;
  for (auto& [key, text] : leaves_of(config::write(now)))
    if (auto there = old.find(key); there == old.end()) found.push_back("changed: " + key + ": " + text);
    else if (there->second != text) found.push_back("changed: " + key + ": " + there->second + " -> " + text);
  return found;
}
/// Whether a text with Bora's first line is all of what was written. Versions before kEnd wrote these settings last.
bool is_whole(const std::string& text, const std::string& path) {
  if (text.ends_with(kEnd)) return true;
  try {
    auto d = config::parse_yaml(text, path);
    if (!text.ends_with('\n') || d.members.empty()) return false;
    auto& [key, last] = d.members.back();
    return (key == "trace" && last.find("steps")) || (key == "optimizer" && last.find("final_lr"));
  } catch (const ConfigError&) { return false; }
}
constexpr std::string_view kAnew =
    "copy it from elsewhere, or write it anew: give it another name, then bora train with the run's own configuration "
    "and out=";
}  // namespace
bool is_written_config(const std::string& text) { return text.starts_with(kMark); }
void check_whole_config(const std::string& text, const std::string& path) {
  if (!is_written_config(text) || is_whole(text, path)) return;
  auto lines = std::count(text.begin(), text.end(), '\n') + (text.ends_with('\n') ? 0 : 1);
  fail<ConfigError>(path, ":", lines, ": the settings that Bora wrote are cut off after this line; ", kAnew,
                    fs::path(path).parent_path().string());
}
void check_run_config(const std::string& text, const std::string& path) {
  check_whole_config(text, path);
  check<ConfigError>(!config::parse_yaml(text, path).members.empty(), path,
                     ":1: there are no settings in it, as if it was damaged; ", kAnew,
                     fs::path(path).parent_path().string());
}
void check_run_folder(const std::string& path) {
  auto file = path + "/config.yaml";
  struct ::stat s {};
  bool known = ::lstat(file.c_str(), &s) == 0;
  if (!known && (errno == ENOENT || errno == ENOTDIR)) return;
  check<ConfigError>(known, "out: cannot read ", file, ": ", std::strerror(errno));
  bool plain = S_ISREG(s.st_mode);
  auto text = plain ? read_file<ConfigError>(file) : std::string();
  check<ConfigError>(plain && (is_written_config(text) || is_dump(text)), "out: ", file,
                     " is not of a run: Bora did not write it and would overwrite it; choose another out, or give that "
                     "file another name");
}
std::vector<std::string> write_config(const std::string& path, const Settings& s) {
  auto file = path + "/config.yaml", text = std::string(kMark) + to_yaml(s) + std::string(kEnd);
  std::vector<std::string> said;
  std::error_code error;
  if (fs::symlink_status(file, error).type() != fs::file_type::not_found) {  // a dangling link counts
    auto before = read_file(file);
    if (before == text) return said;
    bool same = false;  // an earlier version may have written the same settings in another form
    try {
      check_whole_config(before, file);
      said = changes(parse_settings(before, file), s);
      same = said.empty();
    } catch (const ConfigError&) {}  // of another version, or damaged: kept all the same
    if (!same) {
      auto kept = numbered(file);
      write_file(kept, before);
      said.push_back("the settings before are kept in " + kept);
    }
  }
  write_file(file, text);
  return said;
}
}  // namespace bora::app
