// leaving.h -- a run of a job whose ranks meet again: it leaves its mesh in order, so that they can.
#pragma once
#include <functional>

namespace bora::training {
/// While it lives, runs on this thread ask before each step whether to leave. Once one rank is to, all of them write a
/// checkpoint after that step and leave; run_training then returns 130, and leaves() is true.
class [[nodiscard]] UseLeaving {
 public:
  /// met_before: the job's ranks met before, so a lost rank that wakes later, on another host, may still hold the run's
  /// folder: this run takes it over.
  explicit UseLeaving(std::function<bool()> asked, bool met_before = false);
  ~UseLeaving();
  UseLeaving(const UseLeaving&) = delete;
  UseLeaving& operator=(const UseLeaving&) = delete;
  static UseLeaving* current();  // null: none
  /// Of the current one. asked: this rank is to leave. leaves: all do, after this step.
  static bool asked();
  static bool leaves();
  static void set(bool leaves);
  static bool met_before();

 private:
  std::function<bool()> asked_;
  UseLeaving* saved_;
  bool leaves_ = false, met_before_;
};
}  // namespace bora::training
