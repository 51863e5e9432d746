// headway.h -- whether an elastic job that was lost again has got further in between. Private.
#pragma once
#include <cstdint>
#include <string>
#include "launch.h"

namespace bora::launch {
class Headway {
 public:
  explicit Headway(const Elastic&);
  /// Whether the job goes on after this loss, for which `step` is the furthest that a rank has made (-1: unknown); says
  /// so on stderr, or why not.
  bool goes_on(const std::string& loss, std::int64_t step);

 private:
  const Elastic& elastic_;
  std::string progress_;
  std::int64_t furthest_ = -1;
  int idle_ = 0;  // losses since the job got further
};
}  // namespace bora::launch
