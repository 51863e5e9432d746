// gamma, loggamma, dirichlet. Rejection takes a different number of draws for each element, so it runs as one operation
// on the host, with one key per element; the elementary functions are the same as everywhere else.
#include <cmath>
#include <cstring>
#include "bora/base/parallel.h"
#include "bora/kernels/loop.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "random/draw.h"

namespace bora::random {
namespace {
using Words = std::array<std::uint32_t, 2>;
/// An elementwise operation on one number, with the bits that a loop gives.
template <class T> T element(kernels::OpId op, T x) {
  std::uint64_t in = 0;
  std::memcpy(&in, &x, sizeof x);
  auto d = dtype_of<T>;
  auto out = kernels::evaluate_scalar(op, &d, &in);
  std::memcpy(&x, &out, sizeof x);
  return x;
}
struct Functions {
  kernels::OpId log = kernels::find_op("log"), log1p = kernels::find_op("log1p"), erf_inv = kernels::find_op("erf_inv");
};
const Functions& functions() {
  static const Functions f;
  return f;
}
template <class T> T unit_scalar(Words k) {
  auto w = kernels::threefry(k, 0);
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(((w[0] ^ w[1]) >> 9) | 0x3F800000u) - 1;
  else
    return std::bit_cast<double>((((static_cast<std::uint64_t>(w[0]) << 32) | w[1]) >> 12) | 0x3FF0000000000000ull) - 1;
}
template <class T> T normal_scalar(Words k) {
  const T lo = std::nextafter(T(-1), T(0)), span = T(1) - lo;
  return element(functions().erf_inv, std::max(lo, std::fma(unit_scalar<T>(k), span, lo))) *
         static_cast<T>(std::sqrt(2.0));
}
/// Marsaglia and Tsang, A simple method for generating gamma variables (2000), with draws ordered as JAX's _gamma_one.
template <class T> T gamma_scalar(Words key, T a, bool log_space) {
  if (!(a > 0)) return std::numeric_limits<T>::quiet_NaN();
  const auto& f = functions();
  auto log_of = [&](T x) { return element(f.log, x); };
  const T third = static_cast<T>(1.0 / 3.0);
  T d = (a >= 1 ? a : a + 1) - third, c = third / std::sqrt(d);
  auto k = kernels::threefry(key, 0), boost_key = kernels::threefry(key, 1);
  T x2 = 0, v = 1, u = 2;
  while (u >= T(1) - static_cast<T>(0.0331) * (x2 * x2) && log_of(u) >= x2 * T(0.5) + d * ((T(1) - v) + log_of(v))) {
    auto kx = kernels::threefry(k, 1), ku = kernels::threefry(k, 2);
    k = kernels::threefry(k, 0);
    T x, w;
    do {
      auto sub = kernels::threefry(kx, 1);
      kx = kernels::threefry(kx, 0);
      x = normal_scalar<T>(sub);
      w = T(1) + x * c;
    } while (w <= 0);
    x2 = x * x;
    v = w * w * w;
    u = unit_scalar<T>(ku);
  }
  if (log_space) {
    T log_boost = element(f.log1p, -unit_scalar<T>(boost_key));
    return (log_of(d) + log_of(v)) + (a >= 1 || log_boost == 0 ? T(0) : log_boost * (T(1) / a));
  }
  return (d * v) * (a >= 1 ? T(1) : std::pow(T(1) - unit_scalar<T>(boost_key), T(1) / a));
}
/// Keys [b..] and a [b..] -> one draw each.
struct Gamma {
  bool log_space;
  static constexpr std::string_view name = "gamma";
  static constexpr bool random = true;
  Type infer(const Types& in) const {
    check<DtypeError>(in.at(0).dtype == Dtype::key && (in.at(1).dtype == f32 || in[1].dtype == f64),
                      "gamma: needs keys and f32 or f64, got ", in[0], " and ", in[1]);
    check<ShapeError>(in[0].shape == in[1].shape, "gamma: needs one key an element, got ", in[0], " and ", in[1]);
    return in[1];
  }
  void eval(Inputs in, Outputs out) const {
    auto* keys = in[0].as<Words>();
    auto run = [&](auto t) {
      using T = decltype(t);
      parallel_for(out[0].type.size(), grain_for(250), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) out[0].as<T>()[i] = gamma_scalar<T>(keys[i], in[1].as<T>()[i], log_space);
      });
    };
    if (out[0].type.dtype == f32) run(float{});
    else run(double{});
  }
  Factors factors(const Types& in) const {
    Dims l(in[0].shape.size());
    for (std::size_t i = 0; i < l.size(); ++i) l[i] = static_cast<std::int64_t>(i);
    return {{l, l}, {l}};
  }
  Gamma lift(std::int64_t) const { return *this; }
  static Samples<Gamma> samples() {
    return {{{false}, {random::split(key(3), 3), asarray(std::vector<double>{0.5, 1, 4})}}};
  }
};
Array gamma_of(std::string_view what, const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw, bool log_space) {
  one_key(what, k);
  check<DtypeError>(dtype == f32 || dtype == f64, what, ": the dtype must be f32 or f64, got ", dtype);
  auto s = shape.value_or(a.shape());
  auto keys = reshape(random::split(k, volume(s)), s);
  auto wide = broadcast_to(a.astype(dtype), s);
  if (!draw.spec.trivial()) {
    keys = with_sharding_constraint(keys, draw.spec);
    wide = with_sharding_constraint(wide, draw.spec);
  }
  return call_one(Gamma{log_space}, {keys, wide});
}
}  // namespace
Array gamma(const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype, const DrawOptions& draw) {
  return gamma_of("gamma", k, a, shape, dtype, draw, false);
}
Array loggamma(const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw) {
  return gamma_of("loggamma", k, a, shape, dtype, draw, true);
}
Array dirichlet(const Array& k, const Array& alpha, const std::optional<Shape>& shape, Dtype dtype,
                const DrawOptions& draw) {
  check<ShapeError>(alpha.ndim() > 0, "dirichlet: alpha needs at least one dimension");
  auto s = alpha.shape();
  if (shape) {
    s = *shape;
    s.push_back(alpha.shape(-1));
  }
  auto x = loggamma(k, alpha, s, dtype, draw);
  auto e = exp(x - amax(x, -1, {.keepdims = true}));
  return e / sum(e, -1, {.keepdims = true});
}
}  // namespace bora::random
