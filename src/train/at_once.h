// at_once.h -- a stop that does not wait for the running step, nor for an evaluation: all ranks halt at the newest step
// that some rank has made, and go back to its state, which this keeps while the next one runs.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include "bora/array/array.h"
#include "bora/transport/halting.h"

namespace bora::training {
struct Run;
/// The training thread calls all of it but the watcher. Where the ranks halt, begin_.. and end_.. and collectives throw
/// transport::Halted.
class AtOnce {
 public:
  /// Starts the watcher, a thread that asks all ranks to halt once this one has to stop; null with at_once: off.
  static std::shared_ptr<AtOnce> of(Run&);
  ~AtOnce();
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;
  void begin_step(), end_step();
  void begin_evaluation(), end_evaluation();
  /// After all have halted: the run is again as it was at the end of that step, and is to stop.
  void go_back(const transport::Halted&);

 private:
  AtOnce(Run&, transport::Halts&);
  bool keeps();
  bool must_stop() const;
  void watch();
  Run& run_;
  transport::Halts& halts_;
  std::int64_t done_;                // pieces of work: step k is 2 k, an evaluation after it 2 k + 1
  std::vector<Array> kept_ = {};     // leaves of the state before the running step
  std::vector<double> seconds_ = {}; // of the last steps
  bool keeping_ = false;
  std::chrono::steady_clock::time_point begun_ = {};
  std::mutex mutex_ = {};
  std::condition_variable end_ = {};
  bool ends_ = false;
  std::thread watcher_ = {};
};
}  // namespace bora::training
