// dtype_checks.h -- refusals of dtypes by the name of the function that was called: the operations behind it have
// others. Private.
#pragma once
#include "bora/base/dtype.h"
#include "bora/base/error.h"

namespace bora::ops {
/// Random keys take no part in arithmetic.
inline void no_keys(std::string_view what, Dtype dtype) {
  check<DtypeError>(dtype != Dtype::key, what,
                    ": random keys take no part in arithmetic; draw numbers from one: random::uniform(key, shape)");
}
/// promote(a, b), whose error names `what`.
inline Dtype promoted(std::string_view what, Dtype a, Dtype b) {
  check<DtypeError>((a == Dtype::key) == (b == Dtype::key), what,
                    ": random keys and numbers have no common dtype, got ", a, " and ", b);
  return promote(a, b);
}
inline void takes_numbers(std::string_view what, Dtype d) {
  check<DtypeError>(d != boolean, what, ": takes numbers, got bool; cast it, as by x.astype(i32)");
}
inline void takes_ordered(std::string_view what, Dtype d) {
  check<DtypeError>(!is_complex(d), what, ": complex numbers have no order, got ", d,
                    "; compare abs() or real() of them");
}
inline void takes_reals(std::string_view what, Dtype d) {
  takes_numbers(what, d);
  check<DtypeError>(!is_complex(d), what, ": not defined for complex numbers, got ", d,
                    "; take real(), imag() or abs() of them");
}
inline void takes_integers(std::string_view what, Dtype d) {
  check<DtypeError>(is_integer(d), what, ": takes integers, got ", d, "; cast it, as by x.astype(i32)");
}
inline void takes_bits(std::string_view what, Dtype d) {
  check<DtypeError>(is_integer(d) || d == boolean, what, ": takes integers or booleans, got ", d,
                    "; cast it, as by x.astype(i32)");
}
}  // namespace bora::ops
