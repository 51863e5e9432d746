#include "watchdog.h"
#include <algorithm>
#include <cstdio>
#include <utility>
#include "base/api/threads.h"
#include "bora/train/progress.h"

namespace bora {
Watchdog::Watchdog(std::string who, double seconds, std::function<void(const std::string&)> also)
    : who_(std::move(who)), also_(std::move(also)), first_(seconds), next_(seconds) {
  try {
    thread_ = start_thread("a watchdog", [this] { run(); });
  } catch (const Error&) {}
}
Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_.notify_all();
  if (thread_.joinable()) thread_.join();
}
void Watchdog::at(std::string what) {
  std::lock_guard lock(mutex_);
  auto now = Clock::now();
  longest_ = std::max(longest_, std::chrono::duration<double>(now - since_));
  next_ = std::max(first_, 4 * longest_);
  what_ = std::move(what);
  since_ = now;
}
std::pair<std::string, double> Watchdog::place() const {
  std::lock_guard lock(mutex_);
  return {what_, std::chrono::duration<double>(Clock::now() - since_).count()};
}
void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, std::min(first_ / 4, std::chrono::duration<double>(1)), [this] { return ends_; })) {
    auto quiet = std::chrono::duration<double>(Clock::now() - since_);
    if (quiet < next_) continue;
    next_ = 2 * quiet;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3g", quiet.count());
    auto line = "warning: " + who_ + " has made no progress for " + seconds + " s: it is at " + what_;
    std::fprintf(stderr, "%s%s\n", terminal_columns() > 0 ? "\r\033[K" : "", line.c_str());
    if (also_) also_(line);
  }
}
}  // namespace bora
