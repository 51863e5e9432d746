#include "launch/api/bus_error.h"
#include <fcntl.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

namespace bora::launch {
namespace {
/// The path in the line of /proc/self/maps that has the address; empty for memory without a name. Only calls that a
/// signal handler may make.
const char* mapped_file_at(std::uintptr_t address) {
  static char line[8192];
  int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t n = 0;
  for (char c; fd >= 0 && ::read(fd, &c, 1) == 1;) {
    if (c != '\n') {
      if (n + 1 < sizeof line) line[n++] = c;
      continue;
    }
    line[std::exchange(n, 0)] = 0;
    std::uintptr_t ends[2] = {};  // 7f00-7f80 r--s 00000000 08:01 12345    /path
    const char* at = line;
    for (auto& end : ends) {
      for (; *at && *at != '-' && *at != ' '; ++at)
        end = end * 16 + static_cast<std::uintptr_t>(*at <= '9' ? *at - '0' : *at - 'a' + 10);
      if (*at) ++at;
    }
    if (address >= ends[0] && address < ends[1]) {
      auto path = std::strchr(line, '/');
      return path ? path : "";
    }
  }
  return "";
}
void write_error(const char* text) {
  for (auto n = std::strlen(text); n > 0;) {
    auto done = ::write(2, text, n);
    if (done <= 0) return;
    text += done, n -= static_cast<std::size_t>(done);
  }
}
void on_lost_page(int, siginfo_t* info, void*) {
  auto path = mapped_file_at(reinterpret_cast<std::uintptr_t>(info->si_addr));
  bool file = *path && std::strncmp(path, "/memfd:", 7) != 0;
  write_error("bora: ");
  write_error(file ? "cannot read " : "shared memory is gone");
  if (file) write_error(path);
  write_error(file ? ": it became shorter while it was in use, or its disk has an error\n"
                   : ": the system has too little of it\n");
  ::_exit(2);
}
}  // namespace
void explain_bus_errors() {
  struct ::sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}
}  // namespace bora::launch
