// Laws of the functions with NumPy's names: each gives the numbers of NumPy or JAX, staged and mapped the same ones,
// and its derivative equals differences.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include "laws/golden.h"
#include "laws/names_odd.h"
#include "laws/names_table.h"

namespace bora::laws::names_test {
namespace {
/// The cases of all files in their order.
const GoldenCases& golden() {
  static const GoldenCases r = [] {
    GoldenCases c;
    read_golden("numpy_names.txt", c);
    read_golden("special_names.txt", c);
    read_golden("lax_names.txt", c);
    read_golden("open_names.txt", c);
    read_golden("odd_values.txt", c);
    read_golden("forms_names.txt", c);
    read_golden("ports_names.txt", c);
    return c;
  }();
  return r;
}
const NamedCases& cases() {
  static const NamedCases r = [] {
    NamedCases c;
    names_statistics_test::add_statistics(c);
    names_numeric_test::add_numeric(c);
    names_arrange_test::add_arrange(c);
    names_linalg_test::add_linalg(c);
    names_convolution_test::add_convolution(c);
    names_special_test::add_special(c);
    names_stats_test::add_stats(c);
    names_activations_test::add_activations(c);
    names_lax_test::add_lax(c);
    names_open_test::add_open(c);
    names_odd_test::add_odd(c);
    names_forms_test::add_forms(c);
    names_ports_test::add_ports(c);
    return c;
  }();
  return r;
}
template <class F> void for_each_case(Takes least, F&& f) {
  for (auto& [name, g] : golden()) {
    auto found = cases().find(name);
    if (found == cases().end() || found->second.takes < least) continue;
    SCOPED_TRACE(name);
    try {
      f(name, found->second.f, g);
    } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
  }
}
std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }
double tolerance(const Arrays& out) {
  double t = 1e-12;
  for (auto& x : out)
    if (x.dtype() == f32) t = 1e-6;
  return t;
}
TEST(Names, EveryCaseIsInTheTableAndInTheFile) {
  std::set<std::string> there;
  for (auto& [name, g] : golden()) {
    EXPECT_TRUE(cases().count(name)) << name << " is in the file only";
    there.insert(name);
  }
  for (auto& [name, c] : cases()) EXPECT_TRUE(there.count(name)) << name << " is in the table only";
}
TEST(Names, EveryFunctionHasACase) {
  std::set<std::string> tried;
  for (auto& [name, c] : cases()) tried.insert(name.substr(0, name.find('/')));
  std::regex space("\nnamespace bora(\\S*) \\{"), declaration("\n(?:Array|Arrays|bool|[A-Z]\\w+) (\\w+)\\(");
  for (auto* file : {"statistics", "sets", "numeric", "arrange", "linalg_functions", "convolution", "special", "stats",
                     "activations", "arcs", "bits", "lax", "masked", "indexed", "positions", "polynomials",
                     "special_further", "special_matrices", "forms", "image", "../random/kde",
                     "../random/gamma_grad"}) {
    std::ifstream in(std::string(BORA_SOURCE_DIR) + "/include/bora/ops/" + file + ".h");
    std::stringstream s;
    s << in.rdbuf();
    auto text = s.str();
    for (std::sregex_iterator i(text.begin(), text.end(), space), end; i != end; ++i) {
      auto inside = (*i)[1].length() ? (*i)[1].str().substr(2) + "::" : "";
      auto next = std::next(i);
      auto part = text.substr(at(i->position()), next == end ? text.npos : at(next->position() - i->position()));
      for (std::sregex_iterator d(part.begin(), part.end(), declaration); d != end; ++d)
        EXPECT_TRUE(tried.count(inside + (*d)[1].str()) || (*d)[1] == "array_equiv")
            << inside << (*d)[1] << " (" << file << ".h) has no case";
    }
  }
}
TEST(Names, NumbersAreNumPys) {
  for_each_case(Takes::values,
                [](auto& name, auto& f, const Golden& g) { close(f(g.in), g.out, tolerance(g.out), name); });
}
/// Special functions keep their digits where values are tiny or huge, in both dtypes. The inputs are numbers of f32.
TEST(Names, SpecialNumbersAreExact) {
  for_each_case(Takes::values, [](auto& name, auto& f, const Golden& g) {
    if (name.substr(0, 9) != "special::") return;
    auto narrow = g.in;
    for (auto& x : narrow) x = x.astype(f32);
    auto wide = f(g.in), rounded = f(narrow);
    double bound = name.find("betainc") == name.npos ? 1e-13 : 3e-13;
    for (std::size_t k = 0; k < g.out.size(); ++k) {
      if (!is_float(g.out[k].dtype())) continue;
      auto want = g.out[k].template to_vector<double>(), got = wide[k].template to_vector<double>();
      auto single = rounded[k].template to_vector<double>();
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (!std::isfinite(want[i])) continue;
        EXPECT_NEAR(got[i], want[i], bound * std::abs(want[i])) << name << ", number " << i;
        bool in_f32 = std::abs(want[i]) < 3e38 && (want[i] == 0 || std::abs(want[i]) > 2e-38);
        if (!in_f32) continue;
        EXPECT_NEAR(single[i], want[i], 1e-6 * std::abs(want[i])) << name << " in f32, number " << i;
      }
    }
  });
}
TEST(Names, StagedIsEager) {
  for_each_case(Takes::steps, [](auto& name, auto& f, const Golden& g) {
    if (g.in.empty()) return;
    close(jit([&](const Arrays& in) { return f(in); })(g.in), f(g.in), 0, name);
  });
}
TEST(Names, MappedIsALoop) {
  for_each_case(Takes::steps, [](auto& name, auto& f, const Golden& g) {
    if (g.in.empty()) return;
    Arrays other = g.in, both;
    for (auto& x : other) x = flip(x);
    for (std::size_t i = 0; i < other.size(); ++i) both.push_back(stack({g.in[i], other[i]}));
    auto check_rows = [&](const Arrays& mapped, const Arrays& second, const std::string& what) {
      auto one = f(g.in), two = f(second);
      Arrays rows;
      for (std::size_t i = 0; i < one.size(); ++i) rows.push_back(stack({one[i], two[i]}));
      close(mapped, rows, tolerance(one), name + what);
    };
    check_rows(vmap([&](const Arrays& in) { return f(in); })(both), other, ", all inputs mapped");
    auto first = g.in;
    first[0] = other[0];
    auto alone = vmap([&](const Array& x) {
      auto in = g.in;
      in[0] = x;
      return f(in);
    })(both[0]);
    check_rows(alone, first, ", the first input mapped");
  });
}
TEST(Names, DerivativesEqualDifferences) {
  int tested = 0;
  for_each_case(Takes::smooth, [&](auto& name, auto& f, const Golden& g) {
    for (std::size_t k = 0; k < g.in.size(); ++k) {
      if (!floating(g.in[k]) || g.in[k].size() == 0) continue;
      auto loss = [&](const Array& x) {
        auto in = g.in;
        in[k] = x;
        auto total = array(0., f64);
        int i = 1;
        for (auto& y : f(in))
          if (floating(y)) total = total + sum(y * rnd(y.shape(), i++));
        return total;
      };
      auto v = g.in[k].template to_vector<double>(), want = v;
      for (std::size_t i = 0; i < v.size(); ++i) {
        auto moved = [&](double h) {
          auto w = v;
          w[i] += h;
          return loss(asarray(w, g.in[k].shape())).template item<double>();
        };
        want[i] = (moved(1e-5) - moved(-1e-5)) / 2e-5;
      }
      close({grad(loss)(g.in[k])}, {asarray(want, g.in[k].shape())}, 1e-6, name + ", input " + std::to_string(k));
      ++tested;
    }
  });
  EXPECT_GT(tested, 100);
}
template <class E, class F> void says(F&& f, const std::string& part) {
  try {
    (void)f();
    ADD_FAILURE() << "nothing thrown; expected " << part;
  } catch (const E& e) { EXPECT_NE(e.text().find(part), std::string::npos) << e.text(); }
}
TEST(Names, MistakesAreNamed) {
  auto x = ones({2, 3}), v = ones({3});
  says<ValueError>([&] { return quantile(x, 1.5); }, "quantile: q = 1.5 does not lie in [0, 1]");
  says<ValueError>([&] { return percentile(x, 101); }, "percentile: q = 101 does not lie in [0, 100]");
  says<IndexError>([&] { return median(x, 2); }, "median");
  says<ShapeError>([&] { return median(zeros({0})); }, "median: there are no elements along axes [0] of [0]");
  says<ShapeError>([&] { return nanmax(zeros({0, 2}), 0); }, "nanmax: dimension 0 of [0, 2] is empty");
  says<ShapeError>([&] { return average(x, ones({4}), 1); }, "average: weights of shape [4]");
  says<ValueError>([&] { return histogram(x, 0); }, "bins = 0 must be positive");
  says<ValueError>([&] { return histogram_bin_edges(x, 2, {.range = std::pair{2., 1.}}); }, "range from 2 to 1");
  says<DtypeError>([&] { return bincount(v); }, "bincount: counts integers, not f32");
  says<ShapeError>([&] { return searchsorted(x, v); },
                   "searchsorted: the sorted array must be a vector, got f32[2, 3]");
  says<ValueError>([&] { return unique(x, {.size = -1}); }, "unique: size = -1 must not be negative");
  says<IndexError>([&] { return partition(v, 3); }, "partition: kth = 3 does not lie in [-3, 3)");
  says<ShapeError>([&] { return lexsort({x, v}, 0); }, "lexsort: keys of shapes [2, 3] and [3] differ");
  says<ShapeError>([&] { return compress(ones({4}), v); }, "compress: a condition of 4 elements is longer");
  says<ShapeError>([&] { return gradient(ones({1})); }, "gradient: dimension 0 of [1] has fewer than two");
  says<ShapeError>([&] { return cross(ones({4}), v); }, "cross: needs vectors of two or three numbers, got 4");
  says<ShapeError>([&] { return convolve(zeros({0}), v); }, "convolve: vectors must not be empty");
  says<ShapeError>([&] { return interp(v, v, ones({2})); }, "interp: xp of shape [3] and fp of shape [2]");
  says<ValueError>([&] { return diff(v, -1); }, "diff: n = -1 must not be negative");
  says<IndexError>([&] { return insert(v, 4, v); }, "insert: position 4 does not lie in [-3, 3]");
  says<IndexError>([&] { return delete_(v, {3}); }, "delete_: position 3 does not lie in [-3, 3)");
  says<ShapeError>([&] { return hsplit(x, 2); }, "hsplit: dimension 1 of [2, 3] does not split into 2 equal parts");
  says<ValueError>([&] { return rot90(x, 1, 0, -2); }, "rot90: the axes 0 and -2 are the same");
  says<ShapeError>([&] { return resize(zeros({0}), {2}); }, "resize: [0] has no elements to fill [2]");
  says<ValueError>([&] { return select({v}, {v, v}); }, "select: 1 conditions and 2 choices");
  says<DtypeError>([&] { return unpackbits(v); }, "unpackbits: needs bytes u8, got f32");
  auto image = ones({1, 5, 5, 2});
  says<ShapeError>([&] { return conv(image, ones({3, 3, 3, 4})); }, "has 2 channels, and w f32[3, 3, 3, 4] takes 3");
  says<ShapeError>([&] { return conv(v, ones({3, 3, 1, 4})); }, "conv: x f32[3] does not fit w f32[3, 3, 1, 4]");
  says<ValueError>([&] { return conv(image, ones({3, 3, 2, 4}), {.stride = {2}}); },
                   "conv: stride has 1 numbers for 2 spatial dimensions");
  says<ValueError>([&] { return conv(image, ones({3, 3, 1, 3}), {.groups = 2}); }, "3 output channels do not split");
  says<ShapeError>([&] { return max_pool(v, {.window = {2, 2}}); }, "does not fit a window of 2 dimensions");
  says<ShapeError>([&] { return linalg::det(x); }, "det: the matrix must be square, got f32[2, 3]");
  says<ShapeError>([&] { return linalg::lstsq(x, v); }, "lstsq: a f32[2, 3] does not fit b f32[3]");
  says<ValueError>([&] { return linalg::matrix_norm(x, 3.); }, "matrix_norm: there is no order 3");
  says<ValueError>([&] { return linalg::norm(v, "nuc"); }, "norm: the order nuc is one of matrices, and 1 axis");
  says<ShapeError>([&] { return linalg::polar(x); }, "polar: f32[2, 3] has fewer rows than columns; give left");
  says<ShapeError>([&] { return linalg::multi_dot({x, x}); }, "multi_dot: operands 0 and 1 do not fit");
  says<ShapeError>([&] { return linalg::tensorsolve(ones({2, 6}), v); }, "tensorsolve: a f32[2, 6] does not fit");
  says<ValueError>([&] { return geomspace(-1, 2, 3); }, "geomspace: from -1 to 2");
}
TEST(Names, SizesAreAskedForInsideTransforms) {
  auto v = array({3., 1., 3.});
  auto text = "the size of the result depends on values";
  says<TraceError>([&] { return jit([](const Array& x) { return unique(x); })(v); }, text);
  says<TraceError>([&] { return vmap([](const Array& x) { return flatnonzero(x); })(stack({v, v})); }, text);
  says<TraceError>([&] { return jit([](const Array& x) { return bincount(x); })(array({1, 2})); },
                   "give {.length = n}");
  auto g = grad([](const Array& x) { return sum(square(unique(x))); })(v);  // a derivative's values are known
  EXPECT_EQ(worst(g, array({6., 2., 0.})), 0) << g;
}
TEST(Names, ArrayEquiv) {
  EXPECT_TRUE(array_equiv(array({1., 2.}), array({{1., 2.}, {1., 2.}})));
  EXPECT_FALSE(array_equiv(array({1., 2.}), array({{1., 2.}, {1., 3.}})));
  EXPECT_FALSE(array_equiv(array({1., 2.}), array({1., 2., 3.})));
  EXPECT_TRUE(array_equiv(zeros({0}), array({1.}))) << "nothing differs";
}
TEST(Names, Bf16IsRoundedOnce) {
  auto x = rnd({3, 5}, 4).astype(bf16), w = x.astype(f32);
  const std::function<Array(const Array&)> all_of_them[] = {[](const Array& a) { return median(a, 1); },
                                                            [](const Array& a) { return nanvar(a, 0); },
                                                            [](const Array& a) { return corrcoef(a); },
                                                            [](const Array& a) { return hypot(a, a); },
                                                            [](const Array& a) { return gradient(a, 0.3, 1); },
                                                            [](const Array& a) { return trapezoid(a, 0.3, 1); },
                                                            [](const Array& a) { return sinc(a); },
                                                            [](const Array& a) { return logaddexp2(a, a); }};
  int i = 0;
  for (auto& f : all_of_them) EXPECT_EQ(worst(f(x), f(w).astype(bf16)), 0) << "function " << i++;
}
}  // namespace
}  // namespace bora::laws::names_test
