#include "run_folder.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include "bora/base/error.h"

namespace bora {
RunFolder::RunFolder(const std::string& path) : path_(path), lock_(path + "/.lock") {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check<ConfigError>(!error, "out: cannot make the folder ", path, ": ", error.message());
  while (!take()) {}
}
bool RunFolder::take() {
  fd_ = ::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check<ConfigError>(fd_ >= 0, "out: cannot write into ", path_, ": ", std::strerror(errno));
  // A file system without locks gives no protection, but can be trained on.
  bool theirs = ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct ::stat mine {
  }, there{};
  bool found = ::fstat(fd_, &mine) == 0 && ::stat(lock_.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
               mine.st_ino == there.st_ino;
  if (found && !theirs) return true;
  ::close(fd_);
  check<ConfigError>(!theirs, "out: another run is writing into ", path_,
                     "; wait until it has ended, or choose another out");
  return false;
}
RunFolder::~RunFolder() {
  ::unlink(lock_.c_str());  // before the lock is given up: who opened it meanwhile sees that it is gone
  ::close(fd_);
}
}  // namespace bora
