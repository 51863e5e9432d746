#include "train/monitor/slow_ranks.h"
#include <algorithm>
#include <cstdio>
#include "bora/base/text.h"

namespace bora::training {
namespace {
constexpr double kTimes = 1.15;           // the median's compute
constexpr std::int64_t kSteps = 50;       // of the window
constexpr double kSeconds = 10;           // of the window, at least
constexpr std::int64_t kSliceSteps = 5;   // of every rank, at least
constexpr double kSliceSeconds = 0.9;     // statuses come once a second
constexpr double kShare = 0.8;            // of the slices
constexpr double kLeast = 5e-4;           // seconds of a step that are worth a word

std::string text_of(const char* form, double x) {
  char text[64];
  std::snprintf(text, sizeof text, form, x);
  return text;
}
double compute_of(const RankStatus& from, const RankStatus& to) {
  auto steps = to.counted - from.counted;
  return steps > 0 ? (to.compute_seconds - from.compute_seconds) / static_cast<double>(steps) : 0;
}
/// A number of each rank, from the statuses at the ends of a stretch.
template <class F>
std::vector<double> each(std::span<const RankStatus> from, std::span<const RankStatus> to, const F& f) {
  std::vector<double> r;
  for (std::size_t k = 0; k < to.size(); ++k) r.push_back(f(from[k], to[k]));
  return r;
}
/// What the system counted that makes a rank slow, and does not slow all of them alike.
std::string reason(std::size_t r, double seconds, std::span<const RankStatus> from, std::span<const RankStatus> to) {
  struct Share {
    double mine, more;  // more: than the median rank's
  };
  auto share = [&](auto RankStatus::*counter) {
    auto all = each(from, to, [&](auto& a, auto& b) { return static_cast<double>(b.*counter - a.*counter) / seconds; });
    return Share{all[r], all[r] - median(all)};
  };
  if (auto x = share(&RankStatus::throttled_seconds); x.more > 0.05)
    return "the CPU quota of its cgroup stopped it for " + text_of("%.0f", 100 * std::min(x.mine, 1.0)) +
           " % of the time";
  if (auto x = share(&RankStatus::steal_seconds); x.more > 0.1)
    return "other virtual machines took " + text_of("%.2g", x.mine) + " CPUs of its host";
  if (auto x = share(&RankStatus::major_faults); x.more > 20)
    return "it reads " + text_of("%.0f", x.mine) + " pages a second from a disk: its host has too little memory";
  auto clock = median(each(from, to, [](auto&, auto& b) { return b.mhz; }));
  if (to[r].mhz > 0 && to[r].mhz < 0.85 * clock)
    return "its CPU runs at " + text_of("%.0f", to[r].mhz) + " MHz, the median one at " + text_of("%.0f", clock);
  auto running = each(from, to, [](auto& a, auto& b) {
    auto compute = b.compute_seconds - a.compute_seconds;
    return compute > 0 ? (b.cpu_seconds - a.cpu_seconds) / compute : 0;
  });
  if (auto others = median(running); running[r] < 0.75 * others)
    return "its threads have a CPU for " + text_of("%.2g", running[r]) +
           " s of a second in which it computes, those of the median rank for " + text_of("%.2g", others) +
           ": other programs use its cores, or something stops it";
  return "neither a quota, stolen time, page faults nor the clock explain it";
}
}  // namespace

double median(std::vector<double> all) {
  if (all.empty()) return 0;
  auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return all.size() % 2 ? *middle : (*middle + *std::max_element(all.begin(), middle)) / 2;
}
std::string name_of(int rank, const RankStatus& s) {
  std::string host(s.host, std::find(s.host, s.host + sizeof s.host, '\0'));
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " (host " + one_line(host) + ")");
}
std::optional<SlowRanks::Slow> SlowRanks::look(double now, std::span<const RankStatus> ranks) {
  if (ranks.size() < 2 || std::any_of(ranks.begin(), ranks.end(), [](auto& r) { return r.counted == 0; })) return {};
  auto fewest = [&](const Mark& since) {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t k = 0; k < ranks.size(); ++k) least = std::min(least, ranks[k].counted - since.ranks[k].counted);
    return least;
  };
  if (!marks_.empty() && (marks_.back().ranks.size() != ranks.size() || fewest(marks_.back()) < 0)) marks_.clear();
  if (!marks_.empty() && (fewest(marks_.back()) < kSliceSteps || now - marks_.back().now < kSliceSeconds)) return {};
  marks_.push_back({now, {ranks.begin(), ranks.end()}});
  auto whole = [&](const Mark& since) { return fewest(since) >= kSteps && now - since.now >= kSeconds; };
  while (marks_.size() > 2 && whole(marks_[1])) marks_.pop_front();
  auto& first = marks_.front();
  if (!whole(first)) return {};

  auto computes = each(first.ranks, ranks, compute_of);
  auto middle = median(computes);
  std::vector<double> for_work;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    for_work.push_back(computes[k] / (ranks[k].flops > 0 ? ranks[k].flops : 1));
  auto middle_for_work = median(for_work);
  worst_ = middle > 0 ? *std::max_element(computes.begin(), computes.end()) / middle : 0;
  std::vector<int> often(ranks.size());
  for (std::size_t m = 1; m < marks_.size(); ++m) {
    auto slice = each(marks_[m - 1].ranks, marks_[m].ranks, compute_of);
    auto limit = kTimes * median(slice);
    for (std::size_t k = 0; k < ranks.size(); ++k) often[k] += slice[k] > limit;
  }
  std::vector<std::size_t> slow;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    if (computes[k] > kTimes * middle && for_work[k] > kTimes * middle_for_work && computes[k] - middle > kLeast &&
        often[k] >= kShare * static_cast<double>(marks_.size() - 1))
      slow.push_back(k);
  if (slow.empty()) return {};
  auto r = *std::max_element(slow.begin(), slow.end(), [&](auto a, auto b) { return computes[a] < computes[b]; });
  auto times = computes[r] / middle;
  auto text = name_of(static_cast<int>(r), ranks[r]) + " computes " + text_of("%.3g", times) +
              " times as long as the median rank (" + text_of("%.3g", computes[r]) + " s a step, not " +
              text_of("%.3g", middle) + "), over " + std::to_string(fewest(first)) + " steps; " +
              reason(r, now - first.now, first.ranks, ranks);
  if (slow.size() > 1) text += "; " + std::to_string(slow.size() - 1) + " more ranks are slow";
  return Slow{static_cast<int>(r), text, times};
}
}  // namespace bora::training
