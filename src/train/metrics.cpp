#include "train/metrics.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace bora::training {
namespace {
using Pairs = std::vector<std::pair<float, float>>;
constexpr std::string_view kAccuracy = "accuracy", kMacroF1 = "macro_f1", kSpearman = "spearman",
                           kExactMatch = "exact_match", kF1 = "f1";
double accuracy(const Pairs& all) {
  auto right = std::count_if(all.begin(), all.end(), [](auto& p) { return p.first == p.second; });
  return static_cast<double>(right) / static_cast<double>(all.size());
}
double macro_f1(const Pairs& all) {
  struct Counts {
    double right = 0, got = 0, wanted = 0;
  };
  std::map<float, Counts> of;
  for (auto& [got, want] : all) of[got].got += 1, of[want].wanted += 1, of[got].right += got == want;
  double sum = 0;
  for (auto& [label, c] : of) sum += 2 * c.right / (c.got + c.wanted);
  return sum / static_cast<double>(of.size());
}
/// From 1 on; equal numbers have the mean of their ranks.
std::vector<double> ranks(const std::vector<float>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] < x[b]; });
  std::vector<double> r(x.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    for (end = i; end < order.size() && x[order[end]] == x[order[i]];) ++end;
    for (auto k = i; k < end; ++k) r[order[k]] = 0.5 * static_cast<double>(i + 1 + end);
  }
  return r;
}
/// 0 where all of one side are equal.
double spearman(const Pairs& all) {
  std::array<std::vector<float>, 2> sides;
  for (auto& [got, want] : all) sides[0].push_back(got), sides[1].push_back(want);
  auto a = ranks(sides[0]), b = ranks(sides[1]);
  auto mean = 0.5 * static_cast<double>(all.size() + 1);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean), aa += (a[i] - mean) * (a[i] - mean), bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}
/// Spans are two pairs each: of the first and of the last place.
double exact_match(const Pairs& all) {
  double right = 0;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    right += all[i].first == all[i].second && all[i + 1].first == all[i + 1].second;
  return 2 * right / static_cast<double>(all.size());
}
double span_f1(const Pairs& all) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    auto &begin = all[i], &end = all[i + 1];
    auto got = end.first - begin.first + 1, want = end.second - begin.second + 1;
    auto shared = std::min(end.first, end.second) - std::max(begin.first, begin.second) + 1;
    sum += shared > 0 ? 2 * static_cast<double>(shared) / static_cast<double>(got + want) : 0;
  }
  return 2 * sum / static_cast<double>(all.size());
}
}  // namespace

void Predictions::add(std::span<const float> numbers) {
  auto n = numbers.size() / 3;
  for (std::size_t i = 0; i < n; ++i)
    if (numbers[2 * n + i] > 0) all_.emplace_back(numbers[i], numbers[n + i]);
}
void Predictions::add(const Predictions& more) { all_.insert(all_.end(), more.all_.begin(), more.all_.end()); }
void Predictions::append(data::Prediction kind, const std::string& prefix, track::Values& values) const {
  if (all_.empty()) return;
  auto add = [&](std::string_view name, double x) { values.push_back({prefix + std::string(name), x}); };
  using enum data::Prediction;
  if (kind == classes || kind == partners) add(kAccuracy, accuracy(all_));
  if (kind == classes) add(kMacroF1, macro_f1(all_));
  if (kind == numbers || kind == similarities) add(kSpearman, spearman(all_));
  if (kind == spans) add(kExactMatch, exact_match(all_)), add(kF1, span_f1(all_));
}
bool grows(std::string_view metric) {
  for (auto name : {kAccuracy, kMacroF1, kSpearman, kExactMatch, kF1})
    if (metric.ends_with(name)) return true;
  return false;
}
}  // namespace bora::training
