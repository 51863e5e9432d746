#include "bora/base/parallel.h"
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include "base/api/cores.h"
#include "base/crowd.h"
#include "base/openmp.h"
#include "base/team.h"
#include "bora/base/error.h"
#include "base/api/threads.h"

namespace bora {
namespace {
std::atomic<int> process_threads{0};
thread_local int scope_threads = 0;  // 0: no limit on this thread
int default_threads() {
  const int asked = threads_by_variable();
  return asked > 0 ? asked : usable_cores();
}
enum class Executor : std::uint8_t { openmp, team };
/// ValueError: BORA_EXECUTOR is no word for one.
Executor executor() {
#ifdef __SANITIZE_THREAD__  // which does not see how libgomp's threads wait for one another
  return Executor::team;
#else
  static const Executor said = [] {
    const char* word = std::getenv("BORA_EXECUTOR");
    std::string_view w = word ? word : "openmp";
    check<ValueError>(w == "openmp" || w == "team", "BORA_EXECUTOR=", w, ": the executors are openmp and team");
    return w == "team" ? Executor::team : Executor::openmp;
  }();
  return said;
#endif
}
}  // namespace

int threads_by_variable() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  int n = 0;
  if (text == nullptr) return 0;
  while (*text == ' ') ++text;
  std::from_chars(text, text + std::strlen(text), n);  // "4", or "4,2" by level
  return std::max(0, n);
}
int thread_count() {
  int n = process_threads.load(std::memory_order_relaxed);
  if (n == 0) process_threads = n = default_threads();
  return scope_threads > 0 ? std::min(n, scope_threads) : n;
}
void set_thread_count(int n) {
  check<ValueError>(n >= 0, "threads: must be at least 1 (or 0 for all cores), got ", n);
  process_threads = n == 0 ? default_threads() : n;
  detail::Team::try_again();
  detail::openmp_changed();
  detail::crowd_is_over();
}
void take_short_turns() {
  struct {  // sched_attr of the kernel, which glibc 2.36 does not declare
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;  // ns
    std::uint32_t least, most;
  } a = {};
  if (::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != SCHED_OTHER) return;
  a.runtime = 100'000;
  ::syscall(SYS_sched_setattr, 0, &a, 0);
}
ThreadScope::ThreadScope(int n) : saved_(scope_threads) { scope_threads = std::max(1, n); }
ThreadScope::~ThreadScope() { scope_threads = saved_; }

namespace detail {
void parallel_ranges(std::int64_t n, std::int64_t grain, void* context, RangeFn f) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  auto parts = std::min<std::int64_t>(thread_count(), (n + grain - 1) / grain);
  auto& within = within_range();
  if (parts <= 1 || within) return f(context, 0, n);
  const bool regions = executor() == Executor::openmp;
  const auto nanoseconds = kWorthAThread * static_cast<double>(n) / static_cast<double>(grain);
  const bool alone = alone_in_crowd(nanoseconds, regions ? kShortRegion : kShortLoop);
  if (!alone && regions && run_on_openmp(f, context, n, parts, thread_count(), nanoseconds)) return;
  auto* team = alone ? nullptr : Team::lease(parts, process_threads);
  if (!alone && team == nullptr) return f(context, 0, n);
  struct Scope {
    Team* team;
    bool& within;
    ~Scope() {
      within = false;
      if (team) team->give_back();
    }
  } scope{team, within};
  within = true;
  if (alone) f(context, 0, n);
  else team->run(f, context, n, parts, nanoseconds);
}
}  // namespace detail
}  // namespace bora
