// golden.h -- inputs and results of functions in files of tests/golden.
#pragma once
#include <complex>
#include "laws/laws.h"
#include "support/golden.h"

namespace bora::laws {
struct Golden {
  Arrays in, out;
};
using GoldenCases = std::vector<std::pair<std::string, Golden>>;
/// Appends the cases of a file in their order. Lines "name in|out dtype shape : numbers"; a complex number is two.
inline void read_golden(const std::string& file_name, GoldenCases& r) {
  for (auto& line : test::golden_lines(file_name)) {
    auto& name = line.name;
    auto& role = line.parameters[0];
    auto& dtype = line.parameters[1];
    Shape shape;
    for (auto n : test::numbers(line.parameters[2])) shape.push_back(n);
    std::vector<double> v;
    for (auto& word : line.values) v.push_back(std::strtod(word.c_str(), nullptr));
    Array x;
    if (is_complex(parse_dtype(dtype))) {
      std::vector<std::complex<double>> z;
      for (std::size_t i = 0; i + 1 < v.size(); i += 2) z.emplace_back(v[i], v[i + 1]);
      x = asarray(z, shape).astype(parse_dtype(dtype));
    } else x = asarray(v, shape).astype(parse_dtype(dtype));
    if (r.empty() || r.back().first != name) r.emplace_back(name, Golden{});
    (role == "in" ? r.back().second.in : r.back().second.out).push_back(x);
  }
}
}  // namespace bora::laws
