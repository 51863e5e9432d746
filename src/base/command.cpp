#include "base/api/command.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>

namespace bora {
namespace {
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMost = std::size_t{64} << 10;
/// The program's process, or 0.
::pid_t spawned(const std::vector<std::string>& argv, int out) {
  std::vector<char*> words;
  for (auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::posix_spawn_file_actions_t files;
  ::posix_spawnattr_t how;
  if (::posix_spawn_file_actions_init(&files) != 0) return 0;
  if (::posix_spawnattr_init(&how) != 0) return ::posix_spawn_file_actions_destroy(&files), 0;
  ::sigset_t none, usual;  // signals that this process blocks or ignores are as usual there
  ::sigemptyset(&none);
  ::sigfillset(&usual);
  ::pid_t pid = 0;
  bool made = ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
              ::posix_spawn_file_actions_adddup2(&files, out, 1) == 0 &&
              ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) == 0 &&
              ::posix_spawnattr_setsigmask(&how, &none) == 0 && ::posix_spawnattr_setsigdefault(&how, &usual) == 0 &&
              ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0 &&
              ::posix_spawnp(&pid, words[0], &files, &how, words.data(), environ) == 0;
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  return made ? pid : 0;
}
}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& argv, double seconds) {
  int pipe[2];
  if (argv.empty() || ::pipe2(pipe, O_CLOEXEC) != 0) return {};
  auto pid = spawned(argv, pipe[1]);
  ::close(pipe[1]);
  auto until = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  auto left = [&] {
    return std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count());
  };
  std::string text;
  bool ended = pid == 0;
  while (!ended && text.size() < kMost && left() > 0) {
    ::pollfd file{pipe[0], POLLIN, 0};
    if (::poll(&file, 1, static_cast<int>(std::min<std::int64_t>(left(), 1000))) <= 0) continue;
    char buffer[4096];
    auto n = ::read(pipe[0], buffer, std::min(sizeof buffer, kMost - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    else ended = true;
  }
  ::close(pipe[0]);
  if (pid == 0) return {};
  int status = 0;
  bool known = false;
  auto wait = [&](int flags) {
    ::pid_t got;
    do got = ::waitpid(pid, &status, flags);
    while (got < 0 && errno == EINTR);
    return known = got != 0;  // -1: the system keeps no exit codes here
  };
  while (ended && !wait(WNOHANG) && left() > 0) ::poll(nullptr, 0, 5);  // it has closed its output, and ends soon
  if (known) return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(text) : std::nullopt;
  ::kill(pid, SIGKILL);
  wait(0);
  return {};
}
}  // namespace bora
