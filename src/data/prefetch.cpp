#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <algorithm>
#include <exception>
#include "bora/data/prefetch.h"

namespace bora::data {
struct Prefetch::Pipeline {
  Pipeline(Read r, std::int64_t first) : read(std::move(r)), step(first) { start(); }
  ~Pipeline() { wait(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  void start() {
    arena.execute([this] {
      try {
        group.run([this] {
          try {
            ready = read(step);
          } catch (...) { error = std::current_exception(); }
        });
      } catch (const std::exception&) {}  // oneTBB has the task but no thread for it: wait() runs the task
    });
  }
  /// Inside the arena the caller runs a task that no worker has begun; outside, it would wait forever without a worker.
  void wait() {
    arena.execute([this] { group.wait(); });
  }
  Read read;
  std::int64_t step;
  Rows ready = {};
  std::exception_ptr error = {};
  tbb::task_arena arena{2, 1};  // one worker, and a slot for the waiting caller
  tbb::task_group group = {};
};
Prefetch::Prefetch(Read read, std::int64_t first) {
  // A rank may be bound to one core, for which TBB would start no worker.
  static const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                           static_cast<std::size_t>(std::max(2, tbb::info::default_concurrency())));
  pipeline_ = std::make_unique<Pipeline>(std::move(read), first);
}
Prefetch::~Prefetch() = default;
Rows Prefetch::next() {
  pipeline_->wait();
  if (pipeline_->error) std::rethrow_exception(pipeline_->error);
  auto rows = std::move(pipeline_->ready);
  ++pipeline_->step;
  pipeline_->start();
  return rows;
}
}  // namespace bora::data
