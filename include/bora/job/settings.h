// settings.h -- all settings of a run. YAML, command line, `bora help` and OUT/config.yaml follow from its fields: a
// new setting is a field and its meaning, here or in the aggregate that it belongs to.
#pragma once
#include <memory>
#include "bora/config/duration.h"
#include "bora/job/forward.h"
#include "bora/models/lora_settings.h"
#include "bora/models/loss_settings.h"
#include "bora/models/preference_settings.h"
#include "bora/track/tracker.h"
#include "bora/train/deadline.h"
#include "bora/train/settings.h"

namespace bora {
namespace data {
struct Data;
struct Datasets;
}  // namespace data
namespace models {
struct LoadPretrained;
struct Model;
}  // namespace models
namespace optim {
struct Kind;
}  // namespace optim
namespace text {
struct TokenizerKind;
}  // namespace text
namespace training {
struct LocalKind;
}  // namespace training
}  // namespace bora
namespace bora::job {
/// Options of transport::Config, by their names. One that is not given comes from its variable, BORA_<NAME>.
struct TransportSettings {
  using Time = std::optional<config::Duration>;
  Time join_timeout = {};
  std::optional<std::string> interface = {}, carrier = {}, algorithms = {}, calibrate = {}, flight_dir = {};
  Time heartbeat = {}, suspect = {}, dead = {}, stuck_warn = {}, stuck_abort = {};
  static constexpr config::Meaning meanings[] = {
      {"join_timeout", "time until a rank that has not arrived is an error; 2m"},
      {"interface", "network interfaces to listen on: names, addresses, networks, with commas"},
      {"carrier", "of data: auto, tcp, zmq, shm, mpi"},
      {"algorithms", "all_reduce=chain,broadcast=double_tree: instead of the best ones"},
      {"calibrate", "measure the links first: auto, on, off"},
      {"flight_dir", "a folder for each rank's last collectives, written when the job is lost"},
      {"heartbeat", "time between signs of life; 1s"},
      {"suspect", "silence until a rank is asked; 3s"},
      {"dead", "silence until a rank is lost; 10s"},
      {"stuck_warn", "time in a collective until a line says that others are missing; 30s"},
      {"stuck_abort", "time in a collective until the job is ended; 5m"}};
  void check() const {
    auto time = [](std::string_view name, const Time& t) {
      if (t) config::domain(t->seconds > 0, name, t->seconds, "above 0 seconds");
    };
    time("join_timeout", join_timeout);
    time("heartbeat", heartbeat);
    time("suspect", suspect);
    time("dead", dead);
    time("stuck_warn", stuck_warn);
    time("stuck_abort", stuck_abort);
  }
};
struct InitFromSettings {  // the group init_from
  enum class Missing : std::uint8_t { error, init };
  enum class Unexpected : std::uint8_t { error, ignore };
  std::string path = {};
  std::vector<std::string> only = {};
  std::vector<std::vector<std::string>> rename = {};
  bool cast = false;
  Missing missing = Missing::error;
  Unexpected unexpected = Unexpected::error;
  static constexpr std::string_view named = "path";
  static constexpr config::Meaning meanings[] = {
      {"path", "a run or one of its checkpoints, or a folder of Hugging Face's: parameters of a new run, and its model "
               "and tokenizer where none are given"},
      {"only", "of a run: patterns of the parameters that are read, as in freeze; the others are initialised"},
      {"rename", "of a run: {REGEX: TO, ..}, what becomes of the paths there; $1 is what the first (..) matched"},
      {"cast", "of a run: convert numbers of another dtype"},
      {"missing", "parameters that it lacks: error, or init as if there were no folder"},
      {"unexpected", "tensors of it that the model lacks: error, or ignore"}};
  models::LoadPretrained options() const;
  void check() const;
  static const config::Forms forms;
};
struct VocabularySettings {  // the group vocabulary
  std::int64_t size = 0, multiple = 1;
  static constexpr std::string_view named = "size";
  static constexpr config::Meaning meanings[] = {
      {"size", "tokens of the model; 0: as many as the tokenizer or init_from has"},
      {"multiple", "the number of tokens is raised to a multiple of it"}};
  void check() const {
    config::domain(size >= 0 && size <= 1 << 30, "size", size, "from 1 to 2^30 (or 0)");
    config::domain(multiple >= 1 && multiple <= 1 << 20, "multiple", multiple, "from 1 to 2^20");
  }
};
struct ReproducibleSettings {  // the group reproducible
  std::int64_t virtual_ = 0;
  using members = MemberList<&ReproducibleSettings::virtual_>;  // called virtual, which is a word of the language
  static constexpr std::string_view named = "virtual";
  static constexpr config::Meaning meanings[] = {
      {"virtual", "a power of two: the same bits on 1, 2, 4, .. up to so many ranks, which split the batch; 0: off"}};
  void check() const {
    config::domain(virtual_ >= 0 && virtual_ <= 1 << 16 && (virtual_ & (virtual_ - 1)) == 0, "virtual", virtual_,
                   "a power of two up to 2^16 (or 0)");
  }
};
struct ElasticSettings {  // the group elastic
  std::int64_t min = 0, max = 0, snapshot = 0;
  static constexpr config::Meaning meanings[] = {
      {"min", "ranks that must be left for the job to go on after others were lost"},
      {"max", "ranks at most, and at first unless -n says otherwise; 0: a lost rank ends the job"},
      {"snapshot", "every so many steps each rank keeps its part of the state in memory, and a copy of another rank's, "
                   "from which the job goes on after a loss; 0: from checkpoints only"}};
  void check() const {
    config::domain(max >= 0 && max <= 1 << 16, "max", max, "from 1 to 2^16 (or 0)");
    config::domain(max == 0 ? min == 0 : min >= 1 && min <= max, "min", min,
                   max == 0 ? "0 without max" : "from 1 to max, " + std::to_string(max));
    config::domain(snapshot >= 0 && (max > 0 || snapshot == 0), "snapshot", snapshot,
                   max == 0 ? "0 without max" : "0 or more steps");
  }
};
/// The choices have no initializers, which would need the headers of their kinds: a source that makes Settings
/// includes these.
struct Settings {
  std::int64_t seed = 0, steps = 1000, batch = 8, accumulate = 1;
  std::vector<bora::training::BatchAt> batch_at = {};
  std::string out = {};
  bora::training::Deadline deadline = {};
  config::Choice<models::Model> model;
  InitFromSettings init_from = {};
  config::Choice<text::TokenizerKind> tokenizer;
  VocabularySettings vocabulary = {};
  config::Choice<data::Data> data;
  config::Choice<optim::Kind> optimizer;
  models::LossSettings loss = {};
  models::PreferenceSettings preference = {};
  std::vector<std::string> freeze = {};
  models::LoraSettings lora = {};
  double neftune = 0;
  bora::training::PrecisionSettings precision = {};
  bora::training::MeshSettings mesh = {};
  config::Choice<bora::training::LocalKind> local;
  ReproducibleSettings reproducible = {};
  ElasticSettings elastic = {};
  bora::training::WireSettings wire = {};
  bora::training::CheckpointSettings checkpoint = {};
  bora::training::EvalSettings eval = {};
  bora::training::LogSettings log = {};
  std::vector<config::Choice<track::TrackerKind>> trackers = {track::TrackerKind::initial};
  TransportSettings transport = {};
  bora::training::TraceSettings trace = {};
  bora::training::PageSettings page = {};
  bora::training::NormSettings norms = {};
  bora::training::AlertSettings alerts = {};
  static constexpr config::Meaning meanings[] = {
      {"seed", "of every random draw"},
      {"steps", "updates of the whole run; 0: initialise, plan, digest and end"},
      {"batch", "rows in a step, over all ranks"},
      {"accumulate", "parts the batch is cut into, one after the other"},
      {"batch_at", "other batches from given steps on: a list of {step, batch}"},
      {"out", "folder of the run; empty: runs/NAME of the configuration file, without one of the text"},
      {"deadline", "the run stops in order before it: auto (the end of Slurm's job), off, a time since its start such "
                   "as 12h, or 2026-12-01T06:00"},
      {"model", ""},
      {"init_from", ""},
      {"tokenizer", ""},
      {"vocabulary", ""},
      {"data", ""},
      {"optimizer", ""},
      {"loss", ""},
      {"preference", ""},
      {"freeze", "patterns of parameters that are not trained: [wte, blocks.attn.*, \"*.bias\"]; * is any text"},
      {"lora", ""},
      {"neftune", "alpha of noise on the tokens' vectors in training (NEFTune), uniform within alpha / sqrt(positions "
                  "* embed); 0: none"},
      {"precision", ""},
      {"mesh", ""},
      {"local", ""},
      {"reproducible", ""},
      {"elastic", ""},
      {"wire", ""},
      {"checkpoint", ""},
      {"eval", ""},
      {"log", ""},
      {"trackers", "of the run's numbers: a list of jsonl, tensorboard"},
      {"transport", ""},
      {"trace", ""},
      {"page", ""},
      {"norms", ""},
      {"alerts", ""}};
  /// Domains of its own fields.
  void check() const;
};
/// Short forms of keys.
const std::vector<config::Short>& short_forms();

/// Settings from a YAML text, then `key.sub=value` items in order. `name`: the text's name in errors. Values are not
/// checked yet. Throws ConfigError: broken YAML (with its line), unknown key (with the nearest one), wrong type, a
/// setting given by two names.
Settings parse_settings(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides = {});
/// The same from a file, or from defaults if `path` is empty; an empty `out` becomes runs/<stem of the file, or of the
/// text>.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides = {});
/// The same with absolute paths, so that a later command may run from any folder.
Settings with_absolute_paths(Settings);
/// YAML that parse_settings reads back to the same value.
std::string to_yaml(const Settings&);
/// The settings that all ranks of a job must share, as lines of Config::build; paths, threads and the like may differ.
std::string shared_settings(Settings);
/// Help text: settings with their defaults and meanings. `which`: empty for all, a group ("model"), a type
/// ("model.gpt2") or one key; throws ConfigError for others.
std::string settings_help(const std::string& which = {});
/// The settings of a model in a folder of Hugging Face's: its own, and `overrides` over them. Without a tokenizer in it
/// texts are ids.
Settings settings_of_pretrained(const std::string& folder, const std::vector<std::string>& overrides);
/// Checks that every setting that has a domain lies in it. Throws ConfigError naming the key, the value and the domain.
void check_settings(const Settings&);
/// The same where no text is read and none trained on.
void check_settings_without_data(const Settings&);
/// The tokens of the model. Throws ConfigError if the tokenizer has more.
std::int64_t vocabulary_of(const Settings&, const text::Tokenizer&);
/// Checks that the folder of init_from, if it will be read, holds the model. Throws as models::check_pretrained.
void check_init_from(const Settings&, const text::Tokenizer&, Resume);
/// Checks the further needs of a job of `ranks` processes: mesh and layout that fit, a text with enough bytes, a folder
/// that can be written or made. Throws ConfigError. Needs no other rank and changes nothing: a launcher calls it before
/// it starts any.
void check_job(const Settings&, int ranks);
/// Whether the data are pairs of answers, of which one is preferred.
bool has_pairs(const Settings&);
/// Throws ConfigError if the rows have inputs for an encoder and the model has none, or the other way round.
void check_rows(const Settings&);
/// The same, and if a decoder's rows begin with another token than the model's.
void check_rows(const Settings&, const text::Tokenizer&);
/// Checks that need the model's own parameters: throws ConfigError for patterns of freeze, lora.layers and
/// optimizer.decay that match no parameter, and for a token that the vocabulary lacks. Nothing is initialised or
/// computed.
void check_model(const Settings&, const text::Tokenizer&, const MeshShape&);

/// Whether Bora wrote this text of a config.yaml.
bool is_written_config(const std::string& text);
/// Throws ConfigError if there is a config.yaml that Bora did not write: it lacks Bora's first line.
void check_run_folder(const std::string& path);
/// Writes PATH/config.yaml. Another one that was there stays as config.<n>.yaml. Returns messages: a line for each
/// setting that has changed, and the place of the old ones. Rank 0 calls it. IoError.
std::vector<std::string> write_config(const std::string& path, const Settings&);

/// The rows that the settings describe. A command opens the settings' tokenizer once and gives it to all who need it.
data::Datasets open_data(const Settings&, const std::shared_ptr<const text::Tokenizer>&, const Mesh&);
/// The files and folders that the data are made from, as the settings name them.
std::vector<std::string> data_paths(const Settings&);
/// The path of the tokenizer, a file or a folder; empty if it has none.
std::string tokenizer_path(const Settings&);
/// The settings with the tokenizer at another path; the same if it has none.
Settings with_tokenizer_path(Settings, const std::string& path);
/// Copies the tokenizer's file into the folder `to`, as text::copy_tokenizer does.
void copy_tokenizer(const Settings&, const std::string& to);
}  // namespace bora::job
