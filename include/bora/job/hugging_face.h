// hugging_face.h -- runs from folders of Hugging Face's, and into them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/job/forward.h"

namespace bora::job {
struct TrainedRun;
struct ExportOptions {                       // of export_run
  std::string to = {};                       // the folder to write, which is made or empty
  std::string format = "hf";                 // hf: a model that transformers loads; peft: the adapters alone
  std::string dtype = {};                    // of all tensors, f32 or bf16; empty: that of the run's parameters
  std::int64_t shard_bytes = 5'000'000'000;  // most bytes of tensors in a file; 0: one file
  std::string weights = {};    // int8, int4, int4:128: of linear layers, in compressed-tensors' layout; empty: numbers
};
/// Writes the newest checkpoint of a run, on the job's mesh. After a failure nothing is left in the folder. Returns 0.
/// Throws ConfigError, before the job begins, for what the files cannot hold and for a folder that is not empty;
/// IoError, CheckpointError.
int export_run(const TrainedRun&, const ExportOptions&);
/// Makes a run of a folder: its settings, a checkpoint at step 0 and the tokenizer's files. `settings`: key=value, for
/// training. tokens: special ones that its tokenizer.json gets, behind all others; rows of the model for them that the
/// folder lacks are the mean of the others. Returns 0. Throws ConfigError if the run has a checkpoint already, as
/// text::with_tokens, and as models::load_pretrained.
int import_run(const std::string& from, const std::string& run, const std::vector<std::string>& settings,
               const std::vector<std::string>& tokens = {});
}  // namespace bora::job
