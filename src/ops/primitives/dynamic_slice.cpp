// Windows at positions given as data: dynamic_slice and dynamic_update_slice.
#include "kernels/api/move.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora::ops {
namespace {
/// Elements from the beginning of x to the beginning of the window.
std::int64_t window_offset(InputViews starts, const Shape& x, const Shape& window) {
  auto strides = strides_of(x);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < x.size(); ++d)
    offset += std::clamp<std::int64_t>(*starts[d].as<std::int32_t>(), 0, x[d] - window[d]) * strides[d];
  return offset;
}
void check_window(std::string_view what, const Types& in, const Shape& window, std::size_t first_start) {
  const auto& x = in.at(0).shape;
  check<ShapeError>(window.size() == x.size() && in.size() == first_start + x.size(), what,
                    ": needs one size and one start for each dimension of ", x, "; got a window ", window, " and ",
                    in.size() - first_start, " starts");
  for (std::size_t d = 0; d < x.size(); ++d) {
    check<ShapeError>(window[d] >= 0 && window[d] <= x[d], what, ": the window ", window, " does not fit into ", x);
    check<ShapeError>(in[first_start + d] == Type{{}, i32}, what, ": starts must be i32 scalars, got ",
                      in[first_start + d]);
  }
}
/// Whole dimensions are independent; a dimension with a window is needed whole.
Dims window_labels(const Shape& x, const Shape& window) {
  Dims l;
  for (std::size_t d = 0; d < x.size(); ++d) l.push_back(window[d] == x[d] ? static_cast<std::int64_t>(d) : kNone);
  return l;
}
bool any_mapped(const std::vector<Mapped>& in, std::size_t from) {
  return std::any_of(in.begin() + static_cast<std::ptrdiff_t>(from), in.end(),
                     [](const Mapped& m) { return m.axis >= 0; });
}
Array zero_start() { return constant(0, i32); }
}  // namespace

// ---- dynamic_slice --------------------------------------------------------------------------------------------------
Type DynamicSlice::infer(const Types& in) const {
  check_window("dynamic_slice", in, window_sizes, 1);
  return with_shape(in[0], window_sizes);
}
void DynamicSlice::eval(InputViews in, OutputViews out) const {
  const auto& x = in[0].type.shape;
  if (out[0].type.size() == 0) return;
  auto size = dtype_size(out[0].type.dtype);
  auto offset = window_offset(in.subspan(1), x, window_sizes) * static_cast<std::int64_t>(size);
  kernels::copy(out[0].data, strides_of(window_sizes), static_cast<const char*>(in[0].data) + offset, strides_of(x),
                window_sizes.dims(), size);
}
Arrays DynamicSlice::vjp(const Vjp& v) const {
  Arrays a{zeros_like(v.in[0]), v.ct[0]}, r(v.in.size());
  a.insert(a.end(), v.in.begin() + 1, v.in.end());
  r[0] = call_one(DynamicUpdateSlice{}, a);
  return r;
}
DimFactors DynamicSlice::factors(const Types& in) const {
  auto l = window_labels(in[0].shape, window_sizes);
  DimFactors f{std::vector<Dims>(in.size()), {l}, {0}};
  f.in[0] = l;
  return f;
}
DynamicSlice DynamicSlice::resized(const Types&, const Types& out) const { return {out[0].shape}; }
std::vector<Mapped> DynamicSlice::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  if (any_mapped(in, 1)) {
    return b.composite(
        [this](const Arrays& a) {
          Array x = a[0];
          for (std::size_t d = 0; d < window_sizes.size(); ++d) {
            auto axis = static_cast<std::int64_t>(d);
            if (window_sizes[d] == x.shape(axis)) continue;
            auto start = clamped(a[d + 1], x.shape(axis) - window_sizes[d] + 1);
            x = call_one(Take{axis, true}, {x, iota({window_sizes[d]}, 0) + start});
          }
          return Arrays{x};
        },
        in);
  }
  auto m = in[0].axis;
  Arrays a{in[0].value};
  for (std::size_t i = 1; i < in.size(); ++i) a.push_back(in[i].value);
  a.insert(a.begin() + 1 + m, zero_start());
  auto sizes = window_sizes;
  sizes.insert(at(m), b.size);
  return {{call_one(DynamicSlice{sizes}, a), m}};
}
SamplesOf<DynamicSlice> DynamicSlice::samples() {
  auto s = [](int v) { return values({}, {static_cast<double>(v)}, i32); };
  return {{{{2, 3}}, {random_values({4, 3}, -1, 1, 1), s(1), s(0)}},
          {{{2, 2}}, {random_values({3, 4}, -1, 1, 2), s(9), s(1)}},
          {{{0, 2}}, {random_values({3, 4}, -1, 1, 3), s(1), s(-1)}}};
}

// ---- dynamic_update_slice -------------------------------------------------------------------------------------------
Type DynamicUpdateSlice::infer(const Types& in) const {
  check<DtypeError>(in.at(0).dtype == in.at(1).dtype, "dynamic_update_slice: dtypes differ: ", in[0].dtype, " and ",
                    in[1].dtype);
  check_window("dynamic_update_slice", in, in[1].shape, 2);
  return in[0];
}
void DynamicUpdateSlice::eval(InputViews in, OutputViews out) const {
  const auto &x = in[0].type.shape, &window = in[1].type.shape;
  if (out[0].type.size() == 0) return;
  auto size = dtype_size(out[0].type.dtype);
  if (out[0].data != in[0].data) kernels::copy(out[0].data, {1}, in[0].data, {1}, {out[0].type.size()}, size);
  if (in[1].type.size() == 0) return;
  auto offset = window_offset(in.subspan(2), x, window) * static_cast<std::int64_t>(size);
  kernels::copy(static_cast<char*>(out[0].data) + offset, strides_of(x), in[1].data, strides_of(window), window.dims(),
                size);
}
Arrays DynamicUpdateSlice::vjp(const Vjp& v) const {
  Arrays starts(v.in.begin() + 2, v.in.end()), r(v.in.size());
  auto with_starts = [&](Arrays a) {
    a.insert(a.end(), starts.begin(), starts.end());
    return a;
  };
  if (v.needs[0]) r[0] = call_one(DynamicUpdateSlice{}, with_starts({v.ct[0], zeros_like(v.in[1])}));
  if (v.needs[1]) r[1] = call_one(DynamicSlice{v.in[1].shape()}, with_starts({v.ct[0]}));
  return r;
}
DimFactors DynamicUpdateSlice::factors(const Types& in) const {
  auto l = window_labels(in[0].shape, in[1].shape);
  DimFactors f{std::vector<Dims>(in.size()), {l}, {}};
  f.in[0] = f.in[1] = l;
  if (in[0].dtype != boolean && is_numeric(in[0].dtype)) {
    f.linear = {0, 1};
    f.joint = true;
  }
  return f;
}
std::vector<Mapped> DynamicUpdateSlice::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  if (any_mapped(in, 2)) {
    return b.composite(
        [](const Arrays& a) {
          const Array& x = a[0];
          Array u = a[1];
          auto inside = full_of({x.shape(), boolean}, true);
          for (std::int64_t d = 0; d < x.ndim(); ++d) {
            auto n = a[1].shape(d);
            if (n == x.shape(d)) continue;
            // positions of x within the window
            auto own = iota({x.shape(d)}, 0) - clamped(a[at(d) + 2], x.shape(d) - n + 1);
            u = call_one(Take{d, true}, {u, own});
            inside = inside && broadcast_in_dim(own >= 0 && own < constant(n, i32), x.shape(), {d});
          }
          return Arrays{select(inside, u, x)};
        },
        in);
  }
  auto m = in[0].axis >= 0 ? in[0].axis : 0;
  auto at_m = [&](const Mapped& x) { return x.axis == m ? x.value : moveaxis(b.front(x), 0, m); };
  Arrays a{at_m(in[0]), at_m(in[1])};
  for (std::size_t i = 2; i < in.size(); ++i) a.push_back(in[i].value);
  a.insert(a.begin() + 2 + m, zero_start());
  return {{call_one(DynamicUpdateSlice{}, a), m}};
}
SamplesOf<DynamicUpdateSlice> DynamicUpdateSlice::samples() {
  auto s = [](int v) { return values({}, {static_cast<double>(v)}, i32); };
  return {{{}, {random_values({4, 3}, -1, 1, 1), random_values({2, 3}, -1, 1, 2), s(1), s(0)}},
          {{}, {random_values({3, 3}, -1, 1, 3), random_values({1, 2}, -1, 1, 4), s(7), s(1)}},
          {{}, {random_values({2}, -1, 1, 5), random_values({0}, -1, 1, 6), s(1)}}};
}
}  // namespace bora::ops

namespace bora {
namespace {
/// Starts as i32 scalars, negative ones counted from the end.
Arrays window_starts(std::string_view what, const Arrays& starts, const Shape& x) {
  check<ShapeError>(starts.size() == x.size(), what, ": needs one start for each dimension of ", x, ", got ",
                    starts.size());
  Arrays r;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    check<ShapeError>(starts[d].ndim() == 0, what, ": starts must be integer scalars, got ", starts[d].type());
    r.push_back(ops::from_front(what, starts[d], x[d]));
  }
  return r;
}
Arrays list(std::initializer_list<Array> first, const Arrays& starts) {
  Arrays r(first);
  r.insert(r.end(), starts.begin(), starts.end());
  return r;
}
}  // namespace

Array dynamic_slice(const Array& x, const Arrays& starts, const Shape& sizes) {
  return call_one(ops::DynamicSlice{sizes}, list({x}, window_starts("dynamic_slice", starts, x.shape())));
}
Array dynamic_update_slice(const Array& x, const Array& update, const Arrays& starts) {
  auto wide = ops::promoted("dynamic_update_slice", update.dtype(), x.dtype());
  auto u = wide == x.dtype() ? update.astype(wide) : update;
  return call_one(ops::DynamicUpdateSlice{}, list({x, u}, window_starts("dynamic_update_slice", starts, x.shape())));
}
Array dynamic_index_in_dim(const Array& x, const Array& i, std::int64_t axis) {
  axis = normalize_axis("dynamic_index_in_dim", axis, x.ndim());
  check<IndexError>(x.shape(axis) > 0, "dynamic_index_in_dim: dimension ", axis, " of ", x.shape(), " is empty");
  check<ShapeError>(i.ndim() == 0, "dynamic_index_in_dim: the index must be an integer scalar, got ", i.type());
  Arrays starts(ops::at(x.ndim()), constant(0, i32));
  starts[ops::at(axis)] = ops::from_front("dynamic_index_in_dim", i, x.shape(axis));
  auto sizes = x.shape(), result = x.shape();
  sizes[ops::at(axis)] = 1;
  result.erase(ops::at(axis));
  return reshape(call_one(ops::DynamicSlice{sizes}, list({x}, starts)), result);
}
template PrimitivePtr primitive<ops::DynamicSlice>(ops::DynamicSlice);
template PrimitivePtr primitive<ops::DynamicUpdateSlice>(ops::DynamicUpdateSlice);
}  // namespace bora
