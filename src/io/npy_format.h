// npy_format.h -- NumPy's formats as bytes. .npy: numpy/lib/format.py, versions 1.0 to 3.0. .npz: a zip archive of .npy files (PKWARE
// APPNOTE.TXT 6.3: stored or deflated entries, zip64).
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
/// An entry of a .npz file, as it stands there.
struct NpzEntry {
  std::string name;
  std::string_view stored;
  std::uint16_t method;  // 0 stored, 8 deflated
  std::uint64_t size;    // of what it holds
  std::uint32_t crc;     // of that
};
/// The entries of a .npz file, none of them read yet. IoError also for those that lie outside or share bytes.
std::vector<NpzEntry> read_npz(std::string_view bytes, const std::string& file);
/// What an entry holds: bytes of the file, or of `room` if it had to be inflated. IoError if it is damaged.
std::string_view content_of(const NpzEntry&, std::string& room, const std::string& where);
std::uint32_t crc32_of(std::string_view);
}  // namespace bora::io
