// Stochastic differential equations: strong convergence to known paths, moments, noise by key and index, derivatives.
#include "bora/science/sde.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::sde_test {
namespace {
using namespace integrate;
using test::says_line;
const Array kStart = ones({3}, f64), kBegin = array(0., f64), kEnd = array(1., f64);
/// The increments of W [n, 3] that solve_sde draws.
Array increments(const Array& key, std::int64_t n) {
  auto k = random::split<2>(key)[0];
  Arrays rows;
  for (std::int64_t i = 0; i < n; ++i)
    rows.push_back(random::normal(random::fold_in(k, i), {3}, f64) * std::sqrt(1. / static_cast<double>(n)));
  return stack(rows);
}
/// The mean error at the end, over keys, of dy = a y dt + b y dW.
double strong_error(SdeMethod method, std::int64_t steps) {
  constexpr double a = 0.5, b = 0.7;
  bool ito = method == SdeMethod::srk;
  double total = 0;
  for (int seed = 0; seed < 40; ++seed) {
    auto key = random::key(seed);
    auto r = solve_sde([&](const Array&, const Array& y) { return a * y; },
                       [&](const Array&, const Array& y) { return b * y; }, kBegin, kEnd, kStart, key,
                       {.method = method, .steps = steps, .save_every = steps});
    auto w = sum(increments(key, steps), 0);
    auto exact = exp((ito ? a - b * b / 2 : a) + b * w);
    total += mean(abs(view(r.y, 1) - exact)).item<double>();
  }
  return total / 40;
}
TEST(Sde, ConvergesStronglyByItsOrder) {
  for (auto [method, order] : {std::pair{SdeMethod::euler_heun, 1.}, {SdeMethod::srk, 1.5}}) {
    auto coarse = strong_error(method, 8), fine = strong_error(method, 64);
    auto found = std::log2(coarse / fine) / 3;
    EXPECT_NEAR(found, order, 0.2) << coarse << " " << fine;
    EXPECT_LT(fine, method == SdeMethod::srk ? 2e-3 : 2e-2);
  }
}
TEST(Sde, IsTheStepsOfItsDefinition) {
  auto f = [](const Array& t, const Array& y) { return cos(t) - y; };
  auto g = [](const Array& t, const Array& y) { return 0.3 + 0.2 * sin(y) + 0.1 * t; };
  auto key = random::key(5);
  auto w = increments(key, 6);
  auto r = solve_sde(f, g, kBegin, kEnd, kStart, key, {.steps = 6, .save_every = 3});
  Array y = kStart;
  Arrays want{y};
  for (int i = 0; i < 6; ++i) {
    auto t = array(i / 6., f64), dw = view(w, i);
    auto first = g(t, y) * dw;
    y = y + f(t, y) / 6. + 0.5 * (first + g(t, y + first) * dw);
    if (i % 3 == 2) want.push_back(y);
  }
  close({r.t, r.y}, {array({0., 0.5, 1.}, f64), stack(want)}, 1e-13, "Euler-Heun");
}
TEST(Sde, HasMomentsTransformsAndDerivatives) {
  auto theta = array(1.5, f64);
  auto end = [&](const Array& theta, const Array& key, SdeMethod method) {
    return view(solve_sde([&](const Array&, const Array& y) { return -theta * y; },
                          [](const Array&, const Array& y) { return 0.5 * ones_like(y); }, kBegin, array(2., f64),
                          kStart, key, {.method = method, .steps = 40, .save_every = 20})
                    .y,
                -1);
  };
  auto keys = random::split(random::key(9), 2000);
  for (auto method : {SdeMethod::euler_heun, SdeMethod::srk}) {
    auto many = jit(vmap([&](const Array& k) { return end(theta, k, method); }))(keys);
    EXPECT_NEAR(mean(many).item<double>(), std::exp(-3.), 0.02);
    EXPECT_NEAR(var(many).item<double>(), 0.25 / 3 * (1 - std::exp(-6.)), 0.008);
    EXPECT_TRUE(array_equal(view(many, 7), end(theta, view(keys, 7), method)));
    auto key = random::key(2);
    auto loss = [&](const Array& theta) { return sum(end(theta, key, method)); };
    auto apart = (loss(theta + 1e-5) - loss(theta - 1e-5)) / 2e-5;
    close({grad(loss)(theta), jvp(loss, theta, ones_like(theta)).second}, {apart, apart}, 1e-8, "its slope");
  }
}
TEST(Sde, PathsContinueByTheNumberOfSteps) {
  struct Pair {
    Array u, v;
  };
  auto f = [](const Array&, const Pair& p) { return Pair{-p.u, reshape(p.u * 0.1, {2, 1})}; };
  auto g = [](const Array&, const Pair& p) { return Pair{0.1 * p.u, ones_like(p.v) * 0.2}; };
  Pair start{ones({2}), zeros({2, 1})};
  auto key = random::key(4);
  auto whole = solve_sde(f, g, array(0.), array(1.), start, key, {.steps = 8});
  auto first = solve_sde(f, g, array(0.), array(0.5), start, key, {.steps = 4});
  Pair middle{view(first.y.u, -1), view(first.y.v, -1)};
  auto second = solve_sde(f, g, array(0.5), array(1.), middle, key, {.steps = 4, .first = 4});
  close({view(second.y.u, -1), view(second.y.v, -1)}, {view(whole.y.u, -1), view(whole.y.v, -1)}, 0, "in two parts");
  auto zero = array(0.), one = array(1.);
  says_line<ValueError>([&] { return solve_sde(f, g, zero, one, start, key, {.steps = 8, .save_every = 3}).t; },
                        "save_every = 3 must divide steps");
  says_line<DtypeError>([&] { return solve_sde(f, g, zero, one, start, ones({2})).t; }, "needs one key");
  says_line<DtypeError>([&] { return solve_sde(f, g, array(0), array(1), start, key).t; },
                        "t0 and t1 must both be f32");
}
}  // namespace
}  // namespace bora::laws::sde_test
