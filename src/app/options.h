// options.h -- words and flags that several commands have, each declared once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/job/forward.h"

namespace bora {
namespace job {
struct ScoreFiles;
struct TrainedRun;
}  // namespace job
namespace transport {
struct Option;
}  // namespace transport
}  // namespace bora
namespace bora::app {
using namespace job;  // most of what commands do
class Flags;
/// [CONFIG.yaml] [key=value ...], --mesh, --layout, --threads, --out: the settings of a run that is to be.
struct ConfigWords {
  std::vector<std::string> words = {};     // as they were given, until they are settled
  std::string path = {};                   // configuration file; empty: none
  std::vector<std::string> settings = {};  // key=value, short forms included
  void declare(Flags&);
  /// CONFIG, then key=value items, or items alone. ConfigError.
  void settle();
  /// Not checked yet; paths are absolute.
  Settings load() const;
};
/// Whether a word is key=value and no file.
bool is_setting(const std::string& word);

/// RUN [key=value ...], --resume: a run that was trained, and which of its checkpoints is read; or a folder of Hugging
/// Face's.
void declare_run(Flags&, TrainedRun&);
/// --ema.
void declare_ema(Flags&, TrainedRun&);
/// --weights, of a command that computes with the model.
void declare_weights(Flags&, TrainedRun&);
/// --cache and --cache-bytes, of a command that generates.
void declare_cache(Flags&, TrainedRun&, std::int64_t& bytes);
/// declare_run, --ids, --decoder-ids and --mask.
void declare_files(Flags&, ScoreFiles&);

/// --resume, where the words are some of latest, good and none.
void declare_resume(Flags&, std::string& resume, const std::vector<std::string>& words, const std::string& help);
/// --resume of a run that may continue.
void declare_resume(Flags&, std::string& resume);
/// --insecure-private-network.
void declare_insecure(Flags&, std::vector<transport::Option>& given);
/// --ranks-per-host.
void declare_ranks_per_host(Flags&, std::int64_t& ranks_per_host);
/// --no-pipeline: see CompileOptions.
void declare_pipeline(Flags&, bool& pipeline);
}  // namespace bora::app
