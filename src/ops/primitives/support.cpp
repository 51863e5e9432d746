// Arrays for samples and rules; operands of one type.
#include "ops/api/support.h"
#include "base/api/complex.h"
#include "kernels/api/complex.h"
#include "bora/ops/manipulation.h"
#include "ops/api/one_type.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/ops/creation.h"

namespace bora {
Array BatchRules::front(const Mapped& m) const {
  if (m.axis >= 0) return moveaxis(m.value, m.axis, 0);
  return broadcast_in_dim(m.value, ops::prepend(size, m.value.shape()), ops::range_of(m.value.ndim(), 1));
}

namespace ops {
Array random_values(const Shape& shape, double lo, double hi, int seed, Dtype dtype) {
  auto b = new_buffer({shape, dtype});
  auto state = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15ull;
  if (is_complex(dtype)) {
    auto part = real_dtype(dtype);
    auto re = random_values(shape, lo, hi, 2 * seed + 77, part), im = random_values(shape, lo, hi, 2 * seed + 78, part);
    kernels::join_parts(dtype, re.bytes(), im.bytes(), b.data, volume(shape));
    return b.done();
  }
  dispatch_real(dtype, "random_values", [&](auto zero) {
    using T = decltype(zero);
    auto* out = static_cast<T*>(b.data);
    for (std::int64_t i = 0, n = volume(shape); i < n; ++i) {
      auto z = state += 0x9e3779b97f4a7c15ull;  // splitmix64
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
      z ^= z >> 31;
      auto u = lo + (hi - lo) * (static_cast<double>(z >> 11) * 0x1p-53);
      if constexpr (std::is_same_v<T, bool>) out[i] = (z & 1) != 0;
      else if constexpr (is_float_class<T>) out[i] = T(static_cast<float>(u));
      else if constexpr (std::is_integral_v<T>) out[i] = static_cast<T>(std::floor(u));
      else out[i] = static_cast<T>(u);
    }
  });
  return b.done();
}
Array values(const Shape& shape, std::initializer_list<double> numbers, Dtype dtype) {
  check<ShapeError>(volume(shape) == static_cast<std::int64_t>(numbers.size()), "values: ", numbers.size(),
                    " numbers for shape ", shape);
  auto b = new_buffer({shape, dtype});
  dispatch_real(dtype, "values", [&](auto zero) {
    using T = decltype(zero);
    auto* out = static_cast<T*>(b.data);
    for (double x : numbers) {
      if constexpr (is_float_class<T>) *out++ = T(static_cast<float>(x));
      else *out++ = static_cast<T>(x);
    }
  });
  return b.done();
}
std::pair<Array, Array> promoted_pair(std::string_view what, const Array& a, const Array& b) {
  auto x = a, y = b;
  if (x.dtype() != y.dtype()) {
    auto d = promoted(what, x.dtype(), y.dtype());
    x = x.astype(d);
    y = y.astype(d);
  }
  if (x.type().shape != y.type().shape) {
    auto s = broadcast_shapes(what, x.type().shape, y.type().shape);
    x = broadcast_to(x, s);
    y = broadcast_to(y, s);
  }
  return {std::move(x), std::move(y)};
}
OneType one_type(std::string_view what, std::initializer_list<special::Operand> operands) {
  std::optional<Dtype> dtype;
  Shape shape;
  for (auto& o : operands)
    if (o.is_array()) {
      dtype = dtype ? promote(*dtype, o.array().dtype()) : o.array().dtype();
      shape = broadcast_shapes(what, shape, o.array().shape());
    }
  auto result = dtype && is_float(*dtype) ? *dtype : f32, wide = accumulator(result);
  OneType r{{}, result};
  for (auto& o : operands)
    r.x.push_back(o.is_array() ? broadcast_to(o.array().astype(wide), shape) : full_of({shape, wide}, o.number()));
  return r;
}
Type infer_by_element(std::string_view name, std::size_t arity, const Types& in) {
  check<ValueError>(in.size() == arity, name, ": takes ", arity, " operands, got ", in.size());
  for (auto& t : in)
    check<DtypeError>(t == in[0] && (t.dtype == f32 || t.dtype == f64), name,
                      ": operands must have one type of f32 or f64, got ", in[0], " and ", t);
  return in[0];
}
Array for_sums(const Array& x, std::optional<Dtype> asked) {
  auto d = x.dtype();
  if (asked) return x.astype(*asked);
  return x.astype(is_float(d) ? d : info(d).summed);
}
}  // namespace ops
}  // namespace bora
