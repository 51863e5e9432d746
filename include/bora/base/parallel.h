// parallel.h -- the one place where a kernel's loop is spread over threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace bora {
/// Threads that kernels called from this process use; at least 1. Ranks that are threads of one process share it.
int thread_count();
/// n >= 1 sets the count; 0 takes the physical cores this process may use (affinity and cgroup limits respected). ValueError if negative.
void set_thread_count(int n);
/// Kernels called on this thread while a scope lives use at most n threads (ranks as threads divide the cores among them).
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
/// Work in one range that pays for a thread, in ns: handing a range to a thread costs 1 us, or 5 to 50 where it must be woken.
inline constexpr double kWorthAThread = 5000;
/// The `grain` of a loop whose iterations take `nanoseconds` each.
constexpr std::int64_t grain_for(double nanoseconds) {
  return nanoseconds >= kWorthAThread ? 1 : static_cast<std::int64_t>(kWorthAThread / (nanoseconds > 0.001 ? nanoseconds : 0.001)) + 1;
}
/// Calls f(begin, end) over a static partition of [0, n) into contiguous ranges, at most one per thread, of at least `grain`
/// iterations on average. A range is meant for the thread of its index; where that one gets no core another runs it. Nested calls run on the
/// caller. Of exceptions thrown by f that of the lowest range is rethrown here. A result must not depend on where ranges begin: reductions use
/// fixed blocks of their own.
template <class F> void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  using Fn = std::remove_reference_t<F>;
  detail::parallel_ranges(n, grain, const_cast<void*>(static_cast<const void*>(&f)),
                          [](void* c, std::int64_t begin, std::int64_t end) { (*static_cast<Fn*>(c))(begin, end); });
}
}  // namespace bora
