// mix.h -- mixtures: the source of each element and its index there, as pure functions of the element's number.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace bora::data {
/// The order of a mixture of sources by weight: that of Grain's MapDataset.mix. Weights are scaled so that the smallest
/// becomes 100, and truncated to integers w. Of the first k elements source i gives k * w_i / sum(w), less than 1 more
/// and, with n sources, less than max(1, n - 1) fewer, for any k. Each source gives its elements in order. Safe from
/// any thread.
class Mix {
 public:
  /// Weights from element number `from` on, one for each source; 0: none of this source. Counts go on from those of the
  /// stages before.
  struct Stage {
    std::int64_t from;
    std::vector<double> weights;
  };
  /// Element number `index` of source number `source`.
  struct Pick {
    std::int64_t source, index;
    bool operator==(const Pick&) const = default;
  };
  /// ValueError: weights that are negative, not finite, all 0, or more than 10^10 times another; stages that do not
  /// begin at 0, do not ascend, or differ in the number of weights.
  explicit Mix(std::vector<Stage> stages);
  static Mix of(std::vector<double> weights) { return Mix(std::vector<Stage>{{0, std::move(weights)}}); }
  std::int64_t sources() const { return static_cast<std::int64_t>(stages_.front().shares.size()); }
  /// Whether a source has a share in any stage.
  bool uses(std::int64_t source) const;
  /// O(sources + log(stages)). ValueError if k is negative.
  Pick at(std::int64_t k) const;
  /// Elements of each source among the first k.
  std::vector<std::int64_t> counts(std::int64_t k) const;
  /// Elements that sources of these sizes give before one of them is used up, as Grain has it: in the last stage the
  /// smallest of size / share, truncated.
  std::int64_t size(const std::vector<std::int64_t>& sizes) const;

 private:
  struct Scaled {
    std::int64_t from, total;                // total: sum of the shares
    std::vector<std::int64_t> shares, used;  // used: of each source before `from`
  };
  const Scaled& stage_of(std::int64_t k) const;
  std::vector<Scaled> stages_;
};
}  // namespace bora::data
