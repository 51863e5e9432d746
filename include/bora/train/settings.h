// settings.h -- the groups of settings that the training loop reads. The command's Settings hold them beside the
// choices of model, data and optimizer; a program of its own fills in LoopSettings (loop.h).
#pragma once
#include <span>
#include "bora/array/mesh_sizes.h"
#include "bora/base/wire.h"
#include "bora/config/config.h"

namespace bora {
/// Ways to spread a model over a mesh of axes data, context and model.
struct Layout {
  bool fsdp = false;  // parameters and optimizer state split over data
  bool tp = false;    // heads, hidden units and vocabulary split over model
};
/// "fsdp+tp" -> {true, true}; dp is neither. Throws ConfigError listing the layouts.
Layout parse_layout(const std::string&);

/// The checkpoint that a run continues in a folder that has some. latest: the newest; if it is damaged, an error names
/// an older whole one. good: the newest whole one. none: no checkpoint; existing files get other names.
enum class Resume : std::uint8_t { latest, good, none };

namespace training {
struct Compression;
struct LossScaleSettings {
  std::string type = "none";
  double initial = 32768, factor = 2, min = 1;
  std::int64_t period = 2000;
  static constexpr std::string_view named = "type";
  static constexpr config::Meaning meanings[] = {
      {"type", "none, dynamic, or a number; bf16 has the exponents of f32 and needs none"},
      {"initial", "dynamic: the first scale"},
      {"factor", "dynamic: of its growth, and of its fall where a gradient is not finite"},
      {"min", "dynamic: least scale; there a gradient that is not finite ends the run"},
      {"period", "dynamic: steps with finite gradients until it grows"}};
  bool dynamic() const;
  std::optional<double> fixed() const;  // a number
  void check() const;
};
struct PrecisionSettings {
  std::string policy = "f32";
  LossScaleSettings loss_scale = {};
  static constexpr std::string_view named = "policy";
  static constexpr config::Meaning meanings[] = {
      {"policy", "dtypes: f32, or p=f32,c=bf16,o=f32 for parameters, computation and outputs"}, {"loss_scale", ""}};
  void check() const;
};
/// Own rules in their order, each a logical axis and the mesh axes that split it: {"batch", "replica", "data"}. One
/// without mesh axes keeps its axis whole.
struct RuleSettings {
  std::vector<std::vector<std::string>> storage = {}, compute = {};
  static constexpr config::Meaning meanings[] = {
      {"storage", "of parameters and optimizer state: [[embed, data], [mlp, model]]; the first that applies wins"},
      {"compute", "of all arrays in a computation: [[batch, replica, data], [mlp, model]]"}};
  bool empty() const { return storage.empty() && compute.empty(); }
};
/// The dims or the rules, where they are given, stand in place of the layout.
struct MeshSettings {
  MeshSizes axes = {};
  MeshShares shares = {};
  std::string layout = "fsdp";
  std::optional<std::int64_t> activation_dims = {}, parameter_dims = {};
  RuleSettings rules = {};
  std::int32_t threads = 0, microbatches = 0;
  std::string schedule = "gpipe";
  static constexpr std::string_view named = "axes";
  static constexpr config::Meaning meanings[] = {
      {"axes", "data=2,model=1 or {data: 2, context: 2}; -1: what is left; empty: from the layout"},
      {"shares", "of unequal hosts: data=3:3:2:1, how much of it each rank has; auto: measured; empty: equal"},
      {"layout", "how the model is spread over the ranks: dp, fsdp, tp, fsdp+tp"},
      {"activation_dims", "instead of layout: dimensions of activations that are split, as in T5X: 0, 1, 2"},
      {"parameter_dims", "beside it: dimensions of parameters that are split, as in T5X: 0, 1, 2"},
      {"rules", ""},
      {"threads", "of each rank; 0: this rank's share of the cores"},
      {"microbatches", "equal parts of the rows that go through the stages of mesh axis stage; 0: up to 4 a stage"},
      {"schedule", "of the stages: gpipe, or 1f1b, whose memory does not grow with microbatches"}};
  bool has_dims() const { return activation_dims || parameter_dims; }
  bool has_layout() const { return !has_dims() && rules.empty(); }
  void check() const;
  static const config::Forms forms;
};
/// The form in which sums of gradients travel.
struct WireSettings {
  /// A codec of base/wire.h, or powersgd.
  enum class Gradients : std::uint8_t { f32, powersgd = 255 };
  struct Word {
    std::string_view word;
    Gradients value;
  };
  friend std::span<const Word> words_of(Gradients);
  Gradients gradients = Gradients::f32;
  std::optional<std::int64_t> block = {};
  bool error_feedback = false;
  std::optional<std::int64_t> rank = {};
  static constexpr std::string_view named = "gradients";
  static constexpr config::Meaning meanings[] = {
      {"gradients", "sums over replica and data travel as: f32, bf16, f16, int8, int4; the last two in blocks with a "
                    "scale; powersgd: as factors of matrices"},
      {"block", "of int8 and int4: numbers that share a scale, a multiple of 64 up to 4096; 64"},
      {"error_feedback", "each rank adds what rounding took from its gradient to its next one; powersgd always does"},
      {"rank", "of powersgd: columns of a factor; 4"}};
  bool low_rank() const { return gradients == Gradients::powersgd; }
  bool carries() const { return error_feedback || low_rank(); }  // from one step to the next
  Wire wire() const;
  Compression compression() const;
  void check() const;
};
struct CheckpointSettings {
  std::int64_t every = 0;
  double minutes = 10;
  std::int64_t keep = 2;
  bool best = false;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {{"every", "steps; 0: none by their number"},
                                                 {"minutes", "since the last one; 0: none by time"},
                                                 {"keep", "newest checkpoints that stay"},
                                                 {"best", "keep that of the lowest validation loss too, in OUT/best"}};
  void check() const;
};
struct EvalSettings {
  std::int64_t every = 0, rows = 1024, patience = 0;
  double min_delta = 0;
  std::string metric = "loss";
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {
      {"every", "steps; 0: only before the first and after the last"},
      {"rows", "held-out rows in an evaluation; 0: all; before a new run at most 4 batches"},
      {"patience", "evaluations in a row without a lower loss that end the run; 0: none do"},
      {"min_delta", "a loss is lower if it is so by more than this"},
      {"metric", "of an evaluation, that patience and checkpoint.best watch: loss, macro_loss, or SET/loss"}};
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
/// The mesh of these settings: axes replica and stage (if they are named), data, axes of mesh.rules in their order,
/// context (if named) and model. data and model have size 1 if they are not named; without any axes all ranks lie along
/// data, or along model with layout tp. Shares are those that are given; of `auto` none. Throws ConfigError: an unknown
/// axis, sizes that do not multiply to `ranks`, an axis larger than 1 that the layout does not use, shares of another
/// number of ranks.
MeshShape resolve_mesh(const training::MeshSettings&, int ranks);
}  // namespace bora
