// settings.h -- the groups of settings that the training loop reads. The command's Settings hold them beside the
// choices of model, data and optimizer; a program of its own fills in LoopSettings (loop.h).
#pragma once
#include <span>
#include <utility>
#include "bora/array/mesh_sizes.h"
#include "bora/base/wire.h"
#include "bora/config/config.h"
#include "bora/config/duration.h"

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
/// Another batch from a step on.
struct BatchAt {
  std::int64_t step = 0, batch = 8;
  static constexpr config::Meaning meanings[] = {{"step", "updates made before the batch is this one"},
                                                 {"batch", "rows in a step, over all ranks"}};
  bool operator==(const BatchAt&) const = default;
};
struct LossScaleSettings {  // the group precision.loss_scale
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
struct PrecisionSettings {  // the group precision
  std::string policy = "f32";
  LossScaleSettings loss_scale = {};
  std::string weights = {}, cache = {};
  static constexpr std::string_view named = "policy";
  static constexpr config::Meaning meanings[] = {
      {"policy", "dtypes: f32, or p=f32,c=bf16,o=f32 for parameters, computation and outputs"},
      {"loss_scale", ""},
      {"weights", "of generate, eval, score, serve: int8, int4, int4:128; empty: numbers in the policy's dtype"},
      {"cache", "of generate and serve, keys and values: int8; empty: in the dtype of the computation"}};
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
/// Checkpoints that stay because of a number that was measured at their step.
struct KeepBestSettings {
  enum class Mode : std::uint8_t { min, max };
  std::string metric = "eval/loss";
  Mode mode = Mode::min;
  std::int64_t n = 0;
  static constexpr std::string_view named = "n";
  static constexpr config::Meaning meanings[] = {
      {"metric", "a number of an evaluation: eval/loss, eval/macro_loss, eval/SET/loss"},
      {"mode", "which are the best: min, the smallest; max, the largest"},
      {"n", "how many of them stay, saved for it where no save is due; true: 1; 0: none"}};
  void check() const;
  static const config::Forms forms;
};
/// The checkpoints that stay: the union of what its fields say.
struct KeepSettings {
  std::int64_t last = 2, every = 0;
  double hours = 0;
  KeepBestSettings best = {};
  static constexpr std::string_view named = "last";
  static constexpr config::Meaning meanings[] = {
      {"last", "newest checkpoints that stay, at least 2"},
      {"every", "the first one at or after each multiple of so many steps stays too; 0: none"},
      {"hours", "and one whenever so many hours have gone by; 0: none"},
      {"best", ""}};
  void check() const;
  static const config::Forms forms;
};
enum class Switch : std::uint8_t { automatic, on, off };  // automatic: as the program finds right
struct SwitchWord {                                       // as settings write it
  std::string_view word;
  Switch value;
};
/// auto, on, off
std::span<const SwitchWord> words_of(Switch);
struct CheckpointSettings {  // the group checkpoint
  enum class OnFailure : std::uint8_t { go_on, stop };
  struct Word {
    std::string_view word;
    OnFailure value;
  };
  friend std::span<const Word> words_of(OnFailure);
  std::int64_t every = 0;
  double minutes = 10;
  KeepSettings keep = {};
  bool best = false;
  Switch async = Switch::automatic;
  OnFailure on_failure = OnFailure::go_on;
  config::Duration max_age{7200}, wait{300};
  std::string local = {};
  Switch at_once = Switch::automatic;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {
      {"every", "steps; 0: none by their number"},
      {"minutes", "since the last one; 0: none by time"},
      {"keep", ""},
      {"best", "keep that of the lowest validation loss too, in OUT/best"},
      {"async", "write beside the steps, with memory for a second state: auto (where it is there, and a rank writes "
                "16 MiB or more), on, off"},
      {"on_failure", "of a save: continue with a warning, or stop the run"},
      {"max_age", "a failed save ends the run if no checkpoint is younger: 90, 90s, 5m, 2h"},
      {"wait", "for room on a full disk, after the last step or at a stop: 5m"},
      {"local", "a folder of this run on each host's own disk, in place of OUT: for its ranks' blocks and a copy of "
                "another host's"},
      {"at_once", "a stop does not wait for the running step, whose state before is kept meanwhile: on, off, or auto: "
                  "where steps take more than 10 s and there is memory for it"}};
  void check() const;
  /// Whether checkpoints are written beside the steps where there is memory: a rank writes so many bytes of one.
  bool beside(std::int64_t bytes) const;
  /// The folder below which checkpoints are, of a run with this `out`.
  const std::string& below(const std::string& out) const { return local.empty() ? out : local; }
  /// How many are on disk at most, with the one that is being written, and words for what adds to them by time.
  std::pair<std::int64_t, std::string> most(std::int64_t steps) const;
  /// The setting that needs evaluations; empty if none does.
  std::string_view needs_evaluations() const;
};
struct EvalSettings {  // the group eval
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
struct LogSettings {  // the group log
  std::int64_t every = 10;
  bool digest = true;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {{"every", "steps between lines where there is no terminal"},
                                                 {"digest", "print the digest of the initial parameters"}};
  void check() const;
};
/// The page of a run, which a server shows while it goes on (LoopSettings::serve_page).
struct PageSettings {
  std::string address = "off", token_file = {};
  static constexpr std::string_view named = "address";
  static constexpr config::Meaning meanings[] = {
      {"address", "charts of the run in a browser: off; on: any free port of rank 0's machine, for itself; HOST:PORT"},
      {"token_file", "a file of mode 0600 with the page's token, wanted where others reach the address; empty: a new "
                     "one, which is printed"}};
  struct Place {
    std::string host;
    int port = 0;  // 0: any
    bool loopback = true;
  };
  bool on() const { return address != "off"; }
  /// Where it listens. Throws ConfigError.
  Place place() const;
  void check() const;
};
struct TraceSettings {  // the group trace
  std::string path = {};
  std::int64_t steps = 5;
  static constexpr std::string_view named = "path";
  static constexpr config::Meaning meanings[] = {{"path", "a file: some steps of all ranks in Chrome's trace format"},
                                                 {"steps", "how many, after the first two"}};
  void check() const;
};
struct NormSettings {  // the group norms
  std::int64_t every = 0;
  static constexpr std::string_view named = "every";
  static constexpr config::Meaning meanings[] = {{"every", "steps between norms of each leaf; 0: none"}};
  void check() const;
};
struct AlertSettings {  // the group alerts
  std::string command = {};
  static constexpr std::string_view named = "command";
  static constexpr config::Meaning meanings[] = {{"command", "of a shell, which is run beside it for each alert"}};
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
