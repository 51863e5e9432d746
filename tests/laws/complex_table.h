// complex_table.h -- the cases of tests/golden/make_complex.py.
#pragma once
#include <complex>
#include <fstream>
#include <set>
#include <sstream>
#include "laws/laws.h"

namespace bora::laws {
using C = std::complex<double>;
inline constexpr C kI(0, 1);
inline Array some(const Shape& s, int seed) { return complex(rnd(s, seed), rnd(s, seed + 1)); }
struct Golden {
  Arrays in, out;
};
/// Lines "name in|out dtype shape : numbers"; a complex number is two.
inline std::vector<std::pair<std::string, Golden>> golden() {
  std::vector<std::pair<std::string, Golden>> r;
  std::ifstream file(std::string(BORA_SOURCE_DIR) + "/tests/golden/complex.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream s(line);
    std::string name, role, dtype, sizes, word;
    s >> name >> role >> dtype >> sizes >> word;
    Shape shape;
    std::istringstream numbers(sizes == "-" ? "" : sizes);
    for (std::string n; std::getline(numbers, n, ',');) shape.push_back(std::stoll(n));
    std::vector<double> v;
    while (s >> word) v.push_back(std::strtod(word.c_str(), nullptr));
    Array x;
    if (is_complex(parse_dtype(dtype))) {
      std::vector<C> z;
      for (std::size_t i = 0; i + 1 < v.size(); i += 2) z.emplace_back(v[i], v[i + 1]);
      x = asarray(z, shape).astype(parse_dtype(dtype));
    } else x = asarray(v, shape).astype(parse_dtype(dtype));
    if (r.empty() || r.back().first != name) r.emplace_back(name, Golden{});
    (role == "in" ? r.back().second.in : r.back().second.out).push_back(x);
  }
  return r;
}
using Cases = std::map<std::string, std::function<Arrays(const Arrays&)>>;
}  // namespace bora::laws
