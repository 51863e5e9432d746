// settings.h -- the groups of settings that the training loop reads. The command's Settings hold them beside the
// choices of model, data and optimizer; a program of its own fills in LoopSettings (loop.h).
#pragma once
#include "bora/array/mesh.h"
#include "bora/config/config.h"

namespace bora {
/// Ways to spread a model over a mesh of axes data and model.
struct Layout {
  bool fsdp = false;  // parameters and optimizer state split over data
  bool tp = false;    // heads, hidden units and vocabulary split over model
};
/// "fsdp+tp" -> {true, true}; dp is neither. Throws ConfigError listing the layouts.
Layout parse_layout(const std::string&);
/// The mesh with axes data and model, in this order, for `ranks` ranks. Axes not named have size 1; with an empty
/// `mesh` the layout decides. Throws ConfigError: unknown axis, sizes that do not multiply to `ranks`, an axis larger
/// than 1 that the layout does not use.
MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks);
/// The number of ranks that a mesh names in full, such as data=2,model=2; 1 if it leaves a size open.
std::int64_t ranks_of_mesh(const std::string& mesh);

namespace training {
struct PrecisionSettings {
  std::string policy = "f32";
  static constexpr std::string_view named = "policy";
  static constexpr config::Meaning meanings[] = {
      {"policy", "dtypes: f32, or p=f32,c=bf16,o=f32 for parameters, computation and outputs"}};
  void check() const;
};
struct MeshSettings {
  std::string axes = {}, layout = "fsdp";
  std::int64_t threads = 0;
  static constexpr std::string_view named = "axes";
  static constexpr config::Meaning meanings[] = {
      {"axes", "data=2,model=1; -1: what is left; empty: from the layout"},
      {"layout", "how the model is spread over the ranks: dp, fsdp, tp, fsdp+tp"},
      {"threads", "of each rank; 0: this rank's share of the cores"}};
  void check() const;
};
struct CheckpointSettings {
  std::int64_t every = 0, keep = 2;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {{"every", "steps; 0: only at the end"},
                                                 {"keep", "newest checkpoints that stay"}};
  void check() const;
};
struct EvalSettings {
  std::int64_t every = 0, rows = 1024;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {
      {"every", "steps; 0: only before the first and after the last"},
      {"rows", "held-out rows in an evaluation; 0: all; before a new run at most 4 batches"}};
  void check() const;
};
struct LogSettings {
  std::int64_t every = 10;
  bool digest = true;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {{"every", "steps between lines where there is no terminal"},
                                                 {"digest", "print the digest of the initial parameters"}};
  void check() const;
};
struct TraceSettings {
  std::string path = {};
  std::int64_t steps = 5;
  static constexpr std::string_view named = "path";
  static constexpr config::Meaning meanings[] = {{"path", "a file: some steps of all ranks in Chrome's trace format"},
                                                 {"steps", "how many, after the first two"}};
  void check() const;
};
}  // namespace training
}  // namespace bora
