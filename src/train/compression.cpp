// Error feedback and PowerSGD: array operations on the terms of pending sums.
#include "bora/train/compression.h"
#include <limits>
#include <numeric>
#include "bora/array/communicator.h"
#include "bora/base/error.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "bora/train/step.h"
#include "ops/api/same_everywhere.h"
#include "train/levels.h"

namespace bora::training {
namespace {
constexpr auto kResidual = "residual.", kFactor = "q.";
std::int64_t ranks() { return here().mesh ? here().mesh->parts(gradient_axes()) : 1; }
Spec split_first(std::int64_t ndim) {
  auto spec = Spec::replicated(static_cast<std::size_t>(ndim));
  spec[0] = gradient_axes();
  return spec;
}
MatrixView view_of(const tree::Slot& slot) {
  auto named = slot.leaf.as<NamedArray>();
  bool stacked = named && !named->axes().empty() && named->axes()[0].name == nn::kLayers;
  return matrix_view(slot.leaf.get().shape(), stacked);
}
/// The gradients that PowerSGD sums as matrices; others are few numbers.
bool has_factor(const tree::Slot& slot, const Compression& c) { return c.rank > 0 && view_of(slot).gains(c.rank); }
Array completed(const Array& x) {
  return ops::constrained(x, Spec::replicated(static_cast<std::size_t>(x.ndim())));
}
/// A boolean scalar, the same on every rank.
Array all_finite(const Arrays& sums) {
  Array all;
  for (auto& x : sums) {
    if (x.size() == 0) continue;
    auto ok = isfinite(amax(abs(x)));  // a maximum keeps NaN
    all = all.defined() ? logical_and(all, ok) : ok;
  }
  return all;
}
}  // namespace

void check_compression(const Wire& wire, const Compression& c) {
  check<ValueError>(c.rank >= 0, "Compression: .rank is ", c.rank, "; it is 1 or more, or 0 without PowerSGD");
  check<ValueError>(!c.error_feedback || !wire.exact() || c.rank > 0,
                    "Compression: .error_feedback with a wire of f32, which loses nothing; take bf16, int8 or int4");
  check<ValueError>(c.rank == 0 || wire.exact(), "Compression: .rank is ", c.rank, ", but the wire is ", word(wire),
                    "; PowerSGD's factors are summed as f32");
}
void check_carries(const StepOptions& o) {
  check_compression(o.wire, o.compression);
  if (o.virtual_ranks > 0) {  // the step of virtual ranks does not look at these options
    check<ValueError>(o.accumulate == 1, "StepOptions: .virtual_ranks ", o.virtual_ranks, " cut the batch into the "
                      "parts whose gradients are summed; .accumulate is ", o.accumulate, ", leave it 1");
    check<ValueError>(o.wire.exact(), "StepOptions: with .virtual_ranks ", o.virtual_ranks, " bits must not depend on "
                      "the ranks, but a .wire of ", word(o.wire), " rounds what each of them sends; leave it f32");
    check<ValueError>(o.replicas == 0, "StepOptions: .replicas is ", o.replicas, ", which have sums of their own, not ",
                      "over .virtual_ranks ", o.virtual_ranks, "; leave one of both out");
  }
  if (!o.compression.on()) return;
  check<ValueError>(o.virtual_ranks == 0, "StepOptions: .compression carries over what each rank lost, but with "
                    ".virtual_ranks ", o.virtual_ranks, " bits must not depend on the ranks; leave one of both out");
  check<ShardError>(!here().mesh || here().mesh->equal(gradient_axes()), "StepOptions: .compression keeps a term of "
                    "each sum on each rank, which the shares of mesh ", [&] { return to_string(*here().mesh); },
                    " would move; leave one of both out");
  check<ValueError>(o.replicas == 0, "StepOptions: .compression is of synchronous sums, but .replicas is ", o.replicas,
                    ", which meet after several steps; leave one of both out");
  for (auto& rule : o.storage.rules())
    check<ValueError>(rule.mesh.empty(), "StepOptions: .compression needs whole gradients on every rank, but .storage "
                      "splits the axis ", rule.axis, " over ", to_string(rule.mesh));
}
MatrixView matrix_view(const Shape& shape, bool stacked) {
  MatrixView best;
  std::size_t first = stacked && !shape.empty() ? 1 : 0;
  if (first) best.layers = shape[0];
  for (std::size_t d = first; d < shape.size(); ++d) best.columns *= shape[d];
  auto v = best;
  for (std::size_t d = first; d + 1 < shape.size() && shape[d] > 0; ++d) {
    v.rows *= shape[d], v.columns /= shape[d];
    if (v.rows + v.columns < best.rows + best.columns) best = v;
  }
  return best;
}
optim::State first_carried(const Wire& wire, const Compression& c, tree::Node gradients, const Array& key) {
  optim::State s;
  if (!c.on()) return s;
  check_compression(wire, c);
  auto n = ranks();
  auto keys = random::fold_in(key, std::numeric_limits<std::int32_t>::max());  // steps draw from those of their numbers
  std::int64_t number = 0;
  for (auto& slot : tree::slots(gradients)) {
    if (!slot.leaf.defined()) continue;
    auto of_leaf = random::fold_in(keys, number++);
    if (c.rank > 0 && !has_factor(slot, c)) continue;
    auto shape = slot.leaf.get().shape();
    shape.insert(0, n);
    s.entries[kResidual + slot.path] =
        ops::constrained(full_of({shape, f32}, 0), split_first(static_cast<std::int64_t>(shape.size())));
    if (c.rank == 0) continue;
    auto v = view_of(slot);
    s.entries[kFactor + slot.path] = random::normal(of_leaf, Shape{v.layers, v.columns, c.rank});
  }
  return s;
}
optim::State sum_carried(tree::Node gradients, tree::Node like, const optim::State& carried, const Wire& wire,
                         const Compression& c, const std::optional<Array>& scale) {
  auto over = gradient_axes();
  if (auto* mesh = here().mesh)
    for (auto& [axis, size] : mesh->axes)
      check<ShardError>(size == 1 || over.has(axis), "error feedback and PowerSGD: the mesh axis ", axis.str(), " of ",
                        size, " ranks does not split the batch; every rank must have whole gradients of its rows");
  bool sends = ranks() > 1;
  auto slots = tree::slots(gradients), places = tree::slots(like);
  auto next = carried;
  Arrays matrices, factors, sums;
  std::vector<std::size_t> of_matrix;
  GradientWire exchange(wire, over);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].leaf.defined()) continue;
    auto g = slots[i].leaf.get();
    if (c.rank > 0 && !has_factor(slots[i], c)) {
      sums.push_back(complete_gradient_like(g, places[i].leaf.get(), exchange));
      slots[i].leaf.set(sums.back());
      continue;
    }
    auto& e = next.entries.at(kResidual + slots[i].path);
    auto mine = terms_of_sum(g, over).astype(f32) + (scale ? e * *scale : e);
    if (c.rank > 0 && sends) {
      auto v = view_of(slots[i]);
      matrices.push_back(reshape(mine, {mine.shape(0), v.layers, v.rows, v.columns}));
      factors.push_back(next.entries.at(kFactor + slots[i].path));
      of_matrix.push_back(i);
      continue;
    }
    e = sends ? mine - rounded_terms(mine, wire) : zeros_like(mine);
    sums.push_back(complete_gradient_like(sum(mine, 0), places[i].leaf.get(), exchange).astype(g.dtype()));
    slots[i].leaf.set(sums.back());
  }
  auto found = low_rank_sums(matrices, factors);
  for (std::size_t k = 0; k < found.size(); ++k) {
    auto& slot = slots[of_matrix[k]];
    auto g = slot.leaf.get();
    auto& e = next.entries.at(kResidual + slot.path);
    next.entries.at(kFactor + slot.path) = found[k].q;
    e = reshape(found[k].residuals, e.shape());
    sums.push_back(reshape(found[k].sum, g.shape()).astype(g.dtype()));
    slot.leaf.set(reshard_like(sums.back(), places[of_matrix[k]].leaf.get()));
  }
  auto ok = all_finite(sums);
  for (auto& [name, x] : next.entries) {
    if (scale && name.starts_with(kResidual)) x = x / *scale;
    x = where(ok, x, carried.entries.at(name));
  }
  return next;
}
Array rounded_terms(const Array& terms, const Wire& wire) {
  if (wire.exact()) return terms;
  if (!wire.blocks()) return terms.astype(info(wire.codec).dtype).astype(f32);
  auto parts = terms.shape(0), n = terms.size() / std::max<std::int64_t>(1, parts);
  if (n == 0) return terms;
  // As transport/src/schedule/codec_block.h: blocks from the first number of each part, the last one filled with zeros.
  std::int64_t block = wire.block, blocks = (n + block - 1) / block;
  auto x = reshape(terms, {parts, n});
  if (blocks * block > n) x = pad(x, {0, 0}, {0, blocks * block - n});
  x = reshape(x, {parts, blocks, block});
  constexpr float normal = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  auto largest = amax(abs(x), -1);
  auto least = maximum(largest / 127.0F, normal);
  // The bf16 that is not below it.
  auto scale = bitcast(bitwise_and(bitcast(least, u32) + std::uint32_t{0xffff}, std::uint32_t{0xffff0000}), f32);
  auto inverse = expand_dims(1.0F / scale, -1);
  auto q = round(where(abs(x) < normal, 0.0F, x) * inverse);
  auto y = minimum(maximum(as_held(wire.codec, q) * expand_dims(scale, -1), -most), most);
  y = reshape(y, {parts, blocks * block});
  if (blocks * block > n) y = slice_in_dim(y, 1, 0, n);
  return reshape(y, terms.shape());
}
std::vector<LowRankSum> low_rank_sums(const Arrays& terms, const Arrays& q) {
  std::vector<LowRankSum> r(terms.size());
  Arrays p(terms.size()), own(terms.size());
  // All sums of a kind one after the other: small ones travel together.
  for (std::size_t i = 0; i < r.size(); ++i) p[i] = completed(sum(einsum("xlmn,lnr->xlmr", terms[i], q[i]), 0));
  for (auto& x : p) x = linalg::qr(x).q;
  for (std::size_t i = 0; i < r.size(); ++i) {
    own[i] = einsum("xlmn,lmr->xlnr", terms[i], p[i]);
    r[i].q = completed(sum(own[i], 0));
  }
  for (std::size_t i = 0; i < r.size(); ++i) {
    r[i].sum = einsum("lmr,lnr->lmn", p[i], r[i].q);
    r[i].residuals = terms[i] - einsum("lmr,xlnr->xlmn", p[i], own[i]);
  }
  return r;
}
Array regrouped_residuals(const Array& stored) {
  return terms_of_sum(sum(stored, 0), gradient_axes());
}
}  // namespace bora::training
