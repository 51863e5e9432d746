// elastic.h -- what tests of elastic jobs share: hosts that are this machine under other names, which can be lost and
// come back, and the processes of a job.
#pragma once
#include <sys/stat.h>
#include <set>
#include "command.h"

namespace bora {
/// A launcher that reaches hosts by a command instead of ssh: each has an identity of its own.
struct Hosts {
  std::string folder;
  std::set<std::string> down = {};

  virtual ~Hosts() = default;

  /// `list`: the lines of the file of hosts. `apart`: what ends the command that reaches a host ends nothing there, as
  /// if it could not be reached. The file folder/begin-HOST, if it is there, is run by the shell that begins there.
  Hosts(const std::string& below, const std::string& list, bool apart = false) : folder(below + "/hosts") {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/list") << list;
    std::ofstream(folder + "/reach")
        << "#!/bin/sh\n[ -e " << folder << "/down-$1 ] && { echo no route to $1 >&2; exit 255; }\n"
        << "export SSH_CONNECTION='127.0.0.1 1 127.0.0.1 22' BORA_HOST_ID=$1 BORA_TEST_HOSTS="
        << folder << "\nshift\n"
        << "[ -e " << folder << "/begin-$BORA_HOST_ID ] && . " << folder << "/begin-$BORA_HOST_ID\n"
        << (apart ? "exec 3<&0\nsetsid sh -c \"$*\" <&3 3<&- &\nexec 3<&- <&-\nwait\n" : "exec sh -c \"$*\"\n");
    ::chmod((folder + "/reach").c_str(), 0755);
  }
  std::string words() const { return "--hosts " + folder + "/list --ssh " + folder + "/reach "; }
  void come_back(const std::string& host) {
    std::filesystem::remove(folder + "/down-" + host);
    down.erase(host);
  }
  /// Cannot be reached, and what ran there has ended.
  void lose(const std::string& host) {
    std::ofstream(folder + "/down-" + host).close();
    down.insert(host);
    for (auto pid : on(host))
      if (slurp("/proc/" + std::to_string(pid) + "/cmdline").find(std::string("\0agent\0", 7)) != std::string::npos)
        ::kill(pid, SIGKILL);
  }
  /// The processes there: agents, and their ranks.
  std::vector<pid_t> on(const std::string& host) const {
    auto all = processes("BORA_HOST_ID=" + host + std::string(1, '\0')), mine = processes("BORA_TEST_HOSTS=" + folder);
    std::erase_if(all, [&](auto pid) { return !std::binary_search(mine.begin(), mine.end(), pid); });
    return all;
  }
  /// Processes whose environment has this text, in order.
  static std::vector<pid_t> processes(const std::string& text) {
    std::vector<pid_t> found;
    std::error_code gone;
    for (auto& p : std::filesystem::directory_iterator("/proc", gone)) {
      auto name = p.path().filename().string();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      auto around = slurp(p.path() / "environ"), stat = slurp(p.path() / "stat");
      if (around.find(text) != around.npos && stat.find(") Z ") == stat.npos) found.push_back(std::stoi(name));
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::vector<pid_t> ranks_of(pid_t launcher) {
    return processes("BORA_JOB=" + std::to_string(launcher) + "@");
  }
};
}  // namespace bora
