// NumPy's and SciPy's conventions, with golden results of theirs: conjugates, the order of axes, elements inserted at
// positions and removed; sums of small integers, which are those of `sum` under every name.
#include <gtest/gtest.h>
#include <functional>
#include <map>
#include "bora/fx/transforms.h"
#include "bora/ops/calculus.h"
#include "bora/ops/collectives.h"
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/fft.h"
#include "bora/ops/lax.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/polynomials.h"
#include "bora/ops/reductions.h"
#include "bora/ops/signal.h"
#include "bora/ops/statistics.h"
#include "bora/shard/mesh.h"
#include "bora/shard/transforms.h"
#include "laws/golden.h"
#include "support/throws.h"

namespace bora::conventions_test {
namespace {
using Case = std::function<Array(const Arrays& in)>;
#define BORA_OF(call)                               \
  [](const Arrays& in) {                            \
    [[maybe_unused]] auto a = in[0], b = in.back(); \
    return call;                                    \
  }
std::map<std::string, Case> cases() {
  std::map<std::string, Case> c{
      {"toeplitz", BORA_OF(linalg::toeplitz(a))},
      {"toeplitz/row", BORA_OF(linalg::toeplitz(a, b))},
      {"hankel", BORA_OF(linalg::hankel(a))},
      {"hankel/row", BORA_OF(linalg::hankel(a, b))},
      {"circulant", BORA_OF(linalg::circulant(a))},
      {"convolution_matrix", BORA_OF(linalg::convolution_matrix(a, 3))},
      {"companion", BORA_OF(linalg::companion(a))},
      {"vdot", BORA_OF(vdot(a, b))},
      {"vecdot", BORA_OF(vecdot(a, b))},
      {"inner", BORA_OF(inner(a, b))},
      {"outer", BORA_OF(outer(a, b))},
      {"dot", BORA_OF(dot(a, b))},
      {"kron", BORA_OF(kron(a, b))},
      {"tensordot", BORA_OF(tensordot(a, b, 2))},
      {"einsum", BORA_OF(einsum("ij,ij->i", a, b))},
      {"matvec", BORA_OF(matvec(a, b))},
      {"vecmat", BORA_OF(vecmat(a, b))},
      {"correlate/short", BORA_OF(correlate(a, b, Overlap::full))},
      {"autocorrelation", BORA_OF(signal::correlate(a, a))},
      {"cov", BORA_OF(cov(a))},
      {"cov/two", BORA_OF(cov(a, b))},
      {"corrcoef", BORA_OF(corrcoef(a))},
      {"var", BORA_OF(var(a))},
      {"std", BORA_OF(stddev(a, 0))},
      {"trace", BORA_OF(trace(a))},
      {"norm", BORA_OF(linalg::norm(a))},
      {"norm/axes", BORA_OF(linalg::norm(a, none, {2, 0}))},
      {"pinv", BORA_OF(linalg::pinv(a))},
      {"matrix_power", BORA_OF(linalg::matrix_power(a, -2))},
      {"vander", BORA_OF(vander(a))},
      {"polyval", BORA_OF(polyval(a, b))},
      {"hfft", BORA_OF(fft::hfft(a))},
      {"ihfft", BORA_OF(fft::ihfft(a))},
      {"csd", BORA_OF(signal::csd(a, b, {.nperseg = 8}).values)},
      {"welch", BORA_OF(signal::welch(a, {.nperseg = 8}).values)},
      {"insert/list", BORA_OF(insert(a, {1, 3}, array(9)))},
      {"insert/negative", BORA_OF(insert(a, {-1, 0}, array(9)))},
      {"insert/values", BORA_OF(insert(a, {1, 3}, b))},
      {"insert/unordered", BORA_OF(insert(a, {3, 0, 1}, b))},
      {"insert/equal", BORA_OF(insert(a, {2, 0, 2}, b))},
      {"insert/columns", BORA_OF(insert(a, Dims{0, 4, 4}, b, 1))},
      {"insert/broadcast", BORA_OF(insert(a, {0, 2}, b, -1))},
      {"insert/one_of_list", BORA_OF(insert(a, {1}, b, 1))},
      {"insert/one", BORA_OF(insert(a, 1, b, 1))},
      {"insert/vector", BORA_OF(insert(a, {2, 2, 4}, b))},
      {"insert/none", BORA_OF(insert(a, {}, array(1)))},
      {"delete/list", BORA_OF(delete_(a, {0, -1, 0}, 1))},
      {"delete/one", BORA_OF(delete_(a, 1))},
      {"delete/negative", BORA_OF(delete_(a, -3))},
      {"delete/none", BORA_OF(delete_(a, {}))},
  };
  const std::pair<std::string, Overlap> modes[] = {
      {"full", Overlap::full}, {"same", Overlap::same}, {"valid", Overlap::valid}};
  for (auto& [word, mode] : modes) {
    c["correlate/" + word] = [mode = mode](const Arrays& in) { return correlate(in[0], in[1], mode); };
    c["convolve/" + word] = [mode = mode](const Arrays& in) { return convolve(in[0], in[1], mode); };
    c["signal.correlate/" + word] = [mode = mode](const Arrays& in) {
      return signal::correlate(in[0], in[1], {.mode = mode});
    };
    c["signal.correlate2d/" + word] = [mode = mode](const Arrays& in) {
      return signal::correlate2d(in[0], in[1], {.mode = mode});
    };
  }
  const double inf = std::numeric_limits<double>::infinity();
  const std::pair<std::string, linalg::Order> orders[] = {{"1", 1},     {"-1", -1},     {"2", 2},       {"-2", -2},
                                                          {"inf", inf}, {"-inf", -inf}, {"fro", "fro"}, {"nuc", "nuc"}};
  const std::pair<std::string, Dims> axes[] = {{"0,1", {0, 1}},     {"1,0", {1, 0}},     {"2,0", {2, 0}},
                                               {"-3,-1", {-3, -1}}, {"-1,-2", {-1, -2}}, {"1,-1", {1, -1}}};
  for (auto& [word, p] : orders) {
    for (auto& [places, dims] : axes)
      for (auto kind : {"/real/", "/complex/"})
        c["norm/" + word + kind + places] = [p = p, dims = dims](const Arrays& in) {
          return linalg::norm(in[0], p, dims);
        };
    c["norm/" + word + "/keepdims"] = [p = p](const Arrays& in) { return linalg::norm(in[0], p, {2, 0}, true); };
    c["cond/" + word] = [p = p](const Arrays& in) { return linalg::cond(in[0], p); };
  }
  for (double p : {0., 1., 2., 3., -1., inf, -inf}) {
    auto word = std::isinf(p) ? std::string(p > 0 ? "inf" : "-inf") : std::to_string(static_cast<int>(p));
    c["norm/vector/" + word] = [p](const Arrays& in) { return linalg::norm(in[0], p, -2); };
  }
  return c;
}
void expect_near(const std::string& name, const Array& got, const Array& want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape()) << name;
  ASSERT_EQ(is_complex(got.dtype()), is_complex(want.dtype())) << name;
  auto far = want.size() == 0 ? 0 : amax(abs(got - want)).item<double>();
  auto size = want.size() == 0 ? 0 : amax(abs(want)).item<double>();
  EXPECT_LE(far, tolerance * std::max(size, 1.0)) << name;
}
TEST(Conventions, AreThoseOfNumPyAndSciPy) {
  laws::GoldenCases all;
  laws::read_golden("conventions.txt", all);
  auto known = cases();
  for (auto& [name, golden] : all) {
    SCOPED_TRACE(name);
    auto c = known.find(name);
    ASSERT_NE(c, known.end());
    for (bool narrow : {false, true}) {
      auto in = golden.in;
      if (narrow)
        for (auto& x : in)
          if (is_inexact(x.dtype())) x = x.astype(is_complex(x.dtype()) ? complex64 : f32);
      auto want = golden.out[0];
      auto got = c->second(in), compiled = jit([&](const Arrays& x) { return c->second(x); })(in);
      double digits = narrow ? 3e-5 : 1e-12;
      expect_near(name, got.astype(want.dtype()), want, digits);
      expect_near(name + " jit", compiled.astype(want.dtype()), want, digits);
      if (!is_inexact(in[0].dtype())) break;
    }
    known.erase(c);
  }
  for (auto& [name, c] : known) ADD_FAILURE() << name << " has no golden result";
}
TEST(Conventions, AToeplitzMatrixOfComplexNumbersIsHermitian) {
  auto c = complex(array({1., 2., 3.}), array({0., 1., -2.}));
  auto t = linalg::toeplitz(c);
  EXPECT_TRUE(all(t == conj(matrix_transpose(t))).item<bool>());
}
TEST(Conventions, InsertedElementsAreDifferentiated) {
  auto x = arange(6).astype(f32), v = array({10.F, 20.F, 30.F}), w = arange(9).astype(f32);
  auto f = [&](const std::pair<Array, Array>& p) { return sum(insert(p.first, {4, 0, 4}, p.second) * w); };
  auto g = grad(f)(std::pair{x, v});
  EXPECT_EQ(g.first.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 7, 8}));
  EXPECT_EQ(g.second.to_vector<float>(), (std::vector<float>{5, 0, 6}));
  auto many = vmap([](const Array& row, const Array& more) { return insert(row, {1, -1}, more); })(
      reshape(arange(6), {2, 3}), reshape(arange(4), {2, 2}) + 10);
  EXPECT_EQ(many.to_vector<int>(), (std::vector<int>{0, 10, 1, 11, 2, 3, 12, 4, 13, 5}));
  EXPECT_EQ(insert(arange(4), array({1, -1}), array(9)).to_vector<int>(), (std::vector<int>{0, 9, 1, 2, 9, 3}));
  EXPECT_EQ(insert(arange(2), array(1), array({7, 8})).to_vector<int>(), (std::vector<int>{0, 7, 8, 1}))
      << "one position";
  EXPECT_EQ(delete_(arange(4), array({0, -1})).to_vector<int>(), (std::vector<int>{1, 2}));
  EXPECT_MESSAGE(DtypeError, insert(x, array({0.5}), v), "positions must be integers, got f32[1]");
  EXPECT_EQ(insert(arange(3), {1, 2}, array(2.9)).dtype(), i32) << "the dtype is that of x";
  EXPECT_MESSAGE(IndexError, insert(x, {0, 7}, v), "insert: position 7 does not lie in [-6, 6]");
  EXPECT_MESSAGE(ShapeError, insert(x, {0, 1}, v), "have 3 elements along axis 0, and there are 2 positions");
  EXPECT_MESSAGE(IndexError, delete_(x, {0, -7}), "delete_: position -7 does not lie in [-6, 6)");
}
TEST(Conventions, SmallIntegersAddUpAsSumDoes) {
  for (auto [d, wide] :
       {std::pair{i8, i32}, {i16, i32}, {u8, u32}, {u16, u32}, {boolean, i32}, {i32, i32}, {i64, i64}}) {
    SCOPED_TRACE(dtype_name(d));
    const int n = d == i16 || d == u16 ? 30000 : d == boolean ? 1 : 100;
    auto x = full({4}, n, d);
    auto rows = full({4, 4}, n, d);
    auto right = [&, wide = wide](const Array& y, int times, std::string_view what) {
      EXPECT_EQ(y.dtype(), wide) << what;
      EXPECT_EQ(ravel(y.astype(i64)).to_vector<std::int64_t>().back(), std::int64_t{n} * times) << what;
    };
    right(sum(x), 4, "sum");
    right(nansum(x), 4, "nansum");
    right(masked::sum(x, full({4}, true, boolean)), 4, "masked::sum");
    right(cumsum(x), 4, "cumsum");
    right(lax::cumsum(x, 0, false), 4, "lax::cumsum");
    right(trace(rows), 4, "trace");
    if (x.dtype() != boolean) {  // segments keep the dtype
      EXPECT_EQ(segment_sum(x, zeros({4}, i32), 1).dtype(), x.dtype());
      EXPECT_EQ(segment_prod(x, zeros({4}, i32), 1).dtype(), x.dtype());
    }
    EXPECT_EQ(prod(x).dtype(), wide);
    EXPECT_EQ(cumprod(x).dtype(), wide);
    EXPECT_NEAR(mean(x).item<double>(), n, 0) << "mean";
    auto over = [&](auto f) { return vmap([f](const Array& y) { return f(y); }, {.in = {0}, .axis_name = "i"})(x); };
    right(over([](const Array& y) { return psum(y, "i"); }), 4, "psum of vmap");
    auto m = over([](const Array& y) { return pmean(y, "i"); });
    EXPECT_EQ(m.dtype(), f32);
    EXPECT_EQ(m.to_vector<float>(), std::vector<float>(4, static_cast<float>(n)));
    local_mesh({{"data", 4}}, [&, d = d](const Mesh& mesh) {
      auto on_ranks = [&](auto f, const Spec& out) { return shard_map(f, mesh, {Spec{"data"}}, out)(x); };
      right(on_ranks([](const Array& y) { return psum(y, "data"); }, Spec{none}), 4, "psum");
      auto mean_of = on_ranks([](const Array& y) { return pmean(y, "data"); }, Spec{none});
      EXPECT_EQ(mean_of.dtype(), f32);
      EXPECT_EQ(mean_of.to_vector<float>(), std::vector<float>(1, static_cast<float>(n)));
      auto scatter = [n, d](const Array&) { return psum_scatter(full({4}, n, d), "data", {.tiled = true}); };
      right(on_ranks(scatter, Spec{"data"}), 4, "psum_scatter");
    });
  }
  auto large = full({4}, 2'000'000'000, i32);
  auto m = vmap([](const Array& y) { return pmean(y, "i"); }, {.in = {0}, .axis_name = "i"})(large);
  EXPECT_EQ(m.to_vector<float>()[0], 2e9F) << "no sum that overflows on the way";
}
}  // namespace
}  // namespace bora::conventions_test
