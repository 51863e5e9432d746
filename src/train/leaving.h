// leaving.h -- a run that leaves its mesh in order, so that its job can meet again with other ranks.
#pragma once
#include <functional>

namespace bora::training {
/// While it lives, runs on this thread ask before each step whether to leave. Once one rank is to, all of them write a
/// checkpoint after that step and leave; run_training then returns 130, and leaves() is true.
class [[nodiscard]] UseLeaving {
 public:
  explicit UseLeaving(std::function<bool()> asked);
  ~UseLeaving();
  UseLeaving(const UseLeaving&) = delete;
  UseLeaving& operator=(const UseLeaving&) = delete;
  static UseLeaving* current();  // null: none
  /// Of the current one. asked: this rank is to leave. leaves: all do, after this step.
  static bool asked();
  static bool leaves();
  static void set(bool leaves);

 private:
  std::function<bool()> asked_;
  UseLeaving* saved_;
  bool leaves_ = false;
};
}  // namespace bora::training
