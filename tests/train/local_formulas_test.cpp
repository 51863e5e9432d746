// Local steps against their formulas, computed by hand in f64, and their errors.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/train/compression.h"
#include "bora/train/local.h"
#include "bora/train/local_settings.h"
#include "support/throws.h"

namespace local_formulas_test {
using namespace bora;

namespace {
struct Weights {
  Array w;
};
struct Simple {
  Weights params;
};
/// Rounds of two steps towards targets of each replica: {w after each round}, from formulas in f64.
std::vector<double> by_hand(local::Kind kind, double rate, double outer, double momentum) {
  std::vector<double> targets{1, 2, 6}, r;
  double x = 0.5, v = 0;
  for (int round = 0; round < 3; ++round) {
    double mean = 0;
    for (auto t : targets) {
      auto y = x;
      for (int s = 0; s < 2; ++s) y -= rate * (y - t);
      mean += y / 3;
    }
    auto delta = x - mean;
    if (kind == local::Kind::average) x = mean;
    if (kind == local::Kind::diloco) v = momentum * v + delta, x -= outer * (delta + momentum * v);
    if (kind == local::Kind::slowmo) v = momentum * v + delta / rate, x -= rate * outer * v;
    r.push_back(x);
  }
  return r;
}
}  // namespace
TEST(LocalSteps, MeetingsFollowTheirFormulas) {
  constexpr double rate = 0.25;
  Axis replica{"replica", 3};
  auto one = [](const Simple& s, const NamedArray& target) {
    return std::pair{Simple{{s.params.w - rate * (s.params.w - target.array())}}, s.params.w};
  };
  auto targets = named(array({1., 2., 6.}, f64), {replica});
  auto rounds = [&](const auto& steps) {
    auto s = steps.begin(Weights{array(0.5, f64)}, [](const Weights& w) { return Simple{w}; });
    std::vector<double> r;
    for (int i = 0; i < 6; ++i) {
      s = steps(s, targets).first;
      if (i % 2) r.push_back(s.params.w.template item<double>());
    }
    return r;
  };
  auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  };
  near(rounds(local::average(one, replica, {.every = 2})), by_hand(local::Kind::average, rate, 0, 0));
  near(rounds(local::diloco(one, replica, {.every = 2})), by_hand(local::Kind::diloco, rate, 0.7, 0.9));
  near(rounds(local::slowmo(one, replica, {.every = 2, .outer = optim::sgd({.learning_rate = 0.8, .momentum = 0.5}),
                                           .rate = rate})),
       by_hand(local::Kind::slowmo, rate, 0.8, 0.5));
}
/// A cosine that falls to 0 is 0 in f32 at its last step already, which is no rate to divide by.
TEST(LocalSteps, SlowMoDividesByARateOfItsRound) {
  config::Choice<training::LocalKind> slowmo("slowmo");
  slowmo.edit().set_every(30);
  auto rate = optim::warmup_cosine_decay_schedule(0, 1e-3, 100, 20000, 0);
  auto of_round = slowmo->options(rate, 20000).rate;
  auto at = [](const optim::Schedule& s, std::int64_t step) {
    return s(full_of({{}, i32}, step)).item<float>();
  };
  EXPECT_EQ(at(of_round, 19999), at(rate, 19970));
  EXPECT_EQ(at(of_round, 29), at(rate, 29));
  EXPECT_GT(at(rate, 19970), 0.0F);
  EXPECT_GT(at(of_round, 20500), 0.0F);
}
namespace {
struct Layered {
  NamedArray w;
};
struct Deep {
  Layered params;
};
constexpr std::size_t kDeep = 5, kReplicas = 3;
using Numbers = std::vector<std::vector<double>>;  // by replica and layer
double target(std::size_t m, std::size_t l) { return 1.0 + 2.5 * static_cast<double>(m * m) - static_cast<double>(l); }
/// x after each step of streaming DiLoCo with two fragments, from its formulas in f64.
Numbers streamed(std::int64_t every, std::int64_t delay, double mix, std::int64_t last) {
  constexpr double rate = 0.25, outer = 0.7, momentum = 0.9;
  std::vector<double> x(kDeep, 0.5), v(kDeep, 0.0);
  Numbers y(kReplicas, x), r;
  auto fragment = [&](std::int64_t step) {  // that begins to meet after this step
    if (step < 1 || step == last) return -1;
    return step % every == every / 2 ? 0 : step % every == 0 ? 1 : -1;
  };
  auto move = [&](std::size_t l) {
    double mean = 0;
    for (auto& mine : y) mean += mine[l] / kReplicas;
    auto delta = x[l] - mean;
    v[l] = momentum * v[l] + delta;
    x[l] -= outer * (delta + momentum * v[l]);
  };
  auto take = [&](std::size_t l, double own) {
    for (auto& mine : y) mine[l] = own * mine[l] + (1 - own) * x[l];
  };
  auto each = [&](int p, auto f) {
    for (std::size_t l = 0; l < kDeep && p >= 0; ++l)
      if (l % 2 == static_cast<std::size_t>(p)) f(l);
  };
  for (std::int64_t step = 1; step <= last; ++step) {
    if (delay > 0) each(fragment(step - 1), move);
    for (std::size_t m = 0; m < kReplicas; ++m)
      for (std::size_t l = 0; l < kDeep; ++l) y[m][l] -= rate * (y[m][l] - target(m, l));
    if (delay == 0) each(fragment(step), move);
    each(fragment(step - delay), [&](std::size_t l) { take(l, mix); });
    if (step == last) {
      for (auto late = step - delay + 1; late < step; ++late)
        each(fragment(late), [&](std::size_t l) { take(l, mix); });
      for (std::size_t l = 0; l < kDeep; ++l) move(l), take(l, 0);
    }
    r.push_back(x);
  }
  return r;
}
}  // namespace
TEST(LocalSteps, StreamingFollowsItsFormulas) {
  Axis replica{"replica", kReplicas}, layers{"layers", kDeep};
  auto one = [](const Deep& s, const NamedArray& targets) {
    return std::pair{Deep{{s.params.w - 0.25 * (s.params.w - targets)}}, none};
  };
  std::vector<double> all;
  for (std::size_t m = 0; m < kReplicas; ++m)
    for (std::size_t l = 0; l < kDeep; ++l) all.push_back(target(m, l));
  auto targets = named(reshape(asarray(all), {kReplicas, kDeep}), {replica, layers});
  for (std::int64_t every : {2, 5})
    for (std::int64_t delay : {0, 1, 4})
      for (double mix : {0.0, 0.5}) {
        if (delay >= every) continue;
        auto steps = local::diloco(one, replica,
                                   {.every = every, .last = 13, .fragments = 2, .delay = delay, .mix = mix});
        auto s = steps.begin(Layered{named(full({kDeep}, 0.5, f64), {layers})},
                             [](const Layered& w) { return Deep{w}; });
        EXPECT_EQ(s.outer.size(), 2U);
        auto want = streamed(every, delay, mix, 13);
        for (std::size_t i = 0; i < want.size(); ++i) {
          s = steps(s, targets).first;
          auto x = s.params.w.array().to_vector<double>();
          for (std::size_t l = 0; l < kDeep; ++l)
            ASSERT_NEAR(x[l], want[i][l], 1e-6) << every << " " << delay << " " << mix << ", step " << i + 1;
        }
        auto y = s.replicas.params.w.array().to_vector<double>();
        for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want.back()[i % kDeep], 1e-6);
      }
}
TEST(LocalSteps, ShortSumsAreOffByHalfAStepEachTime) {
  Axis replica{"replica", 3};
  for (std::int64_t n : {1, 2, 7, 64, 65, 200})
    for (auto wire : {Wire::bf16(), Wire::int8(), Wire::int4(), Wire::int4({128})}) {
      std::vector<double> all;
      for (std::int64_t i = 0; i < 3 * 2 * n; ++i)
        all.push_back(std::sin(static_cast<double>(i * i)) * (i % 7 == 0 ? 9 : 1));
      auto x = Weights{reshape(asarray(all).astype(f32), {3, 2, n})};
      auto sent = x, scales = x;
      local::detail::spread(tree::node(sent), tree::node(scales), replica, {}, wire);
      local::detail::add_up(tree::node(sent), tree::node(scales), tree::node(x), replica, {}, wire);
      auto got = sent.w.to_vector<double>(), numbers = x.w.to_vector<double>();
      ASSERT_EQ(sent.w.shape(), (Shape{2, n}));
      double step = wire.codec == Codec::bf16 ? 1.0 / 128 : wire.codec == Codec::int8 ? 1.0 / 127 : 39.0 / 127;
      for (std::size_t i = 0; i < got.size(); ++i) {
        double mean = (numbers[i] + numbers[i + got.size()] + numbers[i + 2 * got.size()]) / 3;
        EXPECT_NEAR(got[i], mean, 9 * step * 1.2) << n << " " << word(wire);
      }
    }
  // A block of zeros stays so; one with a NaN is NaN.
  auto x = Weights{zeros({3, 128})};
  x.w = concatenate({slice_in_dim(x.w, 1, 0, 127), full({3, 1}, std::nan(""), f32)}, 1);
  auto scales = x, sent = x;
  local::detail::spread(tree::node(sent), tree::node(scales), replica, {}, Wire::int4());
  local::detail::add_up(tree::node(sent), tree::node(scales), tree::node(x), replica, {}, Wire::int4());
  auto got = sent.w.to_vector<float>();
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], 0);
  for (std::size_t i = 64; i < 128; ++i) EXPECT_TRUE(std::isnan(got[i]));
}
/// With scales that are bf16, as the transport's are, both round alike.
TEST(LocalSteps, ShortSumsHaveTheLevelsOfTheTransport) {
  Axis replica{"replica", 1};
  auto block = [](std::int64_t seed, double most) {  // [2, 64], the last number of each row is the largest
    auto x = clip(random::normal(random::key(seed), {2, 63}) * (most / 3), -most, most);
    return concatenate({x, full({2, 1}, most, f32)}, 1);
  };
  auto x = concatenate({block(1, 254), block(2, 127.0 / 8)}, 1);
  for (auto wire : {Wire::int8(), Wire::int4()}) {
    auto mine = Weights{expand_dims(x, 0)};
    auto sent = mine, scales = mine;
    local::detail::spread(tree::node(sent), tree::node(scales), replica, {}, wire);
    local::detail::add_up(tree::node(sent), tree::node(scales), tree::node(mine), replica, {}, wire);
    auto want = training::rounded_terms(expand_dims(x, 0), wire);
    EXPECT_EQ(sent.w.to_vector<float>(), want.to_vector<float>()) << word(wire);
  }
}
TEST(LocalSteps, BadInputIsRefusedAtTheCall) {
  auto one = [](const Simple& s) { return std::pair{s, s.params.w}; };
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 2}, {.every = 0}); }),
            "local: .every is 0; replicas meet every 1 or more steps");
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 0}); }),
            "local: axis 'replica' has size 0; there must be 1 replica or more");
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 2}, {.every = 3, .delay = 3}); }),
            "local: .delay is 3, but replicas meet every 3 steps; it must be from 0 to below that");
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 2}, {.mix = 1}); }),
            "local: .mix is 1; it must be from 0 to below 1");
  EXPECT_EQ(test::error_of([&] { return local::average(one, {"replica", 2}, {.wire = Wire::bf16()}); }),
            "local: .wire is bf16; average sends parameters, which must be exact: f32");
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 2}, {.wire = Wire::int4({100})}); }),
            "local: .wire has blocks of 100 numbers; they must be a multiple of 64, up to 4096");
  EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 2}, {.fragments = 0}); }),
            "local: .fragments is 0; there must be 1 or more");
  auto fragments = [&](const local::Options& o, const auto& params) {
    return test::error_of([&] { return local::diloco(one, {"replica", 2}, o).fragments(params); });
  };
  EXPECT_EQ(fragments({.fragments = 2}, Weights{zeros({3})}),
            "local: .fragments is 2, but no parameter has the axis layers to be cut along");
  auto layered = Layered{zeros({Axis{"layers", 3}})};
  EXPECT_EQ(fragments({.fragments = 4}, layered), "local: .fragments is 4, more than the 3 layers of w");
  EXPECT_EQ(fragments({.every = 2, .fragments = 3}, layered),
            "local: .every is 2, less than the 3 fragments, each of which meets once in so many steps");
  local_mesh({{"replica", 2}}, [&](const Mesh&) {
    EXPECT_EQ(test::error_of([&] { return local::diloco(one, {"replica", 3}); }),
              "local: 3 replicas cannot be spread evenly over the 2 ranks of mesh axis 'replica'");
  });
  auto steps = local::diloco(one, {"replica", 2});
  EXPECT_NE(test::error_of([&] {
              return steps.inner(local::State<Simple>{{zeros({})}, {{zeros({3})}}, {}, full_of({{}, i32}, 0)});
            }).find("size"),
            std::string::npos);
}
}  // namespace local_formulas_test
