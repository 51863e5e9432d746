// Cases of statistics.h and sets.h.
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_statistics_test {
namespace {
void add_sets(NamedCases& cases) {
  BORA_CASE(values, "unique", unique(a));
  BORA_CASE(values, "unique/integers", unique(a));
  BORA_CASE(values, "unique/empty", unique(a));
  BORA_CASE(steps, "unique/size", unique(a, {.size = 4}));
  BORA_CASE(steps, "unique/cut", unique(a, {.size = 2}));
  BORA_CASE(steps, "unique/fill", unique(a, {.size = 5, .fill = -7}));
  auto all_of = [](const Unique& u) { return Arrays{u.values, u.indices, u.inverse, u.counts}; };
  BORA_CASE(values, "unique_all", all_of(unique_all(a)));
  BORA_CASE(values, "unique_all/ties", all_of(unique_all(a)));
  using Two = Array (*)(const Array&, const Array&, const SizeOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Two>>{
           {"union1d", union1d}, {"intersect1d", intersect1d}, {"setdiff1d", setdiff1d}, {"setxor1d", setxor1d}}) {
    auto g = f;
    BORA_CASE(values, name, g(a, b, {}));
    BORA_CASE(values, name + "/empty", g(a, b, {}));
    BORA_CASE(values, name + "/nothing", g(a, b, {}));
    BORA_CASE(steps, name + "/size", g(a, b, {.size = 4, .fill = 9}));
  }
  BORA_CASE(steps, "isin", isin(a, b));
  BORA_CASE(steps, "isin/empty", isin(a, b));
  BORA_CASE(steps, "isin/integers", isin(a, b));
  BORA_CASE(values, "flatnonzero", flatnonzero(a));
  BORA_CASE(steps, "flatnonzero/size", flatnonzero(a, {.size = 5, .fill = 9}));
  BORA_CASE(values, "flatnonzero/empty", flatnonzero(a));
  BORA_CASE(values, "nonzero", nonzero(a));
  BORA_CASE(steps, "nonzero/size", nonzero(a, {.size = 2}));
  BORA_CASE(steps, "nonzero/fill", nonzero(a, {.size = 4, .fill = -1}));
  BORA_CASE(values, "argwhere", argwhere(a));
  BORA_CASE(steps, "argwhere/size", argwhere(a, {.size = 4}));
  auto odd = array({true, false, true});
  BORA_CASE(smooth, "compress", compress(odd, a, 1));
  BORA_CASE(smooth, "compress/flat", compress(odd, a));
  BORA_CASE(smooth, "compress/size", compress(odd, a, 0, {.size = 3, .fill = 9}));
  BORA_CASE(values, "extract", extract(a > 0, a));
  BORA_CASE(smooth, "extract/size", extract(a > 0, a, {.size = 9}));
  BORA_CASE(steps, "lexsort", lexsort({a, b}));
  BORA_CASE(steps, "lexsort/axis", lexsort({a, b}, 0));
  BORA_CASE(smooth, "partition", partition(a, 1, 0));
  BORA_CASE(steps, "argpartition", argpartition(a, -2));
}
Arrays parts(const Histogram& h) { return {h.counts, h.edges}; }
Arrays parts(const Unique& u) { return {u.values, u.indices, u.inverse, u.counts}; }
void add_covariances(NamedCases& cases) {
  for (auto name : {"two", "two_vectors"}) BORA_CASE(smooth, std::string("cov/") + name, cov(a, b));
  BORA_CASE(smooth, "cov/two_columns", cov(a, b, {.rowvar = false}));
  BORA_CASE(smooth, "cov/vector_columns", cov(a, {.rowvar = false}));
  for (auto name : {"one_row", "whole"}) BORA_CASE(smooth, std::string("cov/") + name, cov(a));
  BORA_CASE(steps, "cov/no_observations", cov(a));
  BORA_CASE(smooth, "cov/one_observation", cov(a, {.ddof = 0}));
  BORA_CASE(smooth, "cov/bias", cov(a, {.bias = true}));
  BORA_CASE(smooth, "cov/ddof", cov(a, {.bias = true, .ddof = 2}));
  BORA_CASE(smooth, "cov/fweights", cov(a, {.fweights = b}));
  BORA_CASE(smooth, "cov/aweights", cov(a, {.aweights = b}));
  BORA_CASE(smooth, "cov/aweights_bias", cov(a, {.bias = true, .aweights = b}));
  auto often = array({2, 1, 0, 3});
  BORA_CASE(smooth, "cov/weights", cov(a, b, {.fweights = often, .aweights = c}));
  BORA_CASE(smooth, "cov/weights_ddof", cov(a, {.ddof = 0, .fweights = c, .aweights = b}));
  BORA_CASE(steps, "corrcoef/two", corrcoef(a, b));  // clipped at 1, which the diagonal is
  BORA_CASE(steps, "corrcoef/two_columns", corrcoef(a, b, {.rowvar = false}));
  BORA_CASE(steps, "corrcoef/one_row", corrcoef(a));
}
void add_slices(NamedCases& cases) {
  BORA_CASE(values, "unique/rows", unique(a, {.axis = 0}));
  BORA_CASE(values, "unique/columns", unique(a, {.axis = -1}));
  BORA_CASE(steps, "unique/rows_size", unique(a, {.size = 4, .axis = 0}));
  BORA_CASE(steps, "unique/rows_cut", unique(a, {.size = 2, .axis = 0}));
  BORA_CASE(steps, "unique/rows_fill", unique(a, {.size = 5, .fill = -3, .axis = 0}));
  BORA_CASE(values, "unique/vector_axis", unique(a, {.axis = 0}));
  BORA_CASE(values, "unique/many_nan", unique(a, {.equal_nan = false}));
  for (auto name : {"rows", "cube", "flags", "holes", "of_nothing"})
    BORA_CASE(values, std::string("unique_all/") + name, parts(unique_all(a, {.axis = 0})));
  BORA_CASE(values, "unique_all/many_nan", parts(unique_all(a, {.axis = 0, .equal_nan = false})));
  BORA_CASE(steps, "unique_all/rows_size", parts(unique_all(a, {.size = 4, .fill = 7, .axis = 0})));
  BORA_CASE(steps, "unique_all/cube_inside", parts(unique_all(a, {.size = 3, .axis = 1})));
  BORA_CASE(steps, "unique_all/size", parts(unique_all(a, {.size = 8})));
}
void add_few(NamedCases& cases) {
  BORA_CASE(values, "compress/bool", compress(a, b));
  BORA_CASE(values, "extract/bool", extract(a, b));
  for (auto which : {"on_edges", "above_edges"})
    BORA_CASE(values, std::string("histogram/") + which, parts(histogram(a, 5)));
}
}  // namespace
void add_statistics(NamedCases& cases) {
  using Reduction = Array (*)(const Array&, const Dimensions&, const ReduceOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Reduction>>{{"nansum", nansum},
                                                                                 {"nanprod", nanprod},
                                                                                 {"nanmean", nanmean},
                                                                                 {"nanvar", nanvar},
                                                                                 {"nanstd", nanstd},
                                                                                 {"nanmax", nanmax},
                                                                                 {"nanmin", nanmin}}) {
    auto g = f;
    BORA_CASE(smooth, name, g(a, none, {}));
    BORA_CASE(steps, name + "/holes", g(a, 0, {}));
    BORA_CASE(steps, name + "/keep", g(a, -1, {.keepdims = true}));
    BORA_CASE(steps, name + "/integers", g(a, none, {}));
    if (name != "nanmax" && name != "nanmin") BORA_CASE(steps, name + "/empty", g(a, none, {}));
  }
  using Along = Array (*)(const Array&, std::int64_t);
  for (auto [name, f] :
       std::initializer_list<std::pair<std::string, Along>>{{"nanargmax", nanargmax}, {"nanargmin", nanargmin}}) {
    auto g = f;
    BORA_CASE(steps, name, g(a, 0));
    BORA_CASE(steps, name + "/ties", g(a, -1));
  }
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Along>>{
           {"cumprod", cumprod}, {"nancumsum", nancumsum}, {"nancumprod", nancumprod}}) {
    auto g = f;
    BORA_CASE(smooth, name, g(a, 1));
    BORA_CASE(steps, name + "/holes", g(a, 0));
    BORA_CASE(smooth, name + "/zero", g(a, 0));
    for (auto rest : {"/integers", "/empty", "/one"}) BORA_CASE(steps, name + rest, g(a, 0));
  }
  BORA_CASE(steps, "count_nonzero", count_nonzero(a));
  BORA_CASE(steps, "count_nonzero/axis", count_nonzero(a, 1));
  BORA_CASE(smooth, "ptp", ptp(a));
  BORA_CASE(smooth, "ptp/axis", ptp(a, -1));
  BORA_CASE(smooth, "quantile", quantile(a, 0.3));
  BORA_CASE(smooth, "quantile/axis", quantile(a, 0.3, 1));
  BORA_CASE(steps, "quantile/list", quantile(a, b, 0, {.keepdims = true}));
  BORA_CASE(steps, "quantile/lower", quantile(a, b, 1, {.method = Between::lower}));
  BORA_CASE(steps, "quantile/higher", quantile(a, b, 1, {.method = Between::higher}));
  BORA_CASE(steps, "quantile/nearest", quantile(a, b, 1, {.method = Between::nearest}));
  BORA_CASE(steps, "quantile/midpoint", quantile(a, b, 1, {.method = Between::midpoint}));
  BORA_CASE(steps, "quantile/nan", quantile(a, 0.3, 0));
  BORA_CASE(smooth, "quantile/one", quantile(a, 0.3));
  BORA_CASE(smooth, "quantile/integers", quantile(a, 0.3));
  BORA_CASE(steps, "nanquantile", nanquantile(a, 0.3, 0));
  BORA_CASE(steps, "nanquantile/list", nanquantile(a, b, 1));
  BORA_CASE(smooth, "percentile", percentile(a, 30, 1));
  BORA_CASE(steps, "nanpercentile", nanpercentile(a, 30, 0));
  BORA_CASE(smooth, "median", median(a));
  BORA_CASE(smooth, "median/odd", median(a, 0));
  BORA_CASE(smooth, "median/keep", median(a, {0, 1}, {.keepdims = true}));
  BORA_CASE(steps, "nanmedian", nanmedian(a, 0));
  BORA_CASE(smooth, "average", average(a, b));
  BORA_CASE(smooth, "average/axis", average(a, b, 1));
  BORA_CASE(smooth, "cov", cov(a));
  BORA_CASE(smooth, "cov/columns", cov(a, {.rowvar = false, .ddof = 0}));
  BORA_CASE(smooth, "cov/vector", cov(a));
  BORA_CASE(steps, "corrcoef", corrcoef(a));  // clipped at 1, which the diagonal is
  BORA_CASE(steps, "corrcoef/vector", corrcoef(a));
  BORA_CASE(smooth, "histogram_bin_edges", histogram_bin_edges(a, 5));
  BORA_CASE(steps, "histogram_bin_edges/range", histogram_bin_edges(a, 4, {.range = std::pair{-1., 3.}}));
  BORA_CASE(steps, "histogram_bin_edges/one", histogram_bin_edges(a, 3));
  BORA_CASE(steps, "histogram_bin_edges/empty", histogram_bin_edges(a, 3));
  auto two = [](const Histogram& h) { return Arrays{h.counts, h.edges}; };
  BORA_CASE(steps, "histogram", two(histogram(a, 5)));
  BORA_CASE(steps, "histogram/ends", two(histogram(a, 4, {.range = std::pair{0., 4.}})));
  BORA_CASE(steps, "histogram/edges", two(histogram(a, b)));
  BORA_CASE(steps, "histogram/weights", two(histogram(a, 3, {.weights = b})));
  BORA_CASE(steps, "histogram/density", two(histogram(a, 3, {.density = true})));
  BORA_CASE(steps, "bincount", bincount(a, {.length = 6}));
  BORA_CASE(smooth, "bincount/weights", bincount(a, {.weights = b, .length = 12}));
  BORA_CASE(steps, "bincount/empty", bincount(a, {.length = 2}));
  for (auto side : {Side::left, Side::right}) {
    std::string name = side == Side::left ? "left" : "right";
    for (auto kind : {"", "empty_", "one_"})
      BORA_CASE(steps, "searchsorted/" + (kind + name), searchsorted(a, b, side));
  }
  for (bool right : {false, true})
    for (auto kind : {"", "down"})
      BORA_CASE(steps, std::string("digitize/") + kind + (right ? "1" : "0"), digitize(a, b, right));
  add_sets(cases);
  add_covariances(cases);
  add_slices(cases);
  add_few(cases);
}
namespace {
using bora::test::says;
TEST(Statistics, MistakesOfOptionsAreNamed) {
  auto x = ones({2, 3}), v = ones({3});
  says<ShapeError>([&] { return cross(ones({4}), v); },
                   "cross: needs vectors of two or three numbers, got 4 along axis 0 of [4] and 3 along axis 0 of [3]");
  says<ShapeError>([&] { return diff(x, 1, -1, {.prepend = v}); },
                   "diff: .prepend f32[3] does not fit x f32[2, 3] along axis 1");
  says<ShapeError>([&] { return diff(x, 1, 0, {.append = ones({2, 2})}); }, "diff: .append f32[2, 2] does not fit");
  says<ShapeError>([&] { return cov(ones({2, 2, 2})); }, "cov: x must be variables [V, n] or a vector, got f32[2, 2");
  says<ShapeError>([&] { return corrcoef(x, ones({4})); },
                   "corrcoef: x f32[2, 3] has 3 observations and y f32[4] has 4");
  says<DtypeError>([&] { return cov(x, {.fweights = v}); }, "cov: .fweights say how often each observation occurs");
  says<ShapeError>([&] { return cov(x, {.fweights = array({1, 2})}); },
                   "cov: .fweights i32[2] is not one number for each of the 3 observations");
  says<ShapeError>([&] { return cov(x, {.aweights = ones({2, 3})}); }, "cov: .aweights f32[2, 3] is not one number");
  says<IndexError>([&] { return unique(x, {.axis = 2}); }, "unique: axis 2");
  says<ValueError>([&] { return unique(x, {.size = -1, .axis = 0}); }, "unique: size = -1 must not be negative");
  says<TraceError>([&] { return jit([](const Array& a) { return unique(a, {.axis = 0}); })(x); }, "give {.size = n}");
  says<TraceError>([&] { return jit([&](const Array& n) { return repeat(x, n, 1); })(array({1, 2, 3})); },
                   "repeat: the size of the result depends on values, which are not known inside transforms; "
                   "give {.total = n}");
  says<TraceError>([&] { return vmap([&](const Array& n) { return repeat(x, n, 1); })(ones({2, 3}, i32)); },
                   "give {.total = n}");
  lax::Combine plus = [](const Array& a, const Array& b) { return a + b; };
  says<ValueError>([&] { return lax::reduce_window(x, 0., plus, {1, 2}, {.window_strides = {0, 1}}); },
                   "reduce_window: window_strides = 0 must be positive");
  says<ShapeError>([&] { return meshgrid({x}, {.sparse = true}); }, "meshgrid: needs vectors, got f32[2, 3]");
}
TEST(Statistics, SlicesWithoutElements) {
  EXPECT_EQ(unique(zeros({0, 3}), {.axis = 0}).shape(), (Shape{0, 3}));
  auto none_at_all = unique_all(zeros({2, 0}), {.axis = 1});
  EXPECT_EQ(none_at_all.values.shape(), (Shape{2, 0}));
  EXPECT_EQ(none_at_all.inverse.shape(), Shape{0});
  auto filled = unique(zeros({0, 2}, f64), {.size = 3, .fill = 7., .axis = 0});
  EXPECT_EQ(worst(filled, full({3, 2}, 7., f64)), 0) << filled;
}
}  // namespace
}  // namespace bora::laws::names_statistics_test
