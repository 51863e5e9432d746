// call_stored.h -- operations on dtypes that are stored only (dtype.h).
#pragma once
#include "bora/array/primitive_base.h"

namespace bora {
/// Does the primitive's kernel compute with numbers of a dtype that has none?
inline bool computes_stored(const Primitive& p, const Arrays& in) {
  for (auto& a : in)
    if (a.defined() && is_stored_only(a.dtype())) return !p.traits.any_dtype && !p.traits.holds;
  return false;
}
/// Applies p to numbers of the wider dtype (dtype.h) and rounds or wraps its results: a composition of public
/// operations, so it has derivatives, batches and blocks. DtypeError where u64 has no such form. Defined in
/// src/ops/primitives/storage_dtypes.cpp.
Arrays call_stored(const PrimitivePtr& p, const Arrays& in);
}  // namespace bora
