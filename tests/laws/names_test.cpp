// Laws of the functions with NumPy's names: each gives the numbers of NumPy or JAX, staged and mapped the same ones,
// and its derivative equals differences.
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/names_driver.h"
#include "support/throws.h"

namespace bora::laws::names_test {
namespace {
double tolerance(const Arrays& out) {
  double t = 1e-12;
  for (auto& x : out)
    if (x.dtype() == f32) t = 1e-6;
  return t;
}
TEST(Names, EveryCaseIsInTheTableAndInTheFile) { names_driver().table_and_files_agree(); }
TEST(Names, EveryFunctionHasACase) {
  std::vector<std::string> headers{"random/kde", "random/gamma_grad"};
  for (std::string of_ops : {"calculus", "contractions", "convolution", "creation", "indexing", "lax", "linalg",
                             "manipulation", "ndimage", "nn", "polynomials", "reductions", "sets", "sorting", "special",
                             "statistics", "stats", "ufuncs"})
    headers.push_back("ops/" + of_ops);
  auto found = names_driver().functions_have_cases(
      headers, "bool|[A-Z]\\w+",
      "abs add all allclose amax amin any arange arctanh argmax argmin argsort array array_equal array_equiv "
      "attention bitcast bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_in_dim broadcast_to cbrt ceil "
      "clamp clip concatenate constant cos cosh cross_entropy cumsum divide dot dot_general dynamic_index_in_dim "
      "dynamic_slice dynamic_update_slice einsum_flat equal erf erf_inv erfc exp exp2 expm1 flip floor floor_divide "
      "fma fmod from_integers from_range full_like full_of gelu greater greater_equal index_in_dim iota isfinite "
      "isinf isnan layer_norm left_shift less less_equal linalg::cho_factor linalg::cholesky linalg::circulant "
      "linalg::companion linalg::dft linalg::expm_frechet linalg::funm linalg::hadamard linalg::hankel "
      "linalg::hessenberg linalg::householder_product linalg::logm linalg::pascal linalg::qr linalg::qr_multiply "
      "linalg::qr_raw linalg::reflected linalg::solve linalg::svd linalg::triangular_solve log log10 log1p log2 "
      "log_softmax logaddexp logical_and logical_not logical_or logsumexp make_literal matmul maximum mean meshgrid "
      "minimum multiply ndimage::map_coordinates negative not_equal one_hot ones ones_like outer paged_attention pow "
      "power prod "
      "ragged_dot ravel reciprocal relu remainder reshape reverse_cumsum right_shift rms_norm round rsqrt "
      "scatter_add scatter_max scatter_min scatter_multiply scatter_set segment_max segment_min segment_prod "
      "segment_sum sigmoid sign silu sin sinh slice slice_in_dim softmax softplus sort split sqrt square squeeze "
      "stack stddev subtract sum swapaxes take take_along_axis tan tanh tile top_k transpose tri tril triu trunc var "
      "view_of where write_key_pages write_value_pages zeros zeros_like");
  EXPECT_GE(found, 470);
}
TEST(Names, NumbersAreNumPys) {
  names_driver().each(Takes::values,
                [](auto& name, auto& f, auto& g) { close(f(g.in), g.out, tolerance(g.out), name); });
}
/// Special functions keep their digits where values are tiny or huge, in both dtypes. The inputs are numbers of f32.
TEST(Names, SpecialNumbersAreExact) {
  names_driver().each(Takes::values, [](auto& name, auto& f, auto& g) {
    if (name.substr(0, 9) != "special::") return;
    auto narrow = g.in;
    for (auto& x : narrow) x = x.astype(f32);
    auto wide = f(g.in), rounded = f(narrow);
    double bound = name.find("betainc") == name.npos ? 1e-13 : 3e-13;
    for (std::size_t k = 0; k < g.out.size(); ++k) {
      if (!is_float(g.out[k].dtype())) continue;
      auto want = g.out[k].template to_vector<double>(), got = wide[k].template to_vector<double>();
      auto single = rounded[k].template to_vector<double>();
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (!std::isfinite(want[i])) continue;
        EXPECT_NEAR(got[i], want[i], bound * std::abs(want[i])) << name << ", number " << i;
        bool in_f32 = std::abs(want[i]) < 3e38 && (want[i] == 0 || std::abs(want[i]) > 2e-38);
        if (!in_f32) continue;
        EXPECT_NEAR(single[i], want[i], 1e-6 * std::abs(want[i])) << name << " in f32, number " << i;
      }
    }
  });
}
TEST(Names, StagedIsEager) { names_driver().staged_is_eager(0); }
TEST(Names, MappedIsALoop) {
  names_driver().mapped_is_a_loop([](const Array& x) { return flip(x); }, tolerance);
}
TEST(Names, DerivativesEqualDifferences) {
  EXPECT_GT(names_driver().derivatives_equal_differences([](auto&) { return 1e-6; }), 100);
}
using bora::test::says;
TEST(Names, MistakesAreNamed) {
  auto x = ones({2, 3}), v = ones({3});
  says<ValueError>([&] { return quantile(x, 1.5); }, "quantile: q = 1.5 does not lie in [0, 1]");
  says<ValueError>([&] { return percentile(x, 101); }, "percentile: q = 101 does not lie in [0, 100]");
  says<IndexError>([&] { return median(x, 2); }, "median");
  says<ShapeError>([&] { return median(zeros({0})); }, "median: there are no elements along axes [0] of [0]");
  says<ShapeError>([&] { return nanmax(zeros({0, 2}), 0); }, "nanmax: dimension 0 of [0, 2] is empty");
  says<ShapeError>([&] { return average(x, ones({4}), 1); }, "average: weights of shape [4]");
  says<ValueError>([&] { return histogram(x, 0); }, "bins = 0 must be positive");
  says<ValueError>([&] { return histogram_bin_edges(x, 2, {.range = std::pair{2., 1.}}); }, "range from 2 to 1");
  says<DtypeError>([&] { return bincount(v); }, "bincount: counts integers, not f32");
  says<ShapeError>([&] { return searchsorted(x, v); },
                   "searchsorted: the sorted array must be a vector, got f32[2, 3]");
  says<ValueError>([&] { return unique(x, {.size = -1}); }, "unique: size = -1 must not be negative");
  says<IndexError>([&] { return partition(v, 3); }, "partition: kth = 3 does not lie in [-3, 3)");
  says<ShapeError>([&] { return lexsort({x, v}, 0); }, "lexsort: keys of shapes [2, 3] and [3] differ");
  says<ShapeError>([&] { return compress(ones({4}), v); }, "compress: a condition of 4 elements is longer");
  says<ShapeError>([&] { return gradient(ones({1})); }, "gradient: dimension 0 of [1] has fewer than two");
  says<ShapeError>([&] { return cross(ones({4}), v); }, "cross: needs vectors of two or three numbers, got 4");
  says<ShapeError>([&] { return convolve(zeros({0}), v); }, "convolve: vectors must not be empty");
  says<ShapeError>([&] { return interp(v, v, ones({2})); }, "interp: xp of shape [3] and fp of shape [2]");
  says<ValueError>([&] { return diff(v, -1); }, "diff: n = -1 must not be negative");
  says<IndexError>([&] { return insert(v, 4, v); }, "insert: position 4 does not lie in [-3, 3]");
  says<IndexError>([&] { return delete_(v, {3}); }, "delete_: position 3 does not lie in [-3, 3)");
  says<ShapeError>([&] { return hsplit(x, 2); }, "hsplit: dimension 1 of [2, 3] does not split into 2 equal parts");
  says<ValueError>([&] { return rot90(x, 1, 0, -2); }, "rot90: the axes 0 and -2 are the same");
  says<ShapeError>([&] { return resize(zeros({0}), {2}); }, "resize: [0] has no elements to fill [2]");
  says<ValueError>([&] { return select({v}, {v, v}); }, "select: 1 conditions and 2 choices");
  says<DtypeError>([&] { return unpackbits(v); }, "unpackbits: needs bytes u8, got f32");
  auto image = ones({1, 5, 5, 2});
  says<ShapeError>([&] { return conv(image, ones({3, 3, 3, 4})); }, "has 2 channels, and w f32[3, 3, 3, 4] takes 3");
  says<ShapeError>([&] { return conv(v, ones({3, 3, 1, 4})); }, "conv: x f32[3] does not fit w f32[3, 3, 1, 4]");
  says<ValueError>([&] { return conv(image, ones({3, 3, 2, 4}), {.stride = {2}}); },
                   "conv: stride has 1 numbers for 2 spatial dimensions");
  says<ValueError>([&] { return conv(image, ones({3, 3, 1, 3}), {.groups = 2}); },
                   "3 output channels of w f32[3, 3, 1, 3] do not split");
  says<ShapeError>([&] { return max_pool(v, {.window = {2, 2}}); }, "does not fit a window of 2 dimensions");
  says<ShapeError>([&] { return linalg::det(x); }, "det: the matrix must be square, got f32[2, 3]");
  says<ShapeError>([&] { return linalg::lstsq(x, v); }, "lstsq: a f32[2, 3] does not fit b f32[3]");
  says<ValueError>([&] { return linalg::matrix_norm(x, 3.); }, "matrix_norm: there is no order 3");
  says<ValueError>([&] { return linalg::norm(v, "nuc"); }, "norm: the order nuc is one of matrices, and 1 axis");
  says<ShapeError>([&] { return linalg::polar(x); }, "polar: f32[2, 3] has fewer rows than columns; give left");
  says<ShapeError>([&] { return linalg::multi_dot({x, x}); }, "multi_dot: operands 0 and 1 do not fit");
  says<ShapeError>([&] { return linalg::tensorsolve(ones({2, 6}), v); }, "tensorsolve: a f32[2, 6] does not fit");
  says<ValueError>([&] { return geomspace(-1, 2, 3); }, "geomspace: from -1 to 2");
}
TEST(Names, SizesAreAskedForInsideTransforms) {
  auto v = array({3., 1., 3.});
  auto text = "the size of the result depends on values";
  says<TraceError>([&] { return jit([](const Array& x) { return unique(x); })(v); }, text);
  says<TraceError>([&] { return vmap([](const Array& x) { return flatnonzero(x); })(stack({v, v})); }, text);
  says<TraceError>([&] { return jit([](const Array& x) { return bincount(x); })(array({1, 2})); },
                   "give {.length = n}");
  auto g = grad([](const Array& x) { return sum(square(unique(x))); })(v);  // a derivative's values are known
  EXPECT_EQ(worst(g, array({6., 2., 0.})), 0) << g;
}
TEST(Names, ArrayEquiv) {
  EXPECT_TRUE(array_equiv(array({1., 2.}), array({{1., 2.}, {1., 2.}})));
  EXPECT_FALSE(array_equiv(array({1., 2.}), array({{1., 2.}, {1., 3.}})));
  EXPECT_FALSE(array_equiv(array({1., 2.}), array({1., 2., 3.})));
  EXPECT_TRUE(array_equiv(zeros({0}), array({1.}))) << "nothing differs";
}
TEST(Names, Bf16IsRoundedOnce) {
  auto x = rnd({3, 5}, 4).astype(bf16), w = x.astype(f32);
  const std::function<Array(const Array&)> all_of_them[] = {[](const Array& a) { return median(a, 1); },
                                                            [](const Array& a) { return nanvar(a, 0); },
                                                            [](const Array& a) { return corrcoef(a); },
                                                            [](const Array& a) { return hypot(a, a); },
                                                            [](const Array& a) { return gradient(a, 0.3, 1); },
                                                            [](const Array& a) { return trapezoid(a, 0.3, 1); },
                                                            [](const Array& a) { return sinc(a); },
                                                            [](const Array& a) { return logaddexp2(a, a); }};
  int i = 0;
  for (auto& f : all_of_them) EXPECT_EQ(worst(f(x), f(w).astype(bf16)), 0) << "function " << i++;
}
}  // namespace
}  // namespace bora::laws::names_test
