// settings.h -- all settings of a run, as one typed aggregate. YAML, command line and OUT/config.yaml follow from its
// fields by reflection: a new setting is a field and its meaning here and, where it has a domain, one line in
// check_settings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/rules.h"

namespace bora {
/// A field's description in `bora help`. Each group describes its own fields, in their order.
struct Meaning {
  std::string_view field, words;
};
struct ModelSettings {
  std::int64_t layers = 4, embed = 128, heads = 4, positions = 128;
  double dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block; embed is cut into as many equal parts"},
      {"positions", "bytes that the model sees at once"},
      {"dropout", "fraction of activations dropped in training"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything"}};
};
struct OptimizerSettings {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1, clip = 1, final_lr = 0.1;
  static constexpr Meaning meanings[] = {
      {"beta1", "AdamW: decay of the mean of gradients"},
      {"beta2", "AdamW: decay of the mean of their squares"},
      {"eps", "AdamW: added to the root of that mean"},
      {"weight_decay", "AdamW: of all parameters whose layers do not exempt them, as they do biases and norms"},
      {"clip", "largest global norm of the gradient; 0: not clipped"},
      {"final_lr", "the cosine ends at final_lr * lr"}};
};
struct Settings {
  std::int64_t seed = 0, steps = 1000, warmup = 100, batch = 8, accumulate = 1;
  double lr = 1e-3;
  std::string policy = "f32";
  std::string data = {};
  double hold_out = 0.05;
  std::string out = {};
  std::string mesh = {}, layout = "fsdp";
  std::int64_t threads = 0;
  std::int64_t checkpoint_every = 0, keep = 2;
  std::int64_t eval_every = 0, eval_rows = 1024;
  std::int64_t log_every = 10;
  bool digest = true;
  std::string trace = {};
  std::int64_t trace_steps = 5;
  double join_timeout = 120;
  ModelSettings model = {};
  OptimizerSettings optimizer = {};
  static constexpr Meaning meanings[] = {
      {"seed", "of every random draw"},
      {"steps", "updates of the whole run; 0: initialise, plan, digest and end"},
      {"warmup", "steps until lr is reached, whatever `steps` is"},
      {"batch", "rows in a step, over all ranks"},
      {"accumulate", "parts the batch is cut into, one after the other"},
      {"lr", "largest learning rate"},
      {"policy", "dtypes: f32, or p=f32,c=bf16,o=f32 for parameters, computation and outputs"},
      {"data", "a text file, or a folder of text files; must be given"},
      {"hold_out", "fraction of the text kept for evaluation"},
      {"out", "folder of the run; empty: runs/NAME of the configuration file, without one of the text"},
      {"mesh", "data=2,model=1; -1: what is left; empty: from the layout"},
      {"layout", "how the model is spread over the ranks: dp, fsdp, tp, fsdp+tp"},
      {"threads", "of each rank; 0: this rank's share of the cores"},
      {"checkpoint_every", "steps; 0: only at the end"},
      {"keep", "newest checkpoints that stay"},
      {"eval_every", "steps; 0: only before the first and after the last"},
      {"eval_rows", "windows of held-out text in an evaluation; 0: all; before a new run at most 4 batches"},
      {"log_every", "steps between lines where there is no terminal"},
      {"digest", "print the digest of the initial parameters"},
      {"trace", "a file: some steps of all ranks in Chrome's trace format"},
      {"trace_steps", "how many, after the first two"},
      {"join_timeout", "seconds until a rank that has not arrived is an error"},
      {"model", ""},
      {"optimizer", ""}};
};

/// Ways to spread a model over a mesh of axes data and model.
struct Layout {
  bool fsdp = false;  // parameters and optimizer state split over data
  bool tp = false;    // heads, hidden units and vocabulary split over model
};

/// Settings from a YAML text, then `key.sub=value` items in order. `name`: the text's name in errors. Values are not
/// checked yet. Throws ConfigError: broken YAML (with its line), unknown key (with the nearest one), wrong type.
Settings parse_settings(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides = {});
/// The same from a file, or from defaults if `path` is empty; an empty `out` becomes runs/<stem of the file, or of the
/// text>.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides = {});
/// YAML that parse_settings reads back to the same value.
std::string to_yaml(const Settings&);
/// Help text: settings with their defaults and meanings. `which`: empty for all, a group ("model") or one key; throws
/// ConfigError for others.
std::string settings_help(const std::string& which = {});
/// Checks that every setting that has a domain lies in it. Throws ConfigError naming the key, the value and the domain.
void check_settings(const Settings&);
/// Checks the further needs of a job of `ranks` processes: mesh and layout that fit, a text with enough bytes, a folder
/// that can be written or made. Throws ConfigError. Needs no other rank and changes nothing: a launcher calls it before
/// it starts any.
void check_job(const Settings&, int ranks);
/// A run must not write into the folder of its text: the text would differ when the run continues. Throws ConfigError
/// beginning with `what`.
void check_outside_text(const Settings&, std::string_view what, const std::string& folder);

/// "fsdp+tp" -> {true, true}; dp is neither. Throws ConfigError listing the layouts.
Layout parse_layout(const std::string&);
/// The mesh with axes data and model, in this order, for `ranks` ranks. Axes not named have size 1; with an empty
/// `mesh` the layout decides. Throws ConfigError: unknown axis, sizes that do not multiply to `ranks`, an axis larger
/// than 1 that the layout does not use.
MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks);
}  // namespace bora
