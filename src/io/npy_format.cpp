// Files are untrusted: every offset and size is checked against the bytes present.
#include "npy_format.h"
#include <zlib.h>
#include <algorithm>
#include <charconv>
#include "base/api/npy_header.h"

namespace bora::io {
namespace {
struct ZipEntry {
  std::string name;
  std::uint16_t method;
  std::uint32_t crc;
  std::uint64_t stored, size, offset;
};
/// 64-bit values that did not fit into a central header, in the order of the format.
void read_zip64(ZipEntry& e, std::string_view extra, const std::string& where) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    auto id = number_at<std::uint16_t>(extra, at, where), n = number_at<std::uint16_t>(extra, at + 2, where);
    if (id == 1) {
      auto p = at + 4;
      for (auto* v : {&e.size, &e.stored, &e.offset}) {
        if (*v != 0xffffffffu) continue;
        *v = number_at<std::uint64_t>(extra, p, where);
        p += 8;
      }
    }
    at += 4u + n;
  }
}
std::vector<ZipEntry> zip_entries(std::string_view z, const std::string& where) {
  auto end = z.rfind(std::string_view("PK\x05\x06", 4));
  check<IoError>(end != std::string_view::npos && end + 22 <= z.size(), where,
                 " is not a .npz file, or its end is missing");
  std::uint64_t count = number_at<std::uint16_t>(z, end + 10, where), at = number_at<std::uint32_t>(z, end + 16, where);
  if (at == 0xffffffffu || count == 0xffffu) {
    auto end64 = z.rfind(std::string_view("PK\x06\x06", 4));
    check<IoError>(end64 != std::string_view::npos, where, ": the zip64 record is missing");
    count = number_at<std::uint64_t>(z, end64 + 32, where);
    at = number_at<std::uint64_t>(z, end64 + 48, where);
  }
  std::vector<ZipEntry> r;
  for (std::uint64_t i = 0; i < count; ++i) {
    check<IoError>(at < z.size() && z.substr(at, 4) == std::string_view("PK\x01\x02", 4), where,
                   ": its table of contents is damaged");
    ZipEntry e{{},
               number_at<std::uint16_t>(z, at + 10, where),
               number_at<std::uint32_t>(z, at + 16, where),
               number_at<std::uint32_t>(z, at + 20, where),
               number_at<std::uint32_t>(z, at + 24, where),
               number_at<std::uint32_t>(z, at + 42, where)};
    std::size_t name = number_at<std::uint16_t>(z, at + 28, where), extra = number_at<std::uint16_t>(z, at + 30, where);
    std::size_t comment = number_at<std::uint16_t>(z, at + 32, where);
    check<IoError>(at + 46 + name + extra <= z.size(), where, ": its table of contents is damaged");
    e.name = z.substr(at + 46, name);
    read_zip64(e, z.substr(at + 46 + name, extra), where);
    at += 46 + name + extra + comment;
    r.push_back(std::move(e));
  }
  return r;
}
}  // namespace

NpyView read_npy(std::string_view bytes, const std::string& where) {
  auto header = read_npy_header(bytes, where);
  NpyView v{header.descr, header.fortran, std::move(header.shape), bytes.substr(header.bytes)};
  std::size_t width = 1;  // bytes of a number
  if (v.descr.size() > 2) std::from_chars(v.descr.data() + 2, v.descr.data() + v.descr.size(), width);
  width = std::max<std::size_t>(width, 1);
  std::int64_t n = 0;
  try {
    n = volume(v.shape);
  } catch (const ShapeError& e) { fail<IoError>(where, ": ", e.text()); }
  check<IoError>(n == 0 || width <= v.data.size() / static_cast<std::size_t>(n), where, " ends before its ", n,
                 " numbers");
  return v;
}

std::uint32_t crc32_of(std::string_view s) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const ::Bytef*>(s.data()), s.size()));
}
std::vector<NpzEntry> read_npz(std::string_view z, const std::string& file) {
  std::vector<NpzEntry> r;
  std::uint64_t total = 0;
  for (auto& e : zip_entries(z, file)) {
    auto where = file + ": " + e.name;
    check<IoError>(e.offset <= z.size() && z.size() - e.offset >= 30, where, " lies outside of the file");
    auto data = e.offset + 30 + number_at<std::uint16_t>(z, e.offset + 26, where) +
                number_at<std::uint16_t>(z, e.offset + 28, where);
    check<IoError>(data <= z.size() && e.stored <= z.size() - data, where, " lies outside of the file");
    total += e.stored;
    // Else a small file could stand for any number of bytes.
    check<IoError>(total <= z.size(), where,
                   " lies where another entry is");
    r.push_back({e.name, z.substr(data, e.stored), e.method, e.size, e.crc});
  }
  return r;
}
namespace {
std::string inflated(const NpzEntry& e, const std::string& where) {
  constexpr std::uint64_t most = 1032;  // most bytes that one deflated byte can stand for
  check<IoError>(e.size / most <= e.stored.size(), where, ": its sizes are damaged");
  std::string content(e.size, '\0');
  ::z_stream s{};
  check<IoError>(::inflateInit2(&s, -MAX_WBITS) == Z_OK, where, ": cannot be inflated: out of memory");
  constexpr std::uint64_t piece = 1u << 30;  // zlib counts in 32 bits
  std::uint64_t in = 0, out = 0, stored = e.stored.size();
  int code = Z_OK;
  while (code == Z_OK) {
    s.next_in = reinterpret_cast<::Bytef*>(const_cast<char*>(e.stored.data() + in));
    s.next_out = reinterpret_cast<::Bytef*>(content.data() + out);
    auto in_now = std::min(piece, stored - in), out_now = std::min(piece, e.size - out);
    s.avail_in = static_cast<::uInt>(in_now), s.avail_out = static_cast<::uInt>(out_now);
    code = ::inflate(&s, Z_NO_FLUSH);
    in += in_now - s.avail_in, out += out_now - s.avail_out;
  }
  ::inflateEnd(&s);
  check<IoError>(code == Z_STREAM_END && out == e.size, where, ": its compressed bytes are damaged");
  return content;
}
}  // namespace
std::string_view content_of(const NpzEntry& e, std::string& room, const std::string& where) {
  constexpr std::uint16_t stored = 0, deflated = 8;
  check<IoError>(e.method == stored || e.method == deflated, where, " is compressed by method ", e.method,
                 ", which NumPy does not write; stored and deflated entries are read");
  check<IoError>(e.method == deflated || e.stored.size() == e.size, where, ": its sizes are damaged");
  if (e.method == deflated) room = inflated(e, where);
  auto content = e.method == deflated ? std::string_view(room) : e.stored;
  check<IoError>(crc32_of(content) == e.crc, where, ": its checksum is wrong; the file is damaged");
  return content;
}
}  // namespace bora::io
