#include "train/monitor/rank_numbers.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include "train/monitor/slow_ranks.h"

namespace bora::training {
// Ranks are of one build, so the bytes of the struct are the message; it has no gaps.
static_assert(std::is_trivially_copyable_v<RankStatus> && sizeof(RankStatus) == 64 + 19 * 8);
std::string message_of(const RankStatus& s) { return {reinterpret_cast<const char*>(&s), sizeof s}; }
RankStatus status_of(const std::string& message) {
  RankStatus s;
  if (message.size() != sizeof s) return s;
  std::memcpy(static_cast<void*>(&s), message.data(), sizeof s);
  s.host[sizeof s.host - 1] = '\0';
  return s;
}
std::function<std::vector<double>()> computed_since_last(std::shared_ptr<const StatusBoard> board) {
  return [board = std::move(board), before = std::vector<RankStatus>()]() mutable {
    auto now = board->newest().ranks;
    before.resize(now.size());
    std::vector<double> seconds;
    for (std::size_t r = 0; r < now.size(); ++r) {
      auto steps = static_cast<double>(now[r].counted - before[r].counted);
      seconds.push_back(steps > 0 ? (now[r].compute_seconds - before[r].compute_seconds) / steps
                                  : std::numeric_limits<double>::quiet_NaN());
    }
    before = std::move(now);
    return seconds;
  };
}
track::Values RankNumbers::take(const std::vector<RankStatus>& now, double step_seconds) {
  before_.resize(now.size());
  struct Stretch {
    int rank;
    const RankStatus &from, &to;
    double steps;
  };
  std::vector<Stretch> told;
  for (std::size_t r = 0; r < now.size(); ++r) {
    auto steps = now[r].counted - before_[r].counted;
    if (steps > 0) told.push_back({static_cast<int>(r), before_[r], now[r], static_cast<double>(steps)});
  }
  track::Values values;
  if (told.empty()) return values;
  auto put = [&](const std::string& name, const auto& number) {
    std::vector<double> all;
    for (auto& s : told) all.push_back(number(s));
    auto [least, most] = std::minmax_element(all.begin(), all.end());
    auto which = static_cast<std::size_t>(most - all.begin());
    while (which > 0 && all[which - 1] == *most) --which;  // minmax_element gives the last one
    values.push_back({"rank/" + name + "/min", *least});
    values.push_back({"rank/" + name + "/median", median(all)});
    values.push_back({"rank/" + name + "/max", *most});
    values.push_back({"rank/" + name + "/argmax", told[which].rank});
    return *least;
  };
  auto of_step = [](double RankStatus::*total) {
    return [total](const Stretch& s) { return (s.to.*total - s.from.*total) / s.steps; };
  };
  // A rank that is new here has counted since its process began.
  auto since = [](auto RankStatus::*total) {
    return [total](const Stretch& s) {
      return s.from.step < 0 ? 0.0 : static_cast<double>(s.to.*total - s.from.*total);
    };
  };
  put("compute_seconds", of_step(&RankStatus::compute_seconds));
  auto least_wait = put("wait_seconds", of_step(&RankStatus::wait_seconds));
  put("read_seconds", of_step(&RankStatus::read_seconds));
  put("rss_bytes", [](const Stretch& s) { return static_cast<double>(s.to.rss_bytes); });
  put("throttled_seconds", since(&RankStatus::throttled_seconds));
  put("steal_seconds", since(&RankStatus::steal_seconds));
  put("major_faults", since(&RankStatus::major_faults));
  put("mhz", [](const Stretch& s) { return s.to.mhz; });
  double sent = 0, work = 0, peak = 0;
  for (auto& s : told)
    if (s.from.step >= 0) sent += static_cast<double>(s.to.sent_bytes - s.from.sent_bytes) / s.steps;
  for (auto& s : now) work += s.flops, peak += s.peak_flops;
  values.push_back({"link/bytes", sent});
  values.push_back({"link/wait_seconds", least_wait});
  if (work > 0 && peak > 0 && step_seconds > 0) values.push_back({"mfu", work / (step_seconds * peak)});
  for (auto& s : told) before_[static_cast<std::size_t>(s.rank)] = s.to;
  return values;
}
}  // namespace bora::training
