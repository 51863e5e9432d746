#include "train/monitor/alert_command.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>

namespace bora::training {
namespace {
constexpr std::size_t kMost = 4;
constexpr std::chrono::seconds kLongest{60};
/// This process's environment with these variables in front of it, which hides others of their names.
std::vector<std::string> with_variables(const std::vector<std::pair<std::string, std::string>>& own) {
  std::vector<std::string> all;
  for (auto& [name, value] : own) all.push_back(name + "=" + value);
  for (char** v = environ; *v; ++v) {
    std::string_view one(*v);
    bool hidden = false;
    for (auto& [name, value] : own) hidden = hidden || one.starts_with(name + "=");
    if (!hidden) all.emplace_back(one);
  }
  return all;
}
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> r;
  for (auto& text : texts) r.push_back(text.data());
  r.push_back(nullptr);
  return r;
}
/// The error number of what fails; 0.
int spawn(std::vector<std::string> words, std::vector<std::string> variables, ::pid_t& pid) {
  ::posix_spawn_file_actions_t files;
  ::posix_spawnattr_t how;
  if (int e = ::posix_spawn_file_actions_init(&files)) return e;
  if (int e = ::posix_spawnattr_init(&how)) return ::posix_spawn_file_actions_destroy(&files), e;
  ::sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  int e = ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (e == 0) e = ::posix_spawn_file_actions_adddup2(&files, 2, 1);
  if (e == 0) e = ::posix_spawnattr_setsigmask(&how, &none);
  if (e == 0) e = ::posix_spawnattr_setsigdefault(&how, &all);
  if (e == 0) e = ::posix_spawnattr_setpgroup(&how, 0);  // so that all of it can be ended
  if (e == 0)
    e = ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  auto argv = pointers(words), env = pointers(variables);
  if (e == 0) e = ::posix_spawn(&pid, argv[0], &files, &how, argv.data(), env.data());
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  return e;
}
}  // namespace

std::string AlertCommand::start(const Alert& a, const std::string& out) {
  if (command_.empty()) return {};
  if (running_.size() >= kMost) return "alerts.command is not run for " + a.kind + ": four of them still run";
  ::pid_t pid = 0;
  auto variables = with_variables({{"BORA_ALERT", a.kind},
                                   {"BORA_ALERT_TEXT", a.text},
                                   {"BORA_ALERT_RANK", std::to_string(a.rank)},
                                   {"BORA_STEP", std::to_string(a.step)},
                                   {"BORA_RUN", out}});
  if (int e = spawn({"/bin/sh", "-c", command_}, std::move(variables), pid))
    return "alerts.command is not run for " + a.kind + ": " + std::strerror(e);
  running_.push_back({pid, a.kind, std::chrono::steady_clock::now()});
  return {};
}
std::vector<std::string> AlertCommand::look() {
  std::vector<std::string> said;
  std::erase_if(running_, [&](Running& r) {
    int status = 0;
    auto got = ::waitpid(r.pid, &status, WNOHANG);
    if (got == r.pid && !r.killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
      said.push_back("alerts.command for " + r.kind + " ended with " +
                     (WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                        : "signal " + std::to_string(WTERMSIG(status))));
    if (got != 0) return true;  // -1: the system keeps no exit codes here
    if (r.killed || std::chrono::steady_clock::now() - r.since < kLongest) return false;
    ::kill(-r.pid, SIGKILL);
    r.killed = true;
    said.push_back("alerts.command for " + r.kind + " was ended: it ran for more than a minute");
    return false;
  });
  return said;
}
}  // namespace bora::training
