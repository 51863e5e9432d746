// The law of masks: what a mask, a condition, a weight of 0 or a segment's number excludes changes neither the value
// nor a derivative, whatever it is, and its own gradient is 0.
#include "laws/mask_table.h"

namespace bora::laws::mask_test {
namespace {
const MaskedCases& cases() {
  static const MaskedCases all = [] {
    MaskedCases r;
    mask_ops_test::add_ops(r);
    mask_nn_test::add_nn(r);
    return r;
  }();
  return all;
}
Arrays filled(const Masked& c, double with, Dtype dtype) {
  Arrays r;
  for (std::size_t i = 0; i < c.x.size(); ++i) r.push_back(where(c.counts[i], c.x[i].astype(dtype), with));
  return r;
}
std::vector<double> fillings(const Masked& c, Dtype dtype) {
  if (c.nan_only) return {NAN};
  auto huge = info(dtype).largest;
  return {NAN, INFINITY, -INFINITY, huge, -huge};
}
Array loss(const Masked& c, const Arrays& x) {
  auto y = c.f(x);
  return sum(y.astype(f64) * rnd(y.shape(), 77));
}
Arrays gradient(const Masked& c, const Arrays& x) {
  return grad([&](const Arrays& v) { return loss(c, v); })(x);
}
/// The gradient of a functional of the gradient.
Arrays second(const Masked& c, const Arrays& x) {
  return grad([&](const Arrays& v) {
    auto g = gradient(c, v);
    auto t = array(0., f64);
    int seed = 78;
    for (auto& y : g) t = t + sum(y.astype(f64) * rnd(y.shape(), seed++));
    return t;
  })(x);
}
template <class F> void each(F f) {
  for (auto& c : cases())
    for (auto dtype : {f64, f32, bf16, f16}) {
      if ((dtype != f64 && effort() == Effort::thin) || (c.wide && is_narrow(dtype))) continue;
      SCOPED_TRACE(c.name + " in " + std::string(info(dtype).name));
      try {
        f(c, dtype);
      } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
    }
}
void excluded_are_zero(const Masked& c, const Arrays& g, const std::string& say) {
  for (std::size_t i = 0; i < g.size(); ++i)
    EXPECT_TRUE(all(where(c.counts[i], true, g[i] == 0)).item<bool>()) << say << ", operand " << i << to_string(g[i]);
}
TEST(Masks, ValuesAndGradientsStay) {
  each([](const Masked& c, Dtype dtype) {
    auto plain = filled(c, c.nan_only ? NAN : 0.5, dtype);
    auto value = c.f(plain);
    auto g = gradient(c, plain);
    EXPECT_FALSE(any(isnan(value)).template item<bool>()) << to_string(value);
    excluded_are_zero(c, g, "of numbers");
    for (auto fill : fillings(c, dtype)) {
      auto x = filled(c, fill, dtype);
      auto say = "filled with " + std::to_string(fill);
      close({c.f(x)}, {value}, 0, say);
      auto h = gradient(c, x);
      close(h, g, 0, say + ": the gradient");
      excluded_are_zero(c, h, say);
      if (std::isfinite(fill) && dtype != f32) continue;
      close({jit([&](const Arrays& v) { return c.f(v); })(x)}, {value}, 0, say + ", staged");
      close(jit([&](const Arrays& v) { return gradient(c, v); })(x), g, 1e-14, say + ": the staged gradient");
    }
  });
}
TEST(Masks, ForwardDerivativesStay) {
  each([](const Masked& c, Dtype dtype) {
    if (dtype != f64 || c.name.starts_with("linear_cross_entropy")) return;  // its blocks have none forward
    Arrays along;
    for (auto& x : c.x) along.push_back(rnd(x.shape(), 5).astype(dtype));
    auto forward = [&](const Arrays& x) { return jvp([&](const Arrays& v) { return c.f(v); }, x, along).second; };
    auto want = forward(filled(c, c.nan_only ? NAN : 0.5, dtype));
    for (auto fill : fillings(c, dtype)) {
      // What is excluded has a tangent too, of which nothing comes out.
      close({forward(filled(c, fill, dtype))}, {want}, 1e-14, "filled with " + std::to_string(fill));
    }
  });
}
TEST(Masks, SecondDerivativesStay) {
  each([](const Masked& c, Dtype dtype) {
    if (dtype != f64) return;
    auto want = second(c, filled(c, c.nan_only ? NAN : 0.5, dtype));
    for (auto fill : fillings(c, dtype)) {
      auto got = second(c, filled(c, fill, dtype));
      close(got, want, 1e-14, "filled with " + std::to_string(fill));
      excluded_are_zero(c, got, "second");
    }
  });
}
TEST(Masks, MappedIsTheSame) {
  each([](const Masked& c, Dtype dtype) {
    if (dtype != f32 || c.name.starts_with("linear_cross_entropy")) return;
    auto a = filled(c, c.nan_only ? NAN : 0.5, dtype), b = filled(c, NAN, dtype);
    Arrays both;
    for (std::size_t i = 0; i < a.size(); ++i) both.push_back(stack({a[i], b[i]}));
    auto y = vmap([&](const Arrays& v) { return c.f(v); })(both);
    close({index_in_dim(y, 0, 1)}, {index_in_dim(y, 0, 0)}, 0, "mapped");
    auto g = vmap([&](const Arrays& v) { return gradient(c, v); })(both);
    for (auto& x : g) close({index_in_dim(x, 0, 1)}, {index_in_dim(x, 0, 0)}, 0, "the mapped gradient");
  });
}
}  // namespace
}  // namespace bora::laws::mask_test
