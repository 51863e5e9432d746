// npy_format.h -- NumPy's formats as bytes. .npy: numpy/lib/format.py, versions 1.0 to 3.0. .npz: a zip archive of .npy
// files (PKWARE APPNOTE.TXT 6.3: stored or deflated entries, zip64).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/shape.h"

namespace bora::io {
/// Views into the bytes of a .npy file. `data` has at least the shape's elements, as wide as descr says.
struct NpyView {
  std::string_view descr = {};  // "<f4"
  bool fortran = false;
  Shape shape = {};
  std::string_view data = {};
};
/// `where` names the file, for messages. IoError, DtypeError.
NpyView read_npy(std::string_view bytes, const std::string& where);
/// An entry of a .npz file, as stored.
struct NpzEntry {
  std::string name;
  std::string_view stored;
  std::uint16_t method;  // 0 stored, 8 deflated
  std::uint64_t size;    // of the contents
  std::uint32_t crc;     // of the contents
};
/// The entries of a .npz file, without reading them. IoError also for entries that lie outside the file or share bytes.
std::vector<NpzEntry> read_npz(std::string_view bytes, const std::string& file);
/// The contents of an entry: bytes of the file, or of `room` if it had to be inflated. IoError if it is damaged.
std::string_view content_of(const NpzEntry&, std::string& room, const std::string& where);
std::uint32_t crc32_of(std::string_view);
}  // namespace bora::io
