// Reading at positions that are data: take and take_along_axis.
#include <cstring>
#include "bora/base/parallel.h"
#include "kernels/api/index.h"
#include "bora/ops/sharding.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/collective_primitives.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/owners.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"

namespace bora::ops {
Shape taken_shape(const Shape& x, const Shape& indices, std::int64_t axis, std::int64_t batch_dims) {
  Shape s(Dims(x.begin(), x.begin() + axis));
  for (auto d = at(batch_dims); d < indices.size(); ++d) s.push_back(indices[d]);
  for (auto d = at(axis) + 1; d < x.size(); ++d) s.push_back(x[d]);
  return s;
}
Bytes16 missing_number(Dtype d) {
  Bytes16 r{};
  if (is_inexact(d)) write_number(kNan, d, &r);
  return r;
}
IndexDims index_dims(const Type& x, const Type& indices, std::int64_t axis, std::int64_t batch_dims) {
  return {product(x.shape, 0, batch_dims), product(x.shape, batch_dims, axis), x.shape[at(axis)],
          product(indices.shape, batch_dims, indices.ndim()), product(x.shape, axis + 1, x.ndim())};
}
void check_indexing(std::string_view what, const Type& x, const Type& indices, std::int64_t axis,
                    std::int64_t batch_dims) {
  check<DtypeError>(indices.dtype == i32, what, ": indices must be i32, got ", indices);
  check<IndexError>(0 <= batch_dims && batch_dims <= axis && axis < x.ndim() && batch_dims <= indices.ndim(), what,
                    ": axis ", axis, " with ", batch_dims, " batch dimensions does not exist in ", x.shape,
                    " with indices ", indices.shape);
  for (std::int64_t d = 0; d < batch_dims; ++d)
    check<ShapeError>(x.shape[at(d)] == indices.shape[at(d)], what, ": dimension ", d, " of ", x.shape,
                      " and of the indices ", indices.shape, " must be equal");
}

Type Take::infer(const Types& in) const {
  check_indexing("take", in.at(0), in.at(1), axis, batch_dims);
  return with_shape(in[0], taken_shape(in[0].shape, in[1].shape, axis, batch_dims));
}
namespace {
/// Rows of one element: no call per batch.
template <class T>
void take_elements(const T* in, const std::int32_t* indices, T* out, const IndexDims& d, bool fill, T missing) {
  parallel_for(d.batch * d.m, grain_for(2), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end;) {  // a division costs more than an element
      auto batch = i / d.m;
      auto from = in + batch * d.n;
      for (auto stop = std::min(end, (batch + 1) * d.m); i < stop; ++i) {
        std::int64_t k = indices[i];
        if (!fill) out[i] = from[std::clamp<std::int64_t>(k, 0, d.n - 1)];
        else out[i] = k >= 0 && k < d.n ? from[k] : missing;
      }
    }
  });
}
}  // namespace

void Take::eval(InputViews in, OutputViews out) const {
  auto d = index_dims(in[0].type, in[1].type, axis, batch_dims);
  auto dtype = out[0].type.dtype;
  auto missing = missing_number(dtype);
  if (out[0].type.size() == 0) return;
  check<IndexError>(fill || d.n > 0, "take: dimension ", axis, " of ", in[0].type.shape,
                    " is empty, so there is no nearest element");
  auto* indices = in[1].as<std::int32_t>();
  if (d.outer == 1 && d.inner == 1 && d.batch > 1) {
    dispatch_size(dtype, [&](auto t) {
      decltype(t) filler;
      std::memcpy(&filler, &missing, sizeof filler);
      take_elements(in[0].as<decltype(t)>(), indices, out[0].as<decltype(t)>(), d, fill, filler);
    });
    return;
  }
  auto size = static_cast<std::int64_t>(dtype_size(dtype)), from = d.outer * d.n * d.inner * size,
       to = d.outer * d.m * d.inner * size;
  for_each_batch(d, [&](std::int64_t b) {
    kernels::take(static_cast<const char*>(in[0].data) + b * from, indices + b * d.m,
                  static_cast<char*>(out[0].data) + b * to, d.outer, d.n, d.m, d.inner, dtype_size(dtype),
                  fill ? kernels::OutOfRange::fill : kernels::OutOfRange::clamp, &missing);
  });
}
Arrays Take::vjp(const Vjp& v) const {
  // The gradient of a clamped read goes to the element read; a filled value has none.
  auto n = v.in[0].shape(axis);
  auto where_to = fill ? v.in[1] : clamped(v.in[1], n);
  Scatter add{kernels::ScatterMode::add, axis, batch_dims};
  return {call_one(add, {zeros_split_like(v.in[0]), where_to, v.ct[0]}), {}};
}
/// Labels of x, of the indices and of the result. Only the indexed dimension must be whole.
IndexLabels index_labels(const Types& in, std::int64_t axis, std::int64_t batch_dims) {
  IndexLabels l{range_of(in[0].ndim()), range_of(batch_dims), {}};
  auto fresh = range_of(in[1].ndim() - batch_dims, in[0].ndim());
  l.indices = joined(l.indices, fresh);
  l.taken = joined(joined(range_of(axis), fresh), range_of(in[0].ndim() - axis - 1, axis + 1));
  l.x[at(axis)] = kNone;
  return l;
}
DimFactors Take::factors(const Types& in) const {
  auto l = index_labels(in, axis, batch_dims);
  return {{l.x, l.indices}, {l.taken}, {0}};
}
std::vector<Mapped> Take::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  auto mx = in[0].axis, mi = in[1].axis;
  auto k = in[1].value.ndim() - batch_dims;  // indices' own dimensions, and the mapped one if there is one
  if (mi < 0 && mx >= batch_dims) {          // no transpose
    Take t{past(axis, mx), fill, batch_dims};
    return {{call_one(t, {in[0].value, in[1].value}), mx < t.axis ? mx : mx - 1 + k}};
  }
  if (mx < 0 && mi >= batch_dims) return {{call_one(*this, {in[0].value, in[1].value}), axis + mi - batch_dims}};
  return {{call_one(Take{axis + 1, fill, batch_dims + 1}, {b.front(in[0]), b.front(in[1])}), 0}};
}
std::optional<OwnIndices> own_indices(const std::vector<Sharded>& in, ShardRules& s, std::int64_t axis) {
  const auto& axes = in[0].spec[at(axis)];
  if (axes.empty()) return {};
  for (std::size_t i = 1; i < in.size(); ++i)
    for (auto& d : in[i].spec)
      for (auto& m : d)
        if (axes.has(m)) return {};
  OwnIndices r{s.resolve(in[1]), {}, axes};
  r.local = r.indices.local - block_start(in[0].type.shape[at(axis)], axes);
  return r;
}
namespace {
/// Where each element of what is taken lies, given where the table's and the indices' do.
Spec taken_spec(const Spec& table, const Spec& indices, std::int64_t axis, std::int64_t batch_dims) {
  Spec r(std::vector<MeshAxes>(table.begin(), table.begin() + axis));
  for (auto d = at(batch_dims); d < indices.size(); ++d) r.push_back(indices[d]);
  for (auto d = at(axis) + 1; d < table.size(); ++d) r.push_back(table[d]);
  return r;
}
}  // namespace
/// A table split along the taken dimension: each rank takes the elements of its block, and the sum over the ranks is
/// pending. Where each rank has indices of its own, it asks the owners of the rows, unless the table is small. So it
/// does with its part of indices that all ranks have, if what is taken is as large as the table: then the result is
/// split as the table is.
std::optional<std::vector<Sharded>> Take::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  auto given = in;
  bool whole = in[1].spec.trivial() && in[1].spec.size() == 1 && batch_dims == 0 &&
               in[1].type.shape[0] >= in[0].type.shape[at(axis)];
  if (whole) given[1].spec[0] = in[0].spec[at(axis)];
  bool own_rows = have_own_indices(given, s, axis, batch_dims);
  auto bytes = own_rows ? indexed_bytes(given, s, axis, batch_dims) : IndexedBytes{};
  bool by_owners = own_rows && bytes.by_owners <= bytes.table;
  if (own_rows && !whole && !by_owners) return {};
  if (by_owners) {
    auto x = s.resolve(in[0]), i = s.reshard(in[1], given[1].spec);
    auto type = infer({x.type, i.type});
    TakeFromOwners take{x.spec[at(axis)], axis, fill, batch_dims, x.type.shape[at(axis)], type.shape};
    return {{{call_one(take, {x.local, i.local}), type, taken_spec(x.spec, i.spec, axis, batch_dims)}}};
  }
  auto dtype = in[0].type.dtype;
  if (dtype == boolean || dtype == Dtype::key) return {};
  auto own = own_indices(in, s, axis);
  if (!own) return {};
  auto n = in[0].type.shape[at(axis)];
  // A mesh axis splits one dimension only: unshared dimensions of the table and of the indices must not use the same
  // one.
  Spec table = in[0].spec, index = own->indices.spec;
  MeshAxes used = own->axes;
  for (std::size_t d = 0; d < table.size(); ++d) {
    if (d == at(axis)) continue;
    if (d < at(batch_dims) && table[d] != index[d]) return {};
    for (auto& m : table[d]) used.push_back(m);
  }
  for (auto d = at(batch_dims); d < index.size(); ++d)
    for (auto& m : index[d])
      if (used.has(m)) return {};
  auto x = s.resolve(in[0]);
  auto global = own->indices.local, local = own->local;
  if (!fill) {
    global = clamped(global, n);
    local = global - block_start(n, own->axes);
  }
  auto y = call_one(Take{axis, true, batch_dims}, {x.local, local});
  // In this rank's block, or out of range: every rank gives the NaN of fill.
  auto end = block_start(n, own->axes, {}, 1);
  auto mine = (local >= 0 && global < end) || global < 0 || global >= constant(n, i32);
  Dims place = joined(range_of(batch_dims), range_of(own->indices.type.ndim() - batch_dims, axis));
  y = select(broadcast_in_dim(mine, y.shape(), place), y, zeros_like(y));
  return {{{y, infer({x.type, own->indices.type}), taken_spec(table, index, axis, batch_dims), own->axes}}};
}
SamplesOf<Take> Take::samples() {
  auto ids = [](Shape s, std::initializer_list<double> v) { return values(s, v, i32); };
  return {{{1, true}, {random_values({2, 3, 2}, -1, 1, 1), ids({2, 2}, {0, 2, 1, 2})}},
          {{0, true}, {random_values({5, 3}, -1, 1, 2), ids({3}, {4, 0, 4})}},
          {{0, false}, {random_values({4}, -1, 1, 3), ids({4}, {-1, 9, 2, 2})}},
          {{1, true, 1}, {random_values({3, 4}, -1, 1, 4), ids({3, 1}, {0, 3, 1})}},
          {{2, false, 1}, {random_values({2, 2, 3, 2}, -1, 1, 5), ids({2, 2}, {0, 2, 1, 5})}},
          {{0, true}, {random_values({3, 2}, -1, 1, 6), ids({0}, {})}}};
}
Array zeros_split_like(const Array& x) {
  auto zeros = zeros_like(x);
  return here().mesh ? reshard_like(zeros, x) : zeros;
}
Array clamped(const Array& i, std::int64_t n) {
  return minimum(maximum(i, constant(0, i32)), constant(std::max<std::int64_t>(n - 1, 0), i32));
}
Array from_front(std::string_view what, const Array& indices, std::int64_t n) {
  check<DtypeError>(is_integer(indices.dtype()), what, ": indices must be integers, got ", indices.dtype());
  check<ShapeError>(n <= std::numeric_limits<std::int32_t>::max(), what, ": positions are i32, and the dimension has ",
                    n, " elements");
  // Unsigned and 64-bit indices are clipped before the cast drops bits.
  bool negative = info(indices.dtype()).kind == Kind::integer;
  auto i = indices;
  if (i.dtype() == u32) i = i.astype(i64);
  if (i.dtype() == u64) i = minimum(i, Scalar(n));
  if (i.dtype() == i64) i = clip(i, Scalar(-n - 1), Scalar(n));
  if (i.dtype() != i32) i = i.astype(i32);
  return negative ? select(i < 0, i + Scalar(n), i) : i;
}
}  // namespace bora::ops

namespace bora {
Array take(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  axis = normalize_axis("take", axis, x.ndim());
  auto n = x.shape(axis);
  auto fill = mode == IndexMode::fill;
  check<IndexError>(fill || n > 0 || indices.size() == 0, "take: dimension ", axis, " of ", x.shape(),
                    " is empty, so there is no nearest element");
  return call_one(ops::Take{axis, fill}, {x, ops::from_front("take", indices, n)});
}
Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  check<ShapeError>(x.ndim() == indices.ndim(), "take_along_axis: ", x.shape(), " and the indices ", indices.shape(),
                    " must have equally many dimensions");
  axis = normalize_axis("take_along_axis", axis, x.ndim());
  auto n = x.shape(axis);
  auto fill = mode == IndexMode::fill;
  check<IndexError>(fill || n > 0 || indices.size() == 0, "take_along_axis: dimension ", axis, " of ", x.shape(),
                    " is empty, so there is no nearest element");
  auto rows = [&](const Array& a) {
    auto s = a.shape();
    s.erase(ops::at(axis));
    return s;
  };
  auto common = broadcast_shapes("take_along_axis", rows(x), rows(indices));
  auto fitted = [&](const Array& a) {
    auto s = common;
    s.insert(ops::at(axis), a.shape(axis));
    return moveaxis(broadcast_to(a, s), axis, -1);
  };
  auto last = x.ndim() - 1;
  return moveaxis(
      call_one(ops::Take{last, fill, last}, {fitted(x), fitted(ops::from_front("take_along_axis", indices, n))}), -1,
      axis);
}
template PrimitivePtr primitive<ops::Take>(ops::Take);
}  // namespace bora
