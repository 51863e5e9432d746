// commands.h -- the commands of `bora`; each returns the exit code.
#pragma once
#include "arguments.h"
#include "bora/train/trainer.h"

namespace bora::app {
int train(const Arguments&);
int launch_ranks(const Arguments&, const std::string& program);
int plan(const Arguments&);
int eval(const Arguments&);
int generate(const Arguments&);
int inspect(const Arguments&);
int doctor();
int comm(const Arguments&);
/// Settings of a run's folder. Throws ConfigError if it is not one.
Settings settings_of_run(const std::string& run, const std::vector<std::string>& overrides = {});
/// The newest checkpoint of a run. Throws ConfigError if there is none.
std::string checkpoint_of_run(const std::string& run);
/// Axes for Mesh. Throws ConfigError if they do not fit the job, or leave a rank without a part of a split dimension.
std::vector<MeshAxis> mesh_axes(const Settings&, int ranks);
/// Threads of this rank: the setting, or its share of the cores.
void set_threads(const Settings&, int ranks_here);
}  // namespace bora::app
