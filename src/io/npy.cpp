// Arrays to and from NumPy's files; npy_format.h parses the bytes.
#include "bora/io/npy.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include "base/api/file.h"
#include "io/api/jobs.h"
#include "io/api/npy.h"
#include "bora/array/communicator.h"
#include "bora/base/text.h"
#include "bora/ops/manipulation.h"
#include "npy_format.h"
#include "shard/api/agree.h"
#include "shard/api/split.h"

namespace bora {
namespace {
static_assert(std::endian::native == std::endian::little);
using Path = std::filesystem::path;

/// In place, as NumPy does it; what could not be written whole does not stay as if it were.
void write_all(const Path& file, const std::string& bytes) {
  auto f = File::create(file.string());
  try {
    f.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
    f.close();
  } catch (const IoError&) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) std::filesystem::remove(file, error);
    throw;
  }
}
/// Gathers arrays that are split over the mesh, as every rank does. True if there are any.
bool gather_split(Arrays& all) {
  bool split = false;
  for (auto& x : all) split = split || fx::is_split(x);
  for (auto& x : all) x = x.concrete();
  return split;
}
/// A file of arrays that are split is written by the first rank, and exists on all of them when it is whole; where it
/// fails, all ranks throw. Other arrays are this rank's alone, as is the file.
void written_once(bool split, std::string_view what, const std::function<void()>& write) {
  if (!split) return write();
  Ranks all;
  all.rank = here().rank;
  all.exchange = [talk = here().communicator](auto& mine, auto what) { return talk->exchange(mine, what); };
  on_first(all, what, [&] { write(); });
}
template <class T> void put(std::string& to, T x) { to.append(reinterpret_cast<const char*>(&x), sizeof x); }

// ---- .npy -----------------------------------------------------------------------------------------------------------
std::string_view descr_of(Dtype d) {
  check<DtypeError>(!info(d).npy.empty(), "save_npy: NumPy has no dtype for random keys; save their bits");
  return info(d).npy;
}
}  // namespace
std::string io::npy_bytes(const Array& x) {
  Array c = x.concrete();
  auto header = "{'descr': '" + std::string(descr_of(c.dtype())) + "', 'fortran_order': False, 'shape': (";
  for (std::int64_t d = 0; d < c.ndim(); ++d) header += (d ? ", " : "") + std::to_string(c.shape(d));
  header += c.ndim() == 1 ? ",), }" : "), }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(header.size()));
  out += header;
  if (c.nbytes()) out.append(static_cast<const char*>(c.bytes()), c.nbytes());
  return out;
}
namespace {
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
/// Reverses the bytes of each number: big-endian to little-endian.
std::string reversed(const char* data, std::size_t count, std::size_t width) {
  std::string r(data, count * width);
  for (std::size_t i = 0; i < count; ++i) std::reverse(r.data() + i * width, r.data() + (i + 1) * width);
  return r;
}
Array array_of(std::string_view descr, const Shape& shape, const char* data, std::optional<Dtype> dtype,
               const std::string& where) {
  if (descr == ">c8" || descr == ">c16") {  // both parts are turned
    auto d = descr == ">c8" ? complex64 : complex128;
    auto turned = reversed(data, 2 * static_cast<std::size_t>(volume(shape)), dtype_size(d) / 2);
    return from_bytes({shape, d}, turned.data());
  }
  for (auto d : {complex64, complex128})
    if (descr == descr_of(d)) return from_bytes({shape, d}, data);
  check<DtypeError>(descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos, where,
                    " holds '", descr,
                    "', which has no dtype here; convert it with astype in NumPy (bool, integers or floats)");
  std::string turned;
  if (descr[0] == '>' && '1' < descr[2] && descr[2] <= '9') {
    turned = reversed(data, static_cast<std::size_t>(volume(shape)), static_cast<std::size_t>(descr[2] - '0'));
    data = turned.data();
  }
  auto kind = descr.substr(1);
  if (kind == "b1")  // a file may hold any byte
    return converted<std::uint8_t, bool>(shape, data, [](auto x) { return x != 0; });
  if (dtype && info(*dtype).npy.ends_with(kind)) return from_bytes({shape, *dtype}, data);  // bf16: its bits
  for (std::size_t k = 0; k < kDtypes; ++k) {
    auto d = static_cast<Dtype>(k);
    if (d != bf16 && !is_complex(d) && info(d).npy.size() == 3 && info(d).npy.substr(1) == kind)
      return from_bytes({shape, d}, data);
  }
  if (kind == "V2")
    fail<DtypeError>(where, " holds 2-byte raw values ('", descr,
                     "'); if they are bf16, save x.view('uint16') and load with {.dtype = bf16}");
  fail<DtypeError>(where, " holds '", descr, "', which has no dtype here; convert it with astype in NumPy");
}
/// The numbers of a file as they lie there.
struct Numbers {
  Array array;
  bool turned = false;  // column by column
  Array done(std::optional<Dtype> dtype) const {
    auto a = turned ? transpose(array) : array;
    return dtype && *dtype != a.dtype() ? a.astype(*dtype) : a;
  }
};
Numbers parse_npy(std::string_view bytes, std::optional<Dtype> dtype, const std::string& where) {
  auto v = io::read_npy(bytes, where);
  bool turned = v.fortran && v.shape.size() > 1;
  auto shape = turned ? Shape(Dims(v.shape.rbegin(), v.shape.rend())) : v.shape;
  return {array_of(v.descr, shape, v.data.data(), dtype, where), turned};
}

// ---- .npz -----------------------------------------------------------------------------------------------------------
constexpr std::uint64_t kZipLimit = 0xfffffffeu;
}  // namespace

void save_npy(const Path& file, const Array& x) {
  (void)descr_of(x.dtype());
  Arrays all{x};
  bool split = gather_split(all);
  written_once(split, "save_npy", [&] { write_all(file, io::npy_bytes(all[0])); });
}
Array load_npy(const Path& file, const LoadNpyOptions& options) {
  return parse_npy(read_file(file.string()), options.dtype, file.string()).done(options.dtype);
}

std::map<std::string, Array> load_npz(const Path& file, const LoadNpzOptions& options) {
  auto bytes = read_file(file.string());
  struct Entry {
    std::string name;
    bool asked;
    Numbers numbers = {};
    std::string odd = {};  // why there is no dtype here for strings, records .. that nobody asked for
  };
  std::vector<Entry> found;
  std::string names;
  auto wanted = options.only;
  auto all = io::read_npz(bytes, file.string());
  found.reserve(all.size());
  io::run_jobs([&](std::vector<io::Job>& jobs) {
    for (auto& e : all) {
      auto name = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
      names += (names.empty() ? "" : ", ") + name;
      bool asked = std::find(wanted.begin(), wanted.end(), name) != wanted.end();
      if (!options.only.empty() && !asked) continue;
      auto& entry = found.emplace_back(Entry{name, asked});
      jobs.push_back({static_cast<std::int64_t>(e.size), [&] {
                        std::string room;
                        auto where = file.string() + ": " + e.name;
                        auto content = io::content_of(e, room, where);
                        try {
                          entry.numbers = parse_npy(content, options.dtype, where);
                        } catch (const DtypeError& error) {
                          if (entry.asked) throw;
                          entry.odd = error.text();
                        }
                      }});
      std::erase(wanted, name);
    }
  });
  std::map<std::string, Array> r;
  std::string odd;
  for (auto& entry : found) try {
      if (entry.odd.empty()) r[entry.name] = entry.numbers.done(options.dtype);
      else if (odd.empty()) odd = entry.odd;
    } catch (const DtypeError& error) {
      if (entry.asked) throw;
      if (odd.empty()) odd = error.text();
    }
  check<IoError>(wanted.empty(), file.string(), " has no array '", wanted.empty() ? "" : wanted[0], "'; it has ",
                 names);
  check<DtypeError>(!r.empty() || odd.empty(), odd);
  return r;
}
namespace {
std::string npz_bytes(const Path& file, const std::map<std::string, Array>& arrays) {
  std::string out, contents;
  for (auto& [name, x] : arrays) {
    auto bytes = io::npy_bytes(x);
    auto entry_name = name + ".npy";
    check<IoError>(bytes.size() <= kZipLimit && out.size() <= kZipLimit, "save_npz: ", file.string(),
                   " would be larger than 4 GiB; use save_npy for each array");
    auto offset = static_cast<std::uint32_t>(out.size());
    bool ascii = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x80; });
    std::string common;  // the fields shared by both headers: version 2.0, UTF-8, stored, 1 January 1980
    for (std::uint16_t v : {20, ascii ? 0 : 0x800, 0, 0, 0x21}) put(common, v);
    put(common, io::crc32_of(bytes));
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
  return out;
}
}  // namespace
void save_npz(const Path& file, const std::map<std::string, Array>& arrays) {
  Arrays all;
  for (auto& [name, x] : arrays) {  // on all ranks
    check<ValueError>(name.size() + 4 <= 0xffff && first_not_utf8(name) == name.npos, "save_npz: the name '",
                      name.substr(0, 100), "' of ", name.size(), " bytes is too long, or not UTF-8");
    (void)descr_of(x.dtype());
    all.push_back(x);
  }
  bool split = gather_split(all);
  written_once(split, "save_npz", [&] {
    auto whole = arrays;
    std::size_t i = 0;
    for (auto& entry : whole) entry.second = all[i++];
    write_all(file, npz_bytes(file, whole));
  });
}
}  // namespace bora
