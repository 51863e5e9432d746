// job.h -- this process as a rank of the job that its environment describes.
#pragma once
#include <functional>
#include "app/forward.h"
#include "bora/transport/transport.h"

namespace bora::app {
struct Job {
  const Settings& settings;
  const text::Tokenizer& tokenizer;
  std::string purpose;                            // must be the same on all ranks
  std::vector<transport::Option> transport = {};  // flags, over the settings
};
/// Joins the job and calls f on its mesh, inside the layout's mapping; the other ranks stop waiting for a rank whose f
/// throws.
int on_mesh(const Job&, const std::function<int(const Mesh&)>& f);
/// Axes for Mesh. Throws ConfigError if they do not fit the job, or leave a rank without a part of a split dimension.
std::vector<MeshAxis> mesh_axes(const Settings&, const text::Tokenizer&, int ranks, std::string_view purpose = "train");
/// The stages and microbatches of a pipeline, with its bubble, as a line of a plan; empty: the mesh has no stages.
std::string stages_text(const Settings&, const MeshShape&);
/// The transport's options that the settings give, over the environment's.
std::vector<transport::Option> options_in(const Settings&);
/// Threads of this rank: the setting, or its share of the cores.
void set_threads(const Settings&, int ranks_here);
}  // namespace bora::app
