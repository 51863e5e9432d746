// watchdog.h -- reports a run's place when nothing has happened for a long time.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace bora {
/// A line on stderr when a run has been at one place for `seconds`, and for four times as long as at any place before;
/// again whenever that time has doubled. It ends nothing: a long step may be intended.
class Watchdog {
 public:
  /// `who`: "rank 0"; `also` gets the lines, too. If no thread can be started there is no watchdog.
  Watchdog(std::string who, double seconds, std::function<void(const std::string&)> also = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// The run's place from here on: "step 7".
  void at(std::string what);
  /// The run's place, and seconds since it came there. From any thread.
  std::pair<std::string, double> place() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  const std::string who_;
  const std::function<void(const std::string&)> also_;
  mutable std::mutex mutex_;
  std::condition_variable end_;
  bool ends_ = false;
  std::string what_ = "opening the text";
  Clock::time_point since_ = Clock::now();
  const std::chrono::duration<double> first_;
  std::chrono::duration<double> longest_{0}, next_;
  std::thread thread_;
};
}  // namespace bora
