// Code that must not compile, and the text of the first message: one case each, chosen with -DCASE=n. Cases 0 to 9
// must compile.
#include <functional>
#if CASE >= 60
#include "bora/named/array.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"
#include "bora/xtensor.h"
#endif
#include "bora/fx/transforms.h"
#include "bora/ops/custom.h"
#include "bora/ops/ops.h"

namespace {
using namespace bora;
struct Dense {
  Array w, b;
};
struct Pair {
  Array x, y;
};
struct WithHook {
  Dense layer;
  std::function<void()> hook;
};
struct WithPointer {
  std::shared_ptr<Dense> tied;
};
struct Derived : Dense {
  Array more;
};
class Closed {
 public:
  explicit Closed(Array a) : a_(std::move(a)) {}
 private:
  Array a_;
};
struct WithClosed {
  Closed inner;
};
#if CASE >= 60
struct Weights {
  xt::xtensor<float, 1> w, b;
};
#endif
struct Order {
  int a = 0, b = 0;
};
[[maybe_unused]] void test(const Array& x, const Dense& m, const Pair& p) {
#if CASE == 0
  auto z = 2 * x;
  auto f = [](const Dense& d, const Pair& q) { return sum(d.w * q.x); };
  (void)grad(f)(m, p);
  (void)scan([](const Array& c, const Array& e) { return std::pair{c + e, none}; }, x, x);
#elif CASE == 10
  if (x > 0) return;
#elif CASE == 11
  Array a = 1.F;
#elif CASE == 12
  bool b = x;
#elif CASE == 13
  auto z = x > 0 ? x : x;
#elif CASE == 14
  auto z = std::max(x, x);
#elif CASE == 15
  auto v = x.to_vector<long double>();
#elif CASE == 20
  auto g = grad([](const Dense& d, const Pair&) { return d; })(m, p);
#elif CASE == 21
  auto g = grad([](const Dense& d, const Pair& q) { return sum(d.w * q.x); })(p, m);
#elif CASE == 22
  int n = 0;
  auto g = grad([n](const Dense& d) mutable {
    ++n;
    return sum(d.w);
  })(m);
#elif CASE == 23
  auto g = grad([](const WithHook& d) { return sum(d.layer.w); })(WithHook{m, {}});
#elif CASE == 24
  auto l = tree::leaves(WithPointer{});
#elif CASE == 25
  auto l = tree::leaves(Derived{});
#elif CASE == 26
  auto l = tree::leaves(WithClosed{Closed(x)});
#elif CASE == 30
  auto r = scan([](const Array& c, const Array& e) { return c + e; }, x, x);
#elif CASE == 31
  auto r = scan([](const Array& c, const Array& e) { return std::pair{Pair{c, e}, e}; }, x, x);
#elif CASE == 32
  auto r = scan([](const Array& c, const Array& e) { return std::pair{c, e}; }, x, x, {.unrol = 2});
#elif CASE == 33
  auto r = cond(
      x, [](const Array& a) { return a; },
      [](const Array& a) {
        return std::pair{a, a};
      },
      x);
#elif CASE == 34
  auto r = while_loop([](const Array& a) { return std::pair{a, a}; }, [](const Array& a) { return a; }, x);
#elif CASE == 35
  auto r = fori_loop(
      0, 3, [](const Array& c) { return c; }, x);
#elif CASE == 40
  auto r = vmap([](Dense& d) {
    d.w = d.b;
    return d;
  })(m);
#elif CASE == 41
  auto f = jit([](const Dense&) { return std::function<void()>(); });
  f(m);
#elif CASE == 42
  auto f = vmap(exp)(x);
#elif CASE == 43
  auto f = jvp([](const Array& a, const Array& b) { return a + b; }, x, x);
#elif CASE == 44
  auto f = custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return a; },
                      [](const Array& a, const Array&) { return a; })(x);
#elif CASE == 45
  auto f = custom_vjp([](const Array& a) { return a; },
                      [](const Array& a) {
                        return std::pair{a, a};
                      },
                      [](const Array& a, const Array&) {
                        return Pair{a, a};
                      })(x);
#elif CASE == 46
  auto z = custom_op("a", {.eval = [](const auto& a) { return a; }});
#elif CASE == 60
  xt::xtensor<float, 1> e({3});
  auto z = e * NamedArray();
#elif CASE == 61
  auto g = grad([](const xt::xtensor<float, 1>& v) { return sum(v); })(xt::xtensor<float, 1>({3}));
#elif CASE == 63
  auto z = x + xt::xtensor<long double, 1>({3});
#elif CASE == 64
  auto g = jit([](const Weights& p) { return p.w; })(Weights{});
#elif CASE == 65
  auto leaves = tree::leaves(Weights{});
#elif CASE == 62
  auto z = view(x, xt::all());
#endif
}
}  // namespace
