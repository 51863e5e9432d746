#include "options.h"
#include <cstdlib>
#include <filesystem>
#include "app/commands.h"
#include "bora/job/scoring.h"
#include "bora/job/places.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/transport/transport.h"

namespace bora::app {
void ConfigWords::declare(Flags& flags) {
  flags.add("CONFIG.yaml", words, "a configuration file, if there is one, then key=value ...")
      .named("")
      .no_default()
      .names(Names::nothing);  // of words: the settings have places
  // Short forms of settings, in the order in which they are listed.
  for (auto [key, meaning] : {std::pair<std::string, std::string>{"mesh", "data=2,model=1"},
                              {"layout", "dp, fsdp, tp or fsdp+tp"},
                              {"threads", "of each rank"},
                              {"out", "folder of the run"}})
    flags.add(
             "--" + key, [this, key = key](const std::string& v) { settings.push_back(key + "=" + v); }, meaning)
        .named("TEXT")
        .names(Names::nothing);
  flags.footer(
      [] { return "\nSettings and their defaults (bora help GROUP or KEY: fewer of them):\n" + settings_help(); });
}
void ConfigWords::settle() {
  auto first = words.begin();
  if (first != words.end() && !is_setting(*first)) path = *first++;
  for (auto item = first; item != words.end(); ++item)
    check<ConfigError>(item->find('=') != std::string::npos, "expected key=value",
                       path.empty() ? std::string() : " after " + path, ", got '", *item, "'");
  settings.insert(settings.begin(), first, words.end());
  words.clear();
}
Settings ConfigWords::load() const { return with_absolute_paths(load_settings(path, settings)); }
bool is_setting(const std::string& word) {
  std::error_code error;
  return word.find('=') != std::string::npos && !std::filesystem::exists(word, error);
}

void declare_run(Flags& flags, TrainedRun& words) {
  flags.add("RUN", words.run, "folder of the run, or of Hugging Face's, or FILE.gguf").required().names(Names::input);
  flags.add("settings", words.settings, "key=value ...").names(Names::nothing);
  declare_resume(flags, words.resume, {"latest", "good", "best"},
                 "which checkpoint: latest (default), good: the newest that is whole, best: of the lowest validation "
                 "loss (checkpoint.best)");
  declare_ema(flags, words);
}
void declare_ema(Flags& flags, TrainedRun& words) {
  flags.add("--ema", words.ema, "the mean of the run's parameters (optimizer.ema) in place of the parameters");
}
void declare_weights(Flags& flags, TrainedRun& words) {
  words.weights = kWeightsOfFiles;
  flags
      .add("--weights", words.weights,
           "numbers of the model: f32, bf16, or integers with shared scales, int8, int4, int4:128; files: as a folder "
           "of Hugging Face's keeps them (f16 as f32), and as a run's settings say")
      .one_of({"files", "f32", "bf16", "int8", "int4", "int4:128"});
}
void declare_cache(Flags& flags, TrainedRun& words, std::int64_t& bytes) {
  flags
      .add("--cache", words.cache, "keys and values: int8, with a scale for each head of a token; else in the dtype of "
                                   "the computation, which takes two to four times the memory")
      .one_of({"int8"});
  flags.add("--cache-bytes", bytes, "of keys and values on each rank; 0: half of the memory that is left");
}

void declare_resume(Flags& flags, std::string& resume, const std::vector<std::string>& words, const std::string& help) {
  flags.add("--resume", resume, help).one_of(words).take_last();
}
void declare_resume(Flags& flags, std::string& resume) {
  declare_resume(flags, resume, {"latest", "good", "none"},
                 "where the folder has checkpoints: latest (default), good: the newest that is whole, none: begin anew "
                 "and keep them aside");
}
void declare_insecure(Flags& flags, std::vector<transport::Option>& given) {
  flags.on(
      "--insecure-private-network",
      [&given] { given.push_back({"insecure_private_network", "true", "--insecure-private-network"}); },
      "ranks of several hosts need no secret: only where nobody else reaches their network");
}
void declare_files(Flags& flags, ScoreFiles& words) {
  declare_run(flags, words.run);
  flags.add("--ids", words.ids, "tokens: a .npy file, i32 or i64 [batch, position]").required().names(Names::input);
  flags.add("--mask", words.mask, "a .npy file of the same shape: 1 is a token, 0 is padding left or right of them")
      .names(Names::input);
  flags.add("--decoder-ids", words.decoder_ids, "tokens of the decoder, where --ids are those of an encoder")
      .names(Names::input);
}
void declare_ranks_per_host(Flags& flags, std::int64_t& ranks_per_host) {
  flags.add("--ranks-per-host", ranks_per_host, "ranks of a host; 0: all are on one (plan --link: each on its own)")
      .between(0, 1 << 20);
}
void declare_pipeline(Flags& flags, bool& pipeline) {
  flags.on(
      "--no-pipeline", [&pipeline] { pipeline = false; },
      "communication of a layer only beside its own compute, on every rank: to compare");
}

namespace {
using Add = Places& (Places::*)(const std::string& what, const std::string& path);
Add add_of(Names names) {
  switch (names) {
    case Names::nothing: break;
    case Names::input: return &Places::reads;
    case Names::texts: return &Places::reads_texts;
    case Names::output: return &Places::writes;
    case Names::folder: return &Places::writes_folder;
    case Names::imported: return &Places::writes_imported;
    case Names::ranks: return &Places::writes_ranks;
  }
  return nullptr;
}
std::vector<std::string> texts_of(const Flag::Target& target) {
  if (auto text = std::get_if<std::string*>(&target)) return {**text};
  if (auto all = std::get_if<std::vector<std::string>*>(&target)) return **all;
  auto given = std::get_if<std::optional<std::string>*>(&target);
  return given && **given ? std::vector{***given} : std::vector<std::string>();
}
}  // namespace

void check_places(const Flags& flags, const ConfigWords* config) {
  Places places;
  if (auto secret = std::getenv("BORA_SECRET_FILE")) places.reads("BORA_SECRET_FILE", secret);
  for (auto& flag : flags.all())
    if (auto add = add_of(flag.form().names.value_or(Names::nothing)))
      for (auto& path : texts_of(flag.target())) (places.*add)(flag.name(), path);
  if (config) {
    auto s = config->load();
    places.add(s);
    std::error_code error;  // a run goes on from its own settings
    bool own = std::filesystem::equivalent(config->path, s.out + "/config.yaml", error);
    if (!own) places.reads("CONFIG.yaml", config->path);
  }
  places.check();
}
}  // namespace bora::app
