// trace.h -- what ran when: spans of time on the steady clock, recorded while tracing is on. While it is off, a span
// costs one load. transport/trace.h gathers them from all ranks into one file.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bora::tracing {
enum class Kind : std::uint8_t {  // what happened in a span
  step,                           // one training step, marked by the trainer; Totals count within steps
  loop,                           // scan, cond or while of a Program; the kernels inside have spans of their own
  kernel,                         // one kernel of a Program, copies included
  pack,                           // work before or after a collective: ordering its parts, and its start
  collective,                     // from its start on this rank until its buffers may be used
  wait                            // a thread only waits for a collective
};
inline const char* kind_name(Kind k) {  // as the trace file writes it
  constexpr const char* names[] = {"step", "loop", "kernel", "pack", "collective", "wait"};
  return names[static_cast<std::size_t>(k)];
}
/// The name of a span; `place` makes text of its `subject` when the trace is written, which may take long.
struct Label {
  std::string name;
  std::shared_ptr<const void> subject = {};
  std::string (*place)(const void*) = nullptr;
};
struct Span {  // one thread of one rank at work, or waiting
  Kind kind = Kind::kernel;
  int rank = 0, thread = 0;
  std::shared_ptr<const Label> label = {};
  std::int64_t begin = 0, end = 0;  // nanoseconds of the steady clock
};
inline constexpr std::size_t kMostSpans = 1 << 20;  // per process; later spans are counted, not kept

namespace detail {
struct Store {
  std::mutex m;
  std::vector<Span> spans;
  std::uint64_t dropped = 0;
};
inline Store store;
inline std::atomic<bool> on{false};
inline std::atomic<int> threads{0};
}  // namespace detail

inline bool on() { return detail::on.load(std::memory_order_relaxed); }     // is tracing on?
inline std::int64_t nanoseconds(std::chrono::steady_clock::time_point t) {  // since the clock's epoch
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}
inline std::int64_t now() { return nanoseconds(std::chrono::steady_clock::now()); }  // nanoseconds of the steady clock
inline std::shared_ptr<const Label> label(std::string name) {                        // made once, shared by many spans
  return std::make_shared<const Label>(Label{std::move(name)});
}
/// Starts recording spans of all threads of this process.
inline void start() { detail::on = true; }
inline void stop() { detail::on = false; }  // spans already recorded stay until take()
/// Records a span of this thread while tracing is on; the spans after the first kMostSpans are only counted.
inline void add(Kind kind, int rank, std::shared_ptr<const Label> label, std::int64_t begin, std::int64_t end) {
  if (!on()) return;
  thread_local const int thread = detail::threads++;
  std::lock_guard lock(detail::store.m);
  if (detail::store.spans.size() >= kMostSpans) ++detail::store.dropped;
  else detail::store.spans.push_back({kind, rank, thread, std::move(label), begin, end});
}
/// Takes the spans of one rank, ordered by their begin. `dropped`: spans of this process that found no room.
inline std::vector<Span> take(int rank, std::uint64_t& dropped) {
  std::vector<Span> mine;
  {
    std::lock_guard lock(detail::store.m);
    auto& all = detail::store.spans;
    auto others = std::stable_partition(all.begin(), all.end(), [&](auto& s) { return s.rank == rank; });
    mine.assign(std::make_move_iterator(all.begin()), std::make_move_iterator(others));
    all.erase(all.begin(), others);
    dropped = detail::store.dropped;
    if (all.empty()) detail::store.dropped = 0, all.shrink_to_fit();
  }
  std::stable_sort(mine.begin(), mine.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  return mine;
}
/// A span from here to the end of the block.
class Scope {
 public:
  Scope(Kind kind, int rank, const char* name) : kind_(kind), rank_(rank), name_(name), begin_(on() ? now() : 0) {}
  ~Scope() {
    if (begin_ != 0) add(kind_, rank_, label(name_), begin_, now());
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Kind kind_;
  int rank_;
  const char* name_;
  std::int64_t begin_;
};

/// Seconds of one rank within its steps (within the whole trace if no step was marked). Overlapping spans of a kind
/// count once.
struct Totals {
  std::int64_t steps = 0;
  double step = 0;        // the steps themselves
  double kernel = 0;      // inside kernels
  double collective = 0;  // with at least one collective in flight
  double wait = 0;        // with the program only waiting for collectives
};
inline Totals totals(const std::vector<Span>& spans) {  // of the spans that take() gives
  using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
  auto ranges = [&](Kind kind, bool all) {  // joined ranges of one kind
    Ranges r;
    for (auto& s : spans)
      if (s.kind == kind || all) r.emplace_back(s.begin, s.end);
    std::sort(r.begin(), r.end());
    Ranges joined;
    for (auto& x : r)
      if (!joined.empty() && x.first <= joined.back().second)
        joined.back().second = std::max(joined.back().second, x.second);
      else joined.push_back(x);
    return joined;
  };
  Totals t;
  for (auto& s : spans) t.steps += s.kind == Kind::step;
  auto within = ranges(Kind::step, false);
  if (within.empty())
    if (auto all = ranges(Kind::step, true); !all.empty()) within = {{all.front().first, all.back().second}};
  auto inside = [&](Kind kind) {  // both lists are sorted and disjoint
    std::int64_t sum = 0;
    auto w = within.begin();
    for (auto& x : ranges(kind, false)) {
      while (w != within.end() && w->second <= x.first) ++w;
      for (auto v = w; v != within.end() && v->first < x.second; ++v)
        sum += std::min(v->second, x.second) - std::max(v->first, x.first);
    }
    return static_cast<double>(sum) * 1e-9;
  };
  for (auto& x : within) t.step += static_cast<double>(x.second - x.first) * 1e-9;
  t.kernel = inside(Kind::kernel);
  t.collective = inside(Kind::collective);
  t.wait = inside(Kind::wait);
  return t;
}
}  // namespace bora::tracing
