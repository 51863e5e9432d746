// The bytes of a file: as they are, or decompressed by zlib or libzstd. Both are streamed, so that neither a large file
// nor one that expands without end needs memory.
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "data/api/records.h"

namespace bora::data {
namespace {
constexpr std::size_t kInput = 128 << 10;

/// The stored bytes of a file, as many as it had when it was listed.
class Stored {
 public:
  explicit Stored(const SourceFile& listed) : listed_(listed), file_(File::open(listed.path)) {}
  std::size_t read(char* out, std::size_t n) {
    n = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(n), listed_.bytes - at_));
    check<IoError>(file_.read(at_, out, static_cast<std::int64_t>(n)), listed_.path,
                   ": it became shorter while it was read: ", file_.size(), " bytes are left of ", listed_.bytes);
    at_ += static_cast<std::int64_t>(n);
    crc_ = crc32c(out, n, crc_);
    return n;
  }
  void skip(std::int64_t n) {
    if (n > listed_.bytes - at_) too_short();
    at_ += n;
    skipped_ = skipped_ || n > 0;
  }
  std::optional<std::uint32_t> crc() const { return ended() && !skipped_ ? std::optional(crc_) : std::nullopt; }
  bool ended() const { return at_ == listed_.bytes; }
  std::int64_t at() const { return at_; }
  const std::string& path() const { return listed_.path; }
  [[noreturn]] void too_short() const {
    fail<IoError>(path(), ": it ends before the place at which reading is to go on; it has changed");
  }

 private:
  SourceFile listed_;
  File file_;
  std::int64_t at_ = 0;
  std::uint32_t crc_ = 0;  // of what was read
  bool skipped_ = false;
};
}  // namespace

struct ByteReader::Bytes {
  explicit Bytes(const SourceFile& file) : stored(file) {}
  virtual ~Bytes() = default;
  virtual std::size_t read(char* out, std::size_t n) { return stored.read(out, n); }
  virtual void skip(std::int64_t n) { stored.skip(n); }
  Stored stored;
};

namespace {
/// Compressed bytes are read through a buffer, and skipped by reading them.
struct Compressed : ByteReader::Bytes {
  Compressed(const SourceFile& file, const char* format_) : Bytes(file), format(format_) {
    input.resize(std::clamp<std::size_t>(static_cast<std::size_t>(file.bytes), 4096, kInput));
  }
  std::size_t refill() { return stored.read(input.data(), input.size()); }
  void skip(std::int64_t n) final {
    std::vector<char> room(kInput);
    while (n > 0) {
      auto want = static_cast<std::size_t>(std::min<std::int64_t>(n, kInput));
      if (read(room.data(), want) < want) stored.too_short();
      n -= static_cast<std::int64_t>(want);
    }
  }
  [[noreturn]] void truncated() const {
    fail<IoError>(stored.path(), ": the ", format, " data ends too early, after ", stored.at(),
                  " bytes; the file is incomplete");
  }
  [[noreturn]] void corrupt(std::size_t unread, const char* reason) const {
    fail<IoError>(stored.path(), ": the ", format, " data is corrupt near byte ",
                  stored.at() - static_cast<std::int64_t>(unread), ": ", reason);
  }
  const char* format;
  std::vector<char> input = {};
};

struct Gzip final : Compressed {
  explicit Gzip(const SourceFile& file) : Compressed(file, "gzip") {
    check<IoError>(::inflateInit2(&s, 16 + MAX_WBITS) == Z_OK, file.path, ": gzip: out of memory");
  }
  ~Gzip() override { ::inflateEnd(&s); }
  std::size_t read(char* out, std::size_t n) override {
    s.next_out = reinterpret_cast<Bytef*>(out);
    s.avail_out = static_cast<uInt>(n = std::min<std::size_t>(n, 1U << 30));  // zlib counts in 32 bits
    while (s.avail_out > 0) {
      if (s.avail_in == 0) {
        s.avail_in = static_cast<uInt>(refill());
        s.next_in = reinterpret_cast<Bytef*>(input.data());
      }
      if (ended) {  // another member, zeros that fill a block, or the end
        for (; s.avail_in > 0 && *s.next_in == 0; ++s.next_in) --s.avail_in;
        if (s.avail_in == 0 && stored.ended()) break;
        if (s.avail_in == 0) continue;
        ::inflateReset(&s);
      }
      auto code = ::inflate(&s, Z_NO_FLUSH);
      ended = code == Z_STREAM_END;
      if (code == Z_BUF_ERROR) truncated();  // no input is left, and nothing came out
      if (code != Z_OK && !ended) corrupt(s.avail_in, s.msg ? s.msg : "it needs a dictionary");
    }
    return n - s.avail_out;
  }
  ::z_stream s = {};
  bool ended = false;  // a member
};

struct Zstd final : Compressed {
  explicit Zstd(const SourceFile& file) : Compressed(file, "zstd"), context(::ZSTD_createDCtx()) {
    check<IoError>(context != nullptr, file.path, ": zstd: out of memory");
    ::ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kWindow);
  }
  ~Zstd() override { ::ZSTD_freeDCtx(context); }
  std::size_t read(char* out, std::size_t n) override {
    ::ZSTD_outBuffer o{out, n, 0};
    while (o.pos < n) {
      if (in.pos == in.size) in = {input.data(), refill(), 0};
      bool last = in.size == 0;
      if (last && ended) break;
      auto before = o.pos;
      auto code = ::ZSTD_decompressStream(context, &o, &in);
      check<IoError>(::ZSTD_getErrorCode(code) != ZSTD_error_frameParameter_windowTooLarge, stored.path(),
                     ": the zstd data needs a window of more than ", (1 << kWindow) >> 20,
                     " MiB of memory; compress it again without --long");
      if (::ZSTD_isError(code)) corrupt(in.size - in.pos, ::ZSTD_getErrorName(code));
      ended = code == 0;
      if (last && !ended && o.pos == before) truncated();
    }
    return o.pos;
  }
  static constexpr int kWindow = 27;  // 2^27 bytes, as the zstd program has it
  ::ZSTD_DCtx* context;
  ::ZSTD_inBuffer in = {};
  bool ended = false;  // a frame, and all of it is given out
};
}  // namespace

ByteReader::ByteReader(const SourceFile& file) {
  if (file.path.ends_with(".gz")) bytes_ = std::make_unique<Gzip>(file);
  else if (file.path.ends_with(".zst")) bytes_ = std::make_unique<Zstd>(file);
  else bytes_ = std::make_unique<Bytes>(file);
}
ByteReader::~ByteReader() = default;
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
std::size_t ByteReader::read(char* out, std::size_t n) {
  std::size_t done = 0;
  for (std::size_t got = 1; done < n && got > 0; done += got) got = bytes_->read(out + done, n - done);
  return done;
}
void ByteReader::skip(std::int64_t n) { bytes_->skip(n); }
std::optional<std::uint32_t> ByteReader::stored_crc() const { return bytes_->stored.crc(); }
}  // namespace bora::data
