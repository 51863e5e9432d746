#include "data/tables/pages.h"
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>
#include <algorithm>
#include <cstring>
#include "bora/base/error.h"
#include "data/tables/thrift.h"

namespace bora::data::tables {
namespace {
constexpr std::int64_t kWindow = 16 << 10, kLongestHeader = 16 << 20;
constexpr std::int32_t kLargestPage = 512 << 20;  // unpacked: a small file could stand for any number of bytes
constexpr std::size_t kMostRooms = 8, kLargestRoom = 8 << 20;

void unpack_gzip(std::string_view from, char* out, std::size_t n) {
  ::z_stream s = {};
  expect(::inflateInit2(&s, 32 + MAX_WBITS) == Z_OK, "gzip: out of memory");
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  s.avail_in = static_cast<uInt>(from.size());
  s.next_out = reinterpret_cast<Bytef*>(out);
  s.avail_out = static_cast<uInt>(n);
  int code = Z_STREAM_END;
  while (code == Z_STREAM_END && s.avail_out > 0) {  // a page may have several members
    code = ::inflate(&s, Z_FINISH);
    if (code == Z_STREAM_END && s.avail_out > 0 && ::inflateReset(&s) != Z_OK) code = Z_STREAM_ERROR;
  }
  bool whole = s.avail_out == 0 && (n == 0 || code == Z_STREAM_END);
  ::inflateEnd(&s);
  expect(whole, "its gzip data is damaged");
}
}  // namespace

std::shared_ptr<char[]> Pages::room(std::size_t bytes) {
  auto free = [](const Room& r) { return r.bytes.use_count() == 1; };
  for (auto& r : rooms_)
    if (free(r) && r.size >= bytes) return r.bytes;
  // new[] touches no memory: a size that is a lie takes none.
  std::shared_ptr<char[]> fresh(new char[bytes]);
  if (bytes > kLargestRoom) return fresh;
  auto small = std::find_if(rooms_.begin(), rooms_.end(), free);
  if (small != rooms_.end()) *small = {fresh, bytes};
  else if (rooms_.size() < kMostRooms) rooms_.push_back({fresh, bytes});
  return fresh;
}
void Pages::unpack(Codec codec, std::string_view from, char* out, std::size_t n) {
  switch (codec) {
    case Codec::none:
      expect(from.size() == n, "it has another number of bytes than it says");
      if (n > 0) std::memcpy(out, from.data(), n);
      return;
    case Codec::snappy: {
      std::size_t size = 0;
      bool fits = ::snappy_uncompressed_length(from.data(), from.size(), &size) == SNAPPY_OK && size == n &&
                  ::snappy_uncompress(from.data(), from.size(), out, &size) == SNAPPY_OK && size == n;
      return expect(fits, "its snappy data is damaged");
    }
    case Codec::gzip: return unpack_gzip(from, out, n);
    case Codec::zstd: {
      if (!zstd_) zstd_.reset(::ZSTD_createDCtx(), ::ZSTD_freeDCtx);
      expect(zstd_ != nullptr, "zstd: out of memory");
      auto size = ::ZSTD_decompressDCtx(zstd_.get(), out, n, from.data(), from.size());
      return expect(!::ZSTD_isError(size) && size == n, "its zstd data is damaged");
    }
    default: throw Problem{"it is compressed by " + codec_name(static_cast<int>(codec)) +
                           ", which is not read; write it with snappy, zstd or gzip"};
  }
}
Pages::Pages(const File& file, const std::string& path, const Leaf& leaf, const Piece& piece, std::size_t group)
    : file_(file), path_(path), leaf_(leaf), piece_(piece), group_(group), at_(piece.start),
      end_(piece.start + piece.bytes) {}
void Pages::failed(const std::string& problem) const {
  fail<IoError>(path_, ": column '", leaf_.path, "', page ", page_, " of row group ", group_ + 1, ": ", problem);
}
bool Pages::parse(std::string_view bytes) {
  PageHeader h;
  Thrift t(bytes);
  try {
    t.structure([&](int field, int type) {
      switch (field) {
        case 1: return t.take(type, h.kind);
        case 2: return t.take(type, h.unpacked);
        case 3: return t.take(type, h.stored);
        case 4: return h.has_crc = t.take(type, h.crc);
        case 5:
          return t.take_structure(type, [&](int f, int is) {
            switch (f) {
              case 1: return t.take(is, h.values);
              case 2: return t.take(is, h.encoding);
              case 3: return t.take(is, h.def_encoding);
              case 4: return t.take(is, h.rep_encoding);
              default: return false;
            }
          });
        case 7:
          return t.take_structure(type, [&](int f, int is) {
            return (f == 1 && t.take(is, h.values)) || (f == 2 && t.take(is, h.encoding));
          });
        case 8:
          return t.take_structure(type, [&](int f, int is) {
            switch (f) {
              case 1: return t.take(is, h.values);
              case 2: return t.take(is, h.nulls);
              case 3: return t.take(is, h.rows);
              case 4: return t.take(is, h.encoding);
              case 5: return t.take(is, h.def_bytes);
              case 6: return t.take(is, h.rep_bytes);
              case 7: return t.take(is, h.packed);
              default: return false;
            }
          });
        default: return false;
      }
    });
  } catch (const Problem& p) {
    if (p.ended) return false;
    failed("its header is damaged: " + p.what);
  }
  header_ = h;
  header_bytes_ = static_cast<std::int64_t>(t.at());
  return true;
}
const PageHeader* Pages::ahead() {
  if (header_bytes_ > 0) return &header_;
  if (at_ >= end_) return nullptr;
  ++page_;
  for (auto want = kWindow;; want *= 4) {
    auto there = at_ >= window_at_ ? window_at_ + static_cast<std::int64_t>(window_.size()) - at_ : 0;
    auto n = std::min(want, end_ - at_);
    bool enough = there > 0 && parse(std::string_view(window_).substr(static_cast<std::size_t>(at_ - window_at_)));
    if (enough) break;
    if (there >= n && (n == end_ - at_ || want > kLongestHeader)) failed("its header is damaged: it has no end");
    if (there >= n) continue;
    window_.resize(static_cast<std::size_t>(n));
    window_at_ = at_;
    if (!file_.read(at_, window_.data(), n)) failed("the file became shorter while it was read");
    if (parse(window_)) break;
  }
  auto& h = header_;
  bool data = h.kind == PageHeader::data || h.kind == PageHeader::data2, dictionary = h.kind == PageHeader::dictionary;
  bool fits = h.kind >= 0 && h.unpacked >= 0 && h.stored >= 0 && h.stored <= end_ - at_ - header_bytes_;
  if ((data || dictionary) && h.values < 0) fits = false;
  if (h.kind == PageHeader::data2)
    fits = fits && h.def_bytes >= 0 && h.rep_bytes >= 0 && h.rows >= 0 && h.rows <= h.values &&
           (leaf_.most_rep > 0 || h.rows == h.values) &&
           static_cast<std::int64_t>(h.def_bytes) + h.rep_bytes <= std::min(h.stored, h.unpacked);
  if (!fits) failed("its header is damaged: its numbers do not fit");
  if (h.unpacked > kLargestPage) failed("it has " + std::to_string(h.unpacked) + " bytes; the most that are read are " +
                                        std::to_string(kLargestPage));
  return &header_;
}
void Pages::skip() {
  at_ += header_bytes_ + header_.stored;
  header_bytes_ = 0;
}
Page Pages::take() {
  auto& h = header_;
  auto stored = static_cast<std::size_t>(h.stored), unpacked = static_cast<std::size_t>(h.unpacked);
  auto from = at_ + header_bytes_;
  std::shared_ptr<char[]> raw;  // free again at the end
  std::string_view bytes;
  auto in_window = from - window_at_;
  if (in_window + h.stored <= static_cast<std::int64_t>(window_.size())) {
    bytes = std::string_view(window_).substr(static_cast<std::size_t>(in_window), stored);
  } else {
    raw = room(stored);
    if (!file_.read(from, raw.get(), h.stored)) failed("the file became shorter while it was read");
    bytes = {raw.get(), stored};
  }
  if (h.has_crc) {
    auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), stored);
    if (static_cast<std::uint32_t>(crc) != static_cast<std::uint32_t>(h.crc)) failed("its checksum is wrong");
  }
  Page p;
  try {
    std::size_t levels = 0;
    if (h.kind == PageHeader::data2) {  // levels are as they are, in front of the values
      auto rep = static_cast<std::size_t>(h.rep_bytes), def = static_cast<std::size_t>(h.def_bytes);
      levels = rep + def;
    }
    auto codec = h.packed ? piece_.codec : Codec::none;
    auto to = room(unpacked);
    if (levels > 0) std::memcpy(to.get(), bytes.data(), levels);
    if (unpacked > levels || stored > levels)
      unpack(codec, bytes.substr(levels), to.get() + levels, unpacked - levels);
    p.values = {to.get(), unpacked};
    if (h.kind == PageHeader::data2) {
      auto rep = static_cast<std::size_t>(h.rep_bytes);
      p.rep = p.values.substr(0, rep);
      p.def = p.values.substr(rep, levels - rep);
      p.values.remove_prefix(levels);
    } else if (h.kind == PageHeader::data) {
      auto take = [&](int most, std::int32_t encoding, std::string_view& out, const char* name) {
        if (most == 0) return;
        if (encoding != static_cast<int>(Encoding::rle))
          broken(std::string(name) + " levels are encoded by " + encoding_name(encoding) + ", which is not read");
        std::uint32_t n = 0;
        expect(p.values.size() >= 4, "it ends before its levels");
        std::memcpy(&n, p.values.data(), 4);
        expect(n <= p.values.size() - 4, "it ends before its levels");
        out = p.values.substr(4, n);
        p.values.remove_prefix(4 + n);
      };
      take(leaf_.most_rep, h.rep_encoding, p.rep, "repetition");
      take(leaf_.most_def, h.def_encoding, p.def, "definition");
    }
    p.memory = std::move(to);
  } catch (const Problem& problem) { failed(problem.what); }
  skip();
  return p;
}
}  // namespace bora::data::tables
