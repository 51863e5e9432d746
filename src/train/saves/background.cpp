#include "train/saves/background.h"
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include "base/api/threads.h"

namespace bora::training {
Background::Background() : thread_(start_thread("checkpoints beside the steps", [this] { run(); })) {}
Background::~Background() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}
void Background::start(std::function<void()> job) {
  wait();
  std::lock_guard lock(mutex_);
  done_ = false;
  job_ = std::move(job);
  changed_.notify_all();
}
void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done(); });
}
void Background::run() {
  // Of this thread alone: on Linux each has its own. A refusal changes speed only.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || job_; });
    if (!job_) return;
    auto job = std::exchange(job_, nullptr);
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    done_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
}
}  // namespace bora::training
