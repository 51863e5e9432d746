// policy.h -- the precision policy: dtypes of parameters, computation and results.
#pragma once
#include <string>
#include <string_view>
#include "bora/ops/arguments.h"
#include "bora/tree/tree.h"

namespace bora {
/// Dtypes of parameters, computation and results, as jmp writes them: "p=f32,c=bf16,o=f32",
/// "params=..,compute=..,output=..", "bf16".
struct Policy {
  Dtype parameter = Dtype::f32, compute = Dtype::f32, output = Dtype::f32;
  static Policy parse(std::string_view text);  // throws ConfigError
  template <class T> T cast_to_compute(const T& t) const { return cast(t, compute); }
  template <class T> T cast_to_parameter(const T& t) const { return cast(t, parameter); }
  template <class T> T cast_to_output(const T& t) const { return cast(t, output); }
  bool operator==(const Policy&) const = default;
 private:
  template <class T> static T cast(const T& t, Dtype d) {
    return tree::map([d](const Array& a) { return is_float(a.dtype()) ? a.astype(d) : a; }, t);
  }
};
std::string to_string(const Policy&);  // "p=f32,c=bf16,o=f32", which parse reads
}                                      // namespace bora
