// corpus.h -- files of a corpus for tests: a folder, compression, and all records of a file.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>
#include "bora/base/error.h"
#include "data/api/records.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::data {
struct Corpus : testing::Test {
  test::TempFolder temp;
  std::filesystem::path folder = temp.path();
  /// Writes a file; returns its path.
  std::string write(const std::string& name, const std::string& bytes) const { return temp.write(name, bytes); }
  SourceFile file(const std::string& name, const std::string& bytes) const {
    return {write(name, bytes), static_cast<std::int64_t>(bytes.size())};
  }
};
inline std::string gzip(const std::string& bytes, int level = 6) {
  ::z_stream s = {};
  ::deflateInit2(&s, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&s, bytes.size()) + 100, '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  s.avail_in = static_cast<uInt>(bytes.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  ::deflateEnd(&s);
  return out;
}
/// With a checksum, as the zstd program writes.
inline std::string zstd(const std::string& bytes, int window_log = 0) {
  auto context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  if (window_log > 0) {  // as a stream of unknown length, so that the frame needs this window
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::string out(::ZSTD_compressBound(bytes.size()) + 100, '\0');
  ::ZSTD_outBuffer o{out.data(), out.size(), 0};
  ::ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  if (window_log > 0) ::ZSTD_compressStream2(context, &o, &in, ZSTD_e_flush);
  EXPECT_EQ(::ZSTD_compressStream2(context, &o, &in, ZSTD_e_end), 0U);
  ::ZSTD_freeCCtx(context);
  out.resize(o.pos);
  return out;
}
/// A record with the position behind it; `bytes` of a malformed one is its error.
struct Seen {
  std::string bytes;
  std::int64_t line;
  Position behind;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& s) {
    return out << s.line << ": " << s.bytes << " -> " << s.behind.offset << ", " << s.behind.line;
  }
};
inline std::vector<Seen> records(const SourceFile& file, Format format, Position from = {}, Limits limits = {}) {
  std::vector<Seen> seen;
  RecordReader reader(file, format, from, limits);
  for (Raw raw;;) {
    try {
      if (!reader.next(raw)) return seen;
      seen.push_back({raw.bytes, raw.line, reader.position()});
    } catch (const ConfigError& e) { seen.push_back({e.what(), -1, reader.position()}); }
  }
}
using bora::test::error_of;
/// A random text of some parts.
inline std::string random_text(std::mt19937& random, const std::vector<std::string>& parts, int n) {
  std::string s;
  while (n-- > 0) s += parts[random() % parts.size()];
  return s;
}
}  // namespace bora::data
