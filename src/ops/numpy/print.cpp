// Arrays as text.
#include "bora/ops/print.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include "base/api/complex.h"
#include "kernels/api/complex.h"
#include "ops/api/support.h"

namespace bora {
namespace {
/// The positions shown of one dimension; -1 stands for "...".
Dims shown(std::int64_t n, bool summarize, std::int64_t edge) {
  if (!summarize || n <= 2 * edge) return ops::range_of(n);
  Dims r = ops::range_of(edge);
  r.push_back(-1);
  for (auto i : ops::range_of(edge, n - edge)) r.push_back(i);
  return r;
}
template <class T> std::string digits(T x, std::chars_format f, int precision = -1) {
  char b[512];
  auto r = precision < 0 ? std::to_chars(b, b + sizeof b, x, f) : std::to_chars(b, b + sizeof b, x, f, precision);
  return {b, r.ptr};
}
/// Shortest text that reads back as x, cut to `precision` digits after the point, always with a point.
template <class T> std::string fixed(T x, int precision) {
  auto s = digits(x, std::chars_format::fixed);
  auto point = s.find('.');
  if (point == std::string::npos) return s + ".";
  if (static_cast<int>(s.size() - point) - 1 > precision) {
    s = digits(x, std::chars_format::fixed, precision);
    if (s.find('.') == std::string::npos) return s + ".";
    while (s.back() == '0') s.pop_back();
  }
  return s;
}
template <class T> std::string scientific(T x, int precision, int mantissa) {
  auto s = digits(x, std::chars_format::scientific);
  auto e = s.find('e');
  if (static_cast<int>(e) - (s[0] == '-') - 2 > precision) {
    s = digits(x, std::chars_format::scientific, precision);
    e = s.find('e');
  }
  auto m = s.substr(0, e);
  if (m.find('.') == std::string::npos) m += '.';
  auto have = static_cast<int>(m.size() - m.find('.')) - 1;
  if (have < mantissa) m += std::string(static_cast<std::size_t>(mantissa - have), '0');
  return m + s.substr(e);
}
int after_point(const std::string& s) {
  auto point = s.find('.');
  if (point == std::string::npos) return 0;
  auto e = s.find('e');
  return static_cast<int>((e == std::string::npos ? s.size() : e) - point) - 1;
}
/// Texts of equal width: points aligned, texts without one (integers, nan) to the right.
void align(std::vector<std::string>& texts) {
  std::size_t left = 0, right = 0, width = 0;
  for (auto& s : texts) {
    auto point = s.find('.');
    width = std::max(width, s.size());
    if (point == std::string::npos) continue;
    left = std::max(left, point);
    right = std::max(right, s.size() - point);
  }
  width = std::max(width, left + right);
  for (auto& s : texts) {
    if (auto point = s.find('.'); point != std::string::npos) s.append(right - (s.size() - point), ' ');
    s.insert(0, width - s.size(), ' ');
  }
}
template <class T> std::vector<std::string> float_texts(const std::vector<T>& x, int precision) {
  T largest = 0, smallest = std::numeric_limits<T>::infinity();
  for (auto v : x) {
    if (!std::isfinite(v) || v == 0) continue;
    largest = std::max(largest, std::abs(v));
    smallest = std::min(smallest, std::abs(v));
  }
  // NumPy's choice of notation.
  bool exponents = largest > 0 && (largest >= T(1e8) || smallest < T(1e-4) || largest / smallest > T(1000));
  std::vector<std::string> r;
  int mantissa = 0;
  for (int pass = exponents ? 0 : 1; pass < 2; ++pass) {
    r.clear();
    for (auto v : x) {
      if (std::isnan(v)) r.push_back("nan");
      else if (std::isinf(v)) r.push_back(v > 0 ? "inf" : "-inf");
      else r.push_back(exponents ? scientific(v, precision, mantissa) : fixed(v, precision));
      if (exponents) mantissa = std::max(mantissa, after_point(r.back()));
    }
  }
  return r;
}
std::vector<std::string> texts(const Array& x, const std::vector<std::int64_t>& positions, int precision) {
  std::vector<std::string> r;
  if (x.dtype() == Dtype::key) {
    auto* words = static_cast<const std::uint32_t*>(x.bytes());
    for (auto p : positions)
      r.push_back("key(" + std::to_string(words[2 * p]) + ", " + std::to_string(words[2 * p + 1]) + ")");
    return r;
  }
  if (is_complex(x.dtype())) {
    auto of = [&](kernels::Part part) {
      auto b = new_buffer({x.shape(), real_dtype(x.dtype())});
      kernels::take_part(part, x.dtype(), x.bytes(), b.data, x.size());
      return texts(b.done(), positions, precision);
    };
    auto re = of(kernels::Part::real), im = of(kernels::Part::imag);
    for (std::size_t i = 0; i < re.size(); ++i) r.push_back(re[i] + (im[i][0] == '-' ? "" : "+") + im[i] + "j");
    return r;
  }
  dispatch_real(x.dtype(), "printing", [&](auto zero) {
    using T = decltype(zero);
    auto* data = static_cast<const T*>(x.bytes());
    if constexpr (std::is_same_v<T, bool>) {
      for (auto p : positions) r.push_back(data[p] ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
      for (auto p : positions) r.push_back(std::to_string(data[p]));
    } else {
      using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
      std::vector<F> v;
      for (auto p : positions) v.push_back(static_cast<F>(data[p]));
      r = float_texts(v, precision);
    }
  });
  return r;
}
}  // namespace

std::string to_string(const Array& x, const PrintOptions& options) {
  if (!x.defined()) return "empty Array";
  if (!is_buffer(x)) return x.get()->describe();
  auto shape = x.shape();
  auto strides = strides_of(shape);
  bool summarize = x.size() > options.threshold;
  std::vector<Dims> at;
  for (auto n : shape) at.push_back(shown(n, summarize, options.edge));
  std::vector<std::int64_t> positions;
  auto visit = [&](auto& self, std::size_t d, std::int64_t base) -> void {
    if (d == shape.size()) return positions.push_back(base);
    for (auto i : at[d])
      if (i >= 0) self(self, d + 1, base + i * strides[d]);
  };
  visit(visit, 0, 0);
  if (x.size() == 0) return "[]  (" + to_string(x.type()) + ")";
  auto cells = texts(x, positions, options.precision);
  if (shape.empty()) return cells[0];
  align(cells);
  std::string r;
  std::size_t next = 0, line = 0;
  auto write = [&](auto& self, std::size_t d) -> void {
    r += '[';
    bool last = d + 1 == shape.size(), first = true;
    auto indent = "\n" + std::string(d + 1, ' ');
    for (auto i : at[d]) {
      if (!first) r += last ? ", " : "," + std::string(shape.size() - d - 2, '\n') + indent;
      if (!first && last &&
          r.size() - line + cells[std::min(next, cells.size() - 1)].size() + 1 >
              static_cast<std::size_t>(options.width)) {
        r.pop_back();
        r += indent;
      }
      if (!last || r.ends_with(indent)) line = r.rfind('\n') == std::string::npos ? 0 : r.rfind('\n') + 1;
      first = false;
      if (i < 0) r += "...";
      else if (last) r += cells[next++];
      else self(self, d + 1);
    }
    r += ']';
  };
  write(write, 0);
  return r;
}
std::ostream& operator<<(std::ostream& o, const Array& x) { return o << to_string(x); }
}  // namespace bora
