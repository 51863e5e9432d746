#include "base/crowd.h"
#include <sys/resource.h>
#include <time.h>
#include <algorithm>
#include <atomic>

namespace bora::detail {
namespace {
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds kLost = 200us;                      // a wait longer than that, and than two ranges
constexpr std::chrono::nanoseconds kPause = 10ms, kLongPause = 320ms;  // without other threads; doubles in between
constexpr std::chrono::nanoseconds kSoon = 1s;                         // after a pause: waits until then are one crowd
constexpr std::chrono::nanoseconds kOften = 100ms;                     // threads of a crowd lose a core once in so long
constexpr std::chrono::nanoseconds kRemembered = 16ms;                 // half of a wait is forgotten after so long
constexpr std::chrono::nanoseconds kMuch = 8ms;                        // of waits: about half of the time
constexpr auto relaxed = std::memory_order_relaxed;
// On the clock; `until` is 0 without a crowd.
std::atomic<std::int64_t> until{0}, pause{0}, paused_until{0}, counted_at{0}, counted{0}, waited{0}, waited_at{0},
    used{0}, used_at{0};
std::int64_t now() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

/// Whether this process's threads have lost their cores to other ones since the last count, once in kOften at least.
bool lose_cores(std::int64_t at) {
  struct ::rusage use {};
  ::getrusage(RUSAGE_SELF, &use);
  const auto lost = use.ru_nivcsw - counted.exchange(use.ru_nivcsw, relaxed);
  const auto before = counted_at.exchange(at, relaxed);
  return before != 0 && at - before < lost * kOften.count();
}
/// Whether waits have lately taken so much of the time that threads give nothing: programs that want a core now and
/// then, as there are on every machine, take far less.
bool waits_much(std::int64_t wait, std::int64_t at) {
  const auto halves = std::min<std::int64_t>((at - waited_at.exchange(at, relaxed)) / kRemembered.count(), 62);
  const auto all = (waited.load(relaxed) >> std::max<std::int64_t>(halves, 0)) + wait;
  waited.store(all, relaxed);
  return all >= kMuch.count();
}
/// Whether the process has had less than three quarters of one core since the last time.
bool starves(std::int64_t at) {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  const auto cpu = t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
  const auto got = cpu - used.exchange(cpu, relaxed), of = at - used_at.exchange(at, relaxed);
  return 4 * got < 3 * of;
}
}  // namespace

bool alone_in_crowd(double nanoseconds, double below) {
  const auto end = until.load(relaxed);
  if (end == 0 || nanoseconds >= below) return false;
  const auto at = now();
  if (at < end) return true;
  const bool starved = starves(at), crowd = lose_cores(at) && starved;
  until.store(crowd ? at + kPause.count() : 0, relaxed);
  return crowd;
}
void waited_for_threads(Clock::duration wait, double range_nanoseconds) {
  const auto lost = std::chrono::nanoseconds(wait).count();
  if (static_cast<double>(lost) < static_cast<double>(kLost.count()) + 2 * range_nanoseconds) return;
  const auto at = now(), last = pause.load(relaxed);
  if (!waits_much(lost, at)) return;
  if (!lose_cores(at)) return;  // its ranges only take longer than was thought
  const bool again = last > 0 && at < paused_until.load(relaxed) + kSoon.count();
  const auto next = again ? std::min<std::int64_t>(2 * last, kLongPause.count()) : kPause.count();
  pause.store(next, relaxed);
  paused_until.store(at + next, relaxed);
  until.store(at + next, relaxed);
  starves(at);
}
void crowd_is_over() { until = pause = waited = 0; }
}  // namespace bora::detail
