// complex.h -- the C++ types of complex dtypes, for sources that compute with them. Private: <complex> is large.
#pragma once
#include <complex>
#include <utility>
#include "bora/base/dtype.h"

namespace bora {
/// dispatch() for complex dtypes alone, and for all but keys.
template <class F> decltype(auto) dispatch_complex(Dtype d, std::string_view what, F&& f) {
  if (d == complex64) return f(std::complex<float>{});
  if (d == complex128) return f(std::complex<double>{});
  no_such_dtype(what, d);
}
template <class F> decltype(auto) dispatch_all(Dtype d, std::string_view what, F&& f) {
  if (is_complex(d)) return dispatch_complex(d, what, std::forward<F>(f));
  return dispatch_real(d, what, std::forward<F>(f));
}
}  // namespace bora
