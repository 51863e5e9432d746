#include "bora/data/mix.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include "bora/base/error.h"

namespace bora::data {
namespace {
constexpr double kSmallest = 100, kLargest = 1e12;  // of the scaled weights
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
std::int64_t scaled(std::int64_t n, std::int64_t by, std::int64_t of) {
  using Wide = unsigned __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(n) * static_cast<Wide>(by) / static_cast<Wide>(of));
}
}  // namespace

Mix::Mix(std::vector<Stage> stages) {
  check<ValueError>(!stages.empty() && stages.front().from == 0, "mix: the first stage must begin at element 0");
  for (auto& stage : stages) {
    auto& weights = stage.weights;
    check<ValueError>(!weights.empty(), "mix: there are no weights");
    check<ValueError>(weights.size() == stages.front().weights.size(), "mix: the stage from element ", stage.from,
                      " has ", weights.size(), " weights, the first has ", stages.front().weights.size());
    check<ValueError>(
        stages_.empty() || stage.from > stages_.back().from, "mix: a stage from element ", stage.from,
        " follows one from element ", [&] { return stages_.back().from; }, "; they must ascend");
    double least = std::numeric_limits<double>::infinity();
    for (auto w : weights) {
      check<ValueError>(std::isfinite(w) && w >= 0, "mix: the weight ", w, " is not a finite number of at least 0");
      if (w > 0) least = std::min(least, w);
    }
    check<ValueError>(std::isfinite(least), "mix: all weights from element ", stage.from, " on are 0");
    Scaled s{stage.from, 0, {}, std::vector<std::int64_t>(weights.size())};
    if (!stages_.empty()) s.used = counts(stage.from);
    auto factor = kSmallest / least;
    for (auto w : weights) {
      check<ValueError>(w * factor <= kLargest, "mix: the weight ", w, " is more than 10^10 times the weight ", least);
      s.shares.push_back(static_cast<std::int64_t>(w * factor));
      s.total += s.shares.back();
    }
    stages_.push_back(std::move(s));
  }
}
const Mix::Scaled& Mix::stage_of(std::int64_t k) const {
  check<ValueError>(k >= 0 && k < kMost, "mix: there is no element number ", k);
  return *(std::upper_bound(stages_.begin(), stages_.end(), k, [](auto n, auto& s) { return n < s.from; }) - 1);
}
bool Mix::uses(std::int64_t source) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](auto& s) { return s.shares[static_cast<std::size_t>(source)] > 0; });
}
// Source 0 has k - floor(k * (total - share) / total) of the first k elements; the rest is a mixture of the others.
Mix::Pick Mix::at(std::int64_t k) const {
  auto& stage = stage_of(k);
  auto before = k - stage.from, after = before + 1, rest = stage.total;
  for (std::size_t i = 0;; ++i) {
    auto share = stage.shares[i];
    auto others_before = scaled(before, rest - share, rest), others_after = scaled(after, rest - share, rest);
    auto count = before - others_before;
    if (after - others_after != count) return {static_cast<std::int64_t>(i), stage.used[i] + count};
    rest -= share;
    before = others_before;
    after = others_after;
  }
}
std::vector<std::int64_t> Mix::counts(std::int64_t k) const {
  auto& stage = stage_of(std::max<std::int64_t>(k - 1, k < 0 ? k : 0));  // the stage that the last of them belongs to
  auto counts = stage.used;
  auto n = k - stage.from, rest = stage.total;
  for (std::size_t i = 0; i < counts.size() && rest > 0; ++i) {
    auto others = scaled(n, rest - stage.shares[i], rest);
    counts[i] += n - others;
    rest -= stage.shares[i];
    n = others;
  }
  return counts;
}
std::int64_t Mix::size(const std::vector<std::int64_t>& sizes) const {
  check<ValueError>(sizes.size() == stages_.front().shares.size(), "mix: ", sizes.size(), " sizes for ", sources(),
                    " sources");
  for (std::size_t s = 0;; ++s) {
    auto& stage = stages_[s];
    auto end = s + 1 < stages_.size() ? stages_[s + 1].from : kMost;
    auto most = static_cast<double>(kMost);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (stage.shares[i] > 0) {
        auto left = static_cast<double>(std::max<std::int64_t>(0, sizes[i] - stage.used[i]));
        most = std::min(most, left / (static_cast<double>(stage.shares[i]) / static_cast<double>(stage.total)));
      }
    auto elements = most < static_cast<double>(kMost) ? static_cast<std::int64_t>(most) : kMost;
    if (s + 1 == stages_.size() || elements < end - stage.from)
      return elements > kMost - stage.from ? kMost : stage.from + elements;
  }
}
}  // namespace bora::data
