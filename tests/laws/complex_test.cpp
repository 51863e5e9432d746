// Complex numbers: JAX's values, its derivatives, its promotion, what is refused, and what survives files and text.
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include "bora/base/parallel.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/complex_table.h"
#include "support/temp_folder.h"

namespace bora::laws::complex_test {
namespace {
Array of_product(const Array& a, const Array& b) {
  return sum(abs(at(a, all(), array({2, 0})).multiply(view(b, all(), range(0, 2))) + kI));
}
void add_arcs(Cases& c) {
  using One = Array (*)(const Array&);
  for (auto [word, g] : std::initializer_list<std::pair<std::string, One>>{
           {"arcsin", arcsin}, {"arccos", arccos}, {"arctan", arctan}, {"arcsinh", arcsinh}, {"arccosh", arccosh},
           {"arctanh", arctanh}}) {
    auto f = g;
    for (auto rest : {"", "/cuts", "/far"}) c[word + rest] = [f](const Arrays& in) -> Arrays { return {f(in[0])}; };
    c["grad/" + word] = [f](auto& in) { return gradient(in, [f](auto& z) { return sum(abs(f(z))); }); };
  }
}
Cases cases() {
  Cases c{
      {"add", BORA_IS(a + b)},
      {"subtract", BORA_IS(a - b)},
      {"multiply", BORA_IS(a * b)},
      {"divide", BORA_IS(a / b)},
      {"power", BORA_IS(power(a, b))},
      {"power/real", BORA_IS(power(a, 2.5))},
      {"power/whole", BORA_IS(power(a, 3))},
      {"power/of_number", BORA_IS(power(2., a))},
      {"equal", BORA_IS(a == b)},
      {"not_equal", BORA_IS(a != b)},
      {"exp", BORA_IS(exp(a))},
      {"expm1", BORA_IS(expm1(a))},
      {"log", BORA_IS(log(a))},
      {"log1p", BORA_IS(log1p(a))},
      {"sqrt", BORA_IS(sqrt(a))},
      {"sin", BORA_IS(sin(a))},
      {"cos", BORA_IS(cos(a))},
      {"tan", BORA_IS(tan(a))},
      {"sinh", BORA_IS(sinh(a))},
      {"cosh", BORA_IS(cosh(a))},
      {"tanh", BORA_IS(tanh(a))},
      {"round", BORA_IS(round(a))},
      {"around", BORA_IS(around(a, 1))},
      {"abs", BORA_IS(abs(a))},
      {"angle", BORA_IS(angle(a))},
      {"angle/real", BORA_IS(angle(a))},
      {"conj", BORA_IS(conj(a))},
      {"conjugate", BORA_IS(conjugate(a))},
      {"real", BORA_IS(real(a))},
      {"imag", BORA_IS(imag(a))},
      {"imag/real", BORA_IS(imag(a))},
      {"iscomplex", BORA_IS(iscomplex(a))},
      {"isreal", BORA_IS(isreal(a))},
      {"isnan", BORA_IS(isnan(a))},
      {"isfinite", BORA_IS(isfinite(a))},
      {"isinf", BORA_IS(isinf(a))},
      {"square", BORA_IS(square(a))},
      {"reciprocal", BORA_IS(reciprocal(a))},
      {"sign", BORA_IS(sign(a))},
      {"sigmoid", BORA_IS(sigmoid(a))},
      {"sum", BORA_IS(sum(a, 1))},
      {"sum/all", BORA_IS(sum(a))},
      {"prod", BORA_IS(prod(a, 0))},
      {"mean", BORA_IS(mean(a, 0))},
      {"var", BORA_IS(var(a))},
      {"std", BORA_IS(stddev(a, 1))},
      {"cumsum", BORA_IS(cumsum(a, 1))},
      {"matmul", BORA_IS(matmul(a, transpose(b)))},
      {"einsum", BORA_IS(einsum("ij,kj->ik", a, b))},
      {"outer", BORA_IS(outer(a, b))},
      {"where", BORA_IS(where(real(a) > 0, a, b))},
      {"vdot", BORA_IS(vdot(a, b))},
      {"vecdot", BORA_IS(vecdot(a, b))},
      {"vecmat", BORA_IS(vecmat(a, b))},
      {"correlate", BORA_IS(correlate(a, b, Overlap::valid))},
      {"correlate/short", BORA_IS(correlate(a, b, Overlap::valid))},
      {"convolve", BORA_IS(convolve(a, b))},
      {"cov", BORA_IS(cov(a))},
      {"corrcoef", BORA_IS(corrcoef(a))},
      {"norm", BORA_IS(linalg::norm(a))},
      {"vector_norm", BORA_IS(linalg::vector_norm(a, 2, 1))},
      {"nan_to_num", BORA_IS(nan_to_num(a))},
      {"nansum", BORA_IS(nansum(a))},
      {"isclose", BORA_IS(isclose(a, b))},
      {"grad/abs2", [](auto& in) { return gradient(in, [](auto& z) { return sum(real(z * conj(z))); }); }},
      {"grad/abs", [](auto& in) { return gradient(in, [](auto& z) { return sum(abs(z)); }); }},
      {"grad/angle", [](auto& in) { return gradient(in, [](auto& z) { return sum(angle(z)); }); }},
      {"grad/real_exp", [](auto& in) { return gradient(in, [](auto& z) { return sum(real(exp(z))); }); }},
      {"grad/imag_log", [](auto& in) { return gradient(in, [](auto& z) { return sum(imag(log(z))); }); }},
      {"grad/abs_tanh", [](auto& in) { return gradient(in, [](auto& z) { return sum(abs(tanh(z))); }); }},
      {"grad/abs_power", [](auto& in) { return gradient(in, [](auto& z) { return sum(abs(power(z, 3))); }); }},
      {"grad/abs_product", [](auto& in) { return gradient(in, [](auto& z) { return abs(prod(z)); }); }},
      {"at/multiply", BORA_IS(at(a, all(), 1).multiply(view(b, all(), 0)))},
      {"at/multiply_twice", BORA_IS(at(a, all(), array({2, 0, 2})).multiply(b))},
      {"grad/at_multiply", [](auto& in) { return gradient({in[0]}, [&](auto& z) { return of_product(z, in[1]); }); }},
      {"grad/at_multiply_by",
       [](auto& in) { return gradient({in[1]}, [&](auto& z) { return of_product(in[0], z); }); }},
      {"grad/of_real",
       [](auto& in) { return gradient(in, [](auto& x) { return sum(abs(exp(kI * x) * (x + kI))); }); }},
  };
  add_arcs(c);
  complex_linalg_test::add_linalg(c);
  return c;
}
TEST(Complex, NumbersAreJax) {
  auto known = cases();
  std::set<std::string> seen;
  for (auto& [name, g] : golden()) {
    if (name.starts_with("fft")) continue;
    SCOPED_TRACE(name);
    ASSERT_TRUE(known.count(name)) << name << " is in the file only";
    seen.insert(name);
    try {
      auto got = known[name](g.in);
      close(got, g.out, 1e-12, name);
      close(jit([&](const Arrays& in) { return known[name](in); })(g.in), got, 0, name + ", staged");
      if (name == "nan_to_num") continue;  // the largest numbers are others
      Arrays narrow;
      for (auto& x : g.in)
        narrow.push_back(x.astype(is_complex(x.dtype()) ? complex64 : x.dtype() == f64 ? f32 : x.dtype()));
      auto single = known[name](narrow);
      for (auto& x : single) x = !is_inexact(x.dtype()) ? x : x.astype(is_complex(x.dtype()) ? complex128 : f64);
      close(single, g.out, 2e-5, name + " in complex64");
    } catch (const std::exception& e) { ADD_FAILURE() << name << ": " << e.what(); }
  }
  for (auto& [name, f] : known) EXPECT_TRUE(seen.count(name)) << name << " is in the table only";
}
TEST(Complex, PromotionIsJax) {
  for (auto d : {boolean, u8, i32, i64, u32, bf16, f32}) {
    EXPECT_EQ(promote(d, complex64), complex64) << d;
    EXPECT_EQ(promote(complex128, d), complex128) << d;
  }
  EXPECT_EQ(promote(f64, complex64), complex128);
  EXPECT_EQ(promote(complex64, complex128), complex128);
  EXPECT_EQ((arange(3) * kI).dtype(), complex64);
  EXPECT_EQ((array({1., 2.}, f64) + kI).dtype(), complex128);
  EXPECT_EQ((array({kI, C(2.)}) * 2.5).dtype(), complex64);
  EXPECT_EQ(array({kI}).dtype(), complex64);
  EXPECT_EQ(array({{1., 2.}, {3., 4.}}, complex128).dtype(), complex128);
  EXPECT_EQ(full({2}, kI).dtype(), complex64);
  EXPECT_EQ(sqrt(array({kI}, complex128)).dtype(), complex128);
}
TEST(Complex, NumbersAreReadAndWritten) {
  std::vector<std::complex<float>> v{{1, 2}, {3, -4}};
  auto x = asarray(v);
  EXPECT_EQ(x.dtype(), complex64);
  EXPECT_EQ(x.to_vector<std::complex<float>>(), v);
  EXPECT_EQ(x.to_vector<C>()[1], C(3, -4));
  EXPECT_EQ((x * kI).to_vector<C>()[0], C(-2, 1));
  EXPECT_EQ(sum(x).item<C>(), C(4, -2));
  EXPECT_EQ(x.data<std::complex<float>>()[1], std::complex<float>(3, -4));
  EXPECT_THROW((void)x.to_vector<double>(), DtypeError);
  EXPECT_THROW((void)sum(x).item<float>(), DtypeError);
  EXPECT_EQ(array({1., 2.}).to_vector<C>()[1], C(2));
  EXPECT_EQ(to_string(x), "[1.+2.j, 3.-4.j]");
  EXPECT_EQ(to_string(x.type()), "complex64[2]");
  test::TempFolder temp;
  auto path = temp / "x.npz";
  save_npz(path, {{"x", x}, {"y", some({2, 3}, 4)}});
  auto back = load_npz(path);
  close({back["x"], back["y"]}, {x, some({2, 3}, 4)}, 0, "npz");
}
/// An operation that means nothing for complex numbers says so where it is called, also when staged.
TEST(Complex, WhatMeansNothingIsRefused) {
  auto x = some({2, 3}, 1);
  using F = std::function<Array(const Array&)>;
  for (auto& [name, f] : std::map<std::string, F>{{"less", [](auto& a) { return a < a; }},
                                                  {"maximum", [](auto& a) { return maximum(a, a); }},
                                                  {"floor", [](auto& a) { return floor(a); }},
                                                  {"sort", [](auto& a) { return sort(a); }},
                                                  {"argmax", [](auto& a) { return argmax(a, 0); }},
                                                  {"amax", [](auto& a) { return amax(a); }},
                                                  {"astype", [](auto& a) { return a.astype(f64); }},
                                                  {"erf", [](auto& a) { return erf(a); }},
                                                  {"clip", [](auto& a) { return clip(a, 0, 1); }},
                                                  {"remainder", [](auto& a) { return a % 2; }},
                                                  {"complex", [](auto& a) { return complex(a, a); }}}) {
    EXPECT_THROW((void)f(x), DtypeError) << name;
    EXPECT_THROW((void)jit([f = f](const Array& a) { return f(a); })(x), DtypeError) << name << ", staged";
  }
  EXPECT_THROW((void)(array({1, 2}) + 0).astype(f32).astype(complex64).astype(i32), DtypeError);
  EXPECT_THROW((void)full({2}, kI, f32), DtypeError);
  EXPECT_THROW((void)grad([](const Array& z) { return sum(z * z); })(x), DtypeError);
}
TEST(Complex, MovesAndIndexing) {
  auto x = some({4, 5}, 1);
  auto parts = [&](auto f) {
    auto want = complex(f(real(x)), f(imag(x)));
    close({f(x)}, {want}, 0, "moved");
    close({jit([&](const Array& a) { return f(a); })(x)}, {want}, 0, "moved, staged");
    close({f(x.astype(complex64))}, {want.astype(complex64)}, 0, "moved, complex64");
  };
  parts([](const Array& a) { return transpose(a); });
  parts([](const Array& a) { return reshape(a, {2, 10}); });
  parts([](const Array& a) { return concatenate({a, a * 2}, 1); });
  parts([](const Array& a) { return slice_in_dim(a, 1, 1, 4, 2); });
  parts([](const Array& a) { return pad(a, {1, 0}, {0, 2}, 0.5 * 0); });
  parts([](const Array& a) { return flip(a); });
  parts([](const Array& a) { return take(a, array({3, 0, 0}), 0); });
  parts([](const Array& a) { return roll(a, 2, 1); });
  parts([](const Array& a) { return broadcast_to(a, {3, 4, 5}); });
  parts([](const Array& a) { return where(tri(4, 5, 0, boolean), a, 0); });
  parts([](const Array& a) { return stack({a, a}); });
  parts([](const Array& a) { return tril(a); });
}
/// A loop is cut where its threads begin: no element's bits may depend on it.
TEST(Complex, ThreadsChangeNothing) {
  auto before = thread_count();
  auto x = some({10007}, 5), y = some({10007}, 7);
  auto f = [&] { return Arrays{x * y, x / y, exp(x), prod(reshape(x, {10007, 1}), 1), sum(x), abs(x)}; };
  set_thread_count(1);
  auto one = f();
  set_thread_count(2);
  close(f(), one, 0, "threads");
  set_thread_count(before);
}
/// jit of a longer function, a scan, a loop over ranks: the same numbers as op by op.
TEST(Complex, ProgramsAndRanks) {
  auto f = [](const Array& z) {
    auto y = exp(kI * real(z)) * conj(z) + 1;
    return where(abs(y) > 1, y / (1 + abs(y)), y * y) - mean(y);
  };
  auto x = some({4, 6}, 2);
  close({jit(f)(x)}, {f(x)}, 1e-14, "jit");
  close({vmap(f)(stack({x, x}))}, {stack({f(x), f(x)})}, 1e-14, "vmap");
  auto loss = [&](const Array& z) { return sum(abs(matmul(f(z), transpose(z)))); };
  auto g = grad(loss)(x);
  close({jit([&](const Array& z) { return grad(loss)(z); })(x)}, {g}, 1e-12, "jit(grad)");
  auto loop = [](const Array& z) {
    auto step = [](const Array& c, const Array& row) { return std::pair{c * row + kI, sum(c)}; };
    return scan(step, index_in_dim(z, 0, 0), z).first;
  };
  close({jit(loop)(x)}, {loop(x)}, 1e-14, "scan");
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      if (4 % mesh.shape().axes[0].second != 0) return;
      auto spec = Spec::replicated(2);
      spec[0].push_back(mesh.shape().axes[0].first);
      auto z = with_sharding_constraint(x, spec);
      close({gather(jit([&](const Array& a) { return grad(loss)(a); })(z))}, {g}, 1e-12, "sharded");
      close({gather(matmul(transpose(z), z)), gather(sum(z))}, {matmul(transpose(x), x), sum(x)}, 1e-12, "sums");
    });
}
/// |z| of parts of any size beside each other, in any number: within 1 ulp, without overflow or underflow on the way.
template <class T> void magnitudes(Dtype d, int least, int most) {
  std::mt19937_64 g(1);
  std::uniform_real_distribution<double> part(1, 2);
  std::uniform_int_distribution<int> power(least, most), beside(-60, 60);
  std::vector<T> x, y;
  for (int i = 0; i < 200001; ++i) {
    const int e = power(g);
    x.push_back(static_cast<T>(std::ldexp(i % 2 ? part(g) : -part(g), e)));
    y.push_back(static_cast<T>(std::ldexp(part(g), i % 3 ? e + i % 5 - 2 : std::clamp(e + beside(g), least, most))));
    if (i % 8 > 5) std::swap(x.back(), y.back());
  }
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T ends[] = {0, -T(0), 1, inf, -inf, nan, std::numeric_limits<T>::max() / 2, std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::denorm_min()};
  for (T a : ends)
    for (T b : ends) x.push_back(a), y.push_back(b);
  for (std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, x.size()}) {
    const auto from = [&](const std::vector<T>& v) {
      return asarray(std::vector<T>(v.end() - static_cast<std::ptrdiff_t>(n), v.end()));
    };
    const auto z = bora::complex(from(x), from(y));
    ASSERT_EQ(real(z).dtype(), d);
    const auto got = abs(z).template to_vector<T>();
    for (std::size_t i = 0; i < n; ++i) {
      const T a = x[x.size() - n + i], b = y[x.size() - n + i];
      const long double exact = std::hypot(static_cast<long double>(a), static_cast<long double>(b));
      const T want = static_cast<T>(exact), step = std::nextafter(want, inf) - want;
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got[i]) : want == got[i] || std::abs(got[i] - exact) <= step)
          << "|" << a << " + " << b << " i|: " << got[i] << ", not " << want;
    }
  }
}
TEST(Complex, MagnitudesOfAnySize) {
  magnitudes<float>(f32, -148, 125);
  magnitudes<double>(f64, -1073, 1021);
}
}  // namespace
}  // namespace bora::laws::complex_test
