// Factorisations of complex matrices: the equations that define them, their bits, JAX's and SciPy's numbers.
#include "bora/base/parallel.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/complex_table.h"
#include "support/matrices.h"

namespace bora::laws::complex_linalg_test {
namespace {
using test::draw;
using test::largest;
using test::turned;
/// As weighed() of make_complex.py.
Array weighed(const Array& x) {
  auto w = cos(reshape(arange(x.size()).astype(f64), x.shape()) * 1.3 + 0.7);
  auto sum_of = [](const Array& w, const Array& x) { return sum(w * x); };
  return sum_of(w, real(x)) + sum_of(flip(w, 0), imag(x));
}
constexpr Dtype kTypes[] = {f32, f64, complex64, complex128};
double digits(Dtype d) { return real_dtype(d) == f64 ? 1e-14 : 1e-5; }
}  // namespace

void add_linalg(Cases& c) {
  c["linalg::cholesky"] = BORA_IS(linalg::cholesky(a));
  for (std::string n : {"tall", "wide", "square"}) {
    c["linalg::qr/" + n + "/q"] = BORA_IS(linalg::qr(a).q);
    c["linalg::qr/" + n + "/r"] = BORA_IS(linalg::qr(a).r);
    c["linalg::svdvals/" + n] = BORA_IS(linalg::svdvals(a));
    c["linalg::pinv/" + n] = BORA_IS(linalg::pinv(a));
    c["linalg::matrix_rank/" + n] = BORA_IS(linalg::matrix_rank(a));
    c["linalg::matrix_norm/" + n + "/nuc"] = BORA_IS(linalg::matrix_norm(a, "nuc"));
    c["linalg::matrix_norm/" + n + "/fro"] = BORA_IS(linalg::matrix_norm(a));
    c["linalg::matrix_norm/" + n + "/1"] = BORA_IS(linalg::matrix_norm(a, 1));
    c["linalg::matrix_norm/" + n + "/2"] = BORA_IS(linalg::matrix_norm(a, 2));
    c["linalg::matrix_norm/" + n + "/-2"] = BORA_IS(linalg::matrix_norm(a, -2));
    c["linalg::matrix_norm/" + n + "/inf"] = BORA_IS(linalg::matrix_norm(a, HUGE_VAL));
  }
  c["linalg::eigvalsh"] = BORA_IS(linalg::eigvalsh(a));
  c["linalg::eigh/generalised"] = BORA_IS(linalg::eigh(a, b).values);
  c["linalg::lstsq"] = BORA_IS(linalg::lstsq(a, b).x);
  c["linalg::cond"] = BORA_IS(linalg::cond(a));
  c["linalg::cho_solve"] = BORA_IS(linalg::cho_solve(tril(a), b));
  c["linalg::polar/u"] = BORA_IS(linalg::polar(a).u);
  c["linalg::polar/p"] = BORA_IS(linalg::polar(a, true).p);
  auto put = [&](const std::string& name, std::function<Array(const Array&)> f) {
    c["linalg::grad/" + name] = [f](const Arrays& in) { return gradient(in, f); };
  };
  put("cholesky", [](auto& z) { return weighed(linalg::cholesky(z)); });
  for (auto* name : {"qr", "qr/square"})
    put(name, [](auto& z) {
      auto [q, r] = linalg::qr(z);
      return weighed(q) + weighed(r);
    });
  put("eigh", [](auto& z) {
    auto [w, x] = linalg::eigh(z);
    return weighed(abs(w)) + weighed(abs(x));
  });
  for (auto* name : {"svd/tall", "svd/wide"})
    put(name, [](auto& z) {
      auto [u, s, vt] = linalg::svd(z);
      return weighed(abs(u)) + weighed(abs(s)) + weighed(abs(vt));
    });
  put("svd/product", [](auto& z) {
    auto [u, s, vt] = linalg::svd(z);
    return weighed(matmul(u, vt));
  });
  put("pinv", [](auto& z) { return weighed(linalg::pinv(z)); });
}
namespace {
struct Results {
  Array l, q, r, u, s, vt, w, x;
  Arrays all() const { return {l, q, r, u, s, vt, w, x}; }
};
/// `scale`: what the largest numbers are near.
void check_factors(const Results& f, const Array& a, const Array& positive, double scale, double limit) {
  auto dtype = a.dtype();
  auto near = [&](const Array& x, const Array& y, const char* what) {
    EXPECT_LT(largest(x - y), limit * scale) << what;
  };
  auto unitary = [&](const Array& x, const char* what) {
    EXPECT_LT(largest(matmul(turned(x), x) - eye(x.shape(-1), dtype)), limit) << what;
  };
  if (f.l.defined()) {
    near(matmul(f.l, turned(f.l)), positive, "cholesky");
    EXPECT_EQ(largest(triu(f.l, 1)) + largest(imag(diagonal(f.l))), 0) << "cholesky";
  }
  near(matmul(f.q, f.r), a, "qr");
  unitary(f.q, "qr: q");
  EXPECT_EQ(largest(tril(f.r, -1)) + largest(imag(diagonal(f.r))), 0) << "qr: r";
  near(matmul(f.u * f.s, f.vt), a, "svd");
  unitary(f.u, "svd: u");
  unitary(turned(f.vt), "svd: vt");
  EXPECT_TRUE(all(diff(f.s) <= 0).item<bool>() && all(f.s >= 0).item<bool>()) << "svd: s " << f.s;
  near(matmul(positive, f.x), f.x * f.w, "eigh");
  unitary(f.x, "eigh: vectors");
  EXPECT_TRUE(all(diff(f.w) >= 0).item<bool>()) << "eigh: values";
  EXPECT_EQ(f.s.dtype(), real_dtype(dtype));
  EXPECT_EQ(f.w.dtype(), real_dtype(dtype));
}
Results factors(const Array& a, const Array& positive, bool with_cholesky = true) {
  auto [q, r] = linalg::qr(a);
  auto [u, s, vt] = linalg::svd(a);
  auto [w, x] = linalg::eigh(positive);
  return {with_cholesky ? linalg::cholesky(positive) : Array(), q, r, u, s, vt, w, x};
}
TEST(ComplexLinalg, FactorsGiveTheMatrixBack) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1},     {2, 2},     {3, 3},  {5, 5},  {17, 17},
                                                         {33, 33},   {64, 64},   {31, 5}, {5, 31}, {40, 33},
                                                         {100, 100}, {170, 150}, {1, 7},  {7, 1}};
  for (auto dtype : kTypes)
    for (auto [m, n] : sizes) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << m << " x " << n);
      auto a = draw(3, {m, n}, dtype), positive = matmul(a, turned(a)) / static_cast<double>(n) + eye(m, dtype);
      auto f = factors(a, positive);
      check_factors(f, a, positive, 1, digits(dtype) * static_cast<double>(std::max(m, n) + 3));
      for (int threads : {1, 3}) {
        set_thread_count(threads);
        auto again = factors(a, positive).all();
        set_thread_count(0);
        for (std::size_t i = 0; i < again.size(); ++i) EXPECT_TRUE(array_equal(f.all()[i], again[i])) << i;
      }
    }
}
TEST(ComplexLinalg, EmptyMatrices) {
  for (auto dtype : kTypes) {
    auto none = zeros({2, 0, 0}, dtype), wide = zeros({0, 3}, dtype);
    EXPECT_EQ(linalg::cholesky(none).type(), none.type());
    EXPECT_EQ(linalg::eigh(none).vectors.type(), none.type());
    EXPECT_EQ(linalg::svd(wide).s.shape(), (Shape{0}));
    EXPECT_EQ(linalg::qr(wide).r.type(), wide.type());
  }
}
/// Matrices at the ends of the range, graded ones, of zeros, of low rank, and with a number that is not finite.
TEST(ComplexLinalg, OddMatrices) {
  for (std::int64_t n : {3, 17, 70}) {
    auto a = draw(5, {n, n}, complex128), column = slice_in_dim(a, -1, 0, 1);
    auto powers = exp2(linspace(-10., 10., n).astype(f64) * 3.0);
    for (double scale : {1e-150, 1e150, 1., 0.0})
      for (auto& x : {a, matmul(column, turned(column)), a * powers / 1e9, a * expand_dims(powers, -1) / 1e9}) {
        SCOPED_TRACE(::testing::Message() << n << " " << scale);
        auto scaled = x * scale, both = scaled + turned(scaled);
        auto near = scale == 0 ? 1 : scale;
        check_factors(factors(scaled, both, false), scaled, both, near, 3e-14 * static_cast<double>(n));
      }
    for (auto bad : {C(std::nan(""), 0), C(0, HUGE_VAL)}) {
      auto x = where(reshape(iota({n * n}, 0) == 1, {n, n}), bad, a);
      auto any_nan = [](const Array& y) { return any(isnan(y)).item<bool>(); };
      auto all_nan = [](const Array& y) { return all(isnan(y)).item<bool>(); };
      EXPECT_TRUE(any_nan(linalg::qr(x).q) && any_nan(linalg::qr(x).r)) << bad;
      EXPECT_TRUE(all_nan(linalg::svd(x).s) && all_nan(linalg::eigh(x).values)) << bad;
      EXPECT_TRUE(all_nan(tril(linalg::cholesky(matmul(x, turned(x)))) + triu(full({n, n}, 1.) * NAN, 1))) << bad;
    }
  }
  auto phases = exp(kI * arange(5).astype(f64));  // reflections of one number
  auto [q, r] = linalg::qr(eye(5, complex128) * phases);
  EXPECT_LT(largest(matmul(q, r) - eye(5, complex128) * phases) + largest(imag(r)), 1e-15);
  EXPECT_LT(largest(linalg::svd(eye(5, complex128) * phases).s - 1.0), 1e-14);
}
TEST(ComplexLinalg, TheBatchGivesTheBitsOfEachMatrix) {
  for (auto dtype : {complex64, complex128})
    for (std::int64_t n : {1, 2, 5, 17}) {
      auto a = draw(1, {7, n, n}, dtype), positive = matmul(a, turned(a)) + eye(n, dtype);
      auto every = factors(a, positive).all();
      for (std::int64_t i = 0; i < 7; ++i) {
        auto one = factors(index_in_dim(a, 0, i), index_in_dim(positive, 0, i)).all();
        for (std::size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(array_equal(one[k], index_in_dim(every[k], 0, i)));
      }
    }
}
/// The change of a real loss along a direction d is Re(sum of g d).
TEST(ComplexLinalg, DerivativesEqualDifferences) {
  std::map<std::string, std::function<Array(const Array&)>> losses{
      {"cholesky",
       [](auto& z) { return weighed(linalg::cholesky(matmul(z, turned(z)) + eye(z.shape(0), complex128))); }},
      {"qr", [](auto& z) { return weighed(linalg::qr(z).q) + weighed(linalg::qr(z).r); }},
      {"svd", [](auto& z) { return weighed(abs(linalg::svd(z).u)) + weighed(abs(linalg::svd(z).vt)); }},
      {"eigh", [](auto& z) { return weighed(abs(linalg::eigh(matmul(z, turned(z))).vectors)); }},
      {"pinv", [](auto& z) { return weighed(linalg::pinv(z)); }},
      {"polar",
       [](auto& z) {
         return z.shape(0) < z.shape(1) ? weighed(linalg::polar(z, true).p) : weighed(linalg::polar(z).u);
       }},
      {"nuc", [](auto& z) { return linalg::matrix_norm(z, "nuc"); }},
      {"lstsq", [](auto& z) { return weighed(linalg::lstsq(z, z).x) + sum(linalg::lstsq(z, flip(z)).residuals); }},
      {"eigh of two", [](auto& z) {
         auto h = matmul(z, turned(z));
         return weighed(abs(linalg::eigh(h, h * h + 9.0 * eye(z.shape(0), complex128)).vectors));
       }}};
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1}, {3, 3}, {4, 2}, {2, 4}};
  for (auto& [name, f] : losses)
    for (auto [m, n] : sizes) {
      SCOPED_TRACE(::testing::Message() << name << " " << m << " x " << n);
      if (name.starts_with("eigh") && m > n + 1) continue;  // an eigenvalue twice
      auto z = some({m, n}, 3), d = some({m, n}, 8);
      auto loss = [f = f](const Array& x) { return f(x); };
      auto g = grad(loss)(z), staged = jit([&](const Array& x) { return grad(loss)(x); })(z);
      close({staged}, {g}, 1e-12, "staged");
      const double h = 1e-6;
      auto differences = (loss(z + h * d) - loss(z - h * d)).item<double>() / (2 * h);
      EXPECT_NEAR(sum(real(g * d)).item<double>(), differences, 1e-6 * std::max(1.0, std::abs(differences)));
      auto second = draw(9, {2, m, n}, complex128);
      close({vmap([&](const Array& x) { return grad(loss)(x); })(second)},
            {stack({grad(loss)(index_in_dim(second, 0, 0)), grad(loss)(index_in_dim(second, 0, 1))})}, 1e-9, "mapped");
    }
}
}  // namespace
}  // namespace bora::laws::complex_linalg_test
