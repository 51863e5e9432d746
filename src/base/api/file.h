// file.h -- files that report every error and are durable after sync. A FIFO, device or folder in place of a file to
// read is refused by name; opening never blocks.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include "bora/base/error.h"

namespace bora {
/// Names the kind of a path that is not a regular file.
inline const char* file_kind(::mode_t mode) {
  return S_ISDIR(mode)                      ? "a folder"
         : S_ISFIFO(mode)                   ? "a FIFO"
         : S_ISSOCK(mode)                   ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "no file";
}
/// Opens the regular file at `path` for reading. Returns -1, with the reason in `problem`, if there is none.
inline int open_file(const std::string& path, std::string& problem) {
  struct ::stat s {};
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  auto open = [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); };
  int fd = open();
  // Somebody has a lease of it, and has been told to give it back; Linux takes it away after a while.
  for (; fd < 0 && errno == EWOULDBLOCK; fd = open()) ::usleep(1000);
  bool known = fd >= 0 && ::fstat(fd, &s) == 0;
  if (known && S_ISREG(s.st_mode)) return fd;
  problem = known ? std::string("it is ") + file_kind(s.st_mode) + ", a file is expected" : std::strerror(errno);
  if (fd >= 0) ::close(fd);
  return -1;
}
/// The bytes of a file. Throws E: "cannot read PATH: why".
template <class E = IoError> std::string read_file(const std::string& path) {
  std::string bytes, problem;
  int fd = open_file(path, problem);
  check<E>(fd >= 0, "cannot read ", path, ": ", problem);
  char buffer[1 << 15];
  for (;;) {
    auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) problem = std::strerror(errno);
    if (n <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  check<E>(problem.empty(), "cannot read ", path, ": ", problem);
  return bytes;
}

/// The disk is full, or the user's quota of it.
struct NoRoom : IoError {
  using IoError::IoError;
};
/// An open file. Every failure is an IoError that names the file and the system's reason.
class File {
 public:
  static File create(const std::string& path);
  /// For writing at its end; made if it is missing.
  static File append(const std::string& path);
  static File open(const std::string& path);
  /// For writing into a file that exists.
  static File edit(const std::string& path);
  ~File();
  File(File&& o) noexcept : path_(std::move(o.path_)), fd_(o.fd_) { o.fd_ = -1; }
  File& operator=(File&& o) noexcept {
    std::swap(path_, o.path_);
    std::swap(fd_, o.fd_);
    return *this;
  }
  void write(const void* data, std::int64_t n);
  void write_at(std::int64_t offset, const void* data, std::int64_t n);
  /// Exactly n bytes from `offset`; false if the file ends before.
  bool read(std::int64_t offset, void* out, std::int64_t n) const;
  std::int64_t size() const;
  /// Whether this name leads to it.
  bool has(const std::string& path) const;
  void sync() const;
  int descriptor() const { return fd_; }
  void cut(std::int64_t size);  // as far as that is possible
  void drop_pages() const;  // drops its pages in the page cache, which were synced; a hint, which cannot fail
  void close();  // reports errors, which the destructor cannot do

 private:
  File(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  [[noreturn]] void failed(const char* verb) const;
  std::string path_;
  int fd_;
};
struct WriteOptions {
  bool keep_pages = true;  // in the page cache, for readers to come
};
/// Replaces a file atomically: writes a new file beside it, syncs and renames it, and syncs its folder. What fails
/// leaves the file that was there, or none; only where the folder cannot be synced the new one may be there.
void write_file(const std::string& path, const std::string& text, WriteOptions = {});
/// The same of a file that `contents` writes in pieces.
void write_file(const std::string& path, const std::function<void(File&, const std::string& beside)>& contents);
void sync_folder(const std::string& path);
/// Bytes that this user may still write into the file system of this path; -1 where it does not say.
std::int64_t free_bytes(const std::string& path);
/// Makes a folder and those above it; what was made stays after a crash of the machine. True: it was missing.
/// std::filesystem::filesystem_error.
bool make_folders(const std::string& path);
void rename_folder(const std::string& from, const std::string& to);
/// Swaps the names of two folders, atomically if the file system can; else b is called `a`.old for a moment.
void exchange_folders(const std::string& a, const std::string& b);
}  // namespace bora
