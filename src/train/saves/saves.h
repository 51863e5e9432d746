// saves.h -- the checkpoints of a run: beside its steps where there is memory for a second state, else between them.
#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "io/api/saving.h"
#include "train/run.h"
#include "train/saves/background.h"
#include "train/saves/held.h"

namespace bora::training {
/// Where a state gets a name: OUT/checkpoints, OUT/best.
struct Names {
  bool checkpoint = false, best = false;
};
/// All ranks make the same calls after the same steps. A save beside the steps goes through phases, and each one ends
/// for all ranks after the same step, because each rank says with its notes of the step that its part is done: all
/// write, then the leading rank commits. Threads that write start no collective.
class Saves {
 public:
  explicit Saves(Run& run) : run_(run) {}
  /// After an error: gives up what is being written, and removes it.
  ~Saves();
  Saves(const Saves&) = delete;
  Saves& operator=(const Saves&) = delete;
  /// Warns where a disk has no room for the checkpoints that the run keeps. All ranks.
  void look_at_space();
  /// Says with the next step's notes how far this rank is.
  void before_step();
  /// Takes the notes of the step in. After the first step it decides whether saves are made beside the steps.
  void after_step();
  bool busy() const { return phase_ != Phase::idle; }
  /// Saves the state of this step; of a save that is under way the end is waited for. A failure is said, and ends the
  /// run with IoError as CheckpointSettings says.
  void save(Names);
  /// A save was due and is left out, because one is under way. On any rank; the first says it.
  void skip(const char* why);
  /// Waits for the save that is under way.
  void finish();
  /// Saves this state at once, between two steps. IoError; where no step follows it waits for room on the disk before.
  void write(const HeldState&, Names);

 private:
  enum class Phase : std::uint8_t { idle, writing, committing };  // committing: the leading ranks, in stages
  /// A part of the commit that each leading rank makes before any of them begins the next one. Returns a warning.
  using Stage = std::function<std::string()>;
  struct UnderWay {
    std::int64_t step = -1, bytes = 0;  // bytes: of this rank
    Names names = {};
    std::vector<io::saving::Target> targets = {};  // the blocks go to the first one
    std::map<std::string, std::string> notes = {};
    std::vector<Stage> stages = {};  // of the commit, that are left
    bool counts = false;             // where hosts have folders of their own: it will be found when a run begins again
    Clock::time_point begun = {};
    double stall = 0;
  };
  /// What a job leaves.
  struct Result {
    std::string text = {}, problem = {};
    double seconds = 0;
    std::exception_ptr fatal = {};  // no error of files
  };
  std::string lack_of_space() const;
  void decide();
  void start(Names);
  void gather();
  std::vector<Stage> stages_of(const std::vector<std::string>& parts) const;
  void next_stage();
  void conclude();
  void failed(std::int64_t step, const std::string& problem);
  void between(Names);
  void work(std::function<std::string()> job);
  void touch_memory();
  void report(const track::Values& more);
  std::vector<io::saving::Target> targets_of(std::int64_t step, Names, const io::FolderOwner&) const;
  bool leads() const { return run_.stores.leads(run_.mesh.rank()); }
  bool first() const { return run_.mesh.rank() == 0; }

  Run& run_;
  Phase phase_ = Phase::idle;
  bool decided_ = false, beside_ = false;
  UnderWay now_ = {};
  Result result_ = {};
  io::saving::Progress progress_ = {};
  std::atomic<bool> stop_touching_{false};
  Clock::time_point good_ = Clock::now();  // when the state of the newest checkpoint was made, or the run began
  std::int64_t skipped_ = 0, said_of_ = -1;
  std::unique_ptr<Background> thread_ = {};
};
/// THE COMMIT of a run, on the leading rank, from any of its threads: the first target gets its name once `parts`, what
/// each rank wrote, are all there; then the second target, OUT/best, becomes another name of it. Old ones are the
/// matter of Run::retention. Returns a warning.
std::string commit_all(const std::vector<io::saving::Target>&, const MeshShape&,
                       const std::map<std::string, std::string>& notes, const std::vector<std::string>& parts, Names);
/// OUT/best has one: others go. Returns why one stays.
std::string remove_others(const io::saving::Target&);
/// If the run's folder is gone, makes a new one beside it. Returns whose it is. All ranks.
io::FolderOwner look_after_folder(Run&);
/// After a save that had no room: lets old checkpoints go that go anyway once this one is there, then waits for room.
/// Returns whether to try again. All ranks, with the same arguments.
class Room {
 public:
  bool made(Run&, const io::saving::Target&, std::int64_t bytes, const std::string& problem);
  /// "; 5.2 MiB are still missing after 5m"; empty if nothing was waited for.
  const std::string& missing() const { return missing_; }

 private:
  bool removed_ = false;
  std::string missing_ = {};
  std::chrono::steady_clock::time_point until_ = {};
};
/// Makes ready what a step runs that leaves its state as it is, if this run may save beside its steps.
void plan_kept_step(Run&, const GlobalBatch&);
/// Bytes of a checkpoint: of all ranks.
std::int64_t checkpoint_bytes(tree::Node state);
std::string seconds_text(double s);  // "0.25 s", "12 s"
}  // namespace bora::training
