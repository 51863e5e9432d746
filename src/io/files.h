// files.h -- files that report every error and are durable after sync.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace bora::io {
/// An open file. Every failure is an IoError that names the file and the system's reason.
class File {
 public:
  static File create(const std::string& path);
  static File open(const std::string& path);
  ~File();
  File(File&& o) noexcept : path_(std::move(o.path_)), fd_(o.fd_) { o.fd_ = -1; }
  File& operator=(File&&) = delete;
  void write(const void* data, std::int64_t n);
  /// Exactly n bytes from `offset`; false if the file ends before.
  bool read(std::int64_t offset, void* out, std::int64_t n) const;
  std::int64_t size() const;
  void sync() const;
  void close();  // reports errors, which the destructor cannot do

 private:
  File(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  [[noreturn]] void failed(const char* verb) const;
  std::string path_;
  int fd_;
};
/// Replaces a file atomically: writes a new file beside it, syncs and renames it.
void write_file(const std::string& path, const std::string& text);
void sync_folder(const std::string& path);
void rename_folder(const std::string& from, const std::string& to);
/// Swaps the names of two folders, atomically if the file system can.
void exchange_folders(const std::string& a, const std::string& b);
}  // namespace bora::io
