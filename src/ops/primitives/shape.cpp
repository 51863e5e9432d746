// Primitives that move or repeat elements without choosing among them: broadcast_in_dim, reshape, transpose, rev, iota.
#include "base/api/complex.h"
#include "bora/base/parallel.h"
#include "kernels/api/move.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "ops/primitives/dims.h"
#include "ops/primitives/moves.h"
#include "bora/ops/arguments.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
Dims checked_permutation(std::string_view what, Dims perm, std::int64_t ndim) {
  check<ValueError>(static_cast<std::int64_t>(perm.size()) == ndim, what, ": ", perm, " does not order ", ndim,
                    " dimension", ndim == 1 ? "" : "s", "; name each of them once");
  for (auto& d : perm) d = normalize_axis(what, d, ndim);
  auto sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  check<ValueError>(identity(sorted), what, ": ", perm, " names a dimension twice; name each of the ", ndim, " once");
  return perm;
}

// ---- broadcast_in_dim -----------------------------------------------------------------------------------------------
Type BroadcastInDim::infer(const Types& in) const {
  const auto& x = in.at(0).shape;
  check<ShapeError>(x.size() == dims.size(), "broadcast_in_dim: ", x,
                    " needs one output dimension for each of its own, got ", dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    check<ShapeError>(
        dims[i] >= 0 && dims[i] < static_cast<std::int64_t>(shape.size()) && (i == 0 || dims[i - 1] < dims[i]),
        "broadcast_in_dim: output dimensions must increase and lie in ", shape, ", got ", dims);
    check<ShapeError>(x[i] == 1 || x[i] == shape[at(dims[i])], "broadcast: ", x, " does not stretch to ", shape,
                      ": dimension ", i, " has ", x[i], " elements, not 1 or ", shape[at(dims[i])]);
  }
  (void)volume(shape);  // throws for more elements than there can be, also while staging
  return with_shape(in[0], shape);
}
void BroadcastInDim::eval(InputViews in, OutputViews out) const {
  auto from = strides_of(in[0].type.shape);
  Dims strides(shape.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (in[0].type.shape[i] != 1) strides[at(dims[i])] = from[i];
  kernels::copy(out[0].data, strides_of(shape), in[0].data, strides, shape.dims(), dtype_size(out[0].type.dtype));
}
namespace {
bool stretched(const BroadcastInDim& p, const Shape& in, std::size_t i) {
  return in[i] == 1 && p.shape[at(p.dims[i])] != 1;
}
}  // namespace

Array BroadcastInDim::vjp(const Vjp& v) const {
  Dims reduced;
  auto x = v.in[0].shape();
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    auto i = at(position(dims, d));
    if (i == dims.size() || stretched(*this, x, i)) reduced.push_back(d);
  }
  return reshape(sum(v.ct[0], reduced), x);
}
DimFactors BroadcastInDim::factors(const Types& in) const {
  DimFactors f{{{}}, {range_of(static_cast<std::int64_t>(shape.size()))}, {0}};
  for (std::size_t i = 0; i < dims.size(); ++i) f.in[0].push_back(stretched(*this, in[0].shape, i) ? kNone : dims[i]);
  return f;
}
BroadcastInDim BroadcastInDim::resized(const Types&, const Types& out) const { return {out[0].shape, dims}; }
BroadcastInDim BroadcastInDim::lift(std::int64_t n) const { return {prepend(n, shape), prepend(0, shifted(dims))}; }
SamplesOf<BroadcastInDim> BroadcastInDim::samples() {
  return {{{{2, 3, 4}, {0, 2}}, {random_values({2, 4}, -1, 1, 1)}},
          {{{3, 4}, {0, 1}}, {random_values({1, 4}, -1, 1, 2)}},
          {{{2, 0, 3}, {2}}, {random_values({3}, -1, 1, 3)}},
          {{{2, 2}, {}}, {random_values({}, -1, 1, 4)}}};
}

// ---- reshape --------------------------------------------------------------------------------------------------------
Type Reshape::infer(const Types& in) const {
  check<ShapeError>(volume(in.at(0).shape) == volume(shape), "reshape: ", in[0].shape, " has ", volume(in[0].shape),
                    " elements, ", shape, " has ", volume(shape),
                    "; give sizes with the same product (one of them may be -1)");
  return with_shape(in[0], shape);
}
void Reshape::eval(InputViews in, OutputViews out) const {
  kernels::copy_bytes(out[0].data, in[0].data, out[0].type.nbytes());
}
Array Reshape::vjp(const Vjp& v) const { return reshape(v.ct[0], v.in[0].shape()); }
Reshape Reshape::lift(std::int64_t n) const { return {prepend(n, shape)}; }
namespace {
/// Dimensions [first, last) that become one group of dimensions; the first of them and of the group are split alike,
/// but their blocks do not begin at the same elements.
struct Uneven {
  std::size_t first, last;
  std::int64_t rows, row, old_row;  // of the group's first dimension; elements of a row there and here
};
/// Fetches the rows of which this rank's part of the group is made, and cuts off what it does not need of them.
Array regrouped(const Sharded& x, const Uneven& u, const ShardRules& s) {
  auto& axes = x.spec[u.first];
  auto parts = s.mesh().parts(axes);
  Dims wanted;
  for (int p = 0; p < parts; ++p) {
    auto b = s.mesh().block(u.rows, axes, p);
    wanted.push_back(b.begin * u.row / u.old_row);
    wanted.push_back(b.size() == 0 ? wanted.back() : (b.end * u.row + u.old_row - 1) / u.old_row);
  }
  auto me = s.mesh().part(s.rank(), axes);
  auto mine = s.mesh().block(u.rows, axes, me);
  auto y = rows_around(x, static_cast<std::int64_t>(u.first), wanted, s);
  auto flat = y.shape();
  for (auto d = u.last; --d > u.first;) flat.erase(d);
  flat[u.first] = (wanted[at(2 * me + 1)] - wanted[at(2 * me)]) * u.old_row;
  y = call_one(Reshape{flat}, {y});
  Dims begin(flat.size(), 0), end = flat.dims(), steps(flat.size(), 1);
  begin[u.first] = mine.size() == 0 ? 0 : mine.begin * u.row - wanted[at(2 * me)] * u.old_row;
  end[u.first] = begin[u.first] + mine.size() * u.row;
  return call_one(StaticSlice{begin, end, steps}, {y});
}
}  // namespace
/// A split dimension survives when it leads its group of merged or divided dimensions; where its blocks cut at other
/// elements, ranks exchange what lies between. Reads global shapes only.
std::optional<std::vector<Sharded>> Reshape::shard(const std::vector<Sharded>& in, ShardRules& s) const {
  const auto& x = in[0];
  const auto& old = x.type.shape;
  Spec from = Spec::replicated(old.size()), to = Spec::replicated(shape.size());
  std::vector<Uneven> uneven;
  if (volume(shape) > 0) {
    std::size_t i = 0, j = 0;
    while (true) {
      while (i < old.size() && old[i] == 1) ++i;
      while (j < shape.size() && shape[j] == 1) ++j;
      if (i == old.size() || j == shape.size()) break;
      auto i0 = i, j0 = j;
      auto a = old[i++], b = shape[j++];
      while (a != b) {
        if (a < b) a *= old[i++];
        else b *= shape[j++];
      }
      auto& split = x.spec[i0];
      if (split.empty()) continue;
      if (s.same_blocks(old[i0], shape[j0], split)) {
        from[i0] = to[j0] = split;
        continue;
      }
      if (shape[j0] >= s.mesh().parts(split)) {
        from[i0] = to[j0] = split;
        uneven.push_back({i0, i, shape[j0], b / shape[j0], a / old[i0]});
        continue;
      }
      // Cut in two, the first part one element for each rank of its outer axes: [12] over (a: 2, b: 3) is [2, 6] over
      // a and b.
      for (std::size_t k = 1; k < split.size() && j0 + 1 < j; ++k) {
        auto outer = split.head(k), inner = split.tail(k);
        if (s.mesh().parts(outer) != shape[j0] || old[i0] % shape[j0] != 0 || !s.mesh().equal(outer)) continue;
        if (!s.same_blocks(old[i0] / shape[j0], shape[j0 + 1], inner)) continue;
        from[i0] = split, to[j0] = outer, to[j0 + 1] = inner;
      }
    }
  } else {  // no elements: only leading dimensions that do not change keep their splits
    for (std::size_t d = 0; d < old.size() && d < shape.size() && old[d] == shape[d]; ++d) from[d] = to[d] = x.spec[d];
    if (volume(s.local_shape(old, from)) != volume(s.local_shape(shape, to)))
      from = Spec::replicated(old.size()), to = Spec::replicated(shape.size());
  }
  auto y = s.reshard(x, from, x.partial);
  for (auto u = uneven.rbegin(); u != uneven.rend(); ++u) y.local = regrouped(y, *u, s);
  return {{{call_one(Reshape{s.local_shape(shape, to)}, {y.local}), {shape, x.type.dtype}, to, y.partial}}};
}
SamplesOf<Reshape> Reshape::samples() {
  return {{{{3, 4}}, {random_values({12}, -1, 1, 1)}},   {{{2, 6}}, {random_values({2, 3, 2}, -1, 1, 2)}},
          {{{8}}, {random_values({4, 2}, -1, 1, 3)}},    {{{1, 4, 1}}, {random_values({4, 1}, -1, 1, 4)}},
          {{{0, 2}}, {random_values({3, 0}, -1, 1, 5)}}, {{{}}, {random_values({1, 1}, -1, 1, 6)}}};
}

// ---- transpose ------------------------------------------------------------------------------------------------------
Type Transpose::infer(const Types& in) const {
  checked_permutation("transpose", perm, in.at(0).ndim());
  return with_shape(in[0], pick(in[0].shape, perm));
}
void Transpose::eval(InputViews in, OutputViews out) const {
  const auto& shape = out[0].type.shape;
  kernels::copy(out[0].data, strides_of(shape), in[0].data, pick(strides_of(in[0].type.shape), perm), shape.dims(),
                dtype_size(out[0].type.dtype));
}
Array Transpose::vjp(const Vjp& v) const { return transpose(v.ct[0], inverse(perm)); }
DimFactors Transpose::factors(const Types& in) const { return {{range_of(in[0].ndim())}, {perm}, {0}}; }
Transpose Transpose::lift(std::int64_t) const { return {prepend(0, shifted(perm))}; }
SamplesOf<Transpose> Transpose::samples() {
  return {{{{2, 0, 1}}, {random_values({2, 3, 4}, -1, 1, 1)}},
          {{{1, 0}}, {random_values({0, 3}, -1, 1, 2)}},
          {{{}}, {random_values({}, -1, 1, 3)}}};
}

// ---- rev ------------------------------------------------------------------------------------------------------------
Type Rev::infer(const Types& in) const { return in.at(0); }
void Rev::eval(InputViews in, OutputViews out) const {
  const auto& shape = out[0].type.shape;
  if (volume(shape) == 0) return;
  auto strides = strides_of(shape), from = strides;
  std::int64_t first = 0;
  for (auto d : dims) {
    first += (shape[at(d)] - 1) * strides[at(d)];
    from[at(d)] = -strides[at(d)];
  }
  auto size = dtype_size(out[0].type.dtype);
  kernels::copy(out[0].data, strides, static_cast<const char*>(in[0].data) + first * static_cast<std::int64_t>(size),
                from, shape.dims(), size);
}
Array Rev::vjp(const Vjp& v) const { return call_one(*this, {v.ct[0]}); }
DimFactors Rev::factors(const Types& in) const {
  auto l = range_of(in[0].ndim());
  for (auto d : dims) l[at(d)] = kNone;
  return {{l}, {l}, {0}};
}
Rev Rev::lift(std::int64_t) const { return {shifted(dims)}; }
SamplesOf<Rev> Rev::samples() {
  return {{{{1}}, {random_values({2, 3}, -1, 1, 1)}},
          {{{0, 2}}, {random_values({2, 2, 3}, -1, 1, 2)}},
          {{{0}}, {random_values({0, 2}, -1, 1, 3)}}};
}

// ---- iota -----------------------------------------------------------------------------------------------------------
Type Iota::infer(const Types&) const {
  (void)volume(shape);
  check<DtypeError>(is_numeric(dtype) && !is_complex(dtype), "iota: counts in real numbers, not in ", dtype,
                    "; use astype()");
  check<IndexError>(dim >= 0 && at(dim) < shape.size(), "iota: axis ", dim, " does not exist in ", shape);
  auto n = shape[at(dim)];
  check<ShapeError>(n == 0 || holds(dtype, n - 1), "iota: ", n, " numbers do not fit into ", dtype,
                    "; give a wider dtype");
  return {shape, dtype};
}
void Iota::eval(InputViews, OutputViews out) const {
  auto a = around(shape, dim);
  dispatch_real(dtype, "iota", [&](auto t) {
    using T = decltype(t);
    auto* y = out[0].as<T>();
    parallel_for(a.outer * a.n, grain_for(1 + 0.05 * static_cast<double>(a.inner)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto row = begin, i = begin % a.n; row < end; ++row, i = i + 1 < a.n ? i + 1 : 0)
                     std::fill_n(y + row * a.inner, a.inner, static_cast<T>(i));
                 });
  });
}
SamplesOf<Iota> Iota::samples() { return {{{{2, 3}, 1, i32}, {}}, {{{3, 2}, 0, f64}, {}}, {{{0}, 0, i32}, {}}}; }
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array broadcast_in_dim(const Array& x, const Shape& shape, const Dims& dims) {
  return x.type().shape == shape && identity(dims) ? x : call_one(BroadcastInDim{shape, dims}, {x});
}
Array broadcast_to(const Array& x, const Shape& shape) {
  auto extra = static_cast<std::int64_t>(shape.size()) - x.ndim();
  check<ShapeError>(extra >= 0, "broadcast_to: ", x.shape(), " has more dimensions than ", shape);
  return broadcast_in_dim(x, shape, range_of(x.ndim(), extra));
}
Array reshape(const Array& x, const Shape& shape) {
  Shape s = shape;
  std::int64_t open = -1;
  for (std::size_t d = 0; d < s.size(); ++d) {
    if (s[d] == -1) {
      check<ShapeError>(open < 0, "reshape: only one size may be -1, got ", shape);
      open = static_cast<std::int64_t>(d);
    } else {
      check<ShapeError>(s[d] >= 0, "reshape: sizes must not be negative (but one may be -1), got ", shape);
    }
  }
  if (open >= 0) {
    s[at(open)] = 1;
    auto known = volume(s);
    check<ShapeError>(known > 0 && x.size() % known == 0, "reshape: ", x.shape(), " has ", x.size(),
                      " elements; no size in place of -1 makes ", shape, " fit");
    s[at(open)] = x.size() / known;
  }
  return x.type().shape == s ? x : call_one(Reshape{s}, {x});
}
namespace {
Array permuted(const Array& x, const Dims& perm) { return identity(perm) ? x : call_one(Transpose{perm}, {x}); }
}  // namespace

Array transpose(const Array& x) {
  auto d = range_of(x.ndim());
  std::reverse(d.begin(), d.end());
  return permuted(x, d);
}
Array transpose(const Array& x, const Dims& perm) {
  return permuted(x, checked_permutation("transpose", perm, x.ndim()));
}
Array flip(const Array& x, const Dimensions& axes) {
  auto dims = axes.resolve("flip", x.ndim());
  return dims.empty() ? x : call_one(Rev{dims}, {x});
}
Array iota(const Shape& shape, std::int64_t dim, Dtype dtype) {
  for (auto n : shape) check<ShapeError>(n >= 0, "iota: sizes must not be negative, got ", shape);
  return call_one(Iota{shape, normalize_axis("iota", dim, static_cast<std::int64_t>(shape.size())), dtype}, {});
}
template PrimitivePtr primitive<ops::BroadcastInDim>(ops::BroadcastInDim);
template PrimitivePtr primitive<ops::Reshape>(ops::Reshape);
template PrimitivePtr primitive<ops::Transpose>(ops::Transpose);
template PrimitivePtr primitive<ops::Rev>(ops::Rev);
template PrimitivePtr primitive<ops::Iota>(ops::Iota);
}  // namespace bora
