#include "bora/nn/loss.h"
#include <algorithm>
#include <cmath>
#include "bora/array/communicator.h"
#include "bora/fx/checkpoint.h"
#include "bora/fx/custom.h"
#include "bora/fx/transforms.h"
#include "bora/named/axes.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/nn.h"
#include "bora/ops/sharding.h"
#include "nn/core/position_parts.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets) {
  auto rows = scores.axes();
  rows.erase(rows.begin() + scores.position(vocab));
  auto order = rows;
  order.push_back(scores.axis(vocab.name));
  return named(bora::cross_entropy(aligned(scores, order).array(), broadcast_to(targets, rows).array()), rows);
}
namespace {
void check_z_loss(double z) {
  check<ValueError>(std::isfinite(z) && z >= 0, "cross_entropy: z_loss must be 0 or more, got ", z);
}
}  // namespace
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets,
                         const CrossEntropyOptions& o) {
  check_z_loss(o.z_loss);
  check<ValueError>(o.label_smoothing >= 0 && o.label_smoothing < 1,
                    "cross_entropy: label_smoothing must be at least 0 and below 1, got ", o.label_smoothing);
  auto loss = cross_entropy(scores, vocab, targets);
  if (o == CrossEntropyOptions{}) return loss;
  auto x = in_real_accumulator(scores);
  auto z = logsumexp(x, vocab);
  if (o.label_smoothing > 0) {
    auto n = static_cast<double>(x.axis(vocab.name).size);
    check<ValueError>(n > 1, "cross_entropy: label_smoothing needs 2 tokens or more in axis '", vocab.name, "'");
    auto on = 1 - o.label_smoothing, off = o.label_smoothing / (n - 1);
    auto entropy = -(on * std::log(on) + (n - 1) * off * std::log(off + 1e-20));
    loss = loss * (on - off) + (z * n - sum(x, AxisNames{vocab})) * off - entropy;
  }
  return o.z_loss > 0 ? loss + square(z) * o.z_loss : loss;
}
NamedArray soft_cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets,
                              double z_loss) {
  check_z_loss(z_loss);
  check<DtypeError>(is_float(targets.dtype()), "soft_cross_entropy: targets are probabilities, not ", targets.dtype());
  check<AxisError>(targets.has_axis(vocab.name), "soft_cross_entropy: the targets ", targets.axes(), " have no axis '",
                   vocab.name, "'");
  auto x = in_real_accumulator(scores);
  auto loss = -sum(log_softmax(x, vocab) * targets.astype(x.dtype()), AxisNames{vocab});
  return z_loss > 0 ? loss + square(logsumexp(x, vocab)) * z_loss : loss;
}

namespace {
constexpr const char* kBlock = "block";
struct Rows {
  NamedArray x, targets, weights;
};
struct Targets {
  NamedArray x, targets;
};
/// The arguments that have derivatives.
struct Inputs {
  Head head;
  NamedArray x, weights;
};
struct Total {
  NamedArray loss;
  Head head;
};
struct OfRows {
  NamedArray x, weights;
};
NamedArray loss_of(const Inputs& in, const NamedArray& targets, const LinearCrossEntropyOptions& o) {
  // What has no weight is no part of the sum, not 0 times what may be NaN, and neither are its derivatives.
  auto counts = in.weights != 0;
  auto seen = broadcast_to(counts, union_axes(in.x.axes(), counts.axes()));
  auto x = where(seen || abs(in.x) < std::sqrt(info(in.x.dtype()).largest), in.x, 0);
  auto loss = cross_entropy(in.head(x).astype(f32).astype(o.scores), kVocab, targets, o.loss);
  return sum(where(isfinite(loss) || counts, loss, 0) * in.weights);
}
/// Positions of a block along this axis: the scores' size on a rank is within the limit, or it is one position.
std::int64_t block_length(const Inputs& in, const std::string& along, std::int64_t limit) {
  std::vector<Axis> axes;
  for (auto& a : in.x.axes())
    if (a.name != kEmbed && a.name != along) axes.push_back(a);
  axes.push_back(in.head.vocab());
  auto spec = spec_for(axes, current_mapping());
  double bytes = 4;  // at one position; a product of sizes may exceed an integer
  for (std::size_t i = 0; i < axes.size(); ++i)
    bytes *= static_cast<double>(here().mesh ? here().mesh->most(axes[i].size, spec[i]) : axes[i].size);
  auto length = in.x.axis(along).size;
  if (bytes * static_cast<double>(length) <= static_cast<double>(limit)) return length;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(limit) / bytes));
}
/// An axis cut into blocks of equal length, along an axis of their own, and the rest behind them.
struct CutAxis {
  Axis blocks, block;
  std::optional<Axis> rest;
  NamedArray whole(const NamedArray& x) const {
    auto& p = x.axis(block.name);
    auto most = rest ? x[{p.name, range(0, p.size - rest->size)}] : x;
    return unflatten_axis(most, p.name, {blocks, block});
  }
  NamedArray tail(const NamedArray& x) const {
    auto& p = x.axis(block.name);
    return x[{p.name, range(p.size - rest->size, p.size)}];
  }
  NamedArray joined(const NamedArray& whole, const std::optional<NamedArray>& tail) const {
    auto most = flatten_axes(whole, {kBlock, block.name}, Axis{block.name, blocks.size * block.size});
    if (!tail) return most;
    return concatenate(Axis{block.name, blocks.size * block.size + rest->size}, {most, *tail});
  }
};
Rows rows_of(const CutAxis& p, const Rows& r, NamedArray (CutAxis::*part)(const NamedArray&) const) {
  return {(p.*part)(r.x), (p.*part)(r.targets), (p.*part)(r.weights)};
}
NamedArray zero() { return NamedArray(full_of({{}, f32}, 0), {}); }

/// Scan over blocks; the tail is one more call. of: of a head and rows.
template <class F> NamedArray blockwise(const CutAxis& p, const Head& head, const Rows& rows, const F& of) {
  auto loss = [&](const Rows& r) { return of(head, r); };
  auto body = [&](const NamedArray& total, const Rows& r) { return std::pair{total + loss(r), none}; };
  auto total = scan(body, p.blocks)(zero(), rows_of(p, rows, &CutAxis::whole)).first;
  return p.rest ? total + loss(rows_of(p, rows, &CutAxis::tail)) : total;
}
/// The same, and its gradients. Those of the head are summed in f32.
std::pair<NamedArray, Inputs> with_gradients(const CutAxis& p, const Head& head, const Rows& rows,
                                             const LinearCrossEntropyOptions& o) {
  auto add = [&](const Total& total, const Rows& r) {
    auto [loss, g] =
        value_and_grad([&](const Inputs& in) { return loss_of(in, r.targets, o); })(Inputs{head, r.x, r.weights});
    auto sums =
        tree::map([](const Array& x, const Array& y) { return accumulate(x, y.astype(f32)); }, total.head, g.head);
    return std::pair{Total{total.loss + loss, sums}, OfRows{g.x, g.weights}};
  };
  auto zeros = tree::map([](const Array& w) { return reshard_like(zeros_like(w).astype(f32), w); }, head);
  auto [total, of] = scan(add, p.blocks)(Total{zero(), zeros}, rows_of(p, rows, &CutAxis::whole));
  std::optional<NamedArray> x, weights;
  if (p.rest) {
    auto [last, of_tail] = add(total, rows_of(p, rows, &CutAxis::tail));
    total = last;
    x = of_tail.x;
    weights = of_tail.weights;
  }
  return {total.loss,
          {total.head, aligned(p.joined(of.x, x), rows.x.axes()),
           aligned(p.joined(of.weights, weights), rows.weights.axes())}};
}
/// linear_cross_entropy with blocks along this axis.
NamedArray blocks_of(const Inputs& in, const NamedArray& targets, const std::string& along,
                     const LinearCrossEntropyOptions& options) {
  auto length = in.x.axis(along).size, block = block_length(in, along, options.block_bytes);
  if (block >= length) return loss_of(in, targets, options);
  CutAxis p{{kBlock, length / block}, {along, block}, none};
  if (length % block) p.rest = Axis{along, length % block};
  auto axes = in.x.axes();
  std::erase_if(axes, [](auto& a) { return a.name == kEmbed; });
  Rows rows{in.x, broadcast_to(targets, axes), broadcast_to(in.weights, axes)};
  auto of = [=](const Head& h, const Rows& r) { return loss_of({h, r.x, r.weights}, r.targets, options); };
  if (in.head.packed) return blockwise(p, in.head, rows, checkpoint(of));  // integers have no gradient to sum
  auto dtype = in.head.weight.dtype(), bias_dtype = in.head.bias ? in.head.bias->dtype() : dtype;
  auto value = [=](const Head& h, const Rows& r) { return blockwise(p, h, r, of); };
  auto forward = [=](const Head& h, const Rows& r) { return with_gradients(p, h, r, options); };
  auto backward = [=](const Inputs& g, const NamedArray& ct) {
    auto h = g.head;
    h.weight = (h.weight * ct).astype(dtype);
    if (h.bias) h.bias = (*h.bias * ct).astype(bias_dtype);
    return std::tuple{h, Rows{(g.x * ct).astype(g.x.dtype()), zeros_like(rows.targets), g.weights * ct}};
  };
  return custom_vjp(value, forward, backward)(in.head, rows);
}
}  // namespace

NamedArray linear_log_probabilities(const Head& head, const NamedArray& x, const NamedArray& targets,
                                    const LinearCrossEntropyOptions& options) {
  check<ValueError>(options.block_bytes > 0, "linear_log_probabilities: block_bytes is ", options.block_bytes);
  auto axes = x.axes();
  std::erase_if(axes, [](auto& a) { return a.name == kEmbed; });
  auto of = [scores = options.scores](const Head& h, const Targets& r) {
    return -cross_entropy(h(r.x).astype(f32).astype(scores), kVocab, r.targets);
  };
  Targets all{x, broadcast_to(targets, axes)};
  auto length = x.axis(kPosition).size, block = block_length({head, x, x}, kPosition, options.block_bytes);
  if (block >= length) return aligned(of(head, all), axes);
  CutAxis p{{kBlock, length / block}, {kPosition, block}, none};
  if (length % block) p.rest = Axis{kPosition, length % block};
  auto one = checkpoint(of);
  auto body = [&](const NamedArray& nothing, const Targets& r) { return std::pair{nothing, one(head, r)}; };
  auto whole = scan(body, p.blocks)(zero(), Targets{p.whole(all.x), p.whole(all.targets)}).second;
  std::optional<NamedArray> tail;
  if (p.rest) tail = one(head, Targets{p.tail(all.x), p.tail(all.targets)});
  return aligned(p.joined(whole, tail), axes);
}
NamedArray linear_cross_entropy(const Head& head, const NamedArray& x, const NamedArray& targets,
                                const NamedArray& weights, const LinearCrossEntropyOptions& options) {
  check<ValueError>(options.block_bytes > 0, "linear_cross_entropy: block_bytes is ", options.block_bytes);
  Inputs in{head, x, weights};
  auto ranks = position_parts(x);
  if (ranks > 1 && block_length(in, kPosition, options.block_bytes) < x.axis(kPosition).size) {
    // A block is of each rank's own positions.
    in.x = cut_at_ranks(x, ranks), in.weights = cut_at_ranks(weights, ranks);
    return blocks_of(in, cut_at_ranks(targets, ranks), kWithin, options);
  }
  return blocks_of(in, targets, kPosition, options);
}
}  // namespace bora::nn
