#include "bora/ops/calculus.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/checks.h"
#include <limits>
#include "support/numbers.h"

namespace nn_test {
using namespace bora;
using namespace bora::test;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();
Array wave(const Shape& s, double step = 0.7, Dtype d = f64) { return (test::sines(s, 0, step) * 2).astype(d); }
}  // namespace

TEST(Softmax, EqualsTheFormula) {
  auto x = wave({3, 5});
  auto e = exp(x);
  EXPECT_TRUE(close(softmax(x), e / sum(e, -1, {.keepdims = true}), 1e-12));
  EXPECT_TRUE(close(softmax(x, 0), e / sum(e, 0, {.keepdims = true}), 1e-12));
  EXPECT_TRUE(close(softmax(x, none), e / sum(e), 1e-12));
  EXPECT_TRUE(close(log_softmax(x), log(softmax(x)), 1e-12));
  EXPECT_TRUE(close(logsumexp(x, 1), log(sum(e, 1)), 1e-12));
  EXPECT_TRUE(close(logsumexp(x), log(sum(e)), 1e-12));
  EXPECT_EQ(logsumexp(x, 0, {.keepdims = true}).shape(), (Shape{1, 5}));
  EXPECT_TRUE(close(softmax(x + 1000), softmax(x), 1e-9));
}
TEST(Softmax, RowsOfInfinitiesFollowJax) {
  auto x = array({{-inf, -inf}, {-inf, 0.}, {inf, 0.}});
  EXPECT_TRUE(close(softmax(x), array({{nan_, nan_}, {0., 1.}, {nan_, nan_}})));
  EXPECT_TRUE(close(logsumexp(x, -1), array({-inf, 0., inf})));
  EXPECT_TRUE(close(logsumexp(zeros({0})), array(-inf)));
  EXPECT_TRUE(close(logsumexp(zeros({0, 2}), 0, {.keepdims = true}), array({{-inf, -inf}})));
  EXPECT_EQ(logsumexp(zeros({0, 2}), 1).shape(), Shape{0});
}
TEST(Softmax, Bf16IsRoundedOnce) {
  auto x = wave({4, 33}, 0.7, bf16);
  EXPECT_EQ(softmax(x).dtype(), bf16);
  EXPECT_TRUE(close(softmax(x), softmax(x.astype(f32)).astype(bf16), 0, 0));
  EXPECT_TRUE(close(logsumexp(x, -1), logsumexp(x.astype(f32), -1).astype(bf16), 0, 0));
  EXPECT_TRUE(close(layer_norm(x), layer_norm(x.astype(f32)).astype(bf16), 0, 0));
  EXPECT_TRUE(close(gelu(x), gelu(x.astype(f32)).astype(bf16), 0, 0));
}
TEST(Functions, DerivativesEqualDifferences) {
  auto x = wave({2, 5}), w = wave({2, 5}, 0.3);
  const std::function<Array(const Array&)> all_of_them[] = {
      [&](const Array& v) { return softmax(v) * w; },  [&](const Array& v) { return log_softmax(v) * w; },
      [](const Array& v) { return logsumexp(v, 0); },  [&](const Array& v) { return layer_norm(v) * w; },
      [&](const Array& v) { return rms_norm(v) * w; }, [](const Array& v) { return cross_entropy(v, array({4, 0})); }};
  int i = 0;
  for (auto& f : all_of_them) EXPECT_TRUE(close(gradient(f, x), difference(f, x), 1e-5, 1e-7)) << "function " << i++;
}
TEST(Norms, EqualTheFormula) {
  auto x = wave({3, 8}), w = wave({8}, 0.2), b = wave({8}, 0.4);
  auto m = mean(x, -1, {.keepdims = true}), v = mean(square(x - m), -1, {.keepdims = true});
  EXPECT_TRUE(close(layer_norm(x, w, b), (x - m) / sqrt(v + 1e-5) * w + b, 1e-12, 1e-12));
  EXPECT_TRUE(
      close(rms_norm(x, w, {.eps = 1e-6}), x / sqrt(mean(square(x), -1, {.keepdims = true}) + 1e-6) * w, 1e-12, 1e-12));
  EXPECT_TRUE(close(layer_norm(x, {.axes = 0}), transpose(layer_norm(transpose(x))), 1e-12, 1e-12));
  EXPECT_EQ(layer_norm(x.astype(bf16), w.astype(f32), b.astype(f32)).dtype(), bf16);
}
TEST(CrossEntropy, IsTheNegativeLogLikelihood) {
  auto x = wave({2, 3, 7}), labels = array({{0, 6, 3}, {2, 2, 5}});
  auto picked = squeeze(take_along_axis(log_softmax(x), expand_dims(labels, -1), -1), -1);
  EXPECT_TRUE(close(cross_entropy(x, labels), -picked, 1e-12, 1e-12));
  EXPECT_EQ(cross_entropy(x.astype(bf16), labels).dtype(), f32);
  EXPECT_TRUE(close(cross_entropy(array({{1., 2.}, {3., 4.}}), array({-1, 2})), array({nan_, nan_})))
      << "labels outside";
  EXPECT_TRUE(close(cross_entropy(array({{0., -inf}}), array({0})), array({0.})));
  auto many = wave({1, 300});
  EXPECT_TRUE(close(cross_entropy(many, array({3}, u8)), cross_entropy(many, array({3})))) << "u8 counts to 255 only";
  EXPECT_MESSAGE(ShapeError, cross_entropy(x, array({1, 2})), "want labels of shape [2, 3], got [2]");
  EXPECT_MESSAGE(DtypeError, cross_entropy(x, zeros({2, 3})), "labels are integers, not f32");
}
namespace {
/// Attention by loops; attends(s, t) says what is visible.
template <class F> Array by_loops(const Array& q, const Array& k, const Array& v, F attends) {
  auto S = q.shape(0), T = k.shape(0), H = q.shape(1), D = q.shape(2), G = H / k.shape(1);
  auto a = numbers(q), b = numbers(k), c = numbers(v);
  std::vector<double> out(a.size());
  for (std::int64_t h = 0; h < H; ++h)
    for (std::int64_t s = 0; s < S; ++s) {
      std::vector<double> w;
      double total = 0;
      for (std::int64_t t = 0; t < T; ++t) {
        double dot = 0;
        for (std::int64_t d = 0; d < D; ++d)
          dot += a[static_cast<std::size_t>((s * H + h) * D + d)] *
                 b[static_cast<std::size_t>((t * (H / G) + h / G) * D + d)];
        w.push_back(attends(s, t) ? std::exp(dot / std::sqrt(static_cast<double>(D))) : 0);
        total += w.back();
      }
      for (std::int64_t t = 0; t < T && total > 0; ++t)
        for (std::int64_t d = 0; d < D; ++d)
          out[static_cast<std::size_t>((s * H + h) * D + d)] +=
              w[static_cast<std::size_t>(t)] / total * c[static_cast<std::size_t>((t * (H / G) + h / G) * D + d)];
    }
  return asarray(out, q.shape());
}
}  // namespace
TEST(Attention, EqualsLoops) {
  auto q = wave({4, 2, 3}), k = wave({5, 2, 3}, 0.3), v = wave({5, 2, 3}, 0.9);
  auto everything = [](auto, auto) { return true; };
  EXPECT_TRUE(close(attention(q, k, v), by_loops(q, k, v, everything), 1e-10, 1e-10));
  EXPECT_TRUE(close(attention(q, k, v, {.causal = true}), by_loops(q, k, v, [](auto s, auto t) { return t <= s; }),
                    1e-10, 1e-10));
  auto mask = array({{true, false, true, false, true}});
  EXPECT_TRUE(close(attention(q, k, v, {.mask = mask}), by_loops(q, k, v, [](auto, auto t) { return t % 2 == 0; }),
                    1e-10, 1e-10));
  EXPECT_TRUE(close(attention(q, k, v, {.mask = zeros({4, 5}, boolean)}), zeros({4, 2, 3}, f64)))
      << "nothing to attend to";
  EXPECT_TRUE(close(attention(q, k, v, {.scale = 0.}), by_loops(q * 0, k, v, everything), 1e-10, 1e-10));
  EXPECT_TRUE(close(attention(q, k, v, {.bias = where(mask, array(0., f64), -inf)}), attention(q, k, v, {.mask = mask}),
                    1e-10, 1e-10));
  auto one = view(k, all(), range(0, 1)), val = view(v, all(), range(0, 1));
  EXPECT_TRUE(close(attention(q, one, val), by_loops(q, one, val, everything), 1e-10, 1e-10)) << "shared heads";
  auto batch = [](const Array& x) { return stack({x, x * 0.5}); };
  auto both = attention(batch(q), batch(k), batch(v), {.causal = true});
  EXPECT_TRUE(close(view(both, 1), attention(q * 0.5, k * 0.5, v * 0.5, {.causal = true}), 1e-10, 1e-10));
  EXPECT_EQ(attention(q.astype(bf16), k.astype(bf16), v.astype(bf16)).dtype(), bf16);
}
TEST(Attention, DerivativeEqualsDifference) {
  auto q = wave({3, 1, 2}), k = wave({3, 1, 2}, 0.3), v = wave({3, 1, 2}, 0.9), w = wave({3, 1, 2}, 0.5);
  auto f = [&](const Arrays& a) { return attention(a[0], a[1], a[2], {.causal = true}) * w; };
  auto g = gradients(f, {q, k, v});
  EXPECT_TRUE(close(g[0], difference([&](const Array& x) { return f({x, k, v}); }, q), 1e-5, 1e-7));
  EXPECT_TRUE(close(g[1], difference([&](const Array& x) { return f({q, x, v}); }, k), 1e-5, 1e-7));
  EXPECT_TRUE(close(g[2], difference([&](const Array& x) { return f({q, k, x}); }, v), 1e-5, 1e-7));
  auto hidden = gradient([&](const Array& x) { return attention(x, k, v, {.mask = zeros({3, 3}, boolean)}); }, q);
  EXPECT_TRUE(close(hidden, zeros({3, 1, 2}, f64))) << "a hidden row has no derivative, and no NaN";
}
TEST(Attention, MistakesAreNamed) {
  auto q = zeros({4, 2, 3});
  EXPECT_MESSAGE(ShapeError, attention(q, zeros({5, 2, 4}), zeros({5, 2, 4})), "head size 3 of q and 4 of k");
  EXPECT_MESSAGE(ShapeError, attention(q, zeros({5, 2, 3}), zeros({6, 2, 3})), "5 keys and 6 values");
  EXPECT_MESSAGE(ShapeError, attention(zeros({3, 4, 3, 3}), zeros({3, 5, 2, 3}), zeros({3, 5, 2, 3})), "3 heads of q");
  EXPECT_MESSAGE(DtypeError, attention(q, q, q, {.mask = zeros({4, 4})}), "a mask is boolean");
}
TEST(Comparisons, OfWholeArrays) {
  auto x = array({1., 2.});
  EXPECT_TRUE(allclose(x, x + 1e-7));
  EXPECT_FALSE(allclose(x, x + 1e-3));
  EXPECT_TRUE(allclose(x, x + 1e-3, 0, 1e-2));
  EXPECT_TRUE(allclose(array({inf}), array({inf})));
  EXPECT_FALSE(allclose(array({inf}), array({-inf})));
  EXPECT_FALSE(allclose(array({nan_}), array({nan_})));
  EXPECT_FALSE(allclose(array({1.}), array({inf})));
  EXPECT_TRUE(allclose(ones({2, 2}), ones({})));
  EXPECT_TRUE(array_equal(x, x));
  EXPECT_FALSE(array_equal(x, array({1., 3.})));
  EXPECT_FALSE(array_equal(x, array({{1., 2.}})));
  EXPECT_TRUE(array_equal(zeros({0}), zeros({0})));
}
}  // namespace nn_test
