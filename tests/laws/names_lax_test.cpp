// Cases of lax.h, polynomials.h, fx/vectorize.h, and of inverses, bits, masks and positions in ufuncs.h, reductions.h
// and indexing.h, called as tests/golden/make_lax_names.py calls JAX.
#include "bora/fx/vectorize.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/lax.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/polynomials.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/special.h"
#include "bora/ops/statistics.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "bora/random/gamma_grad.h"
#include "bora/random/kde.h"
#include "laws/names_table.h"
#include "support/throws.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"

namespace bora::laws::names_lax_test {
namespace {
Arrays results_of(Frexp x) { return {x.mantissa, x.exponent}; }
Arrays results_of(TopKResult x) { return {x.values, x.indices}; }
Arrays results_of(special::Fresnel x) { return {x.s, x.c}; }
Arrays results_of(special::SineCosine x) { return {x.si, x.ci}; }
Arrays results_of(Polydiv x) { return {x.quotient, x.remainder}; }
Arrays results_of(HistogramDd x) {
  Arrays r{x.counts};
  r.insert(r.end(), x.edges.begin(), x.edges.end());
  return r;
}
using laws::results_of;
void add_bits(NamedCases& cases) {
  BORA_CASE(smooth, "asin", asin(a));
  BORA_CASE(smooth, "acos", acos(a));
  BORA_CASE(smooth, "atan", atan(a));
  BORA_CASE(smooth, "asinh", asinh(a));
  BORA_CASE(smooth, "acosh", acosh(a));
  BORA_CASE(smooth, "atanh", atanh(a));
  BORA_CASE(smooth, "arcsin", arcsin(a));
  BORA_CASE(smooth, "arccos", arccos(a));
  BORA_CASE(smooth, "arctan", arctan(a));
  BORA_CASE(smooth, "arcsinh", arcsinh(a));
  BORA_CASE(smooth, "arccosh", arccosh(a));
  BORA_CASE(steps, "arcsin/odd", arcsin(a));
  BORA_CASE(steps, "arccos/odd", arccos(a));
  BORA_CASE(steps, "arctan/odd", arctan(a));
  BORA_CASE(steps, "arcsinh/odd", arcsinh(a));
  BORA_CASE(steps, "arccosh/odd", arccosh(a));
  BORA_CASE(smooth, "arctan2", arctan2(a, b));
  BORA_CASE(smooth, "atan2", atan2(a, b));
  BORA_CASE(steps, "arctan2/odd", arctan2(a, b));
  for (std::string kind : {"", "/bytes", "/words"}) {
    BORA_CASE(steps, "population_count" + kind, population_count(a));
    BORA_CASE(steps, "clz" + kind, clz(a));
    if (kind != "/words") BORA_CASE(steps, "bitwise_count" + kind, bitwise_count(a));
    if (kind != "/words") BORA_CASE(steps, "shift_right_logical" + kind, shift_right_logical(a, b));
    if (kind != "/bytes") BORA_CASE(steps, "mulhi" + kind, mulhi(a, b));
  }
  for (std::string kind : {"", "/stretched"}) {
    BORA_CASE(steps, "gcd" + kind, gcd(a, b));
    BORA_CASE(steps, "lcm" + kind, lcm(a, b));
  }
  BORA_CASE(steps, "nextafter", nextafter(a, b));
  BORA_CASE(steps, "nextafter/up", nextafter(a, full_like(a, HUGE_VAL)));
  BORA_CASE(steps, "nextafter/single", nextafter(a, full_like(a, HUGE_VAL)));
  BORA_CASE(steps, "nextafter/down", nextafter(a, full_like(a, -HUGE_VAL)));
  BORA_CASE(steps, "spacing", spacing(a));
  BORA_CASE(steps, "frexp", frexp(a));
  BORA_CASE(steps, "frexp/tiny", frexp(a));
  BORA_CASE(smooth, "frexp/smooth", frexp(a));
  BORA_CASE(smooth, "ldexp", ldexp(a, b));
  BORA_CASE(steps, "ldexp/far", ldexp(a, b));
  for (int d : {-1, 0, 2}) BORA_CASE(steps, "around/" + std::to_string(d), around(a, d));
  for (auto [e, m] : std::initializer_list<std::pair<int, int>>{{5, 10}, {8, 7}, {4, 3}, {11, 52}, {8, 23}})
    for (std::string kind : {"", "single"}) {
      auto exponent = e, mantissa = m;
      BORA_CASE(steps, "reduce_precision/" + kind + std::to_string(e) + "_" + std::to_string(m),
                reduce_precision(a, exponent, mantissa));
    }
}
void add_windows(NamedCases& cases) {
  lax::GatherDims rows{{1}, {0}, {0, 1}, {}, {}}, batched{{2}, {1}, {1}, {0}, {0}};
  lax::ScatterDims into{{1}, {0}, {0, 1}, {}, {}}, onto{{2}, {1}, {1}, {0}, {0}};
  BORA_CASE(smooth, "lax::gather/clip", lax::gather(a, b, rows, {1, 2}, {.mode = IndexMode::clamp}));
  BORA_CASE(steps, "lax::gather/fill", lax::gather(a, b, rows, {1, 2}));
  BORA_CASE(smooth, "lax::gather/value", lax::gather(a, b, rows, {1, 2}, {.fill = -9.}));
  BORA_CASE(smooth, "lax::gather/windows",
            lax::gather(a, b, {{0, 2}, {1}, {2, 0}, {}, {}}, {1, 1, 2}, {.mode = IndexMode::clamp}));
  BORA_CASE(smooth, "lax::gather/batched", lax::gather(a, b, batched, {1, 1, 2}, {.mode = IndexMode::clamp}));
  for (auto [kind, way] : std::initializer_list<std::pair<std::string, IndexMode>>{{"/clip", IndexMode::clamp},
                                                                                  {"/drop", IndexMode::fill}}) {
    auto mode = way;
    BORA_CASE(smooth, "lax::scatter" + kind, lax::scatter(a, b, c, into, mode));
    BORA_CASE(smooth, "lax::scatter_add" + kind, lax::scatter_add(a, b, c, into, mode));
    BORA_CASE(smooth, "lax::scatter_sub" + kind, lax::scatter_sub(a, b, c, into, mode));
    BORA_CASE(smooth, "lax::scatter_mul" + kind, lax::scatter_mul(a, b, c, into, mode));
    BORA_CASE(smooth, "lax::scatter_min" + kind, lax::scatter_min(a, b, c, into, mode));
    BORA_CASE(smooth, "lax::scatter_max" + kind, lax::scatter_max(a, b, c, into, mode));
  }
  BORA_CASE(smooth, "lax::scatter_add/batched", lax::scatter_add(a, b, c, onto, IndexMode::clamp));
  BORA_CASE(smooth, "lax::scatter_apply",
            lax::scatter_apply(a, b, [](const Array& x) { return square(x); }, {3, 2}, into, IndexMode::clamp));
  for (std::string start : {"1", "-1", "9"}) {
    BORA_CASE(smooth, "lax::dynamic_slice_in_dim/" + start, lax::dynamic_slice_in_dim(a, b, 2, 1));
    BORA_CASE(smooth, "lax::dynamic_update_slice_in_dim/" + start, lax::dynamic_update_slice_in_dim(a, b, c, 1));
    BORA_CASE(smooth, "lax::dynamic_update_index_in_dim/" + start, lax::dynamic_update_index_in_dim(a, b, c, 1));
  }
  BORA_CASE(smooth, "lax::index_take", lax::index_take(a, {b, c}, {0, 2}));
  BORA_CASE(smooth, "lax::collapse", lax::collapse(a, 1));
  BORA_CASE(smooth, "lax::collapse/two", lax::collapse(a, 0, 2));
}
void add_reductions(NamedCases& cases) {
  lax::Combine plus = [](const Array& x, const Array& y) { return x + y; };
  lax::Combine times = [](const Array& x, const Array& y) { return x * y; };
  lax::Combine most = [](const Array& x, const Array& y) { return maximum(x, y); };
  lax::Combine both = [](const Array& x, const Array& y) { return x & y; };
  BORA_CASE(smooth, "lax::reduce/sum", lax::reduce(a, 0., plus, {0, 2}));
  BORA_CASE(smooth, "lax::reduce/max", lax::reduce(a, -HUGE_VAL, most, {1}));
  BORA_CASE(steps, "lax::reduce/and", lax::reduce(a, -1, both, {0}));
  BORA_CASE(steps, "lax::reduce/none", lax::reduce(a, 1., times, {1}));
  BORA_CASE(smooth, "lax::reduce_window/sum", lax::reduce_window(a, 0., plus, {2, 3}));
  BORA_CASE(smooth, "lax::reduce_window/max",
            lax::reduce_window(a, -HUGE_VAL, most, {2, 2}, {.window_strides = {2, 1}, .padding = Padding::same}));
  lax::WindowOptions every{{1, 2}, Padding::Pairs{{1, 0}, {2, 1}}, {2, 1}, {1, 2}};
  BORA_CASE(smooth, "lax::reduce_window/all", lax::reduce_window(a, 0., plus, {2, 2}, every));
  BORA_CASE(smooth, "lax::cummax", lax::cummax(a, 1));
  BORA_CASE(smooth, "lax::cummin", lax::cummin(a, 1));
  BORA_CASE(smooth, "lax::cumlogsumexp", lax::cumlogsumexp(a, 1));
  BORA_CASE(smooth, "lax::cummax/reverse", lax::cummax(a, 0, true));
  BORA_CASE(smooth, "lax::cummin/reverse", lax::cummin(a, 0, true));
  BORA_CASE(smooth, "lax::cumlogsumexp/reverse", lax::cumlogsumexp(a, 0, true));
  BORA_CASE(steps, "lax::sort", lax::sort({a, b}));
  BORA_CASE(steps, "lax::sort/keys", lax::sort({a, b}, -1, 2));
  BORA_CASE(smooth, "lax::sort/dimension", lax::sort({a, b}, 0));
  BORA_CASE(smooth, "lax::approx_max_k", lax::approx_max_k(a, 2));
  BORA_CASE(smooth, "lax::approx_max_k/dimension", lax::approx_max_k(a, 2, 0));
  BORA_CASE(smooth, "lax::approx_min_k", lax::approx_min_k(a, 3));
  BORA_CASE(smooth, "lax::batch_matmul", lax::batch_matmul(a, b));
}
void add_convolutions(NamedCases& cases) {
  using O = lax::GeneralConvOptions;
  auto pairs = [](Padding::Pairs p) { return Padding(std::move(p)); };
  lax::ConvDims last{"NHWC", "HWIO", "NHWC"}, swapped{"CWNH", "HIOW", "HWCN"};
  O all{pairs({{1, 2}, {0, 1}}), {2, 1}, {1, 2}}, groups, batches;
  groups.feature_group_count = batches.batch_group_count = 2;
  BORA_CASE(smooth, "lax::conv_general_dilated",
            lax::conv_general_dilated(a, b, {1, 2}, {.padding = Padding::same}));
  BORA_CASE(smooth, "lax::conv_general_dilated/all", lax::conv_general_dilated(a, b, {2, 1}, all));
  BORA_CASE(smooth, "lax::conv_general_dilated/last",
            lax::conv_general_dilated(a, b, {1, 1}, {.dimension_numbers = last}));
  BORA_CASE(smooth, "lax::conv_general_dilated/swapped",
            lax::conv_general_dilated(a, b, {1, 1}, {.dimension_numbers = swapped}));
  BORA_CASE(smooth, "lax::conv_general_dilated/groups", lax::conv_general_dilated(a, b, {1, 1}, groups));
  BORA_CASE(smooth, "lax::conv_general_dilated/batches", lax::conv_general_dilated(a, b, {1, 1}, batches));
  BORA_CASE(smooth, "lax::conv_general_dilated_patches",
            lax::conv_general_dilated_patches(a, {2, 3}, {1, 2}, {.padding = pairs({{0, 0}, {1, 0}})}));
  BORA_CASE(smooth, "lax::conv_general_dilated_patches/last",
            lax::conv_general_dilated_patches(a, {2, 2}, {1, 1}, {.dimension_numbers = last}));
  BORA_CASE(smooth, "lax::conv_general_dilated_local", lax::conv_general_dilated_local(a, b, {1, 1}, {2, 2}));
}
void add_masked(NamedCases& cases) {
  using O = masked::Options;
  for (std::string kind : {"", "/axis", "/row"}) {
    auto axes = kind == "/axis" ? Dimensions(0) : kind == "/row" ? Dimensions(1) : Dimensions(none);
    O o{.keepdims = kind == "/axis"};
    BORA_CASE(smooth, "masked::sum" + kind, masked::sum(a, b, axes, o));
    BORA_CASE(smooth, "masked::prod" + kind, masked::prod(a, b, axes, o));
    BORA_CASE(smooth, "masked::mean" + kind, masked::mean(a, b, axes, o));
    BORA_CASE(smooth, "masked::var" + kind, masked::var(a, b, axes, o));
    BORA_CASE(smooth, "masked::stddev" + kind, masked::stddev(a, b, axes, o));
    if (kind == "/axis") cases["masked::stddev/axis"].takes = Takes::steps;  // of one element: a root at 0
    BORA_CASE(steps, "masked::all" + kind, masked::all(a, b, axes, o));
    BORA_CASE(steps, "masked::any" + kind, masked::any(a, b, axes, o));
  }
  BORA_CASE(smooth, "masked::var/ddof", masked::var(a, b, 0, {.ddof = 1}));
  BORA_CASE(smooth, "masked::stddev/ddof", masked::stddev(a, {}, none, {.ddof = 2}));
  BORA_CASE(steps, "masked::mean/nothing", masked::mean(a, b, 1));
  BORA_CASE(smooth, "masked::sum/initial", masked::sum(a, b, 1, {.initial = 5.}));
  BORA_CASE(smooth, "masked::amax", masked::amax(a, b, 1, {.initial = 0.25}));
  BORA_CASE(smooth, "masked::amin", masked::amin(a, b, 1, {.initial = 0.25}));
  BORA_CASE(smooth, "masked::amax/whole", masked::amax(a, b, none, {.keepdims = true, .initial = 0.25}));
  BORA_CASE(smooth, "masked::amin/whole", masked::amin(a, b, none, {.keepdims = true, .initial = 0.25}));
  BORA_CASE(smooth, "masked::amax/plain", masked::amax(a, {}, 0));
  BORA_CASE(smooth, "masked::amin/plain", masked::amin(a, {}, 0));
}
void add_indexed(NamedCases& cases) {
  using indexed::Mode;
  for (auto [name, way] : std::initializer_list<std::pair<std::string, Mode>>{
           {"clip", Mode::clip}, {"drop", Mode::fill}, {"wrap", Mode::wrap}}) {
    auto mode = way;
    BORA_CASE(smooth, "indexed::set/" + name, indexed::set(a, {bora::all(), b}, 2.5, mode));
    BORA_CASE(smooth, "indexed::add/" + name, indexed::add(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::subtract/" + name, indexed::subtract(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::multiply/" + name, indexed::multiply(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::divide/" + name, indexed::divide(a, {bora::all(), b}, c, mode));
    // Too large for differences; see power/whole.
    BORA_CASE(steps, "indexed::power/" + name, indexed::power(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::min/" + name, indexed::min(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::max/" + name, indexed::max(a, {bora::all(), b}, c, mode));
    BORA_CASE(smooth, "indexed::apply/" + name,
              indexed::apply(a, {bora::all(), b}, [](const Array& x) { return square(x); }, mode));
  }
  BORA_CASE(smooth, "indexed::get/clip", indexed::get(a, {bora::all(), b}, {.mode = Mode::clip}));
  BORA_CASE(steps, "indexed::get/fill", indexed::get(a, {bora::all(), b}));
  BORA_CASE(smooth, "indexed::get/wrap", indexed::get(a, {bora::all(), b}, {.mode = Mode::wrap}));
  BORA_CASE(smooth, "indexed::get/value", indexed::get(a, {b}, {.fill = -1.}));
  BORA_CASE(steps, "indexed::get/two", indexed::get(a, {b, bora::all(), c}));
  BORA_CASE(values, "indexed::get/mask", indexed::get(a, {b}));
  BORA_CASE(values, "indexed::get/rows", indexed::get(a, {b}));
  BORA_CASE(values, "indexed::set/mask", indexed::set(a, {b}, 7));
  BORA_CASE(smooth, "indexed::power/whole", indexed::power(a, {b}, 3));
}
void add_positions(NamedCases& cases) {
  BORA_CASE(steps, "mgrid", mgrid({range(0, 3), range(1, 7, 2)}));
  BORA_CASE(steps, "ogrid", ogrid({range(0, 3), range(1, 7, 2)}));
  BORA_CASE(steps, "ix_", ix_({a, b}));
  BORA_CASE(values, "ix_/mask", ix_({a, b}));
  BORA_CASE(steps, "tril_indices_from", tril_indices_from(a, 1));
  BORA_CASE(steps, "triu_indices_from", triu_indices_from(a, 1));
  BORA_CASE(steps, "diag_indices_from", diag_indices_from(a));
  BORA_CASE(steps, "mask_indices", mask_indices(3, [](const Array& x, std::int64_t k) { return triu(x, k); }, 1));
  BORA_CASE(steps, "fromfunction", fromfunction([](const Arrays& i) { return 10 * i[0] + i[1]; }, {2, 3}));
  BORA_CASE(steps, "identity", identity(3, f64));
  BORA_CASE(steps, "empty", empty({2, 3}, f64));
  BORA_CASE(steps, "empty_like", empty_like(a));
  BORA_CASE(smooth, "place", place(a, b, c));
  BORA_CASE(smooth, "put", put(a, b, c));
  for (std::string t : {"fb", "f", "b"}) BORA_CASE(values, "trim_zeros/" + t, trim_zeros(a, t));
  BORA_CASE(values, "trim_zeros/none", trim_zeros(a));
  BORA_CASE(steps, "sort_complex", sort_complex(a));
  BORA_CASE(steps, "sort_complex/real", sort_complex(a));
  BORA_CASE(smooth, "cumulative_sum", cumulative_sum(a, 1));
  BORA_CASE(smooth, "cumulative_prod", cumulative_prod(a, 1));
  BORA_CASE(smooth, "cumulative_sum/initial", cumulative_sum(a, 0, true));
  BORA_CASE(smooth, "cumulative_prod/initial", cumulative_prod(a, 0, true));
  BORA_CASE(steps, "histogramdd", histogramdd(a, 3));
  BORA_CASE(steps, "histogramdd/edges", histogramdd(a, {b, c}));
  BORA_CASE(steps, "histogramdd/density", histogramdd(a, 2, {.weights = b, .density = true}));
  BORA_CASE(steps, "histogram2d", histogram2d(a, b, 3));
  BORA_CASE(steps, "histogram2d/edges", histogram2d(a, b, {c, c}));
  BORA_CASE(steps, "kaiser", kaiser(6, 8.6, f64));
  BORA_CASE(steps, "kaiser/one", kaiser(1, 8.6, f64));
  BORA_CASE(smooth, "polyfit", polyfit(a, b, 2));
  BORA_CASE(smooth, "polyfit/weights", polyfit(a, b, 1, {.weights = c}));
  BORA_CASE(smooth, "polyfit/columns", polyfit(a, b, 1));
  for (std::string kind : {"", "/square", "/short", "/number"}) BORA_CASE(smooth, "polydiv" + kind, polydiv(a, b));
  for (std::string kind : {"", "/pairs", "/zeros"}) BORA_CASE(values, "roots" + kind, sort_complex(roots(a)));
  BORA_CASE(smooth, "apply_along_axis",
            apply_along_axis([](const Array& r) { return stack({index_in_dim(r, 0, 0), sum(r)}); }, 1, a));
  BORA_CASE(smooth, "apply_along_axis/number", apply_along_axis([](const Array& r) { return sum(r); }, 0, a));
  BORA_CASE(smooth, "apply_along_axis/matrix", apply_along_axis([](const Array& r) { return outer(r, r); }, 1, a));
  BORA_CASE(smooth, "apply_over_axes",
            apply_over_axes([](const Array& x, std::int64_t axis) { return sum(x, axis); }, a, {0, 2}));
  BORA_CASE(smooth, "vectorize",
            vectorize([](const Arrays& x) { return matmul(x[0], x[1]); }, "(n,m),(m)->(n)")({a, b}));
  BORA_CASE(smooth, "vectorize/scalars", vectorize([](const Arrays& x) { return x[0] * x[1] + 1; })({a, b}));
}
void add_further(NamedCases& cases) {
  using linalg::Triangle;
  BORA_CASE(smooth, "special::dawsn", special::dawsn(a));
  BORA_CASE(steps, "special::dawsn/far", special::dawsn(a));
  BORA_CASE(smooth, "special::fresnel", special::fresnel(a));
  BORA_CASE(steps, "special::fresnel/far", special::fresnel(a));
  BORA_CASE(smooth, "special::sici", special::sici(a));
  BORA_CASE(steps, "special::sici/far", special::sici(a));
  BORA_CASE(smooth, "special::owens_t", special::owens_t(a, b));
  BORA_CASE(smooth, "special::boxcox", special::boxcox(a, b));
  BORA_CASE(smooth, "special::boxcox1p", special::boxcox1p(a, b));
  BORA_CASE(steps, "special::boxcox/zero", special::boxcox(a, b));
  BORA_CASE(smooth, "special::bessel_jn", special::bessel_jn(a, 3));
  BORA_CASE(steps, "special::sph_harm_y", special::sph_harm_y(a, b, c, in[3]));
  for (auto [name, way] : std::initializer_list<std::pair<std::string, Overlap>>{
           {"full", Overlap::full}, {"same", Overlap::same}, {"valid", Overlap::valid}}) {
    auto mode = way;
    BORA_CASE(smooth, "linalg::convolution_matrix/" + name, linalg::convolution_matrix(a, 3, mode));
    BORA_CASE(smooth, "linalg::convolution_matrix/" + name + "7", linalg::convolution_matrix(a, 7, mode));
  }
  BORA_CASE(steps, "linalg::fiedler", linalg::fiedler(a));
  for (std::string n : {"2", "3", "4", "5"})
    BORA_CASE(smooth, "linalg::fiedler_companion/" + n, linalg::fiedler_companion(a));
  BORA_CASE(steps, "linalg::helmert", linalg::helmert(4, false, f64));
  BORA_CASE(steps, "linalg::helmert/full", linalg::helmert(4, true, f64));
  BORA_CASE(steps, "linalg::invhilbert", linalg::invhilbert(5, f64));
  BORA_CASE(steps, "linalg::invpascal/symmetric", linalg::invpascal(5, Triangle::symmetric, f64));
  BORA_CASE(steps, "linalg::invpascal/lower", linalg::invpascal(5, Triangle::lower, f64));
  BORA_CASE(steps, "linalg::invpascal/upper", linalg::invpascal(5, Triangle::upper, f64));
  BORA_CASE(smooth, "linalg::leslie", linalg::leslie(a, b));
}

using bora::test::says;
TEST(NamesOfLax, MistakesAreNamed) {
  auto x = ones({2, 3}), i = zeros({2, 1}, i32);
  auto complex_x = x.astype(complex64);
  says<DtypeError>([&] { return arctan2(complex_x, x); }, "arctan2: takes real numbers, got complex64[2, 3]");
  says<DtypeError>([&] { return population_count(x); }, "population_count: takes integers of one type, got f32[2, 3]");
  says<DtypeError>([&] { return gcd(x, i); }, "gcd: takes integers, got f32[2, 3] and i32[2, 1]");
  says<DtypeError>([&] { return ldexp(x, x); }, "ldexp: n must be integers, got f32[2, 3]");
  says<ValueError>([&] { return reduce_precision(x, 0, 3); }, "reduce_precision: there is no format of 0 bits");
  says<ShapeError>([&] { return lax::gather(x, i, {{1}, {0}, {0}, {}, {}}, {1, 4}); },
                   "gather: the window [1, 4] does not fit into [2, 3]");
  says<ShapeError>([&] { return lax::gather(x, i, {{1}, {0}, {0, 1}, {}, {}}, {1, 2}); },
                   "hold 1 positions of a window, and 2 dimensions are named");
  says<ShapeError>([&] { return lax::scatter_add(x, i, ones({3, 3}), {{1}, {0}, {0}, {}, {}}); },
                   "scatter_add: the updates must be [2, 3], got [3, 3]");
  says<ValueError>([&] { return lax::sort({x}, -1, 2); }, "sort: num_keys = 2 for 1 operands");
  says<ValueError>([&] { return lax::reduce_window(x, 0, nullptr, {2}); }, "reduce_window: window has 1 numbers for 2");
  says<ValueError>([&] { return masked::amax(x, x); }, "masked::amax: the extreme of nothing does not exist; give");
  says<ShapeError>([&] { return masked::sum(x, ones({4, 1, 3})); }, "masked::sum: a condition of shape [4, 1, 3]");
  auto mask = ones({3}).astype(boolean);
  says<ShapeError>([&] { return indexed::get(x, {mask}); }, "indexed::get: a mask [3] at dimension 0");
  says<DtypeError>([&] { return indexed::divide(x.astype(i32), {0}, 2); }, "indexed::divide: the quotients of i32");
  auto positive = [](const Array& v) { return indexed::get(v, {v > 0}); };
  says<TraceError>([&] { return jit(positive)(x); }, "depends on values");
  says<ShapeError>([&] { return place(x, x, zeros({0})); }, "place: there are no values");
  says<ValueError>([&] { return trim_zeros(ones({2}), "x"); }, "trim_zeros: trim = \"x\" is none of f, b, fb");
  says<ValueError>([&] { return polyfit(ones({2}), ones({2}), -1); }, "polyfit: degree = -1 must not be negative");
  says<DtypeError>([&] { return special::dawsn(complex_x); }, "dawsn: takes real numbers, got complex64[2, 3]");
  says<ValueError>([&] { return special::bessel_jn(x, -1); }, "bessel_jn: v = -1 must not be negative");
  says<ShapeError>([&] { return linalg::leslie(ones({2}), ones({2})); }, "leslie: f of 2 and s of 2 numbers");
  says<ShapeError>([&] { return polydiv(zeros({0}), ones({1})); }, "polydiv: polynomials must not be empty");
  auto f = [](const Arrays& a) { return a[0]; };
  says<ValueError>([&] { return vectorize(f, "(n)"); }, "vectorize: the signature \"(n)\" has no ->");
  says<ValueError>([&] { return vectorize(f, "n->(n)"); }, "vectorize: the signature \"n->(n)\" cannot be read");
  says<ShapeError>([&] { return vectorize(f, "(n),(n)->()")({ones({2}), ones({3})}); }, "vectorize: n is 2, and 3 in");
}
/// Neighbours and formats bit by bit, in all floating dtypes.
TEST(NamesOfLax, NeighboursAreNeighbours) {
  std::vector<float> v{0.f, -0.f, 1.f, -1.f, 1e-45f, -1e-45f, 3.4028235e38f, 1.1754944e-38f, 0.1f, -7.5f};
  std::vector<double> d{0., -0., 1., -1., 5e-324, -5e-324, 1.7976931348623157e308, 0.1, -7.5};
  for (double to : {-HUGE_VAL, HUGE_VAL, 0., 0.5}) {
    auto single = nextafter(asarray(v), full({1}, to, f32)).to_vector<float>();
    for (std::size_t i = 0; i < v.size(); ++i)
      EXPECT_EQ(single[i], std::nextafter(v[i], static_cast<float>(to))) << v[i];
    auto wide = nextafter(asarray(d), full({1}, to, f64)).to_vector<double>();
    for (std::size_t i = 0; i < d.size(); ++i) EXPECT_EQ(wide[i], std::nextafter(d[i], to)) << d[i];
  }
  auto one = ones({1}, bf16);
  EXPECT_EQ(spacing(one).astype(f32).to_vector<float>()[0], 0x1p-7f);
  EXPECT_EQ(spacing(ones({1}, Dtype::f16)).astype(f32).to_vector<float>()[0], 0x1p-10f);
  auto numbers = rnd({200}, 3).astype(f32) * 70000;
  EXPECT_EQ(worst(reduce_precision(numbers, 8, 7), numbers.astype(bf16).astype(f32)), 0);
  EXPECT_EQ(worst(reduce_precision(numbers, 5, 10), where(abs(numbers) < 65520, numbers.astype(Dtype::f16).astype(f32),
                                                          sign(numbers) * HUGE_VAL)), 0);
  EXPECT_EQ(population_count(full({1}, -1, Dtype::i8)).astype(i32).item<int>(), 8) << "not as i32";
  EXPECT_EQ(clz(full({1}, 1, Dtype::u16)).astype(i32).item<int>(), 15);
}
void add_segments(NamedCases& cases) {
  using Segmented = Array (*)(const Array&, const Array&, std::optional<std::int64_t>);
  for (auto [kind, f] : {std::pair<std::string, Segmented>{"segment_sum", segment_sum}, {"segment_prod", segment_prod},
                         {"segment_max", segment_max}, {"segment_min", segment_min}}) {
    if (f == Segmented(segment_sum) || f == Segmented(segment_prod)) {
      BORA_CASE(smooth, kind, f(a, b, 5));
      BORA_CASE(smooth, kind + "/outside", f(a, b, 4));
    } else {  // infinite where a segment is empty, which has no differences
      BORA_CASE(steps, kind, f(a, b, 5));
      BORA_CASE(steps, kind + "/outside", f(a, b, 4));
    }
    BORA_CASE(steps, kind + "/whole", f(a, b, 300));
    BORA_CASE(steps, kind + "/none", f(a, b, 2));
    BORA_CASE(values, kind + "/largest", f(a, b, none));
  }
}
void add_running_sums(NamedCases& cases) {
  BORA_CASE(smooth, "lax::cumsum", lax::cumsum(a, 1));
  BORA_CASE(smooth, "lax::cumsum/reverse", lax::cumsum(a, -1, true));
  BORA_CASE(smooth, "lax::cumprod", lax::cumprod(a, 1));
  BORA_CASE(smooth, "lax::cumprod/reverse", lax::cumprod(a, 0, true));
  BORA_CASE(steps, "lax::random_gamma_grad", lax::random_gamma_grad(a, b));
  BORA_CASE(steps, "lax::random_gamma_grad/draws", grad([](const Array& x) {
              return sum(random::gamma(random::key(3), x, none, f64));
            })(a));
  BORA_CASE(steps, "lax::random_gamma_grad/beta", Arrays{grad([b](const Array& x) {
                                                            return sum(random::beta(random::key(4), x, b, none, f64));
                                                          })(a),
                                                          grad([a](const Array& y) {
                                                            return sum(random::beta(random::key(4), a, y, none, f64));
                                                          })(b)});
}
void add_few_masked(NamedCases& cases) {
  for (auto which : {"few", "none"}) {
    Dimensions axes = which == std::string("few") ? Dimensions(1) : Dimensions(none);
    masked::Options o{.keepdims = which == std::string("few"), .ddof = 1};
    BORA_CASE(steps, std::string("masked::var/") + which, masked::var(a, b, axes, o));
    BORA_CASE(steps, std::string("masked::stddev/") + which, masked::stddev(a, b, axes, o));
  }
}
}  // namespace
void add_lax(NamedCases& cases) {
  add_bits(cases);
  add_windows(cases);
  add_reductions(cases);
  add_convolutions(cases);
  add_masked(cases);
  add_indexed(cases);
  add_positions(cases);
  add_further(cases);
  add_segments(cases);
  add_running_sums(cases);
  add_few_masked(cases);
}
namespace {
using bora::test::says;
TEST(NamesOfLax, ExtremesOfSegmentsHaveTheirRowsGradients) {
  auto x = array({3.0, 1.0, 2.0, 5.0, 4.0}), ids = array({0, 1, 1, 0, 9});
  auto gradient = [&](auto f) {
    return grad([&](const Array& v) { return sum(f(v, ids, 3) * array({10.0, 20.0, 0.0})); })(x);
  };
  // The empty segment is left out: 0 times an infinite number.
  auto greatest = [](const Array& v, const Array& i, std::int64_t n) { return nan_to_num(segment_max(v, i, n)); };
  auto least = [](const Array& v, const Array& i, std::int64_t n) { return nan_to_num(segment_min(v, i, n)); };
  EXPECT_TRUE(array_equal(gradient(greatest), array({0.0, 0.0, 20.0, 10.0, 0.0}))) << gradient(greatest);
  EXPECT_TRUE(array_equal(gradient(least), array({10.0, 20.0, 0.0, 0.0, 0.0}))) << gradient(least);
}
TEST(NamesOfLax, SegmentsThatDoNotFitAreNamed) {
  auto x = rnd({4, 2}, 1), ids = array({0, 1, 1, 0});
  says<ShapeError>([&] { return segment_sum(x, array({0, 1})); },
                   "segment_sum: segment_ids i32[2] must have one number for each row of data f64[4, 2]");
  says<DtypeError>([&] { return segment_max(x, ids.astype(f32), 2); }, "segment_max: segment_ids must be integers");
  says<DtypeError>([&] { return segment_min(complex(x, x), ids, 2); }, "segment_min: takes real numbers");
  says<ValueError>([&] { return segment_prod(x, ids, -1); }, "num_segments must not be negative, got -1");
  says<TraceError>([&] { return jit([&](const Array& i) { return segment_sum(x, i); })(ids); }, "give num_segments");
  auto far = asarray(std::vector<std::int64_t>{0, std::int64_t{1} << 32, 1, -(std::int64_t{1} << 32)});
  EXPECT_TRUE(array_equal(segment_sum(array({1, 2, 3, 4}), far, 2), array({1, 3})));
}
}  // namespace
}  // namespace bora::laws::names_lax_test
