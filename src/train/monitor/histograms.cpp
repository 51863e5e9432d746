#include "train/monitor/histograms.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include "bora/array/communicator.h"
#include "bora/base/collective.h"
#include "bora/shard/mesh.h"
#include "bora/shard/shard.h"
#include "bora/train/trainable.h"

namespace bora::training {
namespace {
constexpr int kHalf = 32, kLowest = -24;  // exponents: below 2^-24, to 2^-23, .. to 2^6, and above
constexpr std::size_t kBuckets = 2 * kHalf;
/// A leaf's numbers in the vector that is summed over the ranks; least and most are reduced by themselves.
constexpr std::size_t kCount = kBuckets, kSum = kBuckets + 1, kSquares = kBuckets + 2, kFields = kBuckets + 3;

std::size_t bucket_of(float x) {
  int exponent = 0;
  if (x != 0) std::frexp(x, &exponent);  // |x| < 2^exponent
  auto k = x == 0 ? 0 : std::clamp(exponent - kLowest, 0, kHalf - 1);
  return static_cast<std::size_t>(x < 0 ? kHalf - 1 - k : kHalf + k);
}
std::vector<double> limits() {
  std::vector<double> r;
  for (int k = kHalf - 1; k > 0; --k) r.push_back(-std::ldexp(1.0, kLowest + k - 1));
  r.push_back(0);
  for (int k = 0; k < kHalf - 1; ++k) r.push_back(std::ldexp(1.0, kLowest + k));
  r.push_back(std::numeric_limits<double>::max());
  return r;
}
/// The blocks of ranks with coordinate 0 along the axes that do not split the leaf are all of it, once.
bool counts(const Spec& spec, const Mesh& mesh) {
  bool mine = true;
  for (auto& [axis, size] : mesh.shape().axes) {
    mine = mine && (spec.uses(axis) || mesh.shape().coordinate(mesh.rank(), axis) == 0);
  }
  return mine;
}
void reduce(std::vector<double>& x, Reduction how, const Mesh& mesh) {
  MeshAxes all;
  for (auto& axis : mesh.shape().axes) all.push_back(axis.first);
  auto mine = x;
  CollectiveCall call{.kind = CollectiveKind::all_reduce,
                      .reduce = how,
                      .dtype = f64,
                      .in = mine.data(),
                      .out = x.data(),
                      .send_counts = {static_cast<std::int64_t>(x.size())}};
  call.describe = [] { return std::string("all_reduce of histograms"); };
  here().communicator->start(all, call)->wait();
}
}  // namespace

std::vector<std::pair<std::string, track::Histogram>> leaf_histograms(Trainable& model, const Mesh& mesh) {
  std::vector<std::pair<std::string, track::Histogram>> r;
  std::vector<double> sums, least, most;
  for (auto& slot : tree::slots(model.parameters())) {
    if (!slot.leaf.defined() || !model.trains(slot.path)) continue;
    r.push_back({slot.path, {.limits = limits()}});
    auto at = sums.size();
    sums.resize(at + kFields);
    least.push_back(std::numeric_limits<double>::infinity());
    most.push_back(-std::numeric_limits<double>::infinity());
    auto local = local_block(slot.leaf.get());
    if (!counts(local.spec, mesh)) continue;
    for (auto x : local.block.astype(f32).to_vector<float>()) {
      if (!std::isfinite(x)) continue;
      auto value = static_cast<double>(x);
      sums[at + bucket_of(x)] += 1, sums[at + kCount] += 1;
      sums[at + kSum] += value, sums[at + kSquares] += value * value;
      least.back() = std::min(least.back(), value), most.back() = std::max(most.back(), value);
    }
  }
  if (r.empty()) return r;
  if (mesh.size() > 1) {
    reduce(sums, Reduction::sum, mesh);
    reduce(least, Reduction::min, mesh);
    reduce(most, Reduction::max, mesh);
  }
  for (std::size_t k = 0; k < r.size(); ++k) {
    auto& h = r[k].second;
    auto of = sums.begin() + static_cast<std::ptrdiff_t>(k * kFields);
    h.counts.assign(of, of + kBuckets);
    h.count = of[kCount], h.sum = of[kSum], h.squares = of[kSquares];
    if (h.count > 0) h.least = least[k], h.most = most[k];
  }
  return r;
}
}  // namespace bora::training
