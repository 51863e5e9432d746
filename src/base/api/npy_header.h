// npy_header.h -- the header of NumPy's .npy files (numpy/lib/format.py, versions 1.0 to 3.0). Files are untrusted.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include "bora/base/error.h"
#include "bora/base/shape.h"

namespace bora {
struct NpyHeader {
  std::string_view descr = {};  // "<f4"; a view into the bytes
  bool fortran = false;
  Shape shape = {};
  std::size_t bytes = 0;  // before the numbers
};
/// The number at an offset of a header. Throws IoError where the bytes end before.
template <class T> T number_at(std::string_view s, std::size_t at, const std::string& where) {
  check<IoError>(at <= s.size() && sizeof(T) <= s.size() - at, where, " ends in the middle of a header");
  T x;
  std::memcpy(&x, s.data() + at, sizeof x);
  return x;
}
/// The header that begins a file's bytes. `where` names the file, for messages. Throws IoError, DtypeError.
NpyHeader read_npy_header(std::string_view bytes, const std::string& where);
}  // namespace bora
