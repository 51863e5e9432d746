// names_driver.h -- laws of a table of named cases with golden numbers: each gives them, staged and mapped too, and its
// derivatives equal differences.
#pragma once
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include "laws/golden.h"
#include "laws/names_table.h"
#include "support/places.h"

namespace bora::laws {
using NamedFunction = std::function<Arrays(const Arrays&)>;
/// A table of cases, and the cases of some golden files in their order.
class NamesDriver {
 public:
  NamesDriver(const std::vector<std::string>& files, const std::vector<void (*)(NamedCases&)>& parts) {
    for (auto& file : files) read_golden(file, golden_);
    for (auto* add : parts) add(cases_);
  }
  /// Calls f for the cases that can be tested so far; returns their number.
  int each(Takes least,
           const std::function<void(const std::string& name, const NamedFunction&, const Golden&)>& f) const {
    int n = 0;
    for (auto& [name, g] : golden_) {
      auto found = cases_.find(name);
      if (found == cases_.end() || found->second.takes < least) continue;
      SCOPED_TRACE(name);
      ++n;
      try {
        f(name, found->second.f, g);
      } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
    }
    return n;
  }
  Takes takes(const std::string& name) const { return cases_.at(name).takes; }
  void table_and_files_agree() const {
    std::set<std::string> there;
    for (auto& [name, g] : golden_) {
      EXPECT_TRUE(cases_.count(name)) << name << " is in the file only";
      there.insert(name);
    }
    for (auto& [name, c] : cases_) EXPECT_TRUE(there.count(name)) << name << " is in the table only";
  }
  /// Each function that returns one of these types (a regular expression) and stands in these headers has a case, but
  /// for those that other tests try (words). Returns how many have one.
  int functions_have_cases(const std::vector<std::string>& headers, const std::string& types,
                           const std::string& elsewhere = {}) const {
    std::set<std::string> tried;
    for (auto& [name, c] : cases_) tried.insert(name.substr(0, name.find('/')));
    std::istringstream others(elsewhere);
    const std::set<std::string> not_here{std::istream_iterator<std::string>(others), {}};
    std::regex words("\nnamespace bora(\\S*) (\\{)|\n(?:" + types + ") (\\w+)\\(");
    int found = 0;
    for (auto& header : headers) {
      std::stringstream s;
      s << std::ifstream(test::source_dir() + "/include/bora/" + header + ".h").rdbuf();
      auto text = s.str();
      EXPECT_FALSE(text.empty()) << "there is no header " << header;
      std::string space;
      for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i) {
        auto& match = *i;
        if (match[2].matched) {
          space = match[1].length() ? match[1].str().substr(2) + "::" : "";
          continue;
        }
        if (not_here.count(space + match[3].str())) continue;
        ++found;
        EXPECT_TRUE(tried.count(space + match[3].str()))
            << space << match[3] << " (" << header << ".h) has no case";
      }
    }
    return found;
  }
  void staged_is_eager(double tolerance) const {
    each(Takes::steps, [&](auto& name, auto& f, auto& g) {
      if (g.in.empty()) return;
      close(jit([&](const Arrays& in) { return f(in); })(g.in), f(g.in), tolerance, name);
    });
  }
  /// other(x): another input of the same type.
  void mapped_is_a_loop(const std::function<Array(const Array&)>& other,
                        const std::function<double(const Arrays& out)>& tolerance) const {
    each(Takes::steps, [&](auto& name, auto& f, auto& g) {
      if (g.in.empty()) return;
      Arrays others, both;
      for (auto& x : g.in) others.push_back(other(x)), both.push_back(stack({x, others.back()}));
      auto rows_are = [&](const Arrays& mapped, const Arrays& second, const std::string& what) {
        auto one = f(g.in), two = f(second);
        Arrays rows;
        for (std::size_t i = 0; i < one.size(); ++i) rows.push_back(stack({one[i], two[i]}));
        close(mapped, rows, tolerance(one), name + what);
      };
      rows_are(vmap([&](const Arrays& in) { return f(in); })(both), others, ", all inputs mapped");
      auto first = g.in;
      first[0] = others[0];
      auto alone = vmap([&](const Array& x) {
        auto in = g.in;
        in[0] = x;
        return f(in);
      })(both[0]);
      rows_are(alone, first, ", the first input mapped");
    });
  }
  /// Perturbs each real input; returns how many.
  int derivatives_equal_differences(const std::function<double(const std::string& name)>& bound) const {
    int tested = 0;
    each(Takes::smooth, [&](auto& name, auto& f, auto& g) {
      for (std::size_t k = 0; k < g.in.size(); ++k) {
        if (!floating(g.in[k]) || is_complex(g.in[k].dtype()) || g.in[k].size() == 0) continue;
        auto loss = [&](const Array& x) {
          auto in = g.in;
          in[k] = x;
          auto total = array(0., f64);
          int i = 1;
          for (auto& y : f(in)) {
            if (!floating(y)) continue;
            total = total + sum(real(y) * rnd(y.shape(), i));
            if (is_complex(y.dtype())) total = total + sum(imag(y) * rnd(y.shape(), i + 10));
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
        close({grad(loss)(g.in[k])}, {asarray(want, g.in[k].shape())}, bound(name),
              name + ", input " + std::to_string(k));
        ++tested;
      }
    });
    return tested;
  }

 private:
  GoldenCases golden_;
  NamedCases cases_;
};
/// All functions with NumPy's names.
inline const NamesDriver& names_driver() {
  static const NamesDriver all(
      {"numpy_names.txt", "special_names.txt", "lax_names.txt", "open_names.txt", "odd_values.txt", "forms_names.txt",
       "ports_names.txt"},
      {names_statistics_test::add_statistics, names_numeric_test::add_numeric, names_arrange_test::add_arrange,
       names_linalg_test::add_linalg, names_convolution_test::add_convolution, names_special_test::add_special,
       names_stats_test::add_stats, names_activations_test::add_activations, names_lax_test::add_lax,
       names_image_test::add_images});
  return all;
}
}  // namespace bora::laws
