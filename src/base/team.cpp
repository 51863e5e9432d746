#include "base/team.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>
#include "bora/base/error.h"
#include "base/api/threads.h"
#include "base/crowd.h"

namespace bora::detail {
namespace {
using Word = std::atomic<std::uint32_t>;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
constexpr std::uint32_t kIdle = 0, kOpen = 1, kAsleep = 2;                                        // states of a worker
// Counts and flag in left_.
constexpr std::uint32_t kNotDone = 1, kNotBegun = 1 << 15, kCallerSleeps = 1U << 31, kMostParts = kNotBegun - 1;
// A thread spins for kSpin before it sleeps; only for kCrowdedSpin while other threads want the cores: that is assumed
// for kCrowded after it lost its core for kLost.
constexpr std::chrono::nanoseconds kSpin = 500us, kCrowdedSpin = 20us, kLost = 200us, kCrowded = 10ms;
constexpr int kPlaces = 64;  // concurrent callers with a team; others run alone

struct Place {
  std::atomic<bool> taken{false};
  std::atomic<Team*> team{nullptr};  // never deleted: its threads may still run when the process ends
};
Place places[kPlaces];
std::atomic<int> callers{0};
std::atomic<unsigned> forks{0}, tries{1};
std::atomic<std::int64_t> crowded_until{0};
std::atomic_flag said = ATOMIC_FLAG_INIT;
thread_local int my_place = -1;
/// A forked child has none of the threads: it makes its own teams and leaves the parent's as they are.
[[maybe_unused]] const int forgets_threads = pthread_atfork(nullptr, nullptr, [] {
  for (auto& p : places) {
    p.team.store(nullptr, std::memory_order_relaxed);
    p.taken.store(false, std::memory_order_relaxed);
  }
  callers = 0;
  ++tries;
  ++forks;
});

void sleep_while(Word& word, std::uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }
std::int64_t count(Clock::time_point t) { return t.time_since_epoch().count(); }
/// Spins until done() for a limited time; false if the time is over.
template <class Done> bool soon(Done done) {
  if (done()) return true;
  auto last = Clock::now(),
       end = last + (count(last) < crowded_until.load(std::memory_order_relaxed) ? kCrowdedSpin : kSpin);
  while (last < end) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      __builtin_ia32_pause();
    }
    auto now = Clock::now();
    if (now - last > kLost) crowded_until.store(count(now + kCrowded), std::memory_order_relaxed);
    last = now;
  }
  return done();
}
/// Takes a range that no thread has begun.
bool take(Word& word) {
  auto open = kOpen;
  return word.load(std::memory_order_relaxed) == kOpen &&
         word.compare_exchange_strong(open, kIdle, std::memory_order_acquire);
}
/// Rounding, denormals and masked exceptions of this thread, without the exceptions that happened.
std::uint32_t modes() { return _mm_getcsr() & ~0x3fU; }
bool take(Place& p) {
  return !p.taken.load(std::memory_order_relaxed) && !p.taken.exchange(true, std::memory_order_acquire);
}
}  // namespace

bool& within_range() {
  static thread_local bool within = false;
  return within;
}
Team* Team::lease(std::int64_t& parts, int threads) {
  const int all = ++callers;
  parts = std::min<std::int64_t>({parts, std::max(1, threads / all), kMostParts});
  if (parts > 1 && my_place >= 0 && places[my_place].team != nullptr && take(places[my_place]))
    return places[my_place].team;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (parts > 1) ::sched_getaffinity(0, sizeof cores, &cores);
  for (int i = 0; i < kPlaces && parts > 1; ++i) {
    auto& p = places[i];
    if (!take(p)) continue;
    if (p.team == nullptr) {
      auto* team = new Team;
      team->process_ = forks, team->place_ = i, team->cores_ = cores;
      p.team = team;
    }
    if (CPU_EQUAL(&cores, &p.team.load()->cores_)) {
      my_place = i;
      return p.team;
    }
    p.taken.store(false, std::memory_order_release);
  }
  --callers;
  return nullptr;
}
void Team::give_back() {
  if (process_ != forks) return;
  places[place_].taken.store(false, std::memory_order_release);
  --callers;
}
void Team::try_again() {
  ++tries;
  my_place = -1;
}

void Team::add_workers(std::int64_t parts) {
  if (tried_ == tries) return;
  std::vector<std::unique_ptr<Worker>> fresh;
  while (static_cast<std::int64_t>(workers_.size() + fresh.size()) + 1 < parts) {
    auto& w = *fresh.emplace_back(std::make_unique<Worker>());
    w.team = this;
    w.part = static_cast<int>(workers_.size() + fresh.size());
  }
  workers_.reserve(workers_.size() + fresh.size());
  sigset_t all, before;
  sigfillset(&all);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) sigdelset(&all, s);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
  pthread_attr_t detached;
  ::pthread_attr_init(&detached);
  ::pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  int error = 0;
  for (auto w = fresh.begin(); w != fresh.end() && error == 0; ++w) {
    pthread_t thread;
    error = ::pthread_create(&thread, &detached, serve, w->get());
    if (error == 0) workers_.push_back(std::move(*w));
  }
  ::pthread_attr_destroy(&detached);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) return;
  tried_ = tries;
  if (!said.test_and_set())
    std::fprintf(stderr, "warning: kernels run on %zu of %lld threads: the system makes no more (%s)\n",
                 workers_.size() + 1, static_cast<long long>(parts), std::strerror(error));
}
void* Team::serve(void* worker) {
  auto& w = *static_cast<Worker*>(worker);
  w.thread = ::gettid();
  const auto process = w.team->process_;
  ::pthread_setname_np(::pthread_self(), "bora-kernels");
  within_range() = true;
  take_short_turns();
  for (;;) {
    w.team->await_part(w);
    w.team->left_.fetch_sub(kNotBegun, std::memory_order_relaxed);
    if (modes() != w.team->control_) _mm_setcsr(w.team->control_);
    w.team->work(w.part);
    if (process != forks) ::_exit(86);  // forked inside a range: the child has no threads to go on with
  }
}
void Team::await_part(Worker& w) {
  while (!soon([&] { return take(w.word); })) {
    auto idle = kIdle;
    w.core = ::sched_getcpu();
    if (!w.word.compare_exchange_strong(idle, kAsleep)) continue;
    while (w.word.load(std::memory_order_relaxed) == kAsleep) sleep_while(w.word, kAsleep);
    if (w.kept_off.exchange(false)) ::sched_setaffinity(0, sizeof w.team->cores_, &w.team->cores_);
  }
}
/// Lets no worker wake on the core of its caller. Linux wakes a thread where it slept, also if another one runs there
/// and another core is idle, seen on a virtual machine, whose halted cores may count as taken away by the host
/// (`vcpu_is_preempted`). Both then share the core for tens of milliseconds.
void Team::keep_off(int core, std::size_t workers) {
  auto elsewhere = cores_;
  CPU_CLR(core, &elsewhere);
  auto unused = elsewhere;
  for (auto& w : workers_)
    if (const int c = w->core; c >= 0) CPU_CLR(c, &unused);
  const auto& cores = CPU_COUNT(&unused) > 0 ? unused : elsewhere;
  if (CPU_COUNT(&cores) == 0) return;
  for (std::size_t i = 0; i < workers; ++i) {
    auto& w = *workers_[i];
    if (!w.slept || w.core != core) continue;
    ::sched_setaffinity(w.thread, sizeof cores, &cores);  // a refusal changes speed only
    w.kept_off = true;
  }
}
void Team::run_part(std::int64_t p) noexcept {
  try {
    f_(context_, n_ * p / parts_, n_ * (p + 1) / parts_);
  } catch (...) {
    std::lock_guard lock(error_mutex_);
    if (!error_ || p < error_part_) error_ = std::current_exception(), error_part_ = p;
  }
}
/// Runs range `own`, then ranges that no thread has begun. Nothing of the team may be touched once all are done: the
/// caller goes on to its next loop.
void Team::work(std::int64_t own) {
  run_part(own);
  std::uint32_t done = own > 0;
  for (auto p = parts_ - 1; p > 0 && (left_.load(std::memory_order_relaxed) & ~kCallerSleeps) >= kNotBegun; --p) {
    if (!take(workers_[static_cast<std::size_t>(p - 1)]->word)) continue;
    left_.fetch_sub(kNotBegun, std::memory_order_relaxed);
    run_part(p);
    ++done;
  }
  if (done > 0 && left_.fetch_sub(done, std::memory_order_acq_rel) - done == kCallerSleeps) wake(left_);
}
void Team::await_all(double range_nanoseconds) {
  auto done = [&] { return (left_.load(std::memory_order_acquire) & ~kCallerSleeps) == 0; };
  if (done()) return;
  const auto begin = Clock::now();
  while (!soon(done)) {
    if (process_ != forks)
      throw Error(
          "parallel_for: this process was forked inside of a range, and the threads that ran the others are not here");
    auto before = left_.fetch_or(kCallerSleeps, std::memory_order_acq_rel);
    if ((before & ~kCallerSleeps) != 0) sleep_while(left_, before | kCallerSleeps);
  }
  waited_for_threads(Clock::now() - begin, range_nanoseconds);
}
void Team::run(RangeFn f, void* context, std::int64_t n, std::int64_t parts, double nanoseconds) {
  const auto made = [&] { return static_cast<std::int64_t>(workers_.size()) + 1; };
  if (made() < parts) add_workers(parts);
  parts = std::min(parts, made());
  f_ = f, context_ = context, n_ = n, parts_ = parts, control_ = modes();
  left_.store(static_cast<std::uint32_t>(parts - 1) * (kNotDone + kNotBegun), std::memory_order_relaxed);
  const auto workers = static_cast<std::size_t>(parts - 1);
  bool any = false;
  for (std::size_t i = 0; i < workers; ++i) {
    auto& w = *workers_[i];
    w.slept = w.word.exchange(kOpen, std::memory_order_acq_rel) == kAsleep;
    any |= w.slept;
  }
  if (any) keep_off(::sched_getcpu(), workers);
  for (std::size_t i = 0; any && i < workers; ++i)
    if (workers_[i]->slept) wake(workers_[i]->word);
  work(0);
  await_all(nanoseconds / static_cast<double>(parts));
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}
}  // namespace bora::detail
