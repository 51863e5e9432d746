// liveness.h -- how long the other side of a launch has given no sign of life. Private.
#pragma once
#include <chrono>

namespace bora::launch {
using Clock = std::chrono::steady_clock;
/// Counts seconds since the last sign of life. A gap in which this process itself was stopped counts as one second.
class Liveness {
 public:
  /// True once a second: then it is time to give a sign as well.
  bool tick() {
    auto now = Clock::now();
    if (now - last_ < std::chrono::seconds(1)) return false;
    last_ = now;
    ++seconds_;
    return true;
  }
  void heard() { seconds_ = 0; }
  int seconds() const { return seconds_; }

 private:
  Clock::time_point last_ = Clock::now();
  int seconds_ = 0;
};
/// After so long a host is lost: its agent cannot be reached, or everything there is stopped.
inline constexpr int kSilentHost = 15;
/// After so long if ranks of other hosts miss one of it.
inline constexpr int kSilentIfMissed = 5;
/// After so long an agent ends its ranks: the launcher is on the other side of a cut cable. Longer, since a launcher
/// also says nothing while the reader of its output has stopped.
inline constexpr int kSilentLauncher = 600;
}  // namespace bora::launch
