#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include "bora/base/threads.h"
#include "bora/data/windows.h"

namespace bora::data {
struct Prefetch::Pipeline {
  Pipeline(Read r, std::int64_t first) : read(std::move(r)), step(first) {
    try {
      thread = start_thread("reading ahead", [this] { run(); });
    } catch (const Error&) {}  // then next() reads itself
  }
  ~Pipeline() {
    {
      std::lock_guard lock(mutex);
      end = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return end || (!ready && !error); });
      if (end) return;
      lock.unlock();
      std::optional<Rows> rows;
      std::exception_ptr failed;
      try {
        rows = read(step);
      } catch (...) { failed = std::current_exception(); }
      lock.lock();
      ready = std::move(rows);
      error = failed;
      changed.notify_all();
    }
  }
  Rows next() {
    if (!thread.joinable()) return read(step++);
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ready || error; });
    if (error) std::rethrow_exception(error);
    auto rows = std::move(*ready);
    ready.reset();
    ++step;
    changed.notify_all();
    return rows;
  }
  Read read;
  std::int64_t step;  // that is read next, or is ready
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Rows> ready = {};
  std::exception_ptr error = {};
  bool end = false;
  std::thread thread = {};  // none: the system has none left
};
Prefetch::Prefetch(Read read, std::int64_t first) : pipeline_(new Pipeline(std::move(read), first)) {}
Prefetch::~Prefetch() = default;
Rows Prefetch::next() { return pipeline_->next(); }
}  // namespace bora::data
