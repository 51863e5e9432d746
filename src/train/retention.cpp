#include "train/retention.h"
#include <sys/resource.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <csignal>
#include <system_error>
#include <utility>
#include "base/api/json.h"
#include "shard/api/agree.h"

namespace bora::training {
namespace {
/// Since 1970, in whole milliseconds.
double seconds_now() {
  auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return std::round(now * 1e3) / 1e3;
}
}  // namespace
io::Keep keep_of(const KeepSettings& s) {
  return {.last = s.last,
          .every = s.every,
          .hours = s.hours,
          .best = {.metric = s.best.metric, .max = s.best.mode == KeepBestSettings::Mode::max, .n = s.best.n}};
}

Retention::Retention(std::string root, const KeepSettings& keep, std::function<void()> check)
    : root_(std::move(root)), keep_(keep_of(keep)), check_(std::move(check)) {}
Retention::~Retention() {
  wait();
  if (thread_.joinable()) thread_.join();
}
void Retention::committed(std::int64_t step) {
  std::unique_lock lock(mutex_);
  wanted_ = step;
  if (running_) return;  // it looks again
  running_ = true;
  lock.unlock();
  if (thread_.joinable()) thread_.join();  // it has ended
  ::sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the steps' thread
  bool made = true;
  try {
    thread_ = std::thread([this] {
      ::setpriority(PRIO_PROCESS, static_cast<::id_t>(::gettid()), 10);
      work();
    });
  } catch (const std::system_error&) { made = false; }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!made) work();  // the process may have no more threads
}
void Retention::work() {
  for (std::unique_lock lock(mutex_);;) {
    auto step = std::exchange(wanted_, -1);
    if (step < 0) {
      running_ = false;
      done_.notify_all();
      return;
    }
    lock.unlock();
    std::string problem;
    try {
      auto stopped = error_of([&] { problem = io::retain(root_, keep_, step, check_).problem; });
      if (!stopped.empty()) problem = "old checkpoints stay: " + stopped;
    } catch (const std::exception& e) { problem = std::string("old checkpoints stay: ") + e.what(); }
    lock.lock();
    if (problem_.empty()) problem_ = problem;
  }
}
void Retention::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !running_; });
}
std::vector<std::string> Retention::make_room(std::int64_t coming) {
  wait();
  std::vector<std::string> gone;
  for (auto step : io::removable(root_, keep_, coming, seconds_now())) {
    if (check_) check_();
    if (io::remove_checkpoint(root_, step)) gone.push_back(root_ + "/step-" + std::to_string(step));
  }
  return gone;
}
std::string Retention::problem() {
  std::lock_guard lock(mutex_);
  return std::exchange(problem_, {});
}
bool Retention::among_best(double value) const {
  if (keep_.best.n == 0 || !std::isfinite(value)) return false;
  std::int64_t better = 0;
  for (auto& seen : io::look_at_checkpoints(root_)) {
    auto found = seen.kept.metrics.find(keep_.best.metric);
    if (!seen.problem.empty() || found == seen.kept.metrics.end() || !std::isfinite(found->second)) continue;
    better += keep_.best.max ? found->second >= value : found->second <= value;
  }
  return better < keep_.best.n;
}
void add_retention_notes(Trainable::Notes& notes, const std::map<std::string, double>& numbers) {
  std::map<std::string, double> kept;
  // No times: the same run writes the same bytes.
  for (auto& [name, value] : numbers)
    if ((name.starts_with("eval/") && !name.ends_with("seconds")) || name == "train/loss") kept[name] = value;
  if (!kept.empty()) notes[std::string(io::kMetricsNote)] = io::metrics_note(kept);
}
}  // namespace bora::training
