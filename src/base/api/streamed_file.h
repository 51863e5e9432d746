// streamed_file.h -- a new file that is written once from its beginning to its end, and that fills no page cache.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include "base/api/file.h"

namespace bora {
/// In pieces of 8 MiB, past the page cache where the file system can do that (O_DIRECT). Elsewhere each piece is sent
/// to the disk while the next one is filled, and its pages are dropped: a cgroup's memory never holds more than two
/// pieces, and the last sync has little left. Space for all of it is asked for first, so a full disk is found out at
/// once. Every failure is an IoError that names the file; after one the file is of no use, and a new one is to be made.
class StreamedFile {
 public:
  static constexpr std::int64_t kPiece = 8 << 20;
  /// bytes: how many will be appended.
  StreamedFile(const std::string& path, std::int64_t bytes);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;
  void append(const char* data, std::int64_t n);
  /// Writes the rest; the bytes are durable when it returns.
  void finish();

 private:
  void flush();
  /// How many of these bytes were written past the page cache.
  std::int64_t write_direct(std::int64_t n);
  void write_back();
  [[noreturn]] void failed() const;
  std::string path_;
  File file_;
  int direct_ = -1;
  std::unique_ptr<char, decltype(&std::free)> piece_;
  std::int64_t size_ = 0, filled_ = 0, at_ = 0;  // of the piece; where it goes
  std::int64_t from_ = 0, to_ = 0;               // pages that are on their way to the disk
};
}  // namespace bora
