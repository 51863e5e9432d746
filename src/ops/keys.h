// keys.h -- random keys take no part in arithmetic: checks whose errors name the operation. Private.
#pragma once
#include "bora/base/dtype.h"
#include "bora/base/error.h"

namespace bora::ops {
/// Throws DtypeError naming `what` for random keys.
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
}  // namespace bora::ops
