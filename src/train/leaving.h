// leaving.h -- a run of a job whose ranks meet again: it leaves its mesh in order, so that they can.
#pragma once
#include <chrono>
#include <functional>
#include <string>

namespace bora::training {
/// SIGTERM, and no other signal to stop, came to this process, so long ago or longer. A launcher passes SIGTERM on as
/// SIGINT to ranks of a job that can go on: this rank alone, or all of its host, is to go.
bool is_taken_away(std::chrono::seconds ago = {});
/// While it lives, runs on this thread ask before each step whether to leave. Once one rank is to, all of them write a
/// checkpoint after that step and leave; run_training then returns 130, and leaves() is true. So they do if some ranks
/// are taken away, for which for_good() is true as well. If all are, it is a stop.
class [[nodiscard]] UseLeaving {
 public:
  /// met_before: the job's ranks met before, so a lost rank that wakes later, on another host, may still hold the run's
  /// folder: this run takes it over. job: as RunFolder has it.
  explicit UseLeaving(std::function<bool()> asked, bool met_before = false, std::string job = {});
  ~UseLeaving();
  UseLeaving(const UseLeaving&) = delete;
  UseLeaving& operator=(const UseLeaving&) = delete;
  static UseLeaving* current();  // null: none
  /// Of the current one. asked: this rank is to leave. leaves: all do, after this step.
  static bool asked();
  static bool leaves();
  static bool for_good();
  static void set(bool leaves, bool for_good = false);
  static bool met_before();
  static std::string job();

 private:
  std::function<bool()> asked_;
  UseLeaving* saved_;
  bool leaves_ = false, for_good_ = false, met_before_;
  std::string job_;
};
}  // namespace bora::training
