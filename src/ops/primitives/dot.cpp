// dot_general: batches of products over any dimensions, each a call of the kernel.
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/product.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
std::string other_order(const Shape& a, const Shape& b) {
  auto na = a.size(), nb = b.size();
  auto rows = [](const Shape& s) { return s.end()[s.size() > 1 ? -2 : -1]; };
  auto turned = [](const char* name, std::size_t n) {
    return "; did you mean " + (n == 2 ? "transpose(" + std::string(name) + ")" : "swapaxes(" + std::string(name) +
           ", -1, -2)") + "?";
  };
  if (nb > 1 && a.back() == b.back()) return turned("b", nb);
  if (na > 1 && rows(a) == rows(b)) return turned("a", na);
  if (na > 1 && nb > 1 && rows(a) == b.back()) return "; did you mean b times a?";
  return "; they must be equal";
}
Dims DotGeneral::free_a(std::int64_t ndim) const { return others(ndim, joined(batch_a, contract_a)); }
Dims DotGeneral::free_b(std::int64_t ndim) const { return others(ndim, joined(batch_b, contract_b)); }
bool DotGeneral::saved(Saveable keep, const std::vector<std::string>&) const {
  return keep == Saveable::dots || keep == Saveable::everything || (keep == Saveable::dots_no_batch && batch_a.empty());
}
Type DotGeneral::infer(const Types& in) const {
  const auto &a = in.at(0), &b = in.at(1);
  check<DtypeError>(a.dtype == b.dtype && is_numeric(a.dtype) && a.dtype != boolean,
                    "dot_general: needs two operands of one numeric dtype, got ", a.dtype, " and ", b.dtype,
                    "; use astype()");
  check<ShapeError>(batch_a.size() == batch_b.size() && contract_a.size() == contract_b.size(),
                    "dot_general: batch and contracted dimensions come in pairs, got ", batch_a, " with ", batch_b,
                    " and ", contract_a, " with ", contract_b);
  auto distinct = [](Dims d, const Type& t) {
    std::sort(d.begin(), d.end());
    for (std::size_t i = 0; i < d.size(); ++i)
      check<IndexError>(d[i] >= 0 && d[i] < t.ndim() && (i == 0 || d[i - 1] != d[i]), "dot_general: dimensions ", d,
                        " of ", t.shape, " must exist and differ");
  };
  distinct(joined(batch_a, contract_a), a);
  distinct(joined(batch_b, contract_b), b);
  bool as_matrices = batch_a.empty() && contract_a == Dims{a.ndim() - 1} &&
                     contract_b == Dims{std::max<std::int64_t>(0, b.ndim() - 2)};
  bool fit = pick(a.shape, contract_a) == pick(b.shape, contract_b);
  check<ShapeError>(fit || !as_matrices, "matmul: inner sizes differ: ", a.shape, " @ ", b.shape,
                    [&] { return other_order(a.shape, b.shape); });
  check<ShapeError>(fit, "dot_general: contracted sizes differ: ", a.shape, " over ", contract_a, " and ", b.shape,
                    " over ", contract_b);
  check<ShapeError>(pick(a.shape, batch_a) == pick(b.shape, batch_b), "dot_general: batch sizes differ: ", a.shape,
                    " over ", batch_a, " and ", b.shape, " over ", batch_b);
  auto out = pick(a.shape, batch_a);
  out.append(pick(a.shape, free_a(a.ndim())));
  out.append(pick(b.shape, free_b(b.ndim())));
  return with_shape(a, out);
}
namespace {
/// Dimensions of an operand, row-major in the given order, collapsed into one with one stride; none if they do not
/// collapse.
struct Group {
  std::int64_t size, stride;
};
std::optional<Group> collapse(const Shape& shape, const Dims& strides, const Dims& dims) {
  Group g{1, 0};
  for (auto i = dims.size(); i-- > 0;) {
    auto n = shape[at(dims[i])], s = strides[at(dims[i])];
    if (n == 1) continue;
    if (g.size == 1) g.stride = s;
    else if (s != g.stride * g.size) return std::nullopt;
    g.size *= n;
  }
  return g;
}
bool lie_together(const Shape& shape, const Dims& dims) { return collapse(shape, strides_of(shape), dims).has_value(); }
/// gemm reads a matrix with rows x and columns y in place if one of the strides is 1, or its extent is.
bool readable(const Group& x, const Group& y) { return x.stride == 1 || y.stride == 1 || x.size == 1 || y.size == 1; }

/// One operand as batch x rows x columns. Batch dimensions that do not collapse stay a list for the caller to iterate
/// over.
struct DotOperand {
  Dims batch_strides;
  Group rows{1, 0}, columns{1, 0};
  Dims moved = {};  // it must be copied first: the order of its dimensions in the copy
};
DotOperand operand(const Shape& shape, const Dims& batch, const Dims& rows, const Dims& columns) {
  auto strides = strides_of(shape);
  auto r = collapse(shape, strides, rows), c = collapse(shape, strides, columns);
  if (r && c && readable(*r, *c)) return {pick(strides, batch), *r, *c};
  DotOperand o;
  o.moved = joined(joined(batch, rows), columns);
  auto moved = pick(shape, o.moved);
  auto nb = static_cast<std::int64_t>(batch.size()), nr = static_cast<std::int64_t>(rows.size()),
       all = static_cast<std::int64_t>(moved.size());
  auto n = product(moved, nb + nr, all);
  o.rows = {product(moved, nb, nb + nr), n};
  o.columns = {n, 1};
  auto s = strides_of(moved);
  o.batch_strides.assign(s.begin(), s.begin() + nb);
  return o;
}
/// The memory of an operand as gemm reads it: its own, or a copy in another order, which `copy` owns.
const void* memory_for(const DotOperand& o, const InputView& x, std::shared_ptr<void>& copy) {
  if (o.moved.empty()) return x.data;
  auto& shape = x.type.shape;
  auto moved = pick(shape, o.moved);
  copy = kernels::allocate(x.type.nbytes());
  kernels::copy(copy.get(), strides_of(moved), x.data, pick(strides_of(shape), o.moved), moved.dims(),
                dtype_size(x.type.dtype));
  return copy.get();
}
/// Strides that gemm accepts: a dimension of extent 1 may have any stride; unreadable pairs do not occur.
struct Strides {
  std::int64_t row, col;
};
Strides tidy(const Group& rows, const Group& columns) {
  Strides s{rows.stride, columns.stride};
  if (columns.size == 1 && s.row != 1) s.col = 1;
  else if (rows.size == 1 && s.col != 1) s.row = 1;
  if (rows.size == 1 && columns.size == 1) s = {1, 1};
  return s;
}
/// A product as one call of gemm per index of `outer`, the batch dimensions that do not collapse in both operands.
struct Calls {
  DotOperand a, b;
  Shape outer;
  kernels::Gemm gemm;
};
Calls calls_of(const DotGeneral& p, const Type& a, const Type& b) {
  Calls c{operand(a.shape, p.batch_a, p.free_a(a.ndim()), p.contract_a),
          operand(b.shape, p.batch_b, p.contract_b, p.free_b(b.ndim())),
          {},
          {}};
  auto sizes = pick(a.shape, p.batch_a);
  // The longest tail of batch dimensions that collapses in both operands goes into one call; the others are iterated
  // over.
  std::size_t inner = sizes.size();
  Group ga{1, 0}, gb{1, 0};
  for (; inner > 0; --inner) {
    auto n = sizes[inner - 1], sa = c.a.batch_strides[inner - 1], sb = c.b.batch_strides[inner - 1];
    if (n == 1) continue;
    if (ga.size > 1 && (sa != ga.stride * ga.size || sb != gb.stride * gb.size)) break;
    if (ga.size == 1) ga.stride = sa, gb.stride = sb;
    ga.size *= n;
    gb.size = ga.size;
  }
  c.outer = Shape(Dims(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(inner)));
  auto sa = tidy(c.a.rows, c.a.columns), sb = tidy(c.b.rows, c.b.columns);
  auto& g = c.gemm;
  g = {.dtype = a.dtype, .batch = ga.size, .m = c.a.rows.size, .n = c.b.columns.size, .k = c.a.columns.size};
  g.a_batch = ga.stride, g.a_row = sa.row, g.a_col = sa.col;
  g.b_batch = gb.stride, g.b_row = sb.row, g.b_col = sb.col;
  g.c_batch = g.m * g.n, g.ldc = g.n;
  return c;
}
}  // namespace

std::optional<kernels::Gemm> as_gemm(const DotGeneral& p, const Types& in) {
  auto c = calls_of(p, in[0], in[1]);
  if (!c.a.moved.empty() || !c.b.moved.empty() || c.outer.size() != 0) return std::nullopt;
  return c.gemm;
}
void DotGeneral::eval(InputViews in, OutputViews out) const {
  if (out[0].type.size() == 0) return;
  auto c = calls_of(*this, in[0].type, in[1].type);
  std::shared_ptr<void> copy_a, copy_b;
  auto *a = static_cast<const char*>(memory_for(c.a, in[0], copy_a)),
       *b = static_cast<const char*>(memory_for(c.b, in[1], copy_b));
  auto bytes = static_cast<std::int64_t>(dtype_size(c.gemm.dtype));
  for_each_index(c.outer, [&](std::int64_t k, const Dims& i) {
    std::int64_t from_a = 0, from_b = 0;
    for (std::size_t d = 0; d < i.size(); ++d) {
      from_a += i[d] * c.a.batch_strides[d];
      from_b += i[d] * c.b.batch_strides[d];
    }
    auto g = c.gemm;
    g.a = a + from_a * bytes;
    g.b = b + from_b * bytes;
    g.c = static_cast<char*>(out[0].data) + k * g.batch * g.c_batch * bytes;
    kernels::gemm(g);
  });
}
Cost DotGeneral::cost(const Types& in, const Types& out) const {
  Cost c;
  for (auto& t : in) c.bytes += static_cast<double>(t.nbytes());
  c.bytes += static_cast<double>(out[0].nbytes());
  c.flops = 2.0 * static_cast<double>(out[0].size()) * static_cast<double>(volume(pick(in[0].shape, contract_a)));
  return c;
}
namespace {
/// The gradient of operand x: ct contracted with the other operand over its free dimensions. ct holds batch, free of x,
/// free of other (x_first) or batch, free of other, free of x.
Array operand_gradient(const Array& ct, bool x_first, const Array& x, const Array& other, const Dims& batch_x,
                       const Dims& batch_o, const Dims& contract_x, const Dims& contract_o) {
  auto nb = static_cast<std::int64_t>(batch_x.size());
  auto free_x = others(x.ndim(), joined(batch_x, contract_x)),
       free_o = others(other.ndim(), joined(batch_o, contract_o));
  auto nx = static_cast<std::int64_t>(free_x.size()), no = static_cast<std::int64_t>(free_o.size()),
       nc = static_cast<std::int64_t>(contract_x.size());
  auto sorted = contract_o;
  std::sort(sorted.begin(), sorted.end());
  auto ct_free_o = range_of(no, x_first ? nb + nx : nb);
  /// The position of each dimension of x in a product whose free dimensions of x begin at fx and whose contracted ones
  /// begin at fc.
  auto order = [&](std::int64_t fx, std::int64_t fc) {
    Dims perm;
    for (std::int64_t d = 0; d < x.ndim(); ++d) {
      if (contains(batch_x, d)) perm.push_back(position(batch_x, d));
      else if (contains(free_x, d)) perm.push_back(fx + position(free_x, d));
      else perm.push_back(fc + position(sorted, contract_o[at(position(contract_x, d))]));
    }
    return perm;
  };
  // Take the order of operands that needs no transpose.
  if (auto perm = order(nb + nc, nb); identity(perm))
    return dot_general(other, ct, {batch_o, range_of(nb), free_o, ct_free_o});
  return transpose(dot_general(ct, other, {range_of(nb), batch_o, ct_free_o, free_o}), order(nb, nb + nx));
}
}  // namespace

Arrays DotGeneral::vjp(const Vjp& v) const {
  return {v.needs[0] ? operand_gradient(v.ct[0], true, v.in[0], v.in[1], batch_a, batch_b, contract_a, contract_b)
                     : Array{},
          v.needs[1] ? operand_gradient(v.ct[0], false, v.in[1], v.in[0], batch_b, batch_a, contract_b, contract_a)
                     : Array{}};
}
DimFactors DotGeneral::factors(const Types& in) const {
  auto na = in[0].ndim(), nb = in[1].ndim();
  Dims a = range_of(na), b(at(nb)), fresh = range_of(nb, na), fb = free_b(nb);
  for (std::size_t i = 0; i < batch_b.size(); ++i) b[at(batch_b[i])] = batch_a[i];
  for (std::size_t i = 0; i < contract_b.size(); ++i) b[at(contract_b[i])] = contract_a[i];
  for (auto d : fb) b[at(d)] = fresh[at(d)];
  return {{a, b}, {joined(joined(batch_a, free_a(na)), pick(fresh, fb))}, {0, 1}};
}
/// No transpose: the axis is one more batch dimension if both operands are mapped, one more free dimension if one is.
std::vector<Mapped> DotGeneral::batch(const std::vector<Mapped>& in, const BatchRules&) const {
  auto ma = in[0].axis, mb = in[1].axis;
  DotGeneral d{past(batch_a, ma), past(batch_b, mb), past(contract_a, ma), past(contract_b, mb)};
  std::int64_t axis = 0;
  if (ma >= 0 && mb >= 0) {
    d.batch_a = prepend(ma, d.batch_a);
    d.batch_b = prepend(mb, d.batch_b);
  } else {
    auto nb = static_cast<std::int64_t>(batch_a.size());
    auto fa = d.free_a(in[0].value.ndim());
    axis = ma >= 0 ? nb + position(fa, ma)
                   : nb + static_cast<std::int64_t>(fa.size()) + position(d.free_b(in[1].value.ndim()), mb);
  }
  return {{call_one(d, {in[0].value, in[1].value}), axis}};
}
SamplesOf<DotGeneral> DotGeneral::samples() {
  return {{{{}, {}, {1}, {0}}, {random_values({2, 3}, -1, 1, 1), random_values({3, 4}, -1, 1, 2)}},
          {{{1}, {0}, {0, 3}, {2, 1}}, {random_values({3, 2, 2, 4}, -1, 1, 3), random_values({2, 4, 3, 2}, -1, 1, 4)}},
          {{{0}, {0}, {2}, {2}}, {random_values({2, 3, 2}, -1, 1, 5), random_values({2, 2, 2}, -1, 1, 6)}},
          {{{}, {}, {0}, {0}}, {random_values({3}, -1, 1, 7), random_values({3}, -1, 1, 8)}},
          {{{}, {}, {}, {}}, {random_values({2}, -1, 1, 9), random_values({3}, -1, 1, 10)}},
          {{{}, {}, {1}, {0}}, {random_values({2, 0}, -1, 1, 11), random_values({0, 3}, -1, 1, 12)}}};
}
}  // namespace bora::ops

namespace bora {
using ops::at, ops::range_of, ops::joined;
namespace {
Dims normalized(const Dims& dims, std::int64_t ndim) {
  Dims r;
  for (auto d : dims) r.push_back(normalize_axis("dot_general", d, ndim));
  return r;
}
/// An outer product: no dimension is contracted. Written elementwise, so that it fuses with its readers.
Array product_of_all(const Array& a, const Array& b, const ops::DotGeneral& p) {
  auto free_a = p.free_a(a.ndim()), free_b = p.free_b(b.ndim());
  auto with_ones = [](const Array& x, const Dims& batch, const Dims& free, std::size_t before, std::size_t after) {
    auto s = ops::pick(x.shape(), batch);
    for (std::size_t i = 0; i < before; ++i) s.push_back(1);
    s.append(ops::pick(x.shape(), free));
    for (std::size_t i = 0; i < after; ++i) s.push_back(1);
    return reshape(transpose(x, joined(batch, free)), Shape(s));
  };
  return with_ones(a, p.batch_a, free_a, 0, free_b.size()) * with_ones(b, p.batch_b, free_b, free_a.size(), 0);
}
/// p with the contracted pairs in the order of a or of b, whichever makes more of the operands contiguous. The order is
/// chosen here, where the product is written, and kept: sums run over the pairs in it even where a pass lets the
/// product read an operand from before a transpose, so that results stay bit-identical.
ops::DotGeneral in_good_order(const ops::DotGeneral& p, const Type& a, const Type& b) {
  auto by = [&](const Dims& key) {
    auto order = range_of(static_cast<std::int64_t>(key.size()));
    std::sort(order.begin(), order.end(), [&](auto x, auto y) { return key[at(x)] < key[at(y)]; });
    return ops::DotGeneral{p.batch_a, p.batch_b, ops::pick(p.contract_a, order), ops::pick(p.contract_b, order)};
  };
  auto for_a = by(p.contract_a), for_b = by(p.contract_b);
  auto walked = [&](const ops::DotGeneral& d) {
    return (ops::lie_together(a.shape, d.contract_a) ? a.size() : 0) +
           (ops::lie_together(b.shape, d.contract_b) ? b.size() : 0);
  };
  return walked(for_b) > walked(for_a) ? for_b : for_a;
}
}  // namespace

Array dot_general(const Array& a, const Array& b, const DotDims& d) {
  check<DtypeError>(is_numeric(a.dtype()) && is_numeric(b.dtype()), "dot_general: keys cannot be multiplied");
  auto dtype = promote(a.dtype(), b.dtype()), in = dtype == boolean ? i32 : dtype;
  ops::DotGeneral p{normalized(d.batch_a, a.ndim()), normalized(d.batch_b, b.ndim()),
                    normalized(d.contract_a, a.ndim()), normalized(d.contract_b, b.ndim())};
  auto x = a.astype(in), z = b.astype(in);
  if (p.contract_a.empty() && is_inexact(in)) {
    p.infer({x.type(), z.type()});  // throws if sizes differ
    return product_of_all(x, z, p);
  }
  if (p.contract_a.size() > 1) {
    p.infer({x.type(), z.type()});
    p = in_good_order(p, x.type(), z.type());
  }
  auto y = call_one(p, {x, z});
  return y.astype(dtype);  // NumPy: booleans give any(..), not a count
}
template PrimitivePtr primitive<ops::DotGeneral>(ops::DotGeneral);
}  // namespace bora
