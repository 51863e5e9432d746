#include "train/monitor/monitor.h"
#include "train/saves/saves.h"
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include "base/api/cores.h"
#include "base/api/threads.h"
#include "bora/base/text.h"
#include "bora/train/plan.h"

namespace bora::training {
namespace {
using Seconds = std::chrono::duration<double>;
constexpr Seconds kEach{1}, kDisk{10};
double utc() { return Seconds(std::chrono::system_clock::now().time_since_epoch()).count(); }
double steady() { return Seconds(Clock::now().time_since_epoch()).count(); }
RankStatus::At place_of(const std::string& what) {
  return what.starts_with("step ")          ? RankStatus::At::step
         : what.starts_with("reading the text") ? RankStatus::At::reading
                                                : RankStatus::At::other;
}
}  // namespace

Monitor::Monitor(Run& run)
    : run_(run),
      ranks_(run.mesh.context()),
      board_(run.board ? run.board : run.board = std::make_shared<StatusBoard>()),
      from_(run.done),
      command_(run.settings.alerts.command) {
  ::gethostname(status_.host, sizeof status_.host - 1);
  status_.step = run.done;
  status_.flops = flops_of_step(run.done);
  status_.peak_flops = product_rate();
  if (!first()) return;
  save_bytes_ = checkpoint_bytes(run.model.state());
  facts_ = {.out = run.out, .saved_at = begun_};
  board_->change([&](RunStatus& s) {
    s.step = run.done, s.steps = run.settings.steps;
    s.ranks.assign(static_cast<std::size_t>(run.mesh.size()), {});
    s.heard.assign(s.ranks.size(), std::numeric_limits<double>::infinity());
    s.alerts.clear();
  });
}
Monitor::~Monitor() { end_thread(); }
double Monitor::flops_of_step(std::int64_t before) const {
  return run_.flops_of_row * static_cast<double>(run_.cursor.batch_of(before));
}
void Monitor::end_thread() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}
void Monitor::end() {
  end_thread();
  record_found();
}

// ---- the thread that trains ---------------------------------------------------------------------------------------
void Monitor::before_step() {
  if (steps_ == 0 && !thread_.joinable()) try {
      tick();  // no status without them
      thread_ = start_thread("the numbers of ranks", [this] { this->run(); });
    } catch (const Error& e) { run_.warn(std::string(e.what()) + "; until then they are told after steps only"); }
  waited_ = ranks_.traffic().waited_s;
}
void Monitor::count_step(const StepReport& r) {
  auto traffic = ranks_.traffic();
  auto wait = std::min(traffic.waited_s - waited_, r.seconds);
  std::lock_guard lock(mutex_);
  status_.step = r.step;
  status_.flops = flops_of_step(r.step - 1);
  status_.sent_bytes = static_cast<std::int64_t>(traffic.bytes_sent);
  if (steps_++ == 0) return;
  ++status_.counted;
  status_.compute_seconds += r.seconds - wait;
  status_.wait_seconds += wait;
  status_.read_seconds += r.data_wait;
}
/// What the thread of rank 0 is to know.
void Monitor::take_facts(const StepReport& r) {
  // An average that forgets: how long steps take.
  usual_ = steps_ <= 2 ? r.seconds : 0.9 * usual_ + 0.1 * r.seconds;
  auto& s = run_.settings.checkpoint;
  auto never = std::numeric_limits<double>::infinity();
  auto due = std::min(s.minutes > 0 ? 60 * s.minutes : never,
                      s.every > 0 ? static_cast<double>(s.every) * (usual_ + r.data_wait) : never);
  auto left = seconds_since(begun_) / static_cast<double>(r.step - from_) *
              static_cast<double>(run_.settings.steps - r.step);
  std::lock_guard lock(mutex_);
  facts_ = {.out = run_.out,
            .saved_at = std::max(run_.saved.at, begun_),
            .save_limit = std::isfinite(due) ? std::max(s.max_age.seconds, 3 * due) : 0,
            .seconds_left = left};
}
track::Values Monitor::after_step(const StepReport& r) {
  count_step(r);
  // The step that compiles counts as much as the next one.
  auto& goodput = run_.goodput;
  if (steps_ > 1 && !r.skipped) goodput.useful += steps_ == 2 ? 2 * r.seconds : r.seconds;
  if (is_due()) tell();
  if (!first()) return {};
  take_facts(r);
  std::vector<Alert> alerts;
  {
    std::lock_guard lock(mutex_);
    alerts = alarms_.after({.step = r.step,
                            .now = steady(),
                            .loss = r.loss,
                            .tokens_per_second = steps_ > 1 ? r.tokens_per_second : 0,
                            .seconds = r.seconds + r.data_wait});
  }
  deliver(alerts);
  record_found();
  auto now = utc();
  if (goodput.begun == 0) goodput.begun = now - r.seconds;
  auto good = now > goodput.begun ? goodput.useful / (now - goodput.begun) : 0;
  board_->change([&](RunStatus& s) {
    s.step = r.step, s.loss = r.loss, s.tokens_per_second = r.tokens_per_second, s.step_seconds = r.seconds;
    s.begun = goodput.begun, s.last_step = now, s.goodput = good;
  });
  if (steps_ > 1) seconds_ += r.seconds, ++recorded_;
  // Often at first; some thousands of times in a run of days.
  if (seconds_since(recorded_at_) < std::clamp(seconds_since(begun_) / 200, 1.0, 30.0) || recorded_ == 0) return {};
  std::vector<double> heard;
  auto values = numbers_.take(told(heard), seconds_ / static_cast<double>(recorded_));
  if (values.empty()) return values;
  recorded_at_ = Clock::now();
  seconds_ = 0, recorded_ = 0;
  values.push_back({"goodput", good});
  for (auto& [name, value] : values)
    if (name == "mfu") board_->change([&x = value](RunStatus& s) { s.mfu = x; });
  return values;
}
void Monitor::alert(const std::string& kind, const std::string& text, int rank) {
  Alert a;
  {
    std::lock_guard lock(mutex_);
    a = alarms_.event(kind, text, rank);
  }
  a.step = run_.done;
  deliver({a});
  record_found();
}
void Monitor::record_found() {
  std::vector<Alert> found;
  {
    std::lock_guard lock(mutex_);
    found = std::exchange(unrecorded_, {});
  }
  for (auto& a : found) run_.record_event(a);
}

// ---- both threads -------------------------------------------------------------------------------------------------
/// Says them, runs the user's command, and leaves the records to the thread that trains, whose the trackers are.
void Monitor::deliver(std::vector<Alert> alerts) {
  for (auto& a : alerts) {
    a.time = utc();
    a.text = one_line(a.text);
    std::string problem;
    {
      std::lock_guard lock(mutex_);
      unrecorded_.push_back(a);
      problem = command_.start(a, facts_.out);
    }
    run_.say("alert: " + a.text);
    run_.warn(problem);
  }
  if (alerts.empty()) return;
  std::vector<Alert> holding;
  {
    std::lock_guard lock(mutex_);
    holding = alarms_.holding(steady());
  }
  board_->change([&](RunStatus& s) { s.alerts = holding; });
}
bool Monitor::is_due() {
  std::lock_guard lock(mutex_);
  return steps_ == 1 || Clock::now() - told_at_ >= kEach / 2;
}
void Monitor::tell() {
  std::string message;
  {
    std::lock_guard lock(mutex_);
    message = message_of(status_);
    told_at_ = Clock::now();
  }
  ranks_.tell(message);
}
std::vector<RankStatus> Monitor::told(std::vector<double>& heard) const {
  std::vector<RankStatus> all;
  for (auto& [message, ago] : ranks_.told()) {
    all.push_back(status_of(message));
    heard.push_back(message.empty() ? std::numeric_limits<double>::infinity() : ago);
  }
  return all;
}

// ---- the thread of statuses ---------------------------------------------------------------------------------------
void Monitor::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kEach, [this] { return ends_; })) {
    lock.unlock();
    try {
      tick();
      if (first()) look();
    } catch (const std::exception&) {}  // no memory, or the job is over, as the thread that trains will find
    lock.lock();
  }
}
void Monitor::tick() {
  auto process = process_counters();
  auto host = host_counters();
  auto memory = free_memory();
  auto traffic = ranks_.traffic();
  auto [what, seconds] = run_.watchdog.place();
  {
    std::lock_guard lock(mutex_);
    auto& s = status_;
    s.at = place_of(what);
    s.at_seconds = seconds;
    s.blocked_seconds = traffic.waiting_s;
    s.rss_bytes = process.rss_bytes;
    s.major_faults = process.major_faults;
    s.memory_used = memory.all - memory.bytes;
    s.memory_all = memory.all;
    s.cpu_seconds = process.cpu_s;
    s.throttled_seconds = host.throttled_s;
    s.steal_seconds = host.steal_s;
    s.mhz = process.mhz;
  }
  tell();
}
void Monitor::look() {
  std::vector<double> heard;
  auto ranks = told(heard);
  if (auto now = Clock::now(); now - disk_at_ >= kDisk) {
    disk_at_ = now;
    struct ::statvfs disk {};
    std::string out;
    {
      std::lock_guard lock(mutex_);
      out = facts_.out;
    }
    bool known = ::statvfs(out.c_str(), &disk) == 0;
    disk_free_ = known ? static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize) : -1;
  }
  std::vector<Alert> alerts, holding;
  std::vector<std::string> said;
  {
    std::lock_guard lock(mutex_);
    alerts = alarms_.at({.now = steady(),
                         .ranks = ranks,
                         .heard = heard,
                         .in_step = status_.at == RankStatus::At::other ? -1 : status_.at_seconds,
                         .save_age = seconds_since(facts_.saved_at),
                         .save_limit = facts_.save_limit,
                         .disk_free = disk_free_,
                         .save_bytes = save_bytes_,
                         .seconds_left = facts_.seconds_left});
    holding = alarms_.holding(steady());
    said = command_.look();
  }
  board_->change([&](RunStatus& s) { s.ranks = ranks, s.heard = heard, s.alerts = holding; });
  deliver(alerts);
  for (auto& line : said) run_.warn(line);
}
}  // namespace bora::training
