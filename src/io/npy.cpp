// NumPy's formats. .npy: numpy/lib/format.py, versions 1.0 to 3.0. .npz: a zip archive of .npy files (PKWARE
// APPNOTE.TXT 6.3, stored entries, zip64).
#include "bora/io/npy.h"
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include "bora/base/file.h"
#include "bora/ops/shape.h"

namespace bora {
namespace {
static_assert(std::endian::native == std::endian::little);
using Path = std::filesystem::path;

void write_all(const Path& file, const std::string& bytes) {
  std::ofstream f(file, std::ios::binary | std::ios::trunc);
  check<IoError>(f.good(), "cannot write ", file.string());
  f.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  f.close();
  check<IoError>(f.good(), "cannot write ", file.string(), ": is the disk full?");
}
template <class T> T number_at(std::string_view s, std::size_t at, const std::string& where) {
  check<IoError>(at + sizeof(T) <= s.size(), where, " ends in the middle of a header");
  T x;
  std::memcpy(&x, s.data() + at, sizeof x);
  return x;
}
template <class T> void put(std::string& to, T x) { to.append(reinterpret_cast<const char*>(&x), sizeof x); }

// ---- .npy --------------------------------------------------------------------------------------------------------------
std::string_view descr_of(Dtype d) {
  switch (d) {
    case Dtype::boolean: return "|b1";
    case Dtype::u8: return "|u1";
    case Dtype::i32: return "<i4";
    case Dtype::i64: return "<i8";
    case Dtype::u32: return "<u4";
    case Dtype::bf16: return "<u2";
    case Dtype::f32: return "<f4";
    case Dtype::f64: return "<f8";
    case Dtype::key: break;
  }
  fail<DtypeError>("save_npy: NumPy has no dtype for random keys; save their bits");
}
std::string npy_bytes(const Array& x) {
  Array c = x.concrete();
  std::ostringstream h;
  h << "{'descr': '" << descr_of(c.dtype()) << "', 'fortran_order': False, 'shape': (";
  for (std::int64_t d = 0; d < c.ndim(); ++d) h << (d ? ", " : "") << c.shape(d);
  h << (c.ndim() == 1 ? ",), }" : "), }");
  auto header = h.str();
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(header.size()));
  out += header;
  if (c.nbytes()) out.append(static_cast<const char*>(c.bytes()), c.nbytes());
  return out;
}
/// The text after 'name': in the header's dictionary.
std::string_view entry(std::string_view header, std::string_view name, const std::string& where) {
  auto key = "'" + std::string(name) + "':";
  auto at = header.find(key);
  check<IoError>(at != std::string_view::npos, where, ": the header has no ", name);
  auto rest = header.substr(at + key.size());
  return rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
}
Shape parse_shape(std::string_view text, const std::string& where) {
  auto end = text.find(')');
  check<IoError>(!text.empty() && text[0] == '(' && end != std::string_view::npos, where,
                 ": the header's shape is damaged");
  Shape s;
  std::istringstream in{std::string(text.substr(1, end - 1))};
  for (std::string part; std::getline(in, part, ',');) {
    auto digits = part.substr(std::min(part.size(), part.find_first_not_of(' ')));
    if (digits.empty()) continue;
    check<IoError>(digits.find_first_not_of("0123456789L ") == std::string::npos, where,
                   ": the header's shape is damaged");
    std::int64_t n = 0;
    auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    check<IoError>(parsed.ec == std::errc{}, where, ": the header's shape is damaged");
    s.push_back(n);
  }
  return s;
}
/// f16 -> f32, exactly.
float from_half(std::uint16_t h) {
  std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 0) {
    auto f = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -f : f;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}
template <class From, class To, class F> Array converted(const Shape& shape, const char* data, F f) {
  auto b = new_buffer({shape, dtype_of<To>});
  auto n = static_cast<std::size_t>(volume(shape));
  for (std::size_t i = 0; i < n; ++i) {
    From x;
    std::memcpy(&x, data + i * sizeof(From), sizeof x);
    static_cast<To*>(b.data)[i] = f(x);
  }
  return b.done();
}
Array array_of(std::string_view descr, const Shape& shape, const char* data, const LoadNpy& o,
               const std::string& where) {
  check<DtypeError>(
      descr.size() == 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '='), where, " holds '", descr,
      "', which has no dtype here; convert it with astype in NumPy (little-endian bool, integers or floats)");
  auto kind = descr.substr(1);
  for (auto d : {boolean, u8, i32, i64, u32, f32, f64})
    if (kind == descr_of(d).substr(1)) return from_bytes({shape, d}, data);
  auto widen = [](auto x) { return static_cast<std::int32_t>(x); };
  if (kind == "u2" && o.dtype == bf16) return from_bytes({shape, bf16}, data);
  if (kind == "u2") return converted<std::uint16_t, std::int32_t>(shape, data, widen);
  if (kind == "i2") return converted<std::int16_t, std::int32_t>(shape, data, widen);
  if (kind == "i1") return converted<std::int8_t, std::int32_t>(shape, data, widen);
  if (kind == "f2") return converted<std::uint16_t, float>(shape, data, from_half);
  if (kind == "V2")
    fail<DtypeError>(where, " holds 2-byte raw values ('", descr,
                     "'); if they are bf16, save x.view('uint16') and load with {.dtype = bf16}");
  fail<DtypeError>(where, " holds '", descr, "', which has no dtype here; convert it with astype in NumPy");
}
Array parse_npy(std::string_view bytes, const LoadNpy& o, const std::string& where) {
  check<IoError>(bytes.size() >= 10 && bytes.substr(0, 6) == "\x93NUMPY", where, " is not a .npy file");
  bool wide = bytes[6] >= 2;
  check<IoError>(bytes[6] >= 1 && bytes[6] <= 3, where, ": .npy version ", static_cast<int>(bytes[6]), " is not known");
  std::size_t length = wide ? number_at<std::uint32_t>(bytes, 8, where) : number_at<std::uint16_t>(bytes, 8, where),
              start = (wide ? 12 : 10) + length;
  check<IoError>(start <= bytes.size(), where, " ends in the middle of its header");
  auto header = bytes.substr(wide ? 12 : 10, length);
  auto descr = entry(header, "descr", where);
  check<DtypeError>(!descr.empty() && descr[0] == '\'', where, " holds records, not numbers");
  descr = descr.substr(1, descr.find('\'', 1) - 1);
  bool fortran = entry(header, "fortran_order", where).starts_with("True");
  auto shape = parse_shape(entry(header, "shape", where), where);
  auto width = descr.size() == 3 && '0' < descr[2] && descr[2] <= '9' ? static_cast<std::size_t>(descr[2] - '0') : 1;
  check<IoError>(static_cast<std::size_t>(volume(shape)) * width <= bytes.size() - start, where, " ends before its ",
                 volume(shape), " numbers");
  Array a;
  if (fortran && shape.size() > 1) {
    Shape reversed(Dims(shape.rbegin(), shape.rend()));
    a = transpose(array_of(descr, reversed, bytes.data() + start, o, where));
  } else a = array_of(descr, shape, bytes.data() + start, o, where);
  return o.dtype && *o.dtype != a.dtype() ? a.astype(*o.dtype) : a;
}

// ---- .npz --------------------------------------------------------------------------------------------------------------
std::uint32_t crc32(std::string_view s) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      auto c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = ~0u;
  for (unsigned char b : s) c = table[(c ^ b) & 255u] ^ (c >> 8);
  return ~c;
}
struct ZipEntry {
  std::string name;
  std::uint16_t method;
  std::uint32_t crc;
  std::uint64_t stored, size, offset;
};
/// 64-bit values that did not fit into a central header, in the order the format gives them.
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
constexpr std::uint64_t kZipLimit = 0xfffffffeu;
}  // namespace

void save_npy(const Path& file, const Array& x) { write_all(file, npy_bytes(x)); }
Array load_npy(const Path& file, const LoadNpy& options) { return parse_npy(read_file(file.string()), options, file.string()); }

std::map<std::string, Array> load_npz(const Path& file, const LoadNpy& options) {
  auto bytes = read_file(file.string());
  std::string_view z = bytes;
  std::map<std::string, Array> r;
  for (auto& e : zip_entries(z, file.string())) {
    auto where = file.string() + ": " + e.name;
    check<IoError>(e.method == 0, where, " is compressed; write the file with numpy.savez instead of savez_compressed");
    check<IoError>(e.offset + 30 <= z.size(), where, " lies outside of the file");
    auto data = e.offset + 30 + number_at<std::uint16_t>(z, e.offset + 26, where) +
                number_at<std::uint16_t>(z, e.offset + 28, where);
    check<IoError>(data <= z.size() && e.size <= z.size() - data && e.stored == e.size, where,
                   " lies outside of the file");
    auto content = z.substr(data, e.size);
    check<IoError>(crc32(content) == e.crc, where, ": its checksum is wrong; the file is damaged");
    r[e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name] = parse_npy(content, options, where);
  }
  return r;
}
void save_npz(const Path& file, const std::map<std::string, Array>& arrays) {
  std::string out, contents;
  for (auto& [name, x] : arrays) {
    auto bytes = npy_bytes(x);
    auto entry_name = name + ".npy";
    check<IoError>(bytes.size() <= kZipLimit && out.size() <= kZipLimit, "save_npz: ", file.string(),
                   " would be larger than 4 GiB; use save_npy for each array");
    auto offset = static_cast<std::uint32_t>(out.size());
    std::string common;  // what both headers say: version 2.0, stored, 1 January 1980
    for (std::uint16_t v : {20, 0, 0, 0, 0x21}) put(common, v);
    put(common, crc32(bytes));
    put(common, static_cast<std::uint32_t>(bytes.size()));
    put(common, static_cast<std::uint32_t>(bytes.size()));
    put(common, static_cast<std::uint16_t>(entry_name.size()));
    put(common, std::uint16_t{0});
    out.append("PK\x03\x04", 4);
    out += common + entry_name + bytes;
    contents.append("PK\x01\x02", 4);
    put(contents, std::uint16_t{20});
    contents += common;
    for (int i = 0; i < 3; ++i) put(contents, std::uint16_t{0});  // comment, disk, internal attributes
    put(contents, std::uint32_t{0});
    put(contents, offset);
    contents += entry_name;
  }
  check<IoError>(out.size() <= kZipLimit, "save_npz: ", file.string(),
                 " would be larger than 4 GiB; use save_npy for each array");
  check<IoError>(arrays.size() < 65535, "save_npz: ", file.string(), " would hold ", arrays.size(),
                 " arrays; a .npz file holds at most 65534");
  auto start = static_cast<std::uint32_t>(out.size()), n = static_cast<std::uint32_t>(arrays.size());
  out += contents;
  out.append("PK\x05\x06", 4);
  for (std::uint16_t v :
       {std::uint16_t{0}, std::uint16_t{0}, static_cast<std::uint16_t>(n), static_cast<std::uint16_t>(n)})
    put(out, v);
  put(out, static_cast<std::uint32_t>(contents.size()));
  put(out, start);
  put(out, std::uint16_t{0});
  write_all(file, out);
}
}  // namespace bora
