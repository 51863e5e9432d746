// The loops of 1F1B: S - 1 ticks of forward passes, M of both, S - 1 of backward passes.
#include "bora/ops/accumulator.h"
#include "bora/ops/indexing.h"
#include "bora/ops/lax.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "nn/parallel/interleaved.h"

namespace bora::nn::detail {
namespace {
/// The type of n such arrays along a new first dimension.
Type type_of_many(Type t, std::int64_t n) {
  t.shape.insert(0, n);
  return t;
}
Arrays joined(std::initializer_list<Arrays> lists) {
  Arrays r;
  for (auto& l : lists) append(r, l);
  return r;
}
Arrays scanned(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t length) {
  return fx::scan_flat(body, init, xs, length, false);
}
}  // namespace

/// The kept values of this tick in their slots: [S, slots, ..].
Arrays Interleaved::written(const Arrays& ring, const Arrays& kept, const Array& tick) const {
  Arrays r;
  auto slot = remainder(tick, i32_of(slots_));
  for (std::size_t i = 0; i < ring.size(); ++i)
    r.push_back(lax::dynamic_update_slice_in_dim(ring[i], expand_dims(kept[i], 1), slot, 1));
  return r;
}
/// The loss of a microbatch from what the last stage gave, and its gradients with respect to that, rows and captures.
std::pair<Array, Arrays> Interleaved::loss_of(const Arrays& in, const Array& y, const Arrays& rows,
                                              bool gradients) const {
  Arrays all{at_stage(stages_ - 1, y, shares_)};
  append(all, rows);
  all.insert(all.end(), in.begin() + static_cast<std::ptrdiff_t>(last_at_), in.end());
  auto f = [&](const Arrays& a) { return interpret(*last_.program, a); };
  if (!gradients) return {f(all)[0], {}};
  Mask wrt{true};
  wrt.insert(wrt.end(), wrt_.begin() + static_cast<std::ptrdiff_t>(rows_at_),
             wrt_.begin() + static_cast<std::ptrdiff_t>(stage_at_));
  wrt.insert(wrt.end(), wrt_.begin() + static_cast<std::ptrdiff_t>(last_at_), wrt_.end());
  auto v = fx::vjp_flat(f, all, wrt);
  return {v.out[0], v.pullback({full_of(v.out[0].type(), 1)})};
}
Interleaved::Result Interleaved::work(const Arrays& in, bool gradients) const {
  auto types = stage_.program->in_types();
  Arrays ring, sums, last_sums;
  if (gradients) {
    auto kept = halves_->kept();
    if (halves_->reads()[0]) kept.push_back(types[0]);
    for (auto& t : kept) ring.push_back(full_of(type_of_many(type_of_many(t, slots_), stages_), 0));
    for (auto i : terms_) {
      auto t = types[input_of(i)];
      t.dtype = accumulator(t.dtype);
      t.shape.insert(place_of(i), stages_);
      sums.push_back(full_of(t, 0));
    }
    for (auto i : last_terms_) last_sums.push_back(full_of({in_[i].shape(), accumulator(in_[i].dtype())}, 0));
  }
  auto rows = Arrays(in.begin() + static_cast<std::ptrdiff_t>(rows_at_),
                     in.begin() + static_cast<std::ptrdiff_t>(stage_at_));
  auto ticks = [](std::int64_t from, std::int64_t n) { return arange(n).astype(i32) + i32_of(from); };
  auto add = [](const Arrays& to, const Arrays& terms) {
    Arrays r;
    for (std::size_t i = 0; i < to.size(); ++i) r.push_back(accumulate(to[i], terms[i].astype(to[i].dtype())));
    return r;
  };
  // No stage has a microbatch of its own before the first tick: each works on some numbers rather than on zeros.
  auto held = placed(broadcast(placed(squeeze(slice_in_dim(in[0], 0, 0, 1), 0), whole_)), spec_);
  if (stages_ > 1) {
    auto body = [&](const Arrays& a) {
      Lists lists(a);
      auto y = lists.next();
      auto slots = lists.next(ring.size());
      auto tick = lists.next();
      auto passed = forward(in, entering(in, tick, y), tick, gradients);
      return joined({{passed.y}, written(slots, passed.kept, tick)});
    };
    Lists r(scanned(body, joined({{held}, ring}), {ticks(0, stages_ - 1)}, stages_ - 1));
    held = r.next();
    ring = r.next(ring.size());
  }
  std::size_t back = gradients ? 1 : 0, each = gradients ? (wrt_[0] ? 1 : 0) + of_parts_.size() : 0;
  auto of_microbatch = [&](const Back& b) {
    Arrays r;
    if (wrt_[0]) r.push_back(at_stage(0, b.x, shares_));
    append(r, b.of_parts);
    return r;
  };
  auto steady = [&](const Arrays& a) {
    Lists lists(a);
    auto y = lists.next(), loss = lists.next();
    auto returned = lists.next(back), slots = lists.next(ring.size()), mine = lists.next(sums.size()),
         of_last = lists.next(last_sums.size());
    auto tick = lists.next();
    auto passed = forward(in, entering(in, tick, y), tick, gradients);
    auto [term, g] = loss_of(in, passed.y, lists.next(rows.size()), gradients);
    Arrays r{passed.y, accumulate(loss, term)};
    if (!gradients) return r;
    auto ct = placed(broadcast(placed(g[0], whole_)), spec_);
    if (stages_ > 1)
      ct = where(p_.is(stages_ - 1, ct.shape()), ct, p_.shifted(returned[0], Pipeline::Way::back));
    slots = written(slots, passed.kept, tick);
    auto b = backward(in, slots, ct, tick);
    Arrays of_rows, terms;
    std::size_t k = 1;
    for (auto i = rows_at_; i < stage_at_; ++i, ++k)
      if (wrt_[i]) of_rows.push_back(g[k]);
    for (auto i = last_at_; i < in_.size(); ++i, ++k)
      if (wrt_[i]) terms.push_back(g[k]);
    return joined({r, {b.x}, slots, add(mine, b.terms), add(of_last, terms), of_microbatch(b), of_rows});
  };
  Arrays init{held, full_of(last_.program->out_types()[0], 0)};
  if (gradients) init.push_back(full_of(held.type(), 0));
  Lists r(scanned(steady, joined({init, ring, sums, last_sums}), joined({{ticks(stages_ - 1, parts_)}, rows}), parts_));
  (void)r.next();
  Result result{r.next(), Arrays(in_.size())};
  if (!gradients) return result;
  auto returned = r.next();
  ring = r.next(ring.size());
  sums = r.next(sums.size());
  last_sums = r.next(last_sums.size());
  auto of_ticks = r.next(each);
  for (auto i = rows_at_; i < stage_at_; ++i)
    if (wrt_[i]) result.gradients[i] = r.next();
  if (stages_ > 1) {
    auto body = [&](const Arrays& a) {
      Lists lists(a);
      auto ct = p_.shifted(lists.next(), Pipeline::Way::back);
      auto mine = lists.next(sums.size());
      auto b = backward(in, ring, ct, lists.next());
      return joined({{b.x}, add(mine, b.terms), of_microbatch(b)});
    };
    Lists rest(scanned(body, joined({{returned}, sums}), {ticks(parts_ + stages_ - 1, stages_ - 1)}, stages_ - 1));
    (void)rest.next();
    sums = rest.next(sums.size());
    for (auto& g : of_ticks) g = concatenate({g, rest.next()}, 0);
  }
  std::size_t k = 0;
  if (wrt_[0]) result.gradients[0] = slice_in_dim(of_ticks[k++], 0, stages_ - 1, stages_ - 1 + parts_);
  for (auto i : of_parts_) result.gradients[i] = of_all_stages(of_ticks[k++]);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    auto i = terms_[t];
    result.gradients[i] = i < rows_at_ && at_[i - 1] >= 0 ? sums[t] : sum(sums[t], 0);
  }
  for (std::size_t t = 0; t < last_terms_.size(); ++t) result.gradients[last_terms_[t]] = last_sums[t];
  return result;
}
/// Gradients that the stages gave for microbatches, by tick from S - 1 on: [M + S - 1, S, ..] -> [M, ..].
Array Interleaved::of_all_stages(const Array& by_tick) const {
  auto first = i32_of(stages_ - 1) - p_.numbers();
  auto f = [&](const Arrays& a) { return Arrays{lax::dynamic_slice_in_dim(a[0], a[1], parts_, 0)}; };
  return sum(mapped(f, {by_tick, first}, {1, 0}, {0})[0], 0);
}
Array Interleaved::loss() const {
  Arrays given;
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (wrt_[i]) given.push_back(in_[i]);
  auto inputs = [&](const Arrays& a) {
    auto in = in_;
    std::size_t k = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (wrt_[i]) in[i] = a[k++];
    return in;
  };
  auto value = [&](const Arrays& a) { return Arrays{work(inputs(a), false).loss}; };
  auto with_gradients = [&](const Arrays& a) {
    auto r = work(inputs(a), true);
    Arrays all{r.loss};
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (wrt_[i]) all.push_back(r.gradients[i]);
    return all;
  };
  auto scaled = [&](const Arrays& a) {
    Arrays r;
    for (std::size_t i = 0; i + 1 < a.size(); ++i)
      r.push_back(rounded_sum(a[i] * a.back().astype(a[i].dtype()), given[i].dtype()));
    return r;
  };
  return fx::custom_vjp_flat(value, with_gradients, scaled, given)[0];
}
NamedArray Pipeline::loss(const FlatFn& stage, const RowsLoss& loss) const {
  return NamedArray(Interleaved(*this, stage, loss).loss(), {});
}
}  // namespace bora::nn::detail
