// Writing at indices.
#include "kernels/api/index.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/collective_primitives.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/owners.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
using kernels::ScatterMode;
/// The public function, as messages name it.
std::string what(ScatterMode mode) {
  return mode == ScatterMode::set ? "scatter" : "scatter_" + std::string(word(mode));
}
Array taken(const Array& x, const Array& indices, const Scatter& s) {
  return call_one(Take{s.axis, true, s.batch_dims}, {x, indices});
}
Array scattered(ScatterMode mode, const Array& x, const Array& indices, const Array& updates, const Scatter& s) {
  return call_one(Scatter{mode, s.axis, s.batch_dims}, {x, indices, updates});
}
/// taken(), with 0 where the index is outside: the gradient of a dropped update.
Array taken_or_zero(const Array& x, const Array& indices, const Scatter& s) {
  auto y = taken(x, indices, s);
  auto n = x.shape(s.axis);
  auto inside = indices >= 0 && indices < constant(n, i32);
  auto place = joined(range_of(s.batch_dims), range_of(indices.ndim() - s.batch_dims, s.axis));
  return select(broadcast_in_dim(inside, y.shape(), place), y, zeros_like(y));
}
/// 1 for updates that survive a `set`, 0 for overwritten ones.
Array survivors(const Array& x, const Array& indices, const Array& updates, const Scatter& s) {
  auto number = reshape(iota({updates.size()}, 0), updates.shape());
  auto stamped = scattered(ScatterMode::set, full_of({x.shape(), i32}, -1), indices, number, s);
  return (taken(stamped, indices, s) == number).astype(updates.dtype());
}
}  // namespace

/// A value that was filled in has no tangent.
Pushed Take::jvp(const Arrays& in, const Arrays& t) const {
  return {{call_one(*this, in)},
          {fill ? taken_or_zero(t[0], in[1], Scatter{ScatterMode::add, axis, batch_dims})
                : call_one(*this, {t[0], in[1]})}};
}

Type Scatter::infer(const Types& in) const {
  auto function = what(mode);
  check_indexing(function, in.at(0), in.at(1), axis, batch_dims);
  auto wanted = with_shape(in[0], taken_shape(in[0].shape, in[1].shape, axis, batch_dims));
  check<ShapeError>(in.at(2) == wanted, function, ": updates must be ", wanted, ", got ", in[2]);
  check<DtypeError>(!is_complex(in[0].dtype) || (mode != ScatterMode::min && mode != ScatterMode::max), function,
                    ": complex numbers have no order, got ", in[0]);
  check<DtypeError>(mode == ScatterMode::set || (is_numeric(in[0].dtype) && in[0].dtype != boolean), function,
                    ": not defined for ", in[0].dtype);
  return in[0];
}
void Scatter::eval(InputViews in, OutputViews out) const {
  auto d = index_dims(in[0].type, in[1].type, axis, batch_dims);
  auto dtype = out[0].type.dtype;
  auto size = static_cast<std::int64_t>(dtype_size(dtype)), part = d.outer * d.n * d.inner * size,
       step = d.outer * d.m * d.inner * size;
  auto *x = static_cast<const char*>(in[0].data), *updates = static_cast<const char*>(in[2].data);
  auto* y = static_cast<char*>(out[0].data);
  auto* indices = in[1].as<std::int32_t>();
  for_each_batch(d, [&](std::int64_t b) {
    auto *from = x + b * part, *u = updates + b * step;
    auto* to = y + b * part;
    auto* i = indices + b * d.m;
    kernels::scatter(mode, dtype, from, i, u, to, d.outer, d.n, d.m, d.inner);
  });
}
Arrays Scatter::vjp(const Vjp& v) const {
  const auto &x = v.in[0], &i = v.in[1], &u = v.in[2], &ct = v.ct[0];
  Array dx, du;
  switch (mode) {
    case ScatterMode::add:
      dx = ct;
      if (v.needs[2]) du = taken_or_zero(ct, i, *this);
      break;
    case ScatterMode::set:
      if (v.needs[0]) dx = scattered(ScatterMode::set, ct, i, zeros_like(u), *this);
      if (v.needs[2]) du = taken_or_zero(ct, i, *this) * survivors(x, i, u, *this);
      break;
    case ScatterMode::multiply:
      if (v.needs[0]) dx = scattered(ScatterMode::multiply, ct, i, u, *this);
      if (v.needs[2]) {
        // The product of all other factors at the element. Those that are dropped are none.
        auto dropped = taken_or_zero(ones_like(x), i, *this) == 0;
        auto others_product = select(u == 0 || dropped, ones_like(u), u);
        auto whole =
            taken_or_zero(scattered(ScatterMode::multiply, x, i, others_product, *this), i, *this) / others_product;
        auto zeros_there =
            taken_or_zero(scattered(ScatterMode::add, zeros_like(x), i, (u == 0).astype(u.dtype()), *this), i, *this);
        auto zeros_elsewhere = zeros_there - (u == 0).astype(u.dtype());
        du = taken_or_zero(ct, i, *this) * select(zeros_elsewhere == 0, whole, zeros_like(u));
      }
      break;
    case ScatterMode::min:
    case ScatterMode::max: {  // shared equally by all that equal the extreme
      auto winner = taken_or_zero(v.out[0], i, *this);
      auto hit_u = (u == winner).astype(u.dtype()), hit_x = (x == v.out[0]).astype(x.dtype());
      auto share = ct / scattered(ScatterMode::add, hit_x, i, hit_u, *this);
      if (v.needs[0]) dx = share * hit_x;
      if (v.needs[2]) du = taken_or_zero(share, i, *this) * hit_u;
    }
  }
  return {dx, {}, du};
}
/// Sums may be split over the updates; modes that depend on order or on all updates at once need them whole.
DimFactors Scatter::factors(const Types& in) const {
  auto l = index_labels(in, axis, batch_dims);
  if (mode == ScatterMode::add) return {{l.x, l.indices, l.taken}, {l.x}, {0, 2}, true};
  for (auto* labels : {&l.indices, &l.taken})
    for (auto& d : *labels)
      if (d >= in[0].ndim()) d = kNone;
  DimFactors f{{l.x, l.indices, l.taken}, {l.x}};
  if (mode == ScatterMode::set && in[0].dtype != boolean && is_numeric(in[0].dtype)) {
    f.linear = {0, 2};
    f.joint = true;
  }
  return f;
}
std::vector<Mapped> Scatter::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  if (in[1].axis < 0 && batch_dims == 0)
    return {{call_one(Scatter{mode, axis + 1, 0}, {b.front(in[0]), in[1].value, b.front(in[2])}), 0}};
  return {{call_one(Scatter{mode, axis + 1, batch_dims + 1}, {b.front(in[0]), b.front(in[1]), b.front(in[2])}), 0}};
}
/// A target split along the indexed dimension, where every rank has indices of its own: updates go to the owners of the
/// rows. These combine them in the order of ranks, which is one rank's if the first dimension of the indices alone is
/// split, by the axes of the target. Sums may also be made of each rank's updates first, if the target is small.
std::optional<std::vector<Sharded>> Scatter::by_owners(const std::vector<Sharded>& in, ShardRules& s) const {
  const auto axes = in[0].spec[at(axis)];
  const auto &table = in[0].spec, &own = in[1].spec;
  bool in_order = true;
  for (auto d = at(batch_dims); d < own.size(); ++d)
    in_order = in_order && own[d] == (d == at(batch_dims) ? axes : MeshAxes{});
  auto bytes = indexed_bytes(in, s, axis, batch_dims);
  bool to_owners = in_order && bytes.by_owners <= bytes.table;
  if (!to_owners && mode != ScatterMode::add) return {};
  auto x = s.resolve(in[0]), i = s.resolve(in[1]);
  Spec of_updates(std::vector<MeshAxes>(table.begin(), table.begin() + axis));
  for (auto d = at(batch_dims); d < own.size(); ++d) of_updates.push_back(own[d]);
  for (auto d = at(axis) + 1; d < table.size(); ++d) of_updates.push_back(table[d]);
  auto u = s.reshard(in[2], of_updates);
  if (to_owners) {
    ScatterToOwners to{mode, axes, axis, batch_dims, x.type.shape[at(axis)], x.type.shape};
    return {{{call_one(to, {u.local, i.local, x.local}), x.type, x.spec}}};
  }
  Sharded sums{.local = {}, .type = x.type, .spec = table};
  sums.spec[at(axis)] = {};
  for (auto d = at(batch_dims); d < own.size(); ++d) sums.partial.append(own[d]);
  auto zeros = full_of({s.local_shape(x.type.shape, sums.spec), x.type.dtype}, 0);
  sums.local = call_one(*this, {zeros, i.local, u.local});
  return {{{x.local + s.reshard(sums, table).local, x.type, x.spec}}};
}
/// A target split along the indexed dimension: each rank keeps the updates that fall into its block. Sums stay pending
/// over axes that split the updates; else indices and updates must be whole.
std::optional<std::vector<Sharded>> Scatter::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  if (in[0].spec[at(axis)].empty() || !in[0].partial.empty()) return {};
  if (have_own_indices(in, s, axis, batch_dims)) return by_owners(in, s);
  auto own = own_indices(in, s, axis);
  if (!own) return {};
  Spec target = in[0].spec;
  Spec index = Spec::replicated(in[1].spec.size()),
       update(std::vector<MeshAxes>(target.begin(), target.begin() + axis));
  MeshAxes over;
  for (auto d = at(batch_dims); d < index.size(); ++d) {
    auto& split = in[2].spec[at(axis) + d - at(batch_dims)];
    bool free = mode == ScatterMode::add && std::none_of(split.begin(), split.end(), [&](auto& a) {
                  return target.uses(a) || over.has(a);
                });
    if (free) index[d] = split, over.append(split);
    update.push_back(index[d]);
  }
  for (auto d = at(axis) + 1; d < target.size(); ++d) update.push_back(target[d]);
  for (std::size_t d = 0; d < at(batch_dims); ++d) index[d] = target[d];
  auto i = s.reshard(in[1], index), u = s.reshard(in[2], update);
  auto x = over.empty() ? in[0] : s.to_partial(in[0], over);
  auto local = i.local - block_start(in[0].type.shape[at(axis)], own->axes);
  return {{{call_one(*this, {x.local, local, u.local}), in[0].type, target, over}}};
}
SamplesOf<Scatter> Scatter::samples() {
  auto x = random_values({2, 4, 2}, -1, 1, 1), u = random_values({2, 3, 2}, -1, 1, 2);
  auto i = values({3}, {3, 0, 3}, i32), outside = values({3}, {-1, 2, 4}, i32);
  return {{{ScatterMode::add, 1}, {x, i, u}},
          {{ScatterMode::add, 1}, {x, outside, u}},
          {{ScatterMode::set, 1}, {x, i, u}},
          {{ScatterMode::multiply, 1}, {x, i, u}},
          {{ScatterMode::min, 1}, {x, i, u}},
          {{ScatterMode::max, 1}, {x, i, u}},
          {{ScatterMode::add, 1, 1},
           {random_values({3, 4}, -1, 1, 3), values({3, 2}, {0, 0, 3, 1, 2, 5}, i32), random_values({3, 2}, -1, 1, 4)}},
          {{ScatterMode::add, 0}, {random_values({3}, -1, 1, 5), values({0}, {}, i32), random_values({0}, -1, 1, 6)}}};
}
}  // namespace bora::ops

namespace bora {
namespace {
Array write_at(kernels::ScatterMode mode, const Array& x, const Array& indices, const Array& updates,
               std::int64_t axis) {
  auto what = ops::what(mode);
  axis = normalize_axis(what, axis, x.ndim());
  Type wanted{ops::taken_shape(x.shape(), indices.shape(), axis, 0), x.dtype()};
  check<DtypeError>(updates.dtype() == x.dtype() || ops::promoted(what, updates.dtype(), x.dtype()) == x.dtype(), what,
                    ": updates of ", updates.dtype(), " do not fit into ", x.dtype(), "; use astype()");
  check<ShapeError>(broadcast_shapes(what, updates.shape(), wanted.shape) == wanted.shape, what, ": updates of ",
                    updates.shape(), " do not stretch to ", wanted.shape);
  return call_one(ops::Scatter{mode, axis}, {x, ops::from_front(what, indices, x.shape(axis)),
                                             broadcast_to(updates.astype(x.dtype()), wanted.shape)});
}
}  // namespace

Array scatter_add(const Array& x, const Array& indices, const Array& updates, std::int64_t axis) {
  return write_at(kernels::ScatterMode::add, x, indices, updates, axis);
}
Array scatter_set(const Array& x, const Array& indices, const Array& updates, std::int64_t axis) {
  return write_at(kernels::ScatterMode::set, x, indices, updates, axis);
}
Array scatter_multiply(const Array& x, const Array& indices, const Array& updates, std::int64_t axis) {
  return write_at(kernels::ScatterMode::multiply, x, indices, updates, axis);
}
Array scatter_min(const Array& x, const Array& indices, const Array& updates, std::int64_t axis) {
  return write_at(kernels::ScatterMode::min, x, indices, updates, axis);
}
Array scatter_max(const Array& x, const Array& indices, const Array& updates, std::int64_t axis) {
  return write_at(kernels::ScatterMode::max, x, indices, updates, axis);
}
template PrimitivePtr primitive<ops::Scatter>(ops::Scatter);
}  // namespace bora
