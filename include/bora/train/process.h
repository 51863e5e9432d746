// process.h -- a run's process: memory, signals.
#pragma once
#include <cstdint>

namespace bora {
// Resident memory of this process in bytes: now, and the largest so far.
std::int64_t resident_bytes();
std::int64_t peak_rss();

/// While it lives the first SIGTERM or SIGINT, any SIGHUP unless it is ignored, and SIGXCPU ask for an orderly stop
/// instead of ending the process, and SIGUSR1 for a checkpoint. A second SIGTERM or SIGINT ends a process without a
/// launcher of Bora's at once.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool requested();
  /// How often SIGUSR1 has come.
  static int saves();
};
}  // namespace bora
