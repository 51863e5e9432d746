// npy_format.h -- NumPy's formats as bytes. .npy: numpy/lib/format.py, versions 1.0 to 3.0. .npz: a zip archive of .npy files (PKWARE
// APPNOTE.TXT 6.3, stored entries, zip64).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/shape.h"

namespace bora::io {
/// What a .npy file says, in its bytes. `data` has the shape's elements at least, in the width that the last character of descr says.
struct NpyView {
  std::string_view descr = {};  // "<f4"
  bool fortran = false;
  Shape shape = {};
  std::string_view data = {};
};
/// `where` names the file, for messages. IoError, DtypeError.
NpyView read_npy(std::string_view bytes, const std::string& where);
/// The entries of a .npz file. IoError also for those that are compressed, damaged or share bytes.
struct NpzEntry {
  std::string name;
  std::string_view content;
};
std::vector<NpzEntry> read_npz(std::string_view bytes, const std::string& file);
std::uint32_t crc32(std::string_view);
}  // namespace bora::io
