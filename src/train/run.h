// run.h -- a run of the training loop: what its parts share. loop.cpp makes the steps, prepare.cpp all that comes
// before them, hooks.h what happens around them.
#pragma once
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include "bora/io/stores.h"
#include "bora/tree/node.h"
#include "bora/shard/mesh.h"
#include "bora/train/loop.h"
#include "bora/train/membership.h"
#include "bora/train/progress.h"
#include "bora/train/trainable.h"
#include "shard/api/agree.h"
#include "track/api/run_log.h"
#include "train/api/run_folder.h"
#include "train/membership/watchdog.h"
#include "train/row_cursor.h"

namespace bora::track {
class LossPlot;
}
namespace bora::training {
class AtOnce;
using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
class Saves;
class Retention;
/// The lowest validation loss of a run; a checkpoint's note, so that a run that continues knows it.
struct Best {
  double loss = std::numeric_limits<double>::infinity();
  std::int64_t step = -1;  // of that loss
  std::int64_t since = 0;  // evaluations after it
  /// Takes a step's loss in. True: it is the lowest, by more than min_delta.
  bool see(double loss, std::int64_t step, double min_delta);
  std::string note() const;
  static Best of_note(const std::string&);
};
// Kubernetes, Slurm and pkill send SIGTERM to all processes of a job that they end, not quite at once.
constexpr std::chrono::seconds kSigtermForAll{2};
class Monitor;
struct Alert;
/// Whether all ranks leave this generation of an elastic job after this step, and whether this rank is in the next one.
enum class Leaving { none, for_next_generation, for_good };
struct Run final : RunView {
  Run(Trainable& m, const data::Datasets& d, const LoopSettings& s, const Mesh& on)
      : model(m), data(d), settings(s), mesh(on), out(s.out) {}
  tree::Node state() const override { return model.state(); }
  void save() override { wants_save = true; }
  void stop() override { wants_stop = true; }

  /// No step follows.
  bool last() const { return done == settings.steps || stopped || wants_stop; }
  /// Stopped from outside before its last step: the same command continues.
  bool interrupted() const { return stopped && done < settings.steps; }
  bool leaves() const { return leaving != Leaving::none; }
  /// True if this rank is to leave an elastic job for good, while the others go on.
  bool is_drained() const { return settings.membership && settings.membership->drained({}); }
  /// True if a stop must begin now, so that its checkpoint is written before the deadline. On the first rank.
  bool is_late() const { return std::chrono::system_clock::now().time_since_epoch() >= late_from.load(); }
  /// True if ranks of this elastic job have met before: a lost one may still hold the run's folder.
  bool met_before() const { return settings.membership && settings.membership->generation() > 0; }
  /// Below which checkpoints are: `out`, or a folder on each host's own disk.
  const std::string& kept() const { return settings.checkpoint.below(out); }
  bool keeps_local() const { return !settings.checkpoint.local.empty(); }
  std::string checkpoints() const { return kept() + "/checkpoints"; }
  std::string best_checkpoint() const { return kept() + "/best"; }
  /// This rank's place, with the folders that checkpoints are written into.
  io::Place place() const;
  /// A line on stdout, from rank 0; a bar is removed first.
  void say(const std::string& text);
  /// The same after "warning: "; nothing if there is no problem.
  void warn(const std::string& problem);
  /// Notes of a checkpoint or a snapshot: what a run that continues must know beside the state.
  Trainable::Notes notes() const;
  void take(const Trainable::Notes&);
  /// Throws RankLost if other ranks of the job have gone on without this one and have its folder.
  void check_folder() const;
  /// Numbers of this step, for all trackers.
  void record(const track::Values&);
  /// Says once that records wait for room on the disk, and once that they are written.
  void say_what_waits();
  /// Whether `base` is the digest of a reference model, held here or asked before the run.
  bool has_reference() const { return model.holds_reference() || !settings.reference.empty(); }
  /// Takes in numbers of this step that are not recorded again: `numbers` has them as well.
  void note_numbers(const track::Values&);
  /// Watches over the checkpoints in `out`, on the first rank.
  void watch_checkpoints();
  /// Something is wrong: a line, an event for all trackers, and the user's command (LoopSettings::alerts). kind: a
  /// word, "save_failed"; rank: that it is about, -1 if it is about none. On the first rank; others do nothing.
  void alert(const std::string& kind, const std::string& text, int rank = -1);
  /// The event alone, for all trackers.
  void record_event(const Alert&);
  /// The last step of which metrics.jsonl has this number; -1: none, or no such file. On the first rank. IoError.
  std::int64_t recorded(const std::string& name) const;
  /// Writes the settings into the folder. On the first rank.
  void write_settings();
  /// The scalars of the optimizer's state that runs report. On all ranks.
  track::Values optimizer_numbers() const;
  /// This rank's rows of the step after `step` others; batch: as if it had so many, and not those of the cursor.
  data::Rows read(std::int64_t step, std::optional<std::int64_t> batch = std::nullopt) const;
  /// Makes the changes of the mixture follow the cursor.
  void remix();
  /// Where no step follows, and none would if the run went on: replicas that make local steps meet a last time, and
  /// that model is evaluated and kept. Later calls do nothing.
  void meet_last();

  Trainable& model;
  const data::Datasets& data;
  const LoopSettings& settings;
  const Mesh& mesh;
  std::string out;  // settings.out, or a folder beside it once that is gone
  track::RunLog log = track::RunLog();                         // on the first rank
  Watchdog watchdog{"rank " + std::to_string(mesh.rank()), settings.quiet_s,
                    [this](const std::string& line) { log.line(line); }};
  std::unique_ptr<RunFolder> folder = {};                      // on the first rank
  io::Stores stores = {};                                      // the hosts' folders of checkpoints
  std::unique_ptr<RunFolder> local = {};  // that of this rank's host, where it is another one, on a rank that leads
  std::shared_ptr<Retention> retention = {};                   // on the ranks that lead in one
  std::vector<std::unique_ptr<track::Tracker>> trackers = {};  // on the first rank
  std::string waiting = {};                                    // names of those whose records wait for room
  std::optional<Progress> progress = std::nullopt;             // from the first step on
  bool continued = false;                                      // a checkpoint of an earlier run
  std::int64_t done = 0;                                       // updates made
  RowCursor cursor{settings.batch, settings.batch_at};         // the rows that steps read
  std::optional<data::TrainingRows> remixed = std::nullopt;    // those of `data`, if its mixture follows the cursor
  std::int64_t stored = -1;                                    // those of the checkpoint that the run continues
  double skipped = 0;                                          // of them those that a gradient was not finite for
  bool asked_to_stop = false;                                  // this rank; the next batch tells the others
  std::atomic<std::chrono::system_clock::duration> late_from{std::chrono::system_clock::duration::max()};
  std::shared_ptr<AtOnce> at_once = {};                        // while steps are made; null: stops wait for steps
  StepNotes tells = {};                                        // of this rank, with the next batch
  StepNotes heard = {};                                        // the sums of the last step
  bool stopped = false;                                        // some rank was asked to
  Leaving leaving = Leaving::none;
  bool wants_save = false;                                     // some rank or a hook, after this step
  bool wants_stop = false;                                     // a hook, after this step
  std::map<std::string, double> numbers = {};  // of step numbers_of, as trackers have them
  std::int64_t numbers_of = -1;
  Best best = {};
  bool is_best = false;      // this step's validation loss is the lowest so far
  bool moved = true;         // the model is not the one that was evaluated last
  bool met_last = false;     // meet_last() has made a meeting
  bool unevaluated = false;  // this step's validation is due, but the run was stopped
  std::string base = {};     // the digest of the model's base; empty if it has none
  struct Saved {
    std::int64_t step = -1;  // of the last checkpoint that this process wrote
    std::string folder = {};
    Clock::time_point at = {};  // when the last save was begun
    int asked = 0;              // StopSignals::saves() then
    double seconds = 0;         // from the step to the commit of the last checkpoint
  } saved = {};
  struct Plot {
    Clock::time_point at = {};
    double seconds = 0;  // that it took
  } plot = {};           // the last one
  std::shared_ptr<track::LossPlot> losses = nullptr;  // on the first rank, from the begin of its files on
  double flops_of_row = 0;  // in a step, this rank's
  /// Seconds of steps that count, and when the first one began (UTC): of the run with all its restarts.
  struct Goodput {
    double useful = 0, begun = 0;
  } goodput = {};
  track::Values monitored = {};                // numbers of ranks, for the next record of a step
  std::shared_ptr<StatusBoard> board = settings.board;  // from then on there is one
  std::shared_ptr<Monitor> monitor = nullptr;  // from the hooks' begin on; its thread uses what stands above
  std::shared_ptr<Saves> saves = {};  // from the first step on; last: what is being written is given up first
 private:
  void follow();
};
/// Takes the folder, initialises the model or reads the checkpoint to continue, begins the run's files, plans a step.
/// False: there is no step to make.
bool prepare(Run&);
}  // namespace bora::training
