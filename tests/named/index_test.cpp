// Indices of named arrays: against arrays indexed by position, one element at a time.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/named/shape.h"
#include "support/throws.h"

namespace bora::index_test {
namespace {
using bora::test::says_line;
using List = std::vector<Axis>;
const Axis B{"batch", 2}, S{"seq", 3}, V{"vocab", 5}, T{"step", 4};
template <class A, class B> void same(const A& a, const B& b, const char* why = "") { EXPECT_EQ(a, b) << why; }
NamedArray counted(const List& axes) { return arange(axes, 0, 1, f32); }
NamedArray ids(const List& axes, int n, int step = 3) { return remainder(arange(axes, 1, step), n); }
/// The number at these positions of each axis.
float number(const NamedArray& x, const std::map<std::string, std::int64_t>& at) {
  DimSlices s;
  for (auto& a : x.axes()) s.emplace_back(at.at(a.name));
  return view_of(x.array(), s).item<float>();
}
/// f(positions) for each element of y.
template <class F> void each(const NamedArray& y, F f) {
  std::map<std::string, std::int64_t> at;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    auto rest = i;
    for (auto a = y.axes().rbegin(); a != y.axes().rend(); ++a) at[a->name] = rest % a->size, rest /= a->size;
    f(at, number(y, at));
  }
}
TEST(NamedIndex, SharedAxesGoTogether) {
  auto x = counted({B, S, V});
  auto i = ids({B, S}, 5);
  auto y = x[{"vocab", i}];
  same(y.axes(), (List{B, S}));
  each(y, [&](auto at, float v) {
    at["vocab"] = static_cast<std::int64_t>(number(i.astype(f32), at));
    same(v, number(x, at));
  });
  auto j = ids({B, T}, 5);
  auto z = x[{V, j}];
  same(z.ndim(), 3);
  each(z, [&](auto at, float v) {
    at["vocab"] = static_cast<std::int64_t>(number(j.astype(f32), at));
    same(v, number(x, at));
  });
  auto turned = rearrange(x, {"vocab", "seq", "batch"})[{"vocab", i}];
  EXPECT_TRUE(array_equal(turned, y));
}
TEST(NamedIndex, SeveralIndicesGoTogether) {
  const Axis X{"x", 4}, Z{"z", 3};
  auto a = counted({B, X, Z, V});
  auto i = ids({B}, 4), j = ids({B}, 5);
  auto y = a[{{"x", i}, {"vocab", j}}];
  same(y.axes(), (List{B, Z}));
  each(y, [&](auto at, float v) {
    at["x"] = static_cast<std::int64_t>(number(i.astype(f32), at));
    at["vocab"] = static_cast<std::int64_t>(number(j.astype(f32), at));
    same(v, number(a, at));
  });
  // Axes of one index only go in front; neighbours stay in place, others come first.
  auto tokens = ids({Axis{"tok", 6}}, 3), heads = ids({Axis{"head", 4}}, 5);
  same((a[{{"z", tokens}, {"vocab", heads}}].axes()), (List{B, X, {"head", 4}, {"tok", 6}}));
  same((a[{{"x", tokens}, {"vocab", heads}}].axes()), (List{{"head", 4}, {"tok", 6}, B, Z}));
  same((a[{{"batch", 1}, {"z", tokens}}].axes()), (List{{"tok", 6}, X, V}), "integers count as indexed");
  same((a[{{"x", range(0, 4, 2)}, {"z", tokens}}].axes()), (List{B, {"x", 2}, {"tok", 6}, V}));
  same((a[{{"batch", array(1)}, {"x", named(array(2), List{})}}].axes()), (List{Z, V}));
}
TEST(NamedIndex, PositionsOutside) {
  auto x = counted({V});
  auto out = named(array({-1, 0, 7, -9}), T);
  same(x[{"vocab", out}].to_vector<float>(), (std::vector<float>{4, 0, 4, 0}), "the nearest");
  EXPECT_TRUE(std::isnan(take(x, V, out).to_vector<float>()[2]));
  same(at(x, {V, out}).get({.mode = OutOfBounds::fill, .fill_value = 9}).to_vector<float>(),
            (std::vector<float>{4, 0, 9, 9}));
  same(at(x, {V, out}).set(-1).to_vector<float>(), (std::vector<float>{-1, 1, 2, 3, -1}), "dropped");
  same(at(x, {V, named(array({7}), T.resize(1))}).set(-1, {.mode = OutOfBounds::clip}).to_vector<float>(),
            (std::vector<float>{0, 1, 2, 3, -1}));
  same(x[{"vocab", ds(3, 4)}].to_vector<float>(), (std::vector<float>{3, 4, 0, 0}));
  same(x[{"vocab", ds(-2, 4)}].to_vector<float>(), (std::vector<float>{3, 4, 0, 1}));
  same(x[{"vocab", dslice(array(1), T)}].to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  same(x[{"vocab", dblock(1, 2)}].to_vector<float>(), (std::vector<float>{2, 3}));
  same(x[{"vocab", dblock(array(2), 2)}].to_vector<float>(), (std::vector<float>{4, 0}));
  same(at(x, {V, ds(array(4), 3)}).set(named(array({7., 8., 9.}), Axis{"vocab", 3})).to_vector<float>(),
            (std::vector<float>{0, 1, 2, 3, 7}));
  same(jit([](const NamedArray& v, const Array& i) { return v[{"vocab", ds(i, 2)}]; })(x, array(3)).axes(),
            (List{{"vocab", 2}}));
  same((counted({B, S, V})[{{"batch", 1}, {"vocab", ds(array(1), 2)}}].axes()), (List{S, {"vocab", 2}}));
}
TEST(NamedIndex, UpdatesAreOneElementAfterTheOther) {
  auto x = counted({B, S, V}) + 1;
  auto i = ids({B, S}, 5);
  auto y = named(reshape(arange(6, f32), {3, 2}) + 2, {S, B});
  struct Case {
    const char* what;
    NamedArray got;
    float (*want)(float, float);
  };
  auto to = at(x, {{V, i}});
  for (auto& c : {Case{"set", to.set(y), [](float, float b) { return b; }},
                  Case{"add", to.add(y), [](float a, float b) { return a + b; }},
                  Case{"multiply", to.multiply(y), [](float a, float b) { return a * b; }},
                  Case{"divide", to.divide(y), [](float a, float b) { return a / b; }},
                  Case{"power", to.power(y), [](float a, float b) { return std::pow(a, b); }},
                  Case{"min", to.min(y), [](float a, float b) { return std::min(a, b); }},
                  Case{"max", to.max(y), [](float a, float b) { return std::max(a, b); }},
                  Case{"apply", to.apply([](const NamedArray& v) { return v * 3; }),
                       [](float a, float) { return 3 * a; }}})
    each(c.got, [&](auto at, float v) {
      bool hit = static_cast<std::int64_t>(number(i.astype(f32), at)) == at["vocab"];
      auto old = number(x, at);
      auto want = hit ? c.want(old, number(y, at)) : old;
      EXPECT_NEAR(v, want, 1e-5 * std::abs(want)) << c.what;
    });
  EXPECT_TRUE(array_equal(at(x, {{"batch", 0}, {V, ids({S}, 5)}}).add(1)[{"batch", 1}], x[{"batch", 1}]));
  auto repeated = at(zeros(V), {V, named(array({1, 1, 3}), S)}).add(named(array({1., 2., 4.}), S));
  same(repeated.to_vector<float>(), (std::vector<float>{0, 3, 0, 4, 0}));
  same(at(zeros({B, V}), {{B, array({1, 0})}, {V, array({2, 3})}}).set(1).array().to_vector<float>(),
            (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 1, 1, 0}), "plain Arrays index their axes each by itself");
}
TEST(NamedIndex, DerivativesAndMeshes) {
  auto x = counted({B, S, V}) / 7;
  auto i = ids({B, T}, 5);
  auto y = named(reshape(arange(8, f32), {4, 2}), {T, B});
  auto read = [&](const NamedArray& v) { return sum(v[{"vocab", i}] * y).array(); };
  auto write = [&](const NamedArray& v) { return sum(square(at(v, {V, i}).add(y))).array(); };
  auto ones_there = at(zeros({B, S, V}), {V, i}).add(y);
  EXPECT_TRUE((allclose(grad(read)(x), ones_there), "reading is the transpose of adding"));
  EXPECT_TRUE(allclose(grad(write)(x), 2 * at(x, {V, i}).add(y)));
  auto want_read = x[{"vocab", i}], want_written = at(x, {V, i}).add(y), g = grad(read)(x);
  for (auto& rule : {AxisMapping{{"batch", "data"}}, AxisMapping{{"vocab", "data"}}, AxisMapping{{"seq", "data"}}})
    local_mesh({{"data", 2}}, [&](const Mesh&) {
      auto part = auto_sharded(x, rule);
      same(gather(part[{"vocab", i}].array()).to_vector<float>(), want_read.to_vector<float>());
      same(gather(at(part, {V, i}).add(y).array()).to_vector<float>(), want_written.to_vector<float>());
      same(gather(jit(grad(read))(part).array()).to_vector<float>(), g.to_vector<float>());
    });
  auto mapped = vmap([&](const NamedArray& v, const NamedArray& k) { return v[{"vocab", k}]; }, B)(x, i);
  EXPECT_TRUE(array_equal(mapped, want_read));
}
TEST(NamedIndex, WindowsAndRaggedUpdates) {
  auto x = counted({B, V});
  auto part = slice(x, {{"vocab", array(3), Axis{"part", 3}}});
  same(part.axes(), (List{B, {"part", 3}}));
  same(part.to_vector<float>(), (std::vector<float>{2, 3, 4, 7, 8, 9}), "moved inside");
  same(slice(x, {{"batch", 1, 1}, {"vocab", 0, 2}}).to_vector<float>(), (std::vector<float>{5, 6}));
  auto two = named(array({{-1., -2.}, {-3., -4.}}), {Axis{"vocab", 2}, B});
  same(updated_slice(x, {{"vocab", 1}}, two).to_vector<float>(),
            (std::vector<float>{0, -1, -3, 3, 4, 5, -2, -4, 8, 9}));
  auto ragged = updated_slice(x, {{"vocab", named(array({0, 9}), B)}}, two);
  same(ragged.to_vector<float>(), (std::vector<float>{-1, -3, 2, 3, 4, 5, 6, 7, -2, -4}));
  // A cache that grows by one position in each row.
  const Axis P{"position", 4};
  auto cache = zeros({B, P, Axis{"head", 2}});
  auto seen = named(array({0, 2}), B);
  auto keys = named(array({{1., 2.}, {3., 4.}}), {B, Axis{"head", 2}});
  auto grown = updated_slice(cache, {{P, seen}}, keys);
  EXPECT_TRUE(array_equal(grown[{P, seen}], keys));
  same(sum(grown).item<float>(), 10);
  auto in_jit = jit([&](const NamedArray& c, const NamedArray& n) { return updated_slice(c, {{P, n}}, keys); });
  EXPECT_TRUE(array_equal(in_jit(cache, seen), grown));
  says_line<IndexError>([&] { return updated_slice(x, {{"vocab", 4}}, two); }, "2 positions from 4 on do not fit");
  says_line<AxisError>([&] { return updated_slice(x, {{"vocab", 0}}, zeros({S})); }, "the update has axis 'seq'");
  says_line<AxisError>([&] { return updated_slice(x, {{"vocab", zeros({S}, i32)}}, two); }, "need these axes");
  says_line<AxisError>([&] { return updated_slice(x, {{"batch", 0}}, two); }, "axis 'vocab' has size 2 in the update");
  says_line<IndexError>([&] { return slice(x, {{"vocab", 4, 2}}); }, "is outside of axis 'vocab'");
  says_line<IndexError>([&] { return slice(x, {{"vocab", array(0), 6}}); }, "a window of 6");
}
TEST(NamedIndex, BadIndicesAreNamed) {
  auto x = counted({B, S, V});
  says_line<AxisError>([&] { return x[{"vocav", 1}]; },
                       "no axis 'vocav' among {batch:2, seq:3, vocab:5}; did you mean 'vocab'?");
  says_line<AxisError>([&] { return x[{{"seq", 1}, {S, range(0, 1)}}]; }, "axis 'seq' is indexed twice");
  says_line<AxisError>([&] { return x[{S.resize(9), 1}]; }, "axis 'seq' has size 3");
  says_line<IndexError>([&] { return x[{"seq", 3}]; }, "index 3 is outside of axis 'seq', which has 3 elements");
  says_line<AxisError>([&] { return x[{"vocab", ids({B.resize(4)}, 5)}]; },
                       "axis 'batch' has size 2 in the array and 4");
  says_line<AxisError>([&] { return x[{"vocab", zeros({2, 2}, i32)}]; }, "indexed by an Array of 2 dimensions");
  says_line<DtypeError>([&] { return x[{"vocab", counted({T})}]; }, "is indexed by integers, not f32");
  says_line<IndexError>([&] { return x[{"vocab", counted({T}) > 1}]; }, "boolean mask");
  says_line<AxisError>([&] { return at(x, {"vocab", ids({T}, 5)}).set(zeros(Axis{"other", 2})); },
                       "at().set: the update has axis 'other'");
  says_line<DtypeError>([&] { return at(x.astype(i32), {"vocab", 0}).set(0.5); },
                        "the fraction 0.5 does not fit into i32");
  says_line<DtypeError>([&] { return at(x.astype(i32), {"vocab", 0}).divide(2); }, "use astype(f32)");
}
}  // namespace
}  // namespace bora::index_test
