// run.h -- a model that was trained: the settings of its run on this job, and its checkpoints; or a folder of Hugging
// Face's in place of the run's.
#pragma once
#include <string>
#include <string_view>
#include "app/forward.h"
#include "bora/tree/tree.h"

namespace bora::app {
struct RunWords;
/// Whether the words name a folder of Hugging Face's and no run's.
bool is_pretrained(const RunWords&);
/// The settings of the run for a job on this number of ranks, whatever the run's own number was: checked, paths
/// absolute. `command`: in errors. Throws ConfigError, also for a folder that is not a run's, and IoError.
Settings settings_on_job(const RunWords&, std::string_view command);
/// Throws as load_pretrained would for names and sizes in a folder of Hugging Face's, before any memory is taken for
/// what its config.json says. Nothing, if the words name a run.
void check_folder_of(const RunWords&, const Settings&, const text::Tokenizer&);
/// The newest checkpoint of a run. Throws ConfigError if there is none.
std::string checkpoint_of_run(const std::string& run);
/// The folder of the checkpoint to read; rank 0 looks, so that all agree. Throws CheckpointError if it is damaged,
/// which names an older whole one, or if there is none. A folder of Hugging Face's is its own.
std::string find_checkpoint(const RunWords&, const Mesh&);
/// Fills the parameters, which generator_of or scorer_of has made, from the folder that find_checkpoint has found: with
/// lora, those of the base plus the products of the adapters. Throws as it does, and if the checkpoint belongs to
/// another base.
void read_parameters(tree::Node parameters, const std::string& folder, const Settings&, const RunWords&, const Mesh&);
}  // namespace bora::app
