#include "bora/array/nans.h"
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <string_view>

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
template <class T> bool is_nan(T x) { return std::isnan(x); }
template <class T, class Number = T> std::int64_t find(const Array& a) {
  auto* x = a.data<T>();
  for (std::int64_t i = 0, n = a.size(); i < n; ++i)
    if (is_nan(static_cast<Number>(x[i]))) return i;
  return -1;
}
}  // namespace
bool stops_at_nan() { return on().load(std::memory_order_relaxed); }
void stop_at_nan(bool value) { on() = value; }
std::int64_t first_nan(const Array& a) {
  switch (a.dtype()) {
    case Dtype::f32: return find<float>(a);
    case Dtype::f64: return find<double>(a);
    case Dtype::bf16: return find<bfloat16, float>(a);
    case Dtype::f16: return find<float16, float>(a);
    case Dtype::complex64: return find<std::complex<float>>(a);
    case Dtype::complex128: return find<std::complex<double>>(a);
    default: return -1;
  }
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
