// paths.h -- whether there is something at a path, and its descriptor. What the system cannot say is an error, not an
// absence.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <cstring>
#include <string>
#include "bora/base/error.h"

namespace bora {
/// Whether there is anything at `path`, links followed. Throws IoError if the system cannot say.
inline bool is_there(const std::string& path) {
  struct ::stat s {};
  if (::stat(path.c_str(), &s) == 0) return true;
  check<IoError>(errno == ENOENT || errno == ENOTDIR, "cannot look for ", path, ": ", std::strerror(errno));
  return false;
}
/// ::open, again where a signal interrupted it, as on a network's file system. Closed in programs that are started.
inline int open_retried(const char* path, int flags, ::mode_t mode = 0666) {
  int fd = -1;
  do fd = ::open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}
}  // namespace bora
