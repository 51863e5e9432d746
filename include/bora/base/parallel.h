// parallel.h -- the one place that spreads a kernel's loop over threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace bora {
/// Threads that kernels of this process use; at least 1. Ranks that are threads of one process share the count.
int thread_count();
/// n >= 1 sets the count; 0 takes all physical cores this process may use (affinity and cgroup limits respected).
/// ValueError if negative.
void set_thread_count(int n);
/// Binds this thread, and threads it starts from now on, to the part-th of `parts` equal shares of the physical cores
/// it may run on (with all their hardware threads; in blocks, so that a share has few NUMA nodes). Returns the number
/// of cores in the share. If there are fewer cores than parts, or no such part, binds nothing and returns 1.
int bind_to_share(int part, int parts);
/// While a scope lives, kernels called on this thread use at most n threads (ranks that are threads divide the cores).
class ThreadScope {
 public:
  explicit ThreadScope(int n);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
 private:
  int saved_;
};
namespace detail {
using RangeFn = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t n, std::int64_t grain, void* context, RangeFn f);
}  // namespace detail
/// Work in one range that pays for a thread, in ns: handing over a range costs 1 us, or 5 to 50 if a thread must wake.
inline constexpr double kWorthAThread = 5000;
/// The `grain` of a loop whose iterations take `nanoseconds` each.
constexpr std::int64_t grain_for(double nanoseconds) {
  return nanoseconds >= kWorthAThread
             ? 1
             : static_cast<std::int64_t>(kWorthAThread / (nanoseconds > 0.001 ? nanoseconds : 0.001)) + 1;
}
/// Calls f(begin, end) over a static partition of [0, n) into contiguous ranges: at most one per thread, of at least
/// `grain` iterations on average. Range i is meant for thread i; if that thread gets no core, another thread runs it.
/// Nested calls run on the caller. If ranges throw, the exception of the lowest range is rethrown here. A result must
/// not depend on where ranges begin: reductions use fixed blocks of their own.
template <class F> void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  using Fn = std::remove_reference_t<F>;
  detail::parallel_ranges(n, grain, const_cast<void*>(static_cast<const void*>(&f)),
                          [](void* c, std::int64_t begin, std::int64_t end) { (*static_cast<Fn*>(c))(begin, end); });
}
}  // namespace bora
