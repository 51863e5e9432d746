// Laws over the registry of named functions (src/named/api/registry.h): a function is tested the day it has a row.
#include <set>
#include "laws/laws.h"
#include "named/api/registry.h"

namespace bora::laws::laws_test {
namespace {
const Axis A{"a", 4}, B{"b", 3};
NamedArray sample(const NamedFunction& f, const std::vector<Axis>& axes, int seed) {
  return named(values(shape_of(axes), f.lo, f.hi, seed).astype(f.dtype), axes);
}
NamedArrays samples(const NamedFunction& f) {
  NamedArrays r{sample(f, {A, B}, 1)};
  if (f.kind == NamedKind::binary) r.push_back(sample(f, {A, B}, 2));
  return r;
}
Arrays arrays(const NamedArrays& xs) {
  Arrays r;
  for (auto& x : xs) r.push_back(x.array());
  return r;
}
std::vector<Axis> result_axes(const NamedFunction& f) {
  return f.kind == NamedKind::over ? std::vector<Axis>{A} : f.kind == NamedKind::whole ? std::vector<Axis>{}
                                                                                         : std::vector<Axis>{A, B};
}
NamedArray in_order(const NamedArray& y, const NamedFunction& f) { return aligned(y, result_axes(f)); }
template <class F> void for_each(F&& body) {
  for (auto& f : named_functions()) {
    SCOPED_TRACE(f.name);
    try {
      body(f);
    } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
  }
}
TEST(NamedFunctions, NamesDiffer) {
  std::set<std::string> names;
  for (auto& f : named_functions()) EXPECT_TRUE(names.insert(f.name).second) << f.name;
  EXPECT_GT(names.size(), 150u);
}
TEST(NamedFunctions, ByNameIsByPosition) {
  for_each([](const NamedFunction& f) {
    auto x = samples(f);
    auto y = f.named(x);
    EXPECT_EQ(y.axes(), result_axes(f));
    close({y.array()}, {f.positional(arrays(x))}, 0, f.name);
  });
}
TEST(NamedFunctions, TheOrderOfAxesDoesNotMatter) {
  for_each([](const NamedFunction& f) {
    auto x = samples(f);
    auto want = f.named(x);
    for (auto& one : x) {
      auto turned = x;
      turned[static_cast<std::size_t>(&one - x.data())] = rearrange(one, {"b", "a"});
      // Reductions along a dimension in another place sum in another order.
      bool elementwise = f.kind == NamedKind::unary || f.kind == NamedKind::binary;
      close({in_order(f.named(turned), f).array()}, {want.array()}, elementwise ? 0 : 1e-6, f.name);
    }
    if (f.kind != NamedKind::binary) return;
    for (bool left : {false, true}) {  // one operand lacks an axis
      auto narrow = x;
      narrow[left ? 0 : 1] = x[left ? 0 : 1][{"a", 1}];
      auto wide = narrow;
      wide[left ? 0 : 1] = broadcast_to(narrow[left ? 0 : 1], {A, B});
      close({f.named(narrow).array()}, {f.named(wide).array()}, 0, f.name);
    }
  });
}
TEST(NamedFunctions, StagedIsAsRunDirectly) {
  for_each([](const NamedFunction& f) {
    auto x = samples(f);
    auto staged = jit([&](const NamedArrays& v) { return f.named(v); })(x);
    auto y = f.named(x);
    EXPECT_EQ(staged.axes(), y.axes());
    close({staged.array()}, {y.array()}, 0, f.name);
  });
}
TEST(NamedFunctions, MappedOverAnAxisIsTheWhole) {
  for_each([](const NamedFunction& f) {
    if (f.kind == NamedKind::whole) return;
    auto x = samples(f);
    auto y = vmap([&](const NamedArrays& v) { return f.named(v); }, A)(x);
    close({y.array()}, {f.named(x).array()}, 0, f.name);
  });
}
TEST(NamedFunctions, GradientsByNameAreThoseByPosition) {
  for_each([](const NamedFunction& f) {
    auto x = samples(f);
    if (f.dtype != f32 || !is_float(f.named(x).dtype())) return;
    auto got = grad([&](const NamedArrays& v) { return sum(f.named(v)).array(); })(x);
    auto want = grad([&](const Arrays& v) { return sum(f.positional(v)); })(arrays(x));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i].axes(), x[i].axes());
    close(arrays(got), want, 1e-6, f.name);
  });
}
TEST(NamedFunctions, SplitIsWhole) {
  for (auto& rule : {AxisMapping{{"a", "data"}}, AxisMapping{{"b", "data"}}})
    local_mesh({{"data", 2}}, [&](const Mesh&) {
      for_each([&](const NamedFunction& f) {
        auto x = samples(f);
        auto want = f.named(x);
        for (auto& one : x) one = auto_sharded(one, rule);
        close({gather(f.named(x).array())}, {want.array()}, 1e-6, f.name);
      });
    });
}
TEST(NamedFunctions, OnlyElementsOfTheMaskCount) {
  auto x = named(values({4, 3}, 0.5, 2, 1), {A, B});
  auto mask =
      named(array({{true, false, true}, {false, true, true}, {true, true, true}, {false, false, true}}), {A, B});
  auto of_columns = named(array({true, false, true}), B);
  auto rows = x.array().to_vector<double>();
  auto keep = mask.array().to_vector<int>();
  // For each row the reduction of the elements that are kept.
  auto check_rows = [&](auto f, auto masked, const char* what) {
    auto y = masked.template to_vector<double>();
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<double> kept;
      for (std::size_t j = 0; j < 3; ++j)
        if (keep[3 * i + j]) kept.push_back(rows[3 * i + j]);
      EXPECT_NEAR(y[i], f(asarray(kept)).template item<double>(), 1e-12) << what << ", row " << i;
    }
  };
#define ROW(f) check_rows([](const Array& v) { return f(v, 0); }, f(x, B, {.where = mask}), #f)
  ROW(sum), ROW(mean), ROW(prod), ROW(amax), ROW(amin), ROW(var), ROW(stddev), ROW(ptp), ROW(nansum), ROW(nanmean),
      ROW(nanvar), ROW(nanstd), ROW(nanmax), ROW(nanmin), ROW(nanprod), ROW(logsumexp);
#undef ROW
  EXPECT_EQ(count_nonzero(x, B, {.where = mask}).to_vector<int>(), (std::vector<int>{2, 2, 3, 1}));
  EXPECT_EQ(all(x > 1, B, {.where = of_columns}).to_vector<int>(), all((x > 1) || !of_columns, B).to_vector<int>());
  EXPECT_EQ(any(x > 1, B, {.where = of_columns}).to_vector<int>(), any((x > 1) && of_columns, B).to_vector<int>());
  auto nothing = named(zeros({3}, boolean), B);
  EXPECT_EQ(sum(x, none, {.where = nothing}).item<double>(), 0);
  EXPECT_EQ(amax(x, none, {.where = nothing}).item<double>(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(mean(x, none, {.where = nothing}).item<double>()));
  EXPECT_EQ(amax(arange(B), none, {.where = nothing}).item<std::int32_t>(), INT32_MIN);
  EXPECT_NEAR(var(x, B, {.ddof = 1}).to_vector<double>()[0], var(x, B).to_vector<double>()[0] * 3 / 2, 1e-12);
  EXPECT_THROW((void)sum(x, B, {.where = named(zeros({2}, boolean), Axis{"b", 2})}), AxisError);
  EXPECT_THROW((void)sum(x, B, {.where = x}), DtypeError);
  auto holes = where(mask, x, std::nan(""));
  close({nanmean(holes, B).array()}, {mean(x, B, {.where = mask}).array()}, 1e-12, "NaN are skipped");
}
}  // namespace
}  // namespace bora::laws::laws_test
