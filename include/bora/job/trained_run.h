// trained_run.h -- a model that was trained: the settings of its run on this job, and its checkpoints; or a folder of
// Hugging Face's in place of the run's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "bora/job/forward.h"

namespace bora {
class Trainable;
enum class Resume : std::uint8_t;
namespace models {
class Generator;
}  // namespace models
namespace tree {
struct Node;
}  // namespace tree
}  // namespace bora
namespace bora::job {
/// A run that was trained, and which of its checkpoints is read; or a folder of Hugging Face's.
struct TrainedRun {
  std::string run = {};                    // its folder
  std::vector<std::string> settings = {};  // key=value, over the run's own
  std::string resume = {};                 // latest, good, best; empty: latest
  std::string weights = {};                // f32, bf16, int8, int4, int4:128, files: as they are in a folder of Hugging
                                           // Face's; empty: as the settings say
  std::string cache = {};                  // int8: keys and values; empty: as the settings say
  bool ema = false;                        // the mean of the parameters (optimizer.ema) in place of them
};
inline constexpr const char* kWeightsOfFiles = "files";  // TrainedRun::weights: as they are in the folder
/// The meaning of a word for --resume; an empty one is latest.
Resume resume_of(const std::string& word);
/// The folder in a run's where an import keeps the files of a tokenizer, config.json among them.
std::string companions_of(const std::string& run);
/// Whether the words name a folder of Hugging Face's and no run's.
bool is_pretrained(const TrainedRun&);
/// The settings of the run for a job on this number of ranks, whatever the run's own number was: checked, paths
/// absolute. `command`: in errors. Throws ConfigError, also for a folder that is not a run's, and IoError.
Settings settings_on_job(const TrainedRun&, std::string_view command);
/// The same for a job that generates: whatever the run was trained in, its model is read into layout tp, unless the
/// words say another one; `mesh=data=N` has N replicas. Throws ConfigError for fsdp too, which gathers all parameters
/// for each token.
Settings settings_to_generate(const TrainedRun&, std::string_view command);
/// Throws as load_pretrained would for names and sizes in a folder of Hugging Face's, before any memory is taken for
/// what its config.json says. Nothing, if the words name a run.
void check_folder_of(const TrainedRun&, const Settings&, const text::Tokenizer&);
/// The newest checkpoint of a run. Throws ConfigError if there is none.
std::string checkpoint_of_run(const std::string& run);
/// The folder of the checkpoint to read; rank 0 looks, so that all agree. Throws CheckpointError if it is damaged,
/// which names an older whole one, or if there is none. A folder of Hugging Face's is its own.
std::string find_checkpoint(const TrainedRun&, const Mesh&);
/// Fills the parameters, which generator_of or scorer_of has made, from the folder that find_checkpoint has found: with
/// lora, those of the base plus the products of the adapters. Throws as it does, and if the checkpoint belongs to
/// another base.
void read_parameters(tree::Node parameters, const std::string& folder, const Settings&, const TrainedRun&, const Mesh&);
void read_parameters(models::Generator&, const std::string& folder, const Settings&, const TrainedRun&, const Mesh&);
/// Fills the parameters of a model in training from that folder, and its base, which is made again as the run's was:
/// what adapters stand beside, or the reference that a loss measures beside. Of a folder of Hugging Face's, both are
/// its model. Throws as read_parameters.
void read_with_base(Trainable&, const std::string& folder, const Settings&, const TrainedRun&, const Mesh&);
/// Ends a command whose result is NaN or infinite: throws ValueError, `result` and the first parameter that has such a
/// number, or, where none has, that the computation overflows. On a mesh every rank calls it.
[[noreturn]] void fail_not_finite(const std::string& result, tree::Node parameters, const Settings&);
[[noreturn]] void fail_not_finite(const std::string& result, models::Generator&, const Settings&);
}  // namespace bora::job
