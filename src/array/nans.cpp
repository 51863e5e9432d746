#include "array/api/nans.h"
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include "base/api/complex.h"

namespace bora {
namespace {
std::atomic<bool>& on() {
  static std::atomic<bool> value = [] {
    const char* text = std::getenv("BORA_DEBUG_NANS");
    return text && std::string_view(text) == "1";
  }();
  return value;
}
template <class T> bool is_nan(std::complex<T> z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
template <class T> bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return is_float_class<T> && std::isnan(static_cast<float>(x));
}
}  // namespace
bool stops_at_nan() { return on().load(std::memory_order_relaxed); }
void stop_at_nan(bool value) { on() = value; }
std::int64_t first_nan(const Array& a) {
  if (!is_inexact(a.dtype())) return -1;
  return dispatch_all(a.dtype(), "first_nan", [&](auto zero) -> std::int64_t {
    auto* x = static_cast<const decltype(zero)*>(a.bytes());
    for (std::int64_t i = 0, n = a.size(); i < n; ++i)
      if (is_nan(x[i])) return i;
    return -1;
  });
}
void check_no_nan(std::string_view operation, const Arrays& in, const Arrays& out) {
  for (std::size_t k = 0; k < out.size(); ++k) {
    auto at = first_nan(out[k]);
    if (at < 0) continue;
    std::string index, inputs;
    auto shape = out[k].shape();
    for (std::size_t d = shape.size(); d-- > 0; at /= shape[d])
      index = std::to_string(at % shape[d]) + (index.empty() ? "" : ", ") + index;
    for (auto& a : in)
      inputs += (inputs.empty() ? ", from " : ", ") + to_string(a.type()) + (first_nan(a) < 0 ? "" : " with NaN");
    fail<ValueError>(operation, " gives NaN at [", index, "] of ", out[k].type(), inputs, " (debug::nans is on)");
  }
}
}  // namespace bora
