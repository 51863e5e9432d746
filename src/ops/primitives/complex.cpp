// Complex numbers: their parts, and numbers made of parts. A derivative in reverse is the transpose of a map that is
// linear over the real numbers, for the product Re(sum of a b), as JAX defines it.
#include "bora/ops/complex.h"
#include "kernels/api/complex.h"
#include "bora/ops/indexing.h"
#include "ops/primitives/elementwise_rules.h"
#include "bora/array/primitive.h"
#include "ops/primitives/quotients.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"

namespace bora::ops {
namespace {
Type check_complex(std::string_view what, const Types& in) {
  check<DtypeError>(is_complex(in.at(0).dtype), what, ": takes complex numbers, got ", in[0]);
  return {in[0].shape, real_dtype(in[0].dtype)};
}
std::vector<Arrays> complex_samples() { return {{random_values({2, 3}, -2, 2, 1, complex128)}}; }

// Tags of primitives complex -> real.
struct RealPart {
  static constexpr std::string_view name = "real";
  static constexpr auto part = kernels::Part::real;
  static constexpr bool linear = true;
  static Array dx(A, A, A ct) { return complex(ct, zeros_like(ct)); }
};
struct Imag {
  static constexpr std::string_view name = "imag";
  static constexpr auto part = kernels::Part::imag;
  static constexpr bool linear = true;
  static Array dx(A, A, A ct) { return complex(zeros_like(ct), -ct); }
};
/// The derivative at 0 is 0.
struct Magnitude {
  static constexpr std::string_view name = "magnitude";
  static constexpr auto part = kernels::Part::magnitude;
  static constexpr bool linear = false;
  static Array dx(A x, A, A ct) {
    auto re = real(x), im = imag(x);
    return complex(ct * unit_part(re, im), -(ct * unit_part(im, re)));
  }
};
struct Angle {
  static constexpr std::string_view name = "angle";
  static constexpr auto part = kernels::Part::angle;
  static constexpr bool linear = false;
  static Array dx(A x, A, A ct) { return complex(zeros_like(ct), -ct) / x; }
};
template <class F> struct PartOf {
  static constexpr std::string_view name = F::name;
  Type infer(const Types& in) const { return check_complex(name, in); }
  void eval(InputViews in, OutputViews out) const {
    kernels::take_part(F::part, in[0].type.dtype, in[0].data, out[0].data, out[0].type.size());
  }
  Array vjp(const Vjp& v) const { return F::dx(v.in[0], v.out[0], v.ct[0]); }
  DimFactors factors(const Types& in) const {
    return elementwise_factors(in, F::linear ? std::vector<std::size_t>{0} : std::vector<std::size_t>{});
  }
  PartOf lift(std::int64_t) const { return {}; }
  static SamplesOf<PartOf> samples() { return {{{}, complex_samples()[0]}}; }
};
struct Conj {
  static constexpr std::string_view name = "conj";
  Type infer(const Types& in) const {
    check_complex("conj", in);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    kernels::conjugate(in[0].type.dtype, in[0].data, out[0].data, out[0].type.size());
  }
  Array vjp(const Vjp& v) const { return conj(v.ct[0]); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in, {0}); }
  Conj lift(std::int64_t) const { return {}; }
  static SamplesOf<Conj> samples() { return {{{}, complex_samples()[0]}}; }
};
/// re + i im.
struct JoinedParts {
  static constexpr std::string_view name = "complex";
  Type infer(const Types& in) const {
    const auto &re = in.at(0), &im = in.at(1);
    check<ShapeError>(re.shape == im.shape, "complex: shapes differ: ", re, " and ", im, "; broadcast one of them");
    check<DtypeError>(re.dtype == im.dtype && (re.dtype == f32 || re.dtype == f64),
                      "complex: takes two Arrays of f32 or of f64, got ", re, " and ", im);
    return {re.shape, complex_dtype(re.dtype)};
  }
  void eval(InputViews in, OutputViews out) const {
    kernels::join_parts(out[0].type.dtype, in[0].data, in[1].data, out[0].data, out[0].type.size());
  }
  Arrays vjp(const Vjp& v) const {
    return {v.needs[0] ? real(v.ct[0]) : Array{}, v.needs[1] ? -imag(v.ct[0]) : Array{}};
  }
  DimFactors factors(const Types& in) const { return elementwise_factors(in, {0, 1}, true); }
  JoinedParts lift(std::int64_t) const { return {}; }
  static SamplesOf<JoinedParts> samples() {
    return {{{}, {random_values({2, 3}, -1, 1, 1), random_values({2, 3}, -1, 1, 2)}}};
  }
};
template <class F> Array part_of(A x) { return call_one(PartOf<F>{}, {x}); }
/// Parts of a complex number: f32 or f64.
Array as_part(A x) {
  check<DtypeError>(!is_complex(x.dtype()), "complex: the parts are real numbers, got ", x.type());
  return x.astype(real_dtype(complex_dtype(x.dtype())));
}
}  // namespace

Array magnitude(A x) { return part_of<Magnitude>(x); }
}  // namespace bora::ops

namespace bora {
using namespace ops;
Array complex(const Array& re, const Array& im) {
  auto [x, y] = promoted_pair("complex", as_part(re), as_part(im));
  return call_one(JoinedParts{}, {x, y});
}
Array complex(const Array& re, Scalar im) {
  auto x = as_part(re);
  return complex(x, full_of(x.type(), im));
}
Array complex(Scalar re, const Array& im) {
  auto y = as_part(im);
  return complex(full_of(y.type(), re), y);
}
Array real(const Array& x) { return is_complex(x.dtype()) ? part_of<RealPart>(x) : x; }
Array imag(const Array& x) { return is_complex(x.dtype()) ? part_of<Imag>(x) : zeros_like(x); }
Array conj(const Array& x) { return is_complex(x.dtype()) ? call_one(Conj{}, {x}) : x; }
Array conjugate(const Array& x) { return conj(x); }
Array angle(const Array& x) {
  if (is_complex(x.dtype())) return part_of<Angle>(x);
  auto y = inexact(x);
  return part_of<Angle>(y.astype(complex_dtype(y.dtype()))).astype(y.dtype());
}
Array iscomplex(const Array& x) { return imag(x) != 0; }
Array isreal(const Array& x) { return imag(x) == 0; }
}  // namespace bora
