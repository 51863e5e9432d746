// Elements made before they are asked for: a task for each, and a ring of places that keeps their order.
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include "bora/data/sequence.h"

namespace bora::data::detail {
struct PrefetchPool::Pipeline {
  Pipeline(Make m, std::int64_t first, std::int64_t last, std::int64_t ahead, int threads)
      : make(std::move(m)), next(first), end(last), places(static_cast<std::size_t>(ahead)), arena(threads + 1, 1) {
    for (auto i = first; i < end && i - first < ahead; ++i) start(i);
  }
  ~Pipeline() {
    stopped = true;
    arena.execute([this] { group.wait(); });
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  enum Stage { waiting, running, done };
  struct Place {
    std::atomic<std::int64_t> ticket{-1};  // 3 * index + stage
    std::shared_ptr<void> value = {};
    std::exception_ptr error = {};
  };
  Place& place(std::int64_t index) { return places[static_cast<std::size_t>(index) % places.size()]; }
  void start(std::int64_t index) {
    place(index).ticket = 3 * index + waiting;
    try {
      // Enqueued, not run: only then oneTBB promises a worker to a caller that leaves the arena.
      arena.enqueue(group.defer([this, index] {
        if (!stopped) run(index);
      }));
    } catch (const std::exception&) {}  // oneTBB has the task but no thread for it: take() makes the element
  }
  /// False if another thread has begun it.
  bool run(std::int64_t index) {
    auto& p = place(index);
    auto ticket = 3 * index + waiting;
    if (!p.ticket.compare_exchange_strong(ticket, 3 * index + running)) return false;
    try {
      p.value = make(index);
    } catch (...) { p.error = std::current_exception(); }
    p.ticket = 3 * index + done;
    p.ticket.notify_all();
    return true;
  }
  std::shared_ptr<void> take() {
    auto& p = place(next);
    if (!run(next))
      for (auto ticket = p.ticket.load(); ticket % 3 != done; ticket = p.ticket.load()) p.ticket.wait(ticket);
    if (auto error = std::exchange(p.error, nullptr)) {
      p.ticket = 3 * next + waiting;  // a call after this one makes it again, as without `ahead`
      std::rethrow_exception(error);
    }
    auto value = std::move(p.value);
    auto index = next++ + static_cast<std::int64_t>(places.size());
    if (index < end) start(index);
    return value;
  }
  Make make;
  std::int64_t next, end;
  std::vector<Place> places;
  std::atomic<bool> stopped{false};
  tbb::task_arena arena;  // workers, and a slot for the caller that waits
  tbb::task_group group = {};
};
PrefetchPool::PrefetchPool(Make make, std::int64_t first, std::int64_t end, const IterateOptions& options) {
  check<ValueError>(options.threads >= 0, "iterate: ", options.threads, " threads");
  // A rank may be bound to one core, for which TBB would start no worker. TBB warns of more workers than it may start.
  static const auto workers = std::max(1, tbb::info::default_concurrency() - 1);
  static const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                         static_cast<std::size_t>(workers + 1));
  auto threads = options.threads > 0 ? std::min(options.threads, workers) : workers;
  pipeline_ = std::make_unique<Pipeline>(std::move(make), first, end, std::min(options.ahead, end - first), threads);
}
PrefetchPool::~PrefetchPool() = default;
std::shared_ptr<void> PrefetchPool::next() { return pipeline_->take(); }
}  // namespace bora::data::detail
