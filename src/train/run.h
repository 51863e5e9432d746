// run.h -- a run of the training loop: what its parts share. loop.cpp makes the steps, prepare.cpp all that comes
// before them, hooks.h what happens around them.
#pragma once
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include "bora/tree/node.h"
#include "bora/shard/mesh.h"
#include "bora/train/loop.h"
#include "bora/train/membership.h"
#include "bora/train/progress.h"
#include "bora/train/trainable.h"
#include "shard/api/agree.h"
#include "train/api/run_folder.h"
#include "train/membership/watchdog.h"
#include "train/row_cursor.h"

namespace bora::training {
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
  /// True if ranks of this elastic job have met before: a lost one may still hold the run's folder.
  bool met_before() const { return settings.membership && settings.membership->generation() > 0; }
  std::string checkpoints() const { return out + "/checkpoints"; }
  std::string best_checkpoint() const { return out + "/best"; }
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
  /// The last step of which metrics.jsonl has this number; -1: none, or no such file. On the first rank. IoError.
  std::int64_t recorded(const std::string& name) const;
  /// Writes the settings into the folder. On the first rank.
  void write_settings();
  /// The scalars of the optimizer's state that runs report. On all ranks.
  track::Values optimizer_numbers() const;
  /// This rank's rows of the step after `step` others.
  data::Rows read(std::int64_t step) const;
  /// Where no step follows, and none would if the run went on: replicas that make local steps meet a last time, and
  /// that model is evaluated and kept. Later calls do nothing.
  void meet_last();

  Trainable& model;
  const data::Datasets& data;
  const LoopSettings& settings;
  const Mesh& mesh;
  std::string out;  // settings.out, or a folder beside it once that is gone
  Watchdog watchdog{"rank " + std::to_string(mesh.rank()), settings.quiet_s};
  std::unique_ptr<RunFolder> folder = {};                      // on the first rank
  std::vector<std::unique_ptr<track::Tracker>> trackers = {};  // on the first rank
  std::optional<Progress> progress = std::nullopt;             // from the first step on
  bool continued = false;                                      // a checkpoint of an earlier run
  std::int64_t done = 0;                                       // updates made
  RowCursor cursor{settings.batch};                            // the rows that steps read
  std::optional<data::TrainingRows> remixed = std::nullopt;    // those of `data`, if its mixture follows the cursor
  std::int64_t stored = -1;                                    // those of the checkpoint that the run continues
  double skipped = 0;                                          // of them those that a gradient was not finite for
  bool asked_to_stop = false;                                  // this rank; the next batch tells the others
  bool asks_for_save = false;                                  // the same of a checkpoint
  bool stopped = false;                                        // some rank was asked to
  Leaving leaving = Leaving::none;
  bool wants_save = false;                                     // some rank or a hook, after this step
  bool wants_stop = false;                                     // a hook, after this step
  Best best = {};
  bool is_best = false;      // this step's validation loss is the lowest so far
  bool moved = true;         // the model is not the one that was evaluated last
  bool met_last = false;     // meet_last() has made a meeting
  bool unevaluated = false;  // this step's validation is due, but the run was stopped
  std::string base = {};     // the digest of the model's base; empty if it has none
  struct Saved {
    std::int64_t step = -1;   // of the last checkpoint that this process wrote
    std::string folder = {};
    std::chrono::steady_clock::time_point at = {};
    int asked = 0;  // StopSignals::saves() then
  } saved = {};
  struct Plot {
    std::chrono::steady_clock::time_point at = {};
    double seconds = 0;  // that it took
  } plot = {};           // the last one
};
/// Takes the folder, initialises the model or reads the checkpoint to continue, begins the run's files, plans a step.
/// False: there is no step to make.
bool prepare(Run&);
}  // namespace bora::training
