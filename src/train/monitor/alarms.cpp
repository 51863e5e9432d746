#include "train/monitor/alarms.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include "bora/base/text.h"

namespace bora::training {
namespace {
constexpr std::size_t kLosses = 200, kFewest = 50;
constexpr double kStallTimes = 10, kStallSeconds = 10;  // the median's step; and no shorter pause
constexpr double kRateSeconds = 60;
constexpr std::int64_t kRateSteps = 50;
constexpr double kEvent = 600;                      // seconds for which an event is shown
constexpr double kSilent = 4;                       // seconds; a status comes each second
constexpr double kMinute = 60;
constexpr std::size_t kDiskMinutes = 60, kDiskFewest = 20;
constexpr double kDay = 86400;

template <class... T> std::string written(const char* form, T... x) {
  char text[256];
  std::snprintf(text, sizeof text, form, x...);
  return text;
}
std::string time_text(double seconds) {
  if (seconds < 120) return written("%.3g s", seconds);
  if (seconds < 7200) return written("%.0f minutes", seconds / 60);
  return written("%.1f hours", seconds / 3600);
}
std::vector<double> sorted_out(const std::deque<double>& all) { return {all.begin(), all.end()}; }
}  // namespace

bool Alarms::holds(const std::string& kind) const {
  return std::any_of(held_.begin(), held_.end(), [&](auto& h) { return h.alert.kind == kind; });
}
void Alarms::raise(std::vector<Alert>& to, const std::string& kind, const std::string& text, int rank) {
  if (holds(kind)) return;
  held_.push_back({{.kind = kind, .text = text, .rank = rank, .step = step_}, now_});
  to.push_back(held_.back().alert);
}
void Alarms::clear(const std::string& kind) {
  std::erase_if(held_, [&](auto& h) { return h.alert.kind == kind && h.until == 0; });
}
Alert Alarms::event(const std::string& kind, const std::string& text, int rank) {
  std::erase_if(held_, [&](auto& h) { return h.alert.kind == kind; });
  held_.push_back({{.kind = kind, .text = text, .rank = rank, .step = step_}, now_, now_ + kEvent});
  return held_.back().alert;
}
std::vector<Alert> Alarms::holding(double now) const {
  std::vector<Alert> r;
  for (auto& h : held_)
    if (h.until == 0 || now < h.until) r.push_back(h.alert);
  return r;
}

// ---- after a step -------------------------------------------------------------------------------------------------
std::vector<Alert> Alarms::after(const Step& s) {
  std::vector<Alert> r;
  now_ = s.now;
  step_ = s.step;
  clear("stalled");
  std::erase_if(held_, [&](auto& h) { return h.until > 0 && now_ >= h.until; });
  seconds_.push_back(s.seconds);
  if (seconds_.size() > kLosses) seconds_.pop_front();
  if (std::isfinite(s.loss)) look_at_loss(s, r);
  look_at_rate(s, r);
  return r;
}
/// Sigma is the larger one of two estimates, so that losses with a few far ones are not taken for normal; and no less
/// than half a percent of the loss, which a run that learns nothing more may have as its only noise.
void Alarms::look_at_loss(const Step& s, std::vector<Alert>& r) {
  bool high = losses_.size() >= kFewest && s.loss > *std::max_element(losses_.begin(), losses_.end());
  if (high || holds("loss_spike")) {
    auto middle = median(sorted_out(losses_));
    std::vector<double> away;
    double squares = 0;
    for (auto x : losses_) away.push_back(std::abs(x - middle)), squares += (x - middle) * (x - middle);
    auto sigma = std::max({1.4826 * median(away), std::sqrt(squares / static_cast<double>(losses_.size())),
                           0.005 * std::abs(middle)});
    if (s.loss > middle + 6 * sigma)
      raise(r, "loss_spike",
            written("the loss of step %lld is %.5g; the median of the %zu before is %.5g, with a deviation of %.2g",
                    static_cast<long long>(s.step), s.loss, losses_.size(), middle, sigma));
    else if (s.loss < middle + 3 * sigma) clear("loss_spike");
  }
  losses_.push_back(s.loss);
  if (losses_.size() > kLosses) losses_.pop_front();
}
/// The last minute, and 50 steps, against up to ten times as long before it.
void Alarms::look_at_rate(const Step& s, std::vector<Alert>& r) {
  if (!(s.tokens_per_second > 0) || !(s.seconds > 0)) return;
  bool next = rates_.empty() || s.now - rates_.back().now >= 1;
  if (next) rates_.push_back({.now = s.now});
  auto& last = rates_.back();
  last.seconds += s.seconds;
  last.tokens += s.tokens_per_second * s.seconds;
  ++last.steps;
  if (!next) return;
  std::size_t n = 0;
  std::int64_t steps = 0;
  while (n < rates_.size() && (steps < kRateSteps || s.now - rates_[rates_.size() - n].now < kRateSeconds)) {
    ++n;
    steps += rates_[rates_.size() - n].steps;
  }
  auto lasts = s.now - rates_[rates_.size() - n].now;
  if (steps < kRateSteps || lasts < kRateSeconds) return;
  while (rates_.size() > 2 * n && s.now - rates_.front().now > 11 * lasts) rates_.pop_front();
  if (rates_.size() < 2 * n) return;
  auto middle = [&](std::size_t from, std::size_t to) {
    std::vector<double> all;
    for (auto k = from; k < to; ++k) all.push_back(rates_[k].rate());
    return median(all);
  };
  auto now = middle(rates_.size() - n, rates_.size());
  if (holds("slow_rate")) {
    if (now > 0.9 * usual_rate_) clear("slow_rate");
    return;
  }
  auto before = middle(0, rates_.size() - n);
  if (now >= 0.8 * before) return;
  usual_rate_ = before;
  raise(r, "slow_rate",
        written("%.4g tokens a second in the last %s, %.0f %% less than the %.4g before", now, time_text(lasts).c_str(),
                100 * (1 - now / before), before));
}

// ---- each second --------------------------------------------------------------------------------------------------
std::vector<Alert> Alarms::at(const Moment& m) {
  std::vector<Alert> r;
  now_ = m.now;
  auto usual = median(sorted_out(seconds_));
  if (seconds_.size() >= 3 && m.in_step > std::max(kStallTimes * usual, kStallSeconds))
    raise(r, "stalled", "no step for " + time_text(m.in_step) + ", and the median one takes " + time_text(usual) +
                            who_is_late(m));
  if (auto slow = slow_.look(m.now, m.ranks)) {
    if (slow->rank != slow_rank_) clear("slow_rank");
    slow_rank_ = slow->rank;
    raise(r, "slow_rank", slow->text, slow->rank);
  } else if (slow_.worst() > 0 && slow_.worst() < 1.1) {
    clear("slow_rank");
    slow_rank_ = -1;
  }
  if (m.save_limit > 0 && m.save_age > m.save_limit)
    raise(r, "save_old", "the newest checkpoint is " + time_text(m.save_age) + " old; a loss now costs that much work");
  else clear("save_old");
  look_at_disk(m, r);
  look_at_memory(m, r);
  return r;
}
std::string Alarms::who_is_late(const Moment& m) const {
  std::string silent, late;
  for (std::size_t k = 0; k < m.ranks.size(); ++k) {
    auto& s = m.ranks[k];
    auto name = name_of(static_cast<int>(k), s);
    auto add = [](std::string& to, const std::string& what) { to += (to.empty() ? "" : ", ") + what; };
    if (s.step < 0 || m.heard[k] > kSilent) add(silent, name);
    else if (s.at == RankStatus::At::reading) add(late, name + " waits for its rows");
    else if (s.blocked_seconds == 0) add(late, name + " computes");
  }
  if (!silent.empty()) return "; nothing is heard of " + silent;
  return late.empty() ? "; all ranks wait for messages" : "; " + late + (m.ranks.size() > 1 ? ", the others wait" : "");
}
/// Free bytes fall and rise with each checkpoint, so each minute counts with its least, and a fall with three thirds of
/// the time that each end lower.
void Alarms::look_at_disk(const Moment& m, std::vector<Alert>& r) {
  if (m.disk_free < 0) return;
  if (disk_.empty() || m.now - disk_.back().now >= kMinute) disk_.push_back({m.now, m.disk_free});
  disk_.back().least = std::min(disk_.back().least, m.disk_free);
  if (disk_.size() > kDiskMinutes) disk_.pop_front();
  auto small = m.save_bytes > 0 && m.disk_free < m.save_bytes;
  std::string text;
  if (small)
    text = "the disk has " + bytes_text(m.disk_free) + " left, and the next checkpoint needs " +
           bytes_text(m.save_bytes);
  if (!small && disk_.size() >= kDiskFewest) {
    auto third = disk_.size() / 3;
    auto least = [&](std::size_t from, std::size_t to) {
      auto x = std::numeric_limits<std::int64_t>::max();
      for (auto k = from; k < to; ++k) x = std::min(x, disk_[k].least);
      return static_cast<double>(x);
    };
    auto a = least(0, third), b = least(third, 2 * third), c = least(2 * third, disk_.size());
    auto passed = disk_.back().now - disk_[third / 2].now;
    auto lasts = a > b && b > c && a - c > 0.01 * c ? c / (a - c) * passed : kDay;
    if (lasts < std::min(m.seconds_left, kDay))
      text = "the disk is full in " + time_text(lasts) + " if it goes on to fill as in the last " + time_text(passed) +
             ", and the run lasts for " + time_text(m.seconds_left) + " more; " + bytes_text(m.disk_free) + " are left";
  }
  if (text.empty()) clear("disk");
  else raise(r, "disk", text);
}
void Alarms::look_at_memory(const Moment& m, std::vector<Alert>& r) {
  full_.resize(m.ranks.size());
  bool any = false;
  for (std::size_t k = 0; k < m.ranks.size(); ++k) {
    auto& s = m.ranks[k];
    auto share = s.memory_all > 0 ? static_cast<double>(s.memory_used) / static_cast<double>(s.memory_all) : 0;
    full_[k] = share > 0.9 ? full_[k] + 1 : 0;
    any = any || share > 0.85;
    if (full_[k] >= 3)
      raise(r, "memory",
            written("%.0f %% of the ", 100 * share) + bytes_text(s.memory_all) + " of memory that " +
                name_of(static_cast<int>(k), s) + " may use are in use; above that the system ends it, and it holds " +
                bytes_text(s.rss_bytes),
            static_cast<int>(k));
  }
  if (!any) clear("memory");
}
}  // namespace bora::training
