// loop.h -- the run around training steps: batches, checkpoints, evaluations, reports, and hooks of a user's program.
#pragma once
#include <functional>
#include <span>
#include "bora/data/data.h"
#include "bora/track/page.h"
#include "bora/track/tracker.h"
#include "bora/train/deadline.h"
#include "bora/train/placement.h"
#include "bora/train/settings.h"
#include "bora/tree/node.h"

namespace bora {
class Mesh;
class Trainable;
struct GlobalBatch;
namespace io {
struct Place;
}  // namespace io
namespace training {
class Membership;
class MemoryCheckpoint;
class StatusBoard;
}  // namespace training
/// The numbers of a step. Loss, norm and rate are the same on all ranks; the times are this rank's.
struct StepReport {
  std::int64_t step = 0;  // updates made
  double loss = 0, gradient_norm = 0, learning_rate = 0, seconds = 0, tokens_per_second = 0;
  double data_wait = 0;                             // seconds that this rank waited for its rows
  double filled = 0;                                // share of the positions that are no padding
  std::vector<std::int64_t> tokens_by_source = {};  // positions that are no padding
  bool skipped = false;                             // the gradient was not finite, and the parameters stayed
  track::Values optimizer = {};                     // numbers of its state (optim::metric_of): loss_scale, ..
  track::Values meeting = {};                       // of replicas, if the step ended with one (Trainable::meeting)
};
/// The run as a hook sees it, and what a hook may ask for. All ranks must ask for the same after the same step.
class RunView {
 public:
  virtual ~RunView() = default;
  /// The TrainState after this step, to be read only: tree::slots() names its leaves ("params.out", "step"). On a mesh
  /// they are split: to_vector() gathers a leaf, so all ranks must call it; local_block() is this rank's part. An Array
  /// that a hook keeps costs the next step a copy.
  virtual tree::Node state() const = 0;
  virtual void save() = 0;  // a checkpoint of this step, after all hooks
  virtual void stop() = 0;  // after this step, as if all steps were done
};
/// A user's part of the loop, called on every rank after every step. What happens after a step, in this order: its
/// numbers go to the trackers and the terminal, a trace that ends here is written, the hooks of LoopSettings run in
/// their order, then an evaluation if one is due, then a checkpoint if one is due or was asked for. The last step has
/// neither of these two: the end of the run writes a checkpoint, evaluates, and draws the plot and the page. An
/// exception of a hook ends the run, on all ranks, without any of this.
using Hook = std::function<void(const StepReport&, RunView&)>;
/// How a run goes, beside its model, its data and its mesh.
struct LoopSettings {
  std::int64_t seed = 0, steps = 1000, batch = 8;  // of random draws; updates in all; rows of a step
  std::vector<training::BatchAt> batch_at = {};    // other rows of a step from given ones on, which ascend
  std::string out = {};                            // folder of the run
  std::string layout = {}, policy = {};            // as reports name them
  LayoutMappings rules = {};             // of whose silent effects the run warns, such as those of placement_rules()
  training::CheckpointSettings checkpoint = {};  // when they are written, which stay
  training::EvalSettings eval = {};              // when, and over how many rows
  training::LogSettings log = {};                // what is printed
  training::TraceSettings trace = {};            // which steps are traced
  training::PageSettings page = {};              // where a browser finds the run
  training::NormSettings norms = {};             // when norms of leaves are reported
  training::AlertSettings alerts = {};           // what happens at an alert
  std::string settings = {};                     // all settings as YAML: a note in each checkpoint
  /// Writes the settings into a folder, on rank 0; returns lines to print.
  std::function<std::vector<std::string>(const std::string& folder)> write_settings = {};
  /// Changes the parameters of a new run before its first step, on every rank; returns lines to print.
  std::function<std::vector<std::string>(tree::Node parameters)> initial = {};
  std::vector<config::Choice<track::TrackerKind>> trackers = {track::TrackerKind::initial};  // of the run's numbers
  std::vector<Hook> hooks = {};                                                              // of every rank
  Resume resume = Resume::latest;  // which checkpoint a run continues
  /// The length in bytes of the text of tokens, for bits per byte; empty: these are not reported.
  std::function<std::int64_t(std::span<const std::int32_t>)> text_bytes = {};
  track::ServePage serve_page = {};  // of the program: serves the page where it is wanted
  /// Where others read how the run goes (status.h); on the first rank.
  std::shared_ptr<training::StatusBoard> board = {};
  double quiet_s = 60;                           // seconds at one place before a line on stderr names it
  training::Deadline deadline = {};              // before it the run stops in order
  training::Membership* membership = nullptr;    // of an elastic job
  training::MemoryCheckpoint* memory = nullptr;  // holds snapshots, from which an elastic job continues after a loss
  std::int64_t snapshot_every = 0;               // steps between snapshots; 0: none
  std::string reference = {};                    // the digest of the model that the data's values are of, if they are
};
/// Rank 0 prints and writes the run's files; every rank calls it, inside UseMesh and UseMapping(compute mapping).
/// Continues a checkpoint in OUT/checkpoints. Throws IoError, with the state saved in another folder, if the run's own
/// is moved or removed meanwhile. Returns 0, or 130 if it stopped because a rank was asked to; with a membership also
/// kNextGeneration or kDrained (membership.h). Throws the errors of settings, text and checkpoint, and ValueError if
/// the loss is not finite.
int run_training(Trainable&, const data::Datasets&, const LoopSettings&, const Mesh&);
/// Mean loss per token over held-out rows (all ranks).
double evaluate(Trainable&, const data::Datasets&, const LoopSettings&, const Mesh&);
/// The same as "eval/loss", with more numbers by name: bits per byte, and where sets have tags those of each set and
/// tag: the loss per token of all ("micro", which eval/loss is too) and the mean of the sets' losses ("macro").
track::Values evaluation(Trainable&, const data::Datasets&, const LoopSettings&, const Mesh&);

io::Place place_of(const Mesh&);  // for reading and writing checkpoints
/// Digest of the parameters (all ranks).
std::string parameter_digest(tree::Node parameters, const Mesh&);
/// A step's needs, as text: bytes of each rank by kind, rows, collectives, and the predicted peak of memory. All ranks.
std::string plan_text(Trainable&, const GlobalBatch&, const LoopSettings&, const Mesh&,
                      const std::function<std::int64_t()>& process_bytes);
/// What a rank tells the others with its batch, and the sums over the ranks that a step returns.
struct StepNotes {
  float stop = 0;                 // it asks to end the run after this step
  float save = 0;                 // it asks for a checkpoint of this step
  float written = 0, failed = 0;  // its part of the checkpoint that is written beside the steps is done, or cannot be
};
/// This rank's rows of a batch of `batch` rows as part of the global one, and its notes.
GlobalBatch make_batch(const data::Rows&, std::int64_t batch, const Mesh&, const StepNotes& = {});
// What Trainable::step returned.
struct StepResult {
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  StepNotes notes = {};                   // summed over the ranks
  double filled = 0;                      // positions that are no padding
  std::vector<std::int64_t> by_source = {};  // the same of each source
};
StepResult step_result(const Array& numbers);
/// Rows of a global batch that this rank reads: those of its place along the mesh axes that split the batch.
BlockRange rows_of_rank(std::int64_t batch, const Mesh&);
}  // namespace bora
