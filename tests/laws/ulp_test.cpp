// Accuracy of special functions in units in the last place, against mpmath (tests/golden/make_special_ulp.py). The
// committed points are the worst of thousands for each function, and a few others; BORA_ULP_POINTS names a file with
// all of them, of which docs/numerics.md has its numbers, and BORA_ULP_WORST one to write the worst to.
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include "bora/ops/creation.h"
#include "laws/ulp_table.h"
#include "support/golden.h"
#include "support/places.h"

namespace bora::laws::ulp_test {
namespace {
struct Point {
  std::vector<double> in;
  double near, rest;  // the value is near + rest units in its last place
  std::string line;
};
using Points = std::map<std::pair<std::string, Dtype>, std::vector<Point>>;
const Points& points() {
  static const Points r = [] {
    Points p;
    const char* named = std::getenv("BORA_ULP_POINTS");
    std::ifstream file(named ? named : test::golden_path("special_ulp.txt"));
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream s(line);
      std::string name, dtype, word;
      s >> name >> dtype;
      Point at{{}, 0, 0, line};
      while (s >> word) at.in.push_back(std::strtod(word.c_str(), nullptr));
      if (at.in.size() < 3) continue;
      at.rest = at.in.back(), at.in.pop_back();
      at.near = at.in.back(), at.in.pop_back();
      p[{name, parse_dtype(dtype)}].push_back(at);
    }
    return p;
  }();
  return r;
}
double step_of(double x, Dtype d) {
  x = std::fabs(x);
  if (d == f64) return std::nextafter(x, HUGE_VAL) - x;
  auto y = static_cast<float>(x);
  return static_cast<double>(std::nextafter(y, HUGE_VALF)) - static_cast<double>(y);
}
struct Error {
  double ulp;
  const Point* at;
};
/// The errors at all points, the largest first.
std::vector<Error> errors(const Ulp& u, Dtype d) {
  std::vector<Error> r;
  auto found = points().find({u.name, d});
  if (found == points().end()) return r;
  auto& at = found->second;
  Arrays in;
  for (std::size_t k = 0; k < at[0].in.size(); ++k) {
    std::vector<double> x;
    for (auto& p : at) x.push_back(p.in[k]);
    in.push_back(asarray(x).astype(d));
  }
  auto y = u.f(in);
  EXPECT_EQ(y.dtype(), d) << u.name;
  auto got = y.to_vector<double>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    double step = step_of(at[i].near, d), e = std::fabs((got[i] - at[i].near) / step - at[i].rest);
    e *= step / std::max(step, step_of(u.least, d));
    r.push_back({std::isfinite(e) ? e : 1e30, &at[i]});
  }
  std::sort(r.begin(), r.end(), [](auto& a, auto& b) { return a.ulp > b.ulp; });
  return r;
}
class UlpOf : public testing::TestWithParam<Ulp> {};
TEST_P(UlpOf, IsWithinItsBound) {
  auto& u = GetParam();
  const Dtype dtypes[] = {f32, f64};
  for (int k = 0; k < 2; ++k) {
    auto e = errors(u, dtypes[k]);
    ASSERT_GE(e.size(), 8u) << u.name << " has no points of " << dtypes[k] << ": run make_special_ulp.py";
    auto& high = e[e.size() / 1000];
    std::printf("%-13s %s %5zu points: at most %9.2f ulp, 99.9 %% within %8.2f: %s\n", u.name,
                std::string(dtype_name(dtypes[k])).c_str(), e.size(), e[0].ulp, high.ulp, e[0].at->line.c_str());
    EXPECT_LE(e[0].ulp, u.bound[k]) << e[0].at->line;
    if (e.size() > 999) {
      EXPECT_LE(high.ulp, u.usual[k]) << high.at->line;
    }
    if (auto* worst = std::getenv("BORA_ULP_WORST")) {
      std::ofstream file(worst, std::ios::app);
      for (std::size_t i = 0; i < e.size(); i = i < 8 ? i + 1 : i * 3) file << e[i].at->line << "\n";
    }
  }
}
std::string name_of(const testing::TestParamInfo<Ulp>& info) {
  return std::regex_replace(std::string(info.param.name), std::regex("::"), "_");
}
INSTANTIATE_TEST_SUITE_P(Special, UlpOf, testing::ValuesIn(ulp_table_test::ulp_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Distributions, UlpOf, testing::ValuesIn(ulp_stats_test::ulp_of_distributions()), name_of);

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_dir() + "/" + path);
  std::stringstream s;
  s << file.rdbuf();
  return s.str();
}
std::string table(const std::vector<Ulp>& rows) {
  std::ostringstream r;
  r << "| function | domain | f32 | 99.9 % | f64 | 99.9 % |\n|---|---|---|---|---|---|\n";
  for (auto& u : rows)
    r << "| " << u.name << " | " << u.domain << " | " << u.bound[0] << " | " << u.usual[0] << " | " << u.bound[1]
      << " | " << u.usual[1] << " |\n";
  return r.str();
}
TEST(Ulp, TheDocumentQuotesTheTable) {
  for (auto* rows : {&ulp_table_test::ulp_table(), &ulp_stats_test::ulp_of_distributions()})
    EXPECT_NE(text_of("docs/numerics.md").find(table(*rows)), std::string::npos)
        << "docs/numerics.md must hold\n" << table(*rows);
}
}  // namespace
}  // namespace bora::laws::ulp_test
