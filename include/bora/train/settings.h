// settings.h -- everything a person sets for a run, as one typed aggregate. YAML, command line and OUT/config.yaml follow from its
// fields by reflection: a new setting is one line here and, where it has a domain, one line in check_settings.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/array/rules.h"

namespace bora {
struct ModelSettings {
  std::int64_t layers = 4, embed = 128, heads = 4, positions = 128;
  double dropout = 0;
  std::string checkpoint =
      "nothing";  // what a block saves for its backward pass: nothing, dots, dots_no_batch, everything
};
struct OptimizerSettings {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;  // of all but biases and norms (paths that end with bias or contain ln_)
  double clip = 1;            // global gradient norm; 0: not clipped
  double final_lr = 0.1;      // the cosine ends at final_lr * lr
};
struct Settings {
  std::int64_t seed = 0;
  std::int64_t steps = 1000;    // 0: initialise, plan, digest and end
  std::int64_t warmup = 100;    // steps, whatever `steps` is
  std::int64_t batch = 8;       // global number of rows
  std::int64_t accumulate = 1;  // parts the batch is cut into, one after the other
  double lr = 1e-3;
  std::string policy = "f32";         // f32, or p=f32,c=bf16,o=f32
  std::string data = {};              // a text file, or a folder of text files
  double hold_out = 0.05;             // fraction of the text kept for evaluation
  std::string out = {};               // empty: runs/<name of the configuration file>
  std::string mesh = {};              // data=2,model=1; -1: what is left. empty: from the layout
  std::string layout = "fsdp";        // dp, fsdp, tp, fsdp+tp
  std::int64_t threads = 0;           // of each rank; 0: this rank's share of the cores
  std::int64_t checkpoint_every = 0;  // steps; 0: only at the end
  std::int64_t keep = 2;              // newest checkpoints that stay
  std::int64_t eval_every = 0;        // steps; 0: only before the first and after the last
  std::int64_t eval_rows = 1024;      // windows of held-out text in an evaluation; 0: all; before a new run at most 4 batches
  std::int64_t log_every = 10;        // steps between lines where there is no terminal
  bool digest = true;                 // print the digest of the initial parameters
  std::string trace = {};             // a file: some steps of all ranks in Chrome's trace format
  std::int64_t trace_steps = 5;       // how many, after the first two
  double join_timeout = 120;          // seconds until a rank that has not arrived is an error
  ModelSettings model = {};
  OptimizerSettings optimizer = {};
};

/// Ways to spread a model over a mesh of axes data and model.
struct Layout {
  bool fsdp = false;  // parameters and optimizer state split over data
  bool tp = false;    // heads, hidden units and vocabulary split over model
};

/// Settings from a YAML text, then `key.sub=value` items in order. `name` is how errors call the file. Values are not checked yet.
/// Throws ConfigError: broken YAML (with its line), unknown key (with the nearest one), wrong type.
Settings parse_settings(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides = {});
/// The same from a file; an empty `out` becomes runs/<stem of the file>.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides = {});
/// YAML that parse_settings reads back to the same value.
std::string to_yaml(const Settings&);
/// Every setting that has a domain lies in it. Throws ConfigError naming the key, the value and the domain.
void check_settings(const Settings&);
/// What a job of `ranks` processes needs besides: mesh and layout that fit, a text with enough bytes, a folder that can
/// be written or made. Throws ConfigError. Needs no other rank and changes nothing: a launcher calls it before it
/// starts any.
void check_job(const Settings&, int ranks);
/// What a run writes must not lie in the folder of its text: the text would be another one when the run continues.
/// Throws ConfigError beginning with `what`.
void check_outside_text(const Settings&, std::string_view what, const std::string& folder);

/// "fsdp+tp" -> {true, true}; dp is neither. Throws ConfigError naming the layouts there are.
Layout parse_layout(const std::string&);
/// The mesh with axes data and model, in this order, for so many ranks. Axes not named have size 1; with an empty `mesh` the layout
/// decides. Throws ConfigError: unknown axis, sizes that do not multiply to `ranks`, an axis larger than 1 the layout does not use.
MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks);
}  // namespace bora
