// Masked functions of ops and of named axes.
#include "bora/ops/contractions.h"
#include "bora/ops/polynomials.h"
#include "bora/random/kde.h"
#include "laws/mask_table.h"

namespace bora::laws::mask_ops_test {
namespace {
const Axis A{"a", 3}, B{"b", 4};
NamedArray by_name(const Array& x) { return named(x, {A, B}); }
void add_reductions(MaskedCases& cases) {
  auto x = rnd({3, 4}, 1) + 2.5;
  auto m = holes({3, 4}, {0, 5, 6, 11});
  auto one = [&](const std::string& name, std::function<Array(const Array&)> f) {
    cases.push_back({name, {x}, {m}, [f](const Arrays& in) { return f(in[0]); }});
  };
  for (const Dimensions& axes : {Dimensions(none), Dimensions(1)}) {
    auto at = std::string(axes.resolve("", 2).size() == 1 ? " along rows" : "");
    one("masked::sum" + at, [=](const Array& v) { return masked::sum(v, m, axes); });
    one("masked::prod" + at, [=](const Array& v) { return masked::prod(v, m, axes); });
    one("masked::amax" + at, [=](const Array& v) { return masked::amax(v, m, axes, {.initial = 0.}); });
    one("masked::amin" + at, [=](const Array& v) { return masked::amin(v, m, axes, {.initial = 9.}); });
    one("masked::mean" + at, [=](const Array& v) { return masked::mean(v, m, axes); });
    one("masked::var" + at, [=](const Array& v) { return masked::var(v, m, axes); });
    one("masked::var, ddof" + at, [=](const Array& v) { return masked::var(v, m, axes, {.ddof = 1}); });
    one("masked::stddev" + at, [=](const Array& v) { return masked::stddev(v, m, axes); });
  }
  // Excluded elements tie with none.
  auto flat = array({2., 2., 1., 0.5}, f64);
  auto some = holes({4}, {1, 3});
  cases.push_back({"masked::amax, a tie with initial", {flat}, {some}, [=](const Arrays& in) {
                     return masked::amax(in[0], some, none, {.initial = 2.});
                   }});
  using Reduce = NamedArray (*)(const NamedArray&, const ReduceAxes&, const NamedReduceOptions&);
  using Spread = NamedArray (*)(const NamedArray&, const ReduceAxes&, const NamedVarOptions&);
  auto where = by_name(m);
  for (const ReduceAxes& axes : {ReduceAxes(none), ReduceAxes("b")}) {
    auto at = std::string(axes.names() ? " over b" : "");
    for (auto [name, f] : std::initializer_list<std::pair<std::string, Reduce>>{{"sum", sum},
                                                                                {"mean", mean},
                                                                                {"prod", prod},
                                                                                {"amax", amax},
                                                                                {"amin", amin},
                                                                                {"nansum", nansum},
                                                                                {"nanprod", nanprod},
                                                                                {"nanmean", nanmean},
                                                                                {"nanmax", nanmax},
                                                                                {"nanmin", nanmin},
                                                                                {"ptp", ptp},
                                                                                {"logsumexp", logsumexp}}) {
      auto g = f;
      one("named " + name + at, [=](const Array& v) { return g(by_name(v), axes, {.where = where}).array(); });
    }
    for (auto [name, f] : std::initializer_list<std::pair<std::string, Spread>>{
             {"var", var}, {"stddev", stddev}, {"nanvar", nanvar}, {"nanstd", nanstd}}) {
      auto g = f;
      one("named " + name + at, [=](const Array& v) { return g(by_name(v), axes, {.where = where}).array(); });
    }
  }
}
void add_nan(MaskedCases& cases) {
  auto x = rnd({3, 4}, 2) + 2.5;
  auto m = holes({3, 4}, {1, 6, 7});
  using Reduce = Array (*)(const Array&, const Dimensions&, const ReduceOptions&);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Reduce>>{{"nansum", nansum},
                                                                              {"nanprod", nanprod},
                                                                              {"nanmean", nanmean},
                                                                              {"nanvar", nanvar},
                                                                              {"nanstd", nanstd},
                                                                              {"nanmax", nanmax},
                                                                              {"nanmin", nanmin}}) {
    auto g = f;
    for (const Dimensions& axes : {Dimensions(none), Dimensions(1)})
      cases.push_back({name, {x}, {m}, [=](const Arrays& in) { return g(in[0], axes, {}); }, true});
  }
  cases.push_back({"nanmedian", {x}, {m}, [](const Arrays& in) { return nanmedian(in[0], 1); }, true});
  cases.push_back({"nanquantile", {x}, {m}, [](const Arrays& in) { return nanquantile(in[0], 0.3, none); }, true});
  cases.push_back({"nancumsum", {x}, {m}, [](const Arrays& in) { return nancumsum(in[0], 1); }, true});
  cases.push_back({"nancumprod", {x}, {m}, [](const Arrays& in) { return nancumprod(in[0], 1); }, true});
}
void add_weights(MaskedCases& cases) {
  auto x = rnd({3, 5}, 3), y = rnd({5}, 4), t = rnd({5}, 5);
  auto w = array({0.5, 0., 1.5, 1., 0.}, f64);
  auto row = w != 0, m = broadcast_to(row, {3, 5});
  auto counts = array({1, 0, 2, 1, 0});
  auto one = [&](const std::string& name, std::function<Array(const Array&)> f) {
    cases.push_back({name, {x}, {m}, [f](const Arrays& in) { return f(in[0]); }});
  };
  one("average", [=](const Array& v) { return average(v, broadcast_to(w, {3, 5})); });
  one("average along rows", [=](const Array& v) { return average(v, w, 1); });
  one("cov, aweights", [=](const Array& v) { return cov(v, {.aweights = w}); });
  one("cov, fweights", [=](const Array& v) { return cov(v, {.fweights = counts}); });
  one("corrcoef, aweights", [=](const Array& v) { return corrcoef(v, {.aweights = w}); });
  one("logsumexp, b = 0", [=](const Array& v) { return special::logsumexp(v, 1, {.b = w}); });
  one("signed_logsumexp, b = 0", [=](const Array& v) { return special::signed_logsumexp(v, none, {.b = w}).log; });
  cases.push_back({"polyfit", {t, y}, {row, row}, [=](const Arrays& in) {
                     return polyfit(in[0], in[1], 1, {.weights = w});
                   }, false, true});
  auto at = array({0.1, 0.4}, f64);
  cases.push_back({"gaussian_kde", {y}, {row}, [=](const Arrays& in) {
                     return stats::gaussian_kde(in[0], {.weights = w}).pdf(at);
                   }});
  cases.push_back({"gaussian_kde, log", {y}, {row}, [=](const Arrays& in) {
                     return stats::gaussian_kde(in[0], {.weights = w}).logpdf(at);
                   }});
  auto edges = array({-1., 0., 1.}, f64);
  cases.push_back({"histogram's weights outside", {y}, {holes({5}, {3})}, [=](const Arrays& in) {
                     return histogram(array({-0.5, 0.5, 0.2, 7., 0.1}, f64), edges, {.weights = in[0]}).counts;
                   }});
  cases.push_back({"bincount's weights outside", {y}, {holes({5}, {0})}, [=](const Arrays& in) {
                     return bincount(array({9, 1, 0, 1, 2}), {.weights = in[0], .length = 3});
                   }});
}
void add_segments(MaskedCases& cases) {
  auto x = rnd({5, 2}, 6) + 2.5;
  auto ids = array({0, 7, 1, -1, 0});
  auto m = holes({5, 2}, {2, 3, 6, 7});
  using Segment = Array (*)(const Array&, const Array&, std::optional<std::int64_t>);
  for (auto [name, f] : std::initializer_list<std::pair<std::string, Segment>>{{"segment_sum", segment_sum},
                                                                               {"segment_prod", segment_prod},
                                                                               {"segment_max", segment_max},
                                                                               {"segment_min", segment_min}}) {
    auto g = f;
    cases.push_back({name, {x}, {m}, [=](const Arrays& in) { return g(in[0], ids, 2); }});
  }
  auto rows = rnd({5, 3}, 7), w = rnd({2, 3, 2}, 8);
  cases.push_back({"ragged_dot", {rows, w}, {holes({5, 3}, {9, 10, 11, 12, 13, 14}), holes({2, 3, 2}, {})},
                   [](const Arrays& in) { return ragged_dot(in[0], in[1], array({1, 2})); }});
  auto updates = rnd({3}, 9);
  cases.push_back({"scatter_add outside", {updates}, {holes({3}, {1})}, [](const Arrays& in) {
                     return scatter_add(zeros({4}, f64), array({0, 9, 2}), in[0]);
                   }});
}
void add_triangles(MaskedCases& cases) {
  auto a = rnd({3, 3}, 10) + 3. * eye(3, f64), b = rnd({3, 2}, 11);
  auto lower = tri(3, 3, 0, boolean);
  cases.push_back({"tril", {a}, {lower}, [](const Arrays& in) { return tril(in[0]); }});
  cases.push_back({"triu", {a}, {transpose(lower)}, [](const Arrays& in) { return triu(in[0]); }});
  cases.push_back({"solve_triangular", {a, b}, {lower, holes({3, 2}, {})}, [](const Arrays& in) {
                     return linalg::solve_triangular(in[0], in[1], {.lower = true});
                   }, false, true});
  auto condition = holes({3, 3}, {0, 4});
  cases.push_back({"where", {a}, {condition}, [=](const Arrays& in) { return where(condition, in[0], 0); }});
}
}  // namespace
void add_ops(MaskedCases& cases) {
  add_reductions(cases);
  add_nan(cases);
  add_weights(cases);
  add_segments(cases);
  add_triangles(cases);
}
namespace {
double element(const Array& x, std::int64_t i) { return index_in_dim(x.astype(f64), 0, i).item<double>(); }
/// masked::var and masked::stddev of the finite ones of [nan, 1, 2, 3, 4], in every dtype.
TEST(MaskedOps, SpreadsOfTheFiniteOnes) {
  for (auto d : {f64, f32, bf16, f16}) {
    auto x = array({NAN, 1., 2., 3., 4.}, d);
    auto finite = isfinite(x);
    auto v = grad([&](const Array& y) { return masked::var(y, finite); })(x);
    auto s = grad([&](const Array& y) { return masked::stddev(y, finite); })(x);
    const double var_slopes[] = {0, -0.75, -0.25, 0.25, 0.75}, deviation = 2 * std::sqrt(1.25);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(element(v, i), var_slopes[i], d == f64 ? 1e-15 : d == f32 ? 1e-6 : 4e-3) << i;
      EXPECT_NEAR(element(s, i), var_slopes[i] / deviation, d == f64 ? 1e-15 : d == f32 ? 1e-6 : 4e-3) << i;
    }
  }
}
/// Nothing that counts: no number, and a gradient of 0.
TEST(MaskedOps, OfNothingHaveNoGradient) {
  auto x = array({NAN, 1., INFINITY}, f64);
  auto none_of_it = zeros({3}, boolean);
  for (auto f : {masked::mean, masked::var, masked::stddev}) {
    EXPECT_TRUE(std::isnan(f(x, none_of_it, none, {}).item<double>()));
    EXPECT_EQ(worst(grad([&](const Array& y) { return f(y, none_of_it, none, {}); })(x), zeros({3}, f64)), 0);
  }
}
/// A weight of 0 has a derivative where its element is a number.
TEST(MaskedOps, WeightsOfZeroHaveDerivatives) {
  auto x = array({1., 2., 5.}, f64), w = array({1., 1., 0.}, f64);
  auto g = grad([&](const Array& v) { return average(x, v); })(w);
  EXPECT_NEAR(element(g, 2), (5 - 1.5) / 2, 1e-15);
}
}  // namespace
}  // namespace bora::laws::mask_ops_test
