// Reading numbers inside transforms never loses a derivative silently: a value meant as a constant needs stop_gradient.
#include "bora/io/npy.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::reading_test {
namespace {
Array f64_of(double v) { return array(v, f64); }
/// A number was read and its derivative dropped, unless f throws a TraceError that says how to read a constant.
template <class F> void refuses(F f, const std::string& what) {
  SCOPED_TRACE(what);
  test::says<TraceError>(f, "stop_gradient(x).item<float>()");
}

TEST(Reading, ANumberThatCarriesADerivativeIsNotRead) {
  auto x = f64_of(2);
  auto times_itself = [](const Array& a) { return a * a.item<double>(); };
  refuses([&] { (void)grad(times_itself)(x); }, "grad");
  refuses([&] { (void)value_and_grad(times_itself)(x); }, "value_and_grad");
  refuses([&] { (void)vjp(times_itself, x); }, "vjp");
  refuses([&] { (void)jvp(times_itself, x, f64_of(1)); }, "jvp");
  refuses([&] { (void)hessian(times_itself)(x); }, "hessian");
  refuses([&] { (void)grad([](const Array& a) { return a * item<double>(sin(a)); })(x); }, "a result");
  refuses([&] { (void)grad([](const Array& a) { return a * static_cast<double>(a.item<int>()); })(x); }, "as an int");
  refuses([&] { (void)grad([&](const Array& a) { return grad(times_itself)(x) * a; })(x); }, "an inner grad");
  refuses(
      [&] {
        (void)grad([&](const Array& a) { return grad([&](const Array& b) { return b * a.item<double>(); })(x); })(x);
      },
      "the outer variable in an inner grad");
}
TEST(Reading, EveryWayOutRefuses) {
  auto x = rnd({2, 3}, 1);
  auto asked = [&](const std::string& what, auto read) {
    refuses([&] { (void)grad([&](const Array& a) { return (void)read(a), sum(a); })(x); }, what);
  };
  asked("to_vector", [](const Array& a) { return a.to_vector<float>(); });
  asked("concrete", [](const Array& a) { return a.concrete(); });
  asked("gather", [](const Array& a) { return gather(a); });
  asked("local_block", [](const Array& a) { return local_block(a); });
  asked("save_npy", [](const Array& a) { return save_npy("never.npy", a), 0; });
  EXPECT_THROW((void)grad([](const Array& a) { return sum(a) * *a.data<double>(); })(x), TraceError);
  (void)grad([](const Array& a) {
    EXPECT_EQ(to_string(a), "traced f64[2, 3]");
    return sum(a);
  })(x);
}
TEST(Reading, ConstantsAreReadAtEveryLevel) {
  auto x = f64_of(3);
  auto constant = [](const Array& a) { return stop_gradient(a).item<double>(); };
  close({grad([&](const Array& a) { return a * constant(a); })(x)}, {f64_of(3)}, 0, "grad");
  close({jvp([&](const Array& a) { return a * constant(a); }, x, f64_of(1)).second}, {f64_of(3)}, 0, "jvp");
  auto branches = [&](const Array& a) { return constant(a) > 0 ? a * a : a; };
  close({grad(branches)(x), grad(branches)(-x)}, {f64_of(6), f64_of(1)}, 0, "branching in C++");
  auto cube = [&](const Array& a) { return a * a * constant(a); };
  close({grad(grad(cube))(x)}, {f64_of(6)}, 0, "grad in grad");
  close({grad(grad(grad([&](const Array& a) { return a * cube(a); })))(x)}, {f64_of(18)}, 0, "three levels");
  close({hessian(cube)(x), jacrev(jacfwd(cube))(x)}, {f64_of(6), f64_of(6)}, 0, "forward and reverse");
  auto outer = grad([&](const Array& a) { return a * grad([&](const Array& b) { return b * constant(a); })(x); })(x);
  close({outer}, {f64_of(3)}, 0, "the outer variable in an inner grad");
  auto loss = [&](const Array& a) {
    double s = 0;
    for (double v : stop_gradient(a).to_vector<double>()) s += v;
    return sum(a * a) * s;
  };
  auto v = rnd({4}, 1);
  close({grad(loss)(v)}, {v * 2 * sum(v)}, 1e-15, "to_vector");
}
TEST(Reading, WhatHasNoDerivativeIsReadAsItIs) {
  auto x = f64_of(3);
  auto f = [&](const Array& a) {
    EXPECT_TRUE((a > 0).item<bool>() && array_equal(a, a) && allclose(a * 1, a));
    EXPECT_EQ(a.astype(i32).item<int>() + argmax(reshape(a, {1})).item<int>() + floor(a).item<int>(), 6);
    return (a > 2).item<bool>() ? a * a : a;
  };
  close({grad(f)(x), grad(grad(f))(x), jvp(f, x, x).second}, {f64_of(6), f64_of(2), f64_of(18)}, 0, "");
  auto [loss, aux, g] = value_and_grad([](const Array& a) { return std::pair{a * a, a * 2}; })(x);
  EXPECT_EQ(loss.item<double>() + aux.item<double>() + g.item<double>(), 9 + 6 + 6) << "results are plain values";
  auto number = grad([&](const Array& a) { return a * f64_of(5).item<double>(); })(x);
  close({number}, {f64_of(5)}, 0, "a constant");
}
TEST(Reading, AValueThatWasKeptSaysThatItsDerivativeHasEnded) {
  Array kept;
  (void)grad([&](const Array& a) { return kept = a * a; })(f64_of(1));
  test::says<TraceError>([&] { (void)kept.item<double>(); }, "has ended");
}
TEST(Reading, AMappedValueHasNoOneNumber) {
  auto x = rnd({3}, 1);
  for (bool differentiated : {false, true}) {
    auto read = [](const Array& a) { return a * stop_gradient(a).item<double>(); };
    test::says<TraceError>(
        [&] {
          if (differentiated) (void)vmap(grad(read))(x);
          else (void)vmap(read)(x);
        },
        "vmap");
  }
  auto c = f64_of(2);
  close({vmap(grad([&](const Array& a) { return a * a * c.item<double>(); }))(x)}, {x * 4}, 1e-15,
        "what is not mapped");
}
TEST(Reading, UnderAMesh) {
  auto x = rnd({4, 2}, 1);
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto split = with_sharding_constraint(x, Spec{"data"});
    for (auto& a : {split, x}) {
      refuses([&] { (void)grad([](const Array& b) { return sum(b) * sum(b).item<double>(); })(a); }, "item");
      refuses([&] { (void)grad([](const Array& b) { return sum(gather(b)); })(a); }, "gather");
      refuses([&] { (void)grad([](const Array& b) { return sum(local_block(b).block); })(a); }, "local_block");
    }
    auto f = [](const Array& b) { return sum(b) * stop_gradient(sum(b)).item<double>(); };
    close(gathered({grad(f)(split)}), {full({4, 2}, sum(x).item<double>(), f64)}, 1e-14, "a constant");
    (void)grad([](const Array& b) {
      EXPECT_EQ(local_block(stop_gradient(b)).block.shape(), (Shape{2, 2}));
      return sum(b);
    })(split);
  });
}
/// For every primitive: results that carry a derivative cannot be read; after stop_gradient they have the values that
/// they have outside.
TEST(Reading, NoPrimitiveLetsADerivativeOut) {
  std::size_t refused = 0;
  for (auto& entry : registry())
    for (auto& s : entry.samples()) {
      SCOPED_TRACE(std::string(s.primitive->name()) + " " + s.primitive->params());
      auto want = call(s.primitive, s.in);
      auto check = [&](const Arrays& y) {
        for (std::size_t k = 0; k < y.size(); ++k) {
          if (y[k].owner() != 0) {
            EXPECT_TRUE(floating(y[k]));
            refuses([&] { (void)y[k].to_vector<double>(); }, "result " + std::to_string(k));
            ++refused;
          }
          EXPECT_EQ(worst(y[k].owner() ? stop_gradient(y[k]) : y[k], want[k]), 0) << "result " << k;
        }
      };
      Mask all(s.in.size(), true);
      FlatFn once = [&](const Arrays& in) {
        auto y = call(s.primitive, in);
        check(y);
        return y;
      };
      try {
        (void)fx::vjp_flat(once, s.in, all);
        (void)fx::vjp_flat([&](const Arrays& in) { return fx::vjp_flat(once, in, all).out; }, s.in, all);
      } catch (const TraceError& e) {  // what cannot be differentiated
        EXPECT_NE(std::string(e.what()).find("differentiated"), std::string::npos) << e.what();
      }
    }
  EXPECT_GT(refused, 200U);
}
}  // namespace
}  // namespace bora::laws::reading_test
