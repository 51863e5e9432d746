// commands.h -- the commands of `bora`; each returns the exit code.
#pragma once
#include "arguments.h"
#include "bora/train/trainer.h"
#include "settings.h"

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
/// The same for a job on this number of ranks, whatever the run's own number was: checked, paths absolute. `command`:
/// in errors.
Settings settings_on_job(const std::string& run, const std::vector<std::string>& overrides, std::string_view command);
/// The newest checkpoint of a run. Throws ConfigError if there is none.
std::string checkpoint_of_run(const std::string& run);
/// Joins the job that the environment describes and calls f on its mesh, inside the layout's mapping; the other ranks
/// stop waiting for a rank whose f throws. `purpose`: must be the same on all ranks.
int on_mesh(const Arguments&, const Settings&, const std::string& purpose, const std::function<int(const Mesh&)>& f);
/// Axes for Mesh. Throws ConfigError if they do not fit the job, or leave a rank without a part of a split dimension.
std::vector<MeshAxis> mesh_axes(const Settings&, int ranks);
/// Threads of this rank: the setting, or its share of the cores.
void set_threads(const Settings&, int ranks_here);
}  // namespace bora::app
