// npy.h -- the bytes of NumPy's files.
#pragma once
#include <string>
#include "bora/array/array.h"

namespace bora::io {
/// Those of a .npy file, as save_npy writes it. Throws DtypeError for keys.
std::string npy_bytes(const Array& x);
}  // namespace bora::io
