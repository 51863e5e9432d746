// retention.h -- old checkpoints of a run, removed beside the steps.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include "bora/train/trainable.h"
#include "train/api/keep.h"

namespace bora::training {
/// Removes the checkpoints below one root that the settings let go, in a thread of its own at nice 10: to remove a
/// large one takes seconds. For the rank that commits checkpoints.
class Retention {
 public:
  /// check: called in that thread before each removal, throws if the folder is another process's by now.
  Retention(std::string root, const KeepSettings&, std::function<void()> check);
  ~Retention();  // waits for it
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;
  const std::string& root() const { return root_; }
  /// This step's checkpoint is committed. Returns at once.
  void committed(std::int64_t step);
  /// Waits until all that may go is gone.
  void wait();
  /// Removes what goes anyway once this step's checkpoint is there: for a disk that is full. Returns the folders.
  std::vector<std::string> make_room(std::int64_t coming);
  /// A checkpoint that could not be removed, once; empty: none.
  std::string problem();
  /// Whether a checkpoint with this number would be one of the n best.
  bool among_best(double value) const;

 private:
  void work();
  std::string root_;
  io::Keep keep_;
  std::function<void()> check_;
  std::mutex mutex_ = {};
  std::condition_variable done_ = {};
  std::thread thread_ = {};
  std::int64_t wanted_ = -1;  // the step whose commit was told last; -1: it was seen to
  bool running_ = false;
  std::string problem_ = {};
};
/// Notes of a checkpoint's manifest: the time of day, and of the numbers of its step the loss and all evaluations.
void add_retention_notes(Trainable::Notes&, const std::map<std::string, double>& numbers);
}  // namespace bora::training
