// processes.h -- processes that a test starts: their ends, what they print, and ports that they may find taken.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include "support/files.h"

namespace bora::test {
/// The exit code of a status of waitpid, or minus the signal.
inline int end_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
/// The end of a process, and its output.
struct Result {
  int code = 0;  // as end_of has it
  std::string out, err;
  double seconds = 0;
  /// The first line that begins so, without its beginning.
  std::string line(const std::string& begin) const {
    std::istringstream lines(out);
    for (std::string l; std::getline(lines, l);)
      if (l.starts_with(begin)) return l.substr(begin.size());
    return "no line '" + begin + "'";
  }
};
/// Standard output and error of this process go to the files `said`.out and `said`.err.
inline void print_into(const std::string& said) {
  for (auto [ending, to] : {std::pair{".out", 1}, {".err", 2}}) {
    int fd = ::open((said + ending).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ::dup2(fd, to);
    ::close(fd);
  }
}
/// Runs `child`, which returns an exit code, in a process of its own that prints into `said`; `meanwhile` gets its pid.
inline Result run_apart(const std::string& said, const std::function<int()>& child,
                        const std::function<void(pid_t)>& meanwhile = {}) {
  auto begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);  // the child must not write it again
  auto pid = ::fork();
  if (pid == 0) {
    print_into(said);
    ::_exit(child());
  }
  if (meanwhile) meanwhile(pid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {end_of(status), slurp(said + ".out"), slurp(said + ".err"), time.count()};
}
/// The number of other processes with a word in their command lines.
inline int processes(const std::string& word) {
  int n = 0;
  for (auto& p : std::filesystem::directory_iterator("/proc")) {
    auto pid = p.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(::getpid())) continue;
    n += slurp(p.path() / "cmdline").find(word) != std::string::npos &&
         slurp(p.path() / "stat").find(") Z") == std::string::npos;
  }
  return n;
}
/// The same after the moment that killed processes take to go.
inline int left(const std::string& word) {
  for (int i = 0; i < 200 && processes(word) > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return processes(word);
}
/// A port of this machine on which somebody listens already.
class TakenPort {
 public:
  TakenPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof a;
    auto* address = reinterpret_cast<::sockaddr*>(&a);
    if (::bind(fd_, address, size) != 0 || ::listen(fd_, 1) != 0 || ::getsockname(fd_, address, &size) != 0)
      throw std::system_error(errno, std::generic_category(), "a port to take");
    address_ = "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
  }
  ~TakenPort() { ::close(fd_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
};
}  // namespace bora::test
