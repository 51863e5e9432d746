// desk.h -- work that one thread does, in its order. Private.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace bora::serve {
class Desk {
 public:
  Desk() : thread_([this] { work(); }) {}
  /// Does what is there first.
  ~Desk() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void post(std::function<void()> f) {
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(f));
    }
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      auto f = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      f();
      f = nullptr;  // what it holds may go, without the lock
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_ = {};
  bool closed_ = false;
  std::thread thread_;  // last: it uses all of them
};
}  // namespace bora::serve
