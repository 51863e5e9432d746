#include "base/api/file.h"
#include <sys/statvfs.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>
#include "base/api/paths.h"
#include "base/api/reason.h"

namespace bora {
void File::failed(const char* verb) const {
  auto reason = errno;
  if (reason == ENOSPC || reason == EDQUOT) fail<NoRoom>("cannot ", verb, " ", path_, ": ", std::strerror(reason));
  fail<IoError>("cannot ", verb, " ", path_, ": ", std::strerror(reason));
}
File File::create(const std::string& path) {
  File f(path, open_retried(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC));
  if (f.fd_ < 0) f.failed("write");
  return f;
}
File File::append(const std::string& path) {
  File f(path, open_retried(path.c_str(), O_WRONLY | O_APPEND | O_CREAT));
  if (f.fd_ < 0) f.failed("write");
  return f;
}
File File::open(const std::string& path) {
  std::string problem;
  int fd = open_file(path, problem);
  check<IoError>(fd >= 0, "cannot read ", path, ": ", problem);
  return {path, fd};
}
File File::edit(const std::string& path) {
  File f(path, open_retried(path.c_str(), O_WRONLY));
  if (f.fd_ < 0) f.failed("write");
  return f;
}
File::~File() {
  if (fd_ >= 0) ::close(fd_);
}
void File::write(const void* data, std::int64_t n) {
  for (auto p = static_cast<const char*>(data); n > 0;) {
    auto done = ::write(fd_, p, static_cast<std::size_t>(n));
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;  // a file system that takes nothing and says nothing
    if (done <= 0) failed("write");
    p += done;
    n -= done;
  }
}
void File::write_at(std::int64_t offset, const void* data, std::int64_t n) {
  for (auto p = static_cast<const char*>(data); n > 0;) {
    auto done = ::pwrite(fd_, p, static_cast<std::size_t>(n), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;  // a file system that takes nothing and says nothing
    if (done <= 0) failed("write");
    p += done;
    n -= done;
    offset += done;
  }
}
bool File::read(std::int64_t offset, void* out, std::int64_t n) const {
  for (auto p = static_cast<char*>(out); n > 0;) {
    auto done = ::pread(fd_, p, static_cast<std::size_t>(n), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) failed("read");
    if (done == 0) return false;
    p += done;
    n -= done;
    offset += done;
  }
  return true;
}
std::int64_t File::size() const {
  struct ::stat s {};
  if (::fstat(fd_, &s) != 0) failed("read");
  return s.st_size;
}
namespace {
bool synced(int fd) {
  int result = 0;
  while ((result = ::fsync(fd)) != 0 && errno == EINTR) {}  // of a network's file system
  return result == 0;
}
}  // namespace
void File::sync() const {
  if (!synced(fd_)) failed("sync");
}
void File::close() {
  int fd = fd_;
  fd_ = -1;
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) failed("close");  // Linux has closed an interrupted one
}
namespace {
/// A descriptor for what a file cannot take the place of: standard output or error, whatever it is, a device, a FIFO;
/// -1 for anything else. To rename a file onto /dev/null would take it from the whole machine.
int open_stream(const std::string& path) {
  struct ::stat link {
  }, there{}, standard{};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &there) != 0) return -1;
  for (int fd : {1, 2})
    if (S_ISLNK(link.st_mode) && ::fstat(fd, &standard) == 0 && standard.st_dev == there.st_dev &&
        standard.st_ino == there.st_ino) {
      if (fd == 1) std::fflush(stdout);
      return ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
  if (S_ISREG(there.st_mode) || S_ISDIR(there.st_mode)) return -1;
  int fd = open_retried(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY);  // a FIFO may have no reader
  check<IoError>(fd >= 0 && ::fcntl(fd, F_SETFL, O_WRONLY) == 0, "cannot write ", path, ": ", system_reason);
  return fd;
}
bool write_stream(const std::string& path, std::string_view text) {
  int fd = open_stream(path), reason = 0;
  if (fd < 0) return false;
  while (!text.empty() && reason == 0) {
    auto done = ::write(fd, text.data(), text.size());
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    else if (done == 0) reason = ENOSPC;
    else if (errno != EINTR) reason = errno;
  }
  if (::close(fd) != 0 && reason == 0) reason = errno;
  check<IoError>(reason == 0, "cannot write ", path, ": ", std::strerror(reason));
  return true;
}
/// Writes the beginning of a file that exists, past the page cache: fresh pages cost more than this copy. Returns the
/// number of bytes that were written, 0 where the file system cannot do that; the rest is the caller's, errors too.
std::size_t write_direct(const std::string& path, std::string_view text) {
  constexpr std::size_t kPage = 4096, kPiece = 1 << 20;
  int fd = open_retried(path.c_str(), O_WRONLY | O_DIRECT);
  std::unique_ptr<char, decltype(&std::free)> piece(static_cast<char*>(std::aligned_alloc(kPage, kPiece)), &std::free);
  std::size_t done = 0;
  while (fd >= 0 && piece && text.size() - done >= kPage) {
    auto n = std::min(kPiece, (text.size() - done) / kPage * kPage);
    std::memcpy(piece.get(), text.data() + done, n);
    auto written = ::pwrite(fd, piece.get(), n, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written > 0) done += static_cast<std::size_t>(written) / kPage * kPage;
    if (written != static_cast<ssize_t>(n)) break;
  }
  if (fd >= 0) ::close(fd);
  return done;
}
}  // namespace
void write_file(const std::string& path, const std::string& text, WriteOptions options) {
  if (write_stream(path, text)) return;
  write_file(path, [&](File& file, const std::string& beside) {
    auto done = options.keep_pages ? 0 : write_direct(beside, text);
    file.write_at(static_cast<std::int64_t>(done), text.data() + done, static_cast<std::int64_t>(text.size() - done));
    file.sync();
    if (!options.keep_pages) file.drop_pages();
  });
}
namespace {
/// After a loss of power the file still has its name: its folder is synced, unless it may be written but not read.
void sync_name(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), R_OK) == 0) sync_folder(folder.string());
}
}  // namespace
void write_file(const std::string& path, const std::function<void(File&, const std::string& beside)>& contents) {
  auto beside = path + ".new";
  struct ::stat s {};
  const bool replaces = ::lstat(path.c_str(), &s) == 0;
  bool named = false;
  try {
    auto file = File::create(beside);
    contents(file, beside);
    file.sync();
    file.close();
    rename_folder(beside, path);
    named = true;
    sync_name(path);
  } catch (...) {
    ::unlink(beside.c_str());
    if (named && !replaces) ::unlink(path.c_str());  // no result of a call that failed
    throw;
  }
}
bool File::has(const std::string& path) const {
  struct ::stat mine {}, there {};
  return ::fstat(fd_, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}
void File::cut(std::int64_t size) { [[maybe_unused]] auto done = ::ftruncate(fd_, static_cast<off_t>(size)); }
void File::drop_pages() const { (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }
void sync_folder(const std::string& path) {
  int fd = open_retried(path.c_str(), O_RDONLY | O_DIRECTORY);
  bool done = fd >= 0 && synced(fd);
  auto reason = errno;
  if (fd >= 0) ::close(fd);
  // Some file systems (FUSE, CIFS) have nothing to sync of a folder.
  check<IoError>(done || (fd >= 0 && reason == EINVAL), "cannot sync ", path, ": ", std::strerror(reason));
}
std::int64_t free_bytes(const std::string& path) {
  struct ::statvfs s {};
  if (::statvfs(path.c_str(), &s) != 0 || s.f_blocks == 0) return -1;
  return static_cast<std::int64_t>(s.f_bavail) * static_cast<std::int64_t>(s.f_frsize);
}
bool make_folders(const std::string& path) {
  std::vector<std::filesystem::path> missing;
  for (auto p = std::filesystem::absolute(path).lexically_normal(); !std::filesystem::exists(p); p = p.parent_path())
    missing.push_back(p);
  bool made = std::filesystem::create_directories(path);
  for (auto& p : missing) sync_folder(p.parent_path().string());
  return made;
}
void rename_folder(const std::string& from, const std::string& to) {
  struct ::stat before {}, there{};
  const bool known = ::lstat(from.c_str(), &before) == 0;
  if (std::rename(from.c_str(), to.c_str()) == 0) return;
  // A server of NFS that had carried it out, and whose answer was lost, finds nothing when it is asked again.
  const auto reason = errno;
  if (reason == ENOENT && known && ::lstat(to.c_str(), &there) == 0 && there.st_dev == before.st_dev &&
      there.st_ino == before.st_ino)
    return;
  fail<IoError>("cannot rename ", from, " to ", to, ": ", std::strerror(reason));
}
void exchange_folders(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail<IoError>("cannot exchange ", a, " and ", b, ": ", std::strerror(errno));
  const auto old = a + ".old";  // NFS and other file systems cannot exchange
  rename_folder(b, old);
  try {
    rename_folder(a, b);
  } catch (const IoError&) {
    std::rename(old.c_str(), b.c_str());  // else readers find it under this name (io::list_checkpoints)
    throw;
  }
  // The three may reach the disk in any order, and the old folder must not lose its last name before b is there.
  sync_folder(std::filesystem::path(b).parent_path().string());
  rename_folder(old, a);
}
}  // namespace bora
