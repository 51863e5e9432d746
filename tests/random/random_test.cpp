// Published vectors of Threefry and of JAX, the rules of keys, errors, statistics.
#include "bora/random/random.h"
#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include "kernels/api/loop.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "bora/ops/transform.h"
#include "support/throws.h"

namespace bora::random_test {
namespace {
using namespace random;
using Words = std::vector<std::uint32_t>;
Words words(const Array& k) { return key_data(k).to_vector<std::uint32_t>(); }
Words keyed(std::uint32_t a, std::uint32_t b) { return {a, b}; }
void near(const Array& x, const std::vector<double>& want, double tolerance) {
  auto got = x.to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Threefry, KnownAnswers) {
  auto f = [](std::uint32_t k0, std::uint32_t k1, std::uint32_t c0, std::uint32_t c1) {
    auto w = kernels::threefry({k0, k1}, (static_cast<std::uint64_t>(c0) << 32) | c1);
    return Words{w[0], w[1]};
  };
  EXPECT_EQ(f(0, 0, 0, 0), (Words{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(f(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff), (Words{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(f(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3), (Words{0xc4923a9c, 0x483df7a0}));
}
TEST(Keys, SeedsBecomeTheirTwoWords) {
  EXPECT_EQ(words(key(42)), keyed(0, 42));
  EXPECT_EQ(words(key((1ll << 40) + 7)), keyed(256, 7));
  EXPECT_EQ(words(key(-1)), keyed(0xffffffff, 0xffffffff));
  EXPECT_EQ(words(key(-2147483648ll - 100)), keyed(4294967295, 2147483548));
  EXPECT_EQ(words(key_x32((1ll << 40) + 7)), keyed(0, 7));
  EXPECT_EQ(words(key_x32(-1)), keyed(0, 0xffffffff));
  EXPECT_EQ(words(key_x32(2147483647ll + 100)), keyed(0, 2147483747));
  EXPECT_EQ(words(key_x32(-2147483648ll - 100)), keyed(0, 2147483548));
}
TEST(Keys, FoldInAndSplit) {
  EXPECT_EQ(words(fold_in(key(0), 0)), keyed(1797259609, 2579123966));
  EXPECT_EQ(words(fold_in(key(0), 1)), keyed(928981903, 3453687069));
  EXPECT_EQ(words(fold_in(key(42), 4)), keyed(2954079971, 3276725750));
  EXPECT_EQ(words(fold_in(key(42), 5)), keyed(2765691542, 824333390));
  EXPECT_EQ(words(fold_in(key(0), 4)), keyed(2285895361, 433833334));
  auto [a, b] = random::split<2>(key(42));
  EXPECT_EQ(words(a), keyed(1832780943, 270669613));
  EXPECT_EQ(words(b), keyed(64467757, 2916123636));
  auto five = random::split(key(3), 5);
  EXPECT_EQ(five.shape(), Shape{5});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(words(index_in_dim(five, 0, i)), words(fold_in(key(3), i)));
  EXPECT_EQ(words(fold_in(key(9), array(-1))), words(fold_in(key(9), 0xffffffffll)));
  EXPECT_EQ(words(wrap_key_data(key_data(five))), words(five));
}
TEST(Keys, Published) {
  auto k = fold_in(key(123), 0);
  auto three = random::split(k, 3), two = random::split(k, 2);
  std::vector<double> u{0.35525954, 0.21937883, 0.5336956};
  for (int j = 0; j < 3; ++j)
    near(uniform(fold_in(index_in_dim(three, 0, j), 0)), {u[static_cast<std::size_t>(j)]}, 1e-7);
  EXPECT_EQ(randint(fold_in(index_in_dim(two, 0, 0), 0), {2}, 0, 10).to_vector<int>(), (std::vector<int>{4, 5}));
  EXPECT_EQ(randint(fold_in(index_in_dim(two, 0, 1), 0), {2}, 0, 10).to_vector<int>(), (std::vector<int>{2, 1}));
}
TEST(Uniform, Published) {
  near(uniform(key(0), {3}), {0.947667, 0.9785799, 0.33229148}, 1e-6);
  std::vector<double> u{0.5302608, 0.72766423, 0.6672406, 0.3890121};
  for (int i = 0; i < 4; ++i) near(uniform(fold_in(key(42), i)), {u[static_cast<std::size_t>(i)]}, 1e-7);
  near(uniform(key(42), {3, 3}, f32, -5, 5), {-.11, 1.8, 1.16, .61, -.49, .86, -4.25, 2.75, 1.99}, 0.0051);
  near(uniform(key(1), {3, 3}, f32, -5, 5), {-.61, .34, -.54, -.62, 3.97, .59, 4.84, 3.42, -1.14}, 0.0051);
}
TEST(Normal, Published) {
  near(normal(key(0), {24}),
       {1.6226422, 2.0252647, -.43359444, -.07861735, .1760909,   -.97208923, -.49529874, .4943786,
        .6643493,  -.9501635, 2.1795304,  -1.9551506, .35857072,  .15779513,  1.2770847,  1.5104648,
        .970656,   .59960806, .0247007,   -1.9164772, -1.8593491, 1.728144,   .04719035,  .814128},
       1e-6);
  near(normal(key(42)), {-0.028304616}, 1e-7);
}
TEST(Choose, Published) {
  EXPECT_EQ(randint(key(1), {5}, 0, 10).to_vector<int>(), (std::vector<int>{6, 7, 0, 3, 8}));
  EXPECT_EQ(choice(key(2), array({10, 20, 30, 40}), {3}).to_vector<int>(), (std::vector<int>{40, 10, 20}));
  EXPECT_EQ(permutation(key(3), 5).to_vector<int>(), (std::vector<int>{0, 4, 2, 1, 3}));
}
TEST(Stream, DependsOnPositionOnly) {
  auto six = uniform(key(5), {6}).to_vector<float>(), nine = uniform(key(5), {9}).to_vector<float>();
  EXPECT_EQ(six, std::vector<float>(nine.begin(), nine.begin() + 6));
  EXPECT_EQ(uniform(key(5), {2, 3}).to_vector<float>(), six);
  EXPECT_EQ(bits(key(5), {0, 3}).size(), 0);
}
TEST(Stream, BlocksOfADrawAreItsBlocks) {
  Shape whole{3, 4, 5};
  auto all = bits(key(8), whole);
  for (auto dtype : {u8, u32, i64}) {
    auto block = call_one(ops::RandomBits{whole, dtype, {}, {2, 2, 3}}, {key(8), array(1), array(2), array(1)});
    EXPECT_EQ(block.to_vector<std::int64_t>(),
              slice(bits(key(8), whole, dtype), {1, 2, 1}, {3, 4, 4}).to_vector<std::int64_t>())
        << dtype;
  }
  Shape deep{2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 3}, cut{1, 2, 1, 1, 2, 1, 1, 2, 1, 2, 2};
  Arrays in{key(8)};
  for (std::size_t d = 0; d < deep.size(); ++d) in.push_back(array(static_cast<int>(deep[d] - cut[d])));
  Dims start;
  for (std::size_t d = 0; d < deep.size(); ++d) start.push_back(deep[d] - cut[d]);
  EXPECT_EQ(call_one(ops::RandomBits{deep, u32, {}, cut}, in).to_vector<std::int64_t>(),
            slice(bits(key(8), deep), start, deep.dims()).to_vector<std::int64_t>());
}
TEST(Stream, ManyKeysDrawWhatEachDraws) {
  auto ks = random::split(key(1), 3);
  auto all = call_one(ops::RandomBits{{4}, u32, {}, {4}}, {ks}).to_vector<std::uint32_t>();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(bits(index_in_dim(ks, 0, i), {4}).to_vector<std::uint32_t>(),
              Words(all.begin() + 4 * i, all.begin() + 4 * i + 4));
}
TEST(Samplers, RangesAndMoments) {
  auto x = normal(key(7), {200000}).to_vector<float>();
  double mean = 0, square = 0;
  for (auto v : x) mean += v, square += double(v) * v;
  EXPECT_NEAR(mean / 200000, 0, 0.01);
  EXPECT_NEAR(square / 200000, 1, 0.02);
  for (auto v : truncated_normal(key(7), -2, 2, {10000}).to_vector<float>()) EXPECT_TRUE(v > -2 && v < 2);
  for (auto v : uniform(key(7), {10000}, bf16).to_vector<float>()) EXPECT_TRUE(v >= 0 && v < 1);
  auto g = gamma(key(7), full({20000}, 2.5)).to_vector<float>();
  EXPECT_NEAR(std::accumulate(g.begin(), g.end(), 0.0) / 20000, 2.5, 0.05);
  for (auto v : sum(dirichlet(key(7), array({0.01, 0.5, 3.0}), Shape{50}), -1).to_vector<float>())
    EXPECT_NEAR(v, 1, 1e-5);
}
TEST(Samplers, ArraysAsBounds) {
  auto lo = array({0.0, 10.0}), hi = array({1.0, 20.0});
  auto x = uniform(key(4), {3, 2}, f32, lo, hi).to_vector<float>();
  auto first = uniform(key(4), {3, 2}).to_vector<float>();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(x[i], i % 2 ? 10 + 10 * first[i] : first[i]);
}
TEST(Dropout, ScalesWhatItKeeps) {
  auto x = ones({64, 64}), y = dropout(key(42), x, 0.25);
  EXPECT_NEAR(mean((y != 0).astype(f32)).item<double>(), 0.75, 0.03);
  EXPECT_TRUE(array_equal(y, where(bernoulli(key(42), 0.75, {64, 64}), x / 0.75, 0)));
  EXPECT_TRUE(array_equal(dropout(key(42), x, 0), x));
  EXPECT_TRUE(array_equal(dropout(key(42), x, 1), zeros({64, 64})));
  EXPECT_EQ(dropout(key(42), x.astype(bf16), 0.5).dtype(), bf16);
  test::says<ValueError>([&] { (void)dropout(key(42), x, 1.5); }, "a probability, got 1.5");
}
TEST(Errors, SayWhatToDo) {
  test::says<DtypeError>([] { (void)uniform(array({1, 2})); }, "random::key(seed)");
  test::says<ShapeError>([] { (void)normal(random::split(key(0), 3)); }, "use vmap");
  test::says<ValueError>([] { (void)fold_in(key(0), -1); }, "2^32");
  test::says<ValueError>([] { (void)choice(key(0), 3, {4}, {.replace = false}); }, "cannot take 4 of 3");
  EXPECT_THROW((void)uniform(key(0), {2}, i32), DtypeError);
  EXPECT_THROW((void)randint(key(0), {2}, 0, 3, f32), DtypeError);
  EXPECT_THROW((void)fold_in(key(0), array(1.5)), DtypeError);
  EXPECT_THROW((void)(key(0) + key(1)), DtypeError);
}
/// JAX: the draw of shape 0 is 0, so that dirichlet takes alpha 0; a negative one is NaN.
TEST(Gamma, OfShapeZeroIsZero) {
  auto k = key(5);
  auto a = array({0., -1., 2.});
  for (auto d : {f32, f64}) {
    auto g = gamma(k, a, none, d).to_vector<double>(), l = loggamma(k, a, none, d).to_vector<double>();
    EXPECT_EQ(g[0], 0);
    EXPECT_EQ(l[0], -HUGE_VAL);
    EXPECT_TRUE(std::isnan(g[1]) && std::isnan(l[1]));
    EXPECT_GT(g[2], 0);
    EXPECT_EQ(dirichlet(k, array({0., 3.}), none, d).to_vector<double>(), (std::vector<double>{0, 1}));
    EXPECT_EQ(beta(k, array(0., d), array(1., d), none, d).item<double>(), 0);
    EXPECT_EQ(chisquare(k, array(0., d), none, d).item<double>(), 0);
  }
}
}  // namespace
}  // namespace bora::random_test
