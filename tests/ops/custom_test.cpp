#include "bora/ops/calculus.h"
#include "bora/ops/reductions.h"
#include "ops/checks.h"
#include <numeric>

namespace host {
/// A host type that no library of Bora's knows.
struct Numbers {
  std::vector<float> v;
};
}  // namespace host
namespace bora {
template <> struct host_arg<host::Numbers> {
  static constexpr std::optional<Dtype> dtype = f32;
  static host::Numbers from(const Array& a) { return {a.to_vector<float>()}; }
  static Array to(const host::Numbers& n) { return asarray(n.v); }
};
}  // namespace bora

namespace custom_test {
using namespace bora;
using namespace bora::test;

namespace {
host::Numbers reversed(const host::Numbers& x) { return {{x.v.rbegin(), x.v.rend()}}; }
const HostOp& doubled() {
  static const auto op = custom_op("doubled", {.eval =
                                                   [](const host::Numbers& x) {
                                                     auto y = x;
                                                     for (auto& e : y.v) e *= 2;
                                                     return y;
                                                   },
                                               .vjp = [](const Array& ct, const Array&) { return 2 * ct; },
                                               .elementwise = true});
  return op;
}
}  // namespace

TEST(CustomOp, CallsTheHost) {
  EXPECT_TRUE(close(doubled()(array({1., 2.})), array({2., 4.})));
  auto backwards = custom_op("backwards", {.eval = reversed});
  EXPECT_TRUE(close(backwards(array({1., 2., 3.})), array({3., 2., 1.})));
  EXPECT_EQ(doubled()(array({1, 2})).dtype(), f32) << "the host type says the dtype";
  auto length = custom_op("length", {.eval = [](const Array& x) { return sum(x * x); },
                                     .shape = [](const std::vector<Shape>&) { return Shape{}; }});
  EXPECT_TRUE(close(length(array({3., 4.})), array(25.)));
}
TEST(CustomOp, HasItsOwnDerivative) {
  EXPECT_TRUE(close(gradient([](const Array& x) { return doubled()(x) * x; }, array({3.})), array({12.})));
  auto product = custom_op("product", {.eval = [](const Array& a, const Array& b) { return a * b; },
                                       .vjp =
                                           [](const Array& ct, const Array& a, const Array& b) {
                                             return std::tuple{ct * b, ct * a};
                                           },
                                       .elementwise = true});
  auto g = gradients([&](const Arrays& x) { return product(x[0], x[1]); }, {array({2., 3.}), array(5.)});
  EXPECT_TRUE(close(g[0], array({5., 5.})));
  EXPECT_TRUE(close(g[1], array(5.)));
  auto plain = custom_op("plain", {.eval = [](const Array& x) { return x + 1; }});
  EXPECT_MESSAGE(TraceError, gradient([&](const Array& x) { return plain(x); }, array({1.})),
                 "plain cannot be differentiated in reverse: give custom_op a .vjp");
}
TEST(CustomOp, MistakesAreNamed) {
  auto shorter = custom_op("shorter", {.eval = [](const Array& x) { return view(x, range(1, none)); }});
  EXPECT_MESSAGE(ShapeError, shorter(array({1., 2.})), "shorter: eval gave f32[1] where the shape [2] was promised");
  auto wider = custom_op("wider", {.eval = [](const Array& x) { return x.astype(f64); }});
  EXPECT_MESSAGE(DtypeError, wider(array({1., 2.})), "say .dtype = f64");
  auto said = custom_op("wider", {.eval = [](const Array& x) { return x.astype(f64); }, .dtype = f64});
  EXPECT_EQ(said(array({1.})).dtype(), f64);
  EXPECT_MESSAGE(ValueError, doubled()(array({1.}), array({1.})), "doubled: takes 1 inputs, got 2");
  EXPECT_MESSAGE(ValueError, custom_op("none", {}), "needs .eval");
  EXPECT_MESSAGE(
      ValueError,
      custom_op("bad", {.eval = [](const Array& x) { return x; }, .vjp = [](const Array& ct) { return ct; }}),
      "it has 1 parameters");
}
TEST(CustomOp, IsItselfOnly) {
  Recorder tape;
  auto other = custom_op("doubled", {.eval = [](const Array& x) { return x; }});
  {
    Within w(&tape);
    (void)doubled()(array({1.}));
    (void)doubled()(array({2.}));
    (void)other(array({1.}));
  }
  EXPECT_TRUE(tape.steps[0].p->equals(*tape.steps[1].p));
  EXPECT_FALSE(tape.steps[0].p->equals(*tape.steps[2].p));
  EXPECT_EQ(tape.steps[0].p->params(), "function=doubled");
}
}  // namespace custom_test
