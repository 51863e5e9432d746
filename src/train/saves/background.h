// background.h -- one thread beside the steps that does one job at a time and leaves the cores to them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace bora::training {
/// A thread of its own rather than an arena of oneTBB: its workers belong to the whole process, so none of them could
/// get a nice value without the data pipeline's getting it too, and a save is bound by the disk, not by cores.
class Background {
 public:
  /// At nice 10. Throws Error if the system gives no thread.
  Background();
  /// Waits for the job.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Begins a job, which throws nothing, once the one before has ended. What the job holds is gone before it is done.
  void start(std::function<void()> job);
  /// All that the job wrote is seen by who gets true.
  bool done() const { return done_.load(std::memory_order_acquire); }
  void wait();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_ = {};
  bool ends_ = false;
  std::atomic<bool> done_{true};
  std::thread thread_;
};
}  // namespace bora::training
