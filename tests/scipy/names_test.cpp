// Laws of the functions with SciPy's names: each gives the numbers of SciPy or JAX, staged and mapped the same ones,
// and its derivative equals differences.
#include <fstream>
#include <regex>
#include <set>
#include "laws/golden.h"
#include "scipy/cases.h"

namespace bora::laws::names_test {
namespace {
const GoldenCases& golden() {
  static const GoldenCases r = [] {
    GoldenCases c;
    read_golden("scipy_names.txt", c);
    return c;
  }();
  return r;
}
const NamedCases& cases() {
  static const NamedCases r = [] {
    NamedCases c;
    signal_cases::add_convolutions(c);
    signal_cases::add_windows(c);
    signal_cases::add_spectra(c);
    signal_cases::add_transforms(c);
    sample_cases::add_samples(c);
    return c;
  }();
  return r;
}
template <class F> int for_each_case(Takes least, F&& f) {
  int n = 0;
  for (auto& [name, g] : golden()) {
    auto found = cases().find(name);
    if (found == cases().end() || found->second.takes < least) continue;
    SCOPED_TRACE(name);
    ++n;
    try {
      f(name, found->second.f, g);
    } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
  }
  return n;
}
TEST(SciPyNames, EveryCaseIsInTheTableAndInTheFile) {
  std::set<std::string> there;
  for (auto& [name, g] : golden()) {
    EXPECT_TRUE(cases().count(name)) << name << " is in the file only";
    there.insert(name);
  }
  for (auto& [name, c] : cases()) EXPECT_TRUE(there.count(name)) << name << " is in the table only";
}
TEST(SciPyNames, EveryFunctionHasACase) {
  std::set<std::string> tried;
  for (auto& [name, c] : cases()) tried.insert(name.substr(0, name.find('/')));
  std::regex words("\nnamespace bora::(\\S+) \\{|\n(?:Array|Spectrum|Spectra|Signal|Y) (\\w+)\\(");
  int found = 0;
  for (auto* file : {"ops/signal", "ops/windows", "ops/dct", "ops/ndimage", "ops/integrate", "fx/ode"}) {
    std::ifstream in(std::string(BORA_SOURCE_DIR) + "/include/bora/" + file + ".h");
    std::stringstream s;
    s << in.rdbuf();
    auto text = s.str();
    std::string space;
    for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i) {
      if ((*i)[1].length()) space = (*i)[1];
      else {
        ++found;
        EXPECT_TRUE(tried.count(space + "::" + (*i)[2].str())) << space << "::" << (*i)[2] << " has no case";
      }
    }
  }
  EXPECT_GE(found, 45);
}
TEST(SciPyNames, NumbersAreSciPys) {
  auto n = for_each_case(Takes::values, [](auto& name, auto& f, const Golden& g) {
    close(f(g.in), g.out, name.find("odeint") == name.npos ? 1e-12 : 1e-11, name);
  });
  EXPECT_GT(n, 500);
}
TEST(SciPyNames, StagedIsEager) {
  for_each_case(Takes::steps, [](auto& name, auto& f, const Golden& g) {
    if (g.in.empty()) return;
    close(jit([&](const Arrays& in) { return f(in); })(g.in), f(g.in), 1e-14, name);
  });
}
TEST(SciPyNames, MappedIsALoop) {
  for_each_case(Takes::steps, [](auto& name, auto& f, const Golden& g) {
    if (g.in.empty()) return;
    Arrays other = g.in, both;
    for (auto& x : other) x = x * (floating(x) ? array(0.75, f64) : array(2)).astype(real_dtype(x.dtype()));
    for (std::size_t i = 0; i < other.size(); ++i) both.push_back(stack({g.in[i], other[i]}));
    auto rows_are = [&](const Arrays& mapped, const Arrays& second, const std::string& what) {
      auto one = f(g.in), two = f(second);
      Arrays rows;
      for (std::size_t i = 0; i < one.size(); ++i) rows.push_back(stack({one[i], two[i]}));
      close(mapped, rows, 1e-12, name + what);
    };
    rows_are(vmap([&](const Arrays& in) { return f(in); })(both), other, ", all inputs mapped");
    auto first = g.in;
    first[0] = other[0];
    auto alone = vmap([&](const Array& x) {
      auto in = g.in;
      in[0] = x;
      return f(in);
    })(both[0]);
    rows_are(alone, first, ", the first input mapped");
  });
}
TEST(SciPyNames, DerivativesEqualDifferences) {
  int tested = 0;
  for_each_case(Takes::smooth, [&](auto& name, auto& f, const Golden& g) {
    for (std::size_t k = 0; k < g.in.size(); ++k) {
      if (!floating(g.in[k]) || is_complex(g.in[k].dtype()) || g.in[k].size() == 0) continue;
      auto loss = [&](const Array& x) {
        auto in = g.in;
        in[k] = x;
        auto total = array(0., f64);
        int i = 1;
        for (auto& y : f(in)) {
          if (!floating(y)) continue;
          total = total + sum(real(y) * rnd(y.shape(), i)) + sum(imag(y) * rnd(y.shape(), i + 10));
          ++i;
        }
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
      auto bound = name.find("odeint") == name.npos ? 1e-6 : 1e-5;
      close({grad(loss)(g.in[k])}, {asarray(want, g.in[k].shape())}, bound, name + ", input " + std::to_string(k));
      ++tested;
    }
  });
  EXPECT_GT(tested, 300);
}
}  // namespace
}  // namespace bora::laws::names_test
