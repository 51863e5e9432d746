// strangers.h -- connections to a job's ports by programs that do not belong to it.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace bora::test {
/// Ports on which a process listens over tcp; those found so far if it ends meanwhile.
inline std::set<int> ports_of(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code gone, closed;
  std::filesystem::directory_iterator fd("/proc/" + std::to_string(pid) + "/fd", gone), end;
  for (; !gone && fd != end; fd.increment(gone)) {
    auto to = std::filesystem::read_symlink(fd->path(), closed).string();
    if (to.starts_with("socket:[")) inodes.insert(to.substr(8, to.size() - 9));
  }
  std::set<int> ports;
  std::ifstream tcp("/proc/net/tcp");
  std::string line;
  for (std::getline(tcp, line); std::getline(tcp, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, skip, inode;
    words >> number >> local >> remote >> state;
    for (int k = 0; k < 5; ++k) words >> skip;
    words >> inode;
    if (state == "0A" && inodes.count(inode)) ports.insert(std::stoi(local.substr(local.find(':') + 1), nullptr, 16));
  }
  return ports;
}
/// Opens connections again and again, up to 900 at a time, to each of some ports in turn; of three one is silent, one
/// sends nonsense and one sends a byte in every round.
class Strangers {
 public:
  Strangers() : thread_([this] { run(); }) {}
  ~Strangers() {
    stop_ = true;
    thread_.join();
  }
  void come_to(const std::set<int>& ports) {
    std::lock_guard lock(mutex_);
    ports_.insert(ports.begin(), ports.end());
  }
  int came() const { return came_; }

 private:
  void run() {
    std::vector<int> open;
    for (int k = 0; !stop_;) {
      std::set<int> ports;
      {
        std::lock_guard lock(mutex_);
        ports = ports_;
      }
      bool any = false;
      for (int port : ports)
        for (int i = 0; i < 30; ++i, ++k) {
          int s = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
          sockaddr_in at{};
          at.sin_family = AF_INET;
          at.sin_port = htons(static_cast<std::uint16_t>(port));
          at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
          if (::connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 && errno != EINPROGRESS) {
            ::close(s);
            break;
          }
          std::string says = k % 3 == 0 ? ""
                             : k % 3 == 1
                                 ? "\xff"
                                 : "GET / HTTP/1.0\r\nHost: somewhere, and more than the 64 bytes of a header\r\n\r\n";
          [[maybe_unused]] auto n = ::send(s, says.data(), says.size(), MSG_NOSIGNAL);
          open.push_back(s);
          any = true, ++came_;
        }
      for (int s : open) [[maybe_unused]] auto n = ::send(s, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (open.size() > 900) {
        std::for_each(open.begin(), open.begin() + 300, ::close);
        open.erase(open.begin(), open.begin() + 300);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(any ? 15 : 20));
    }
    std::for_each(open.begin(), open.end(), ::close);
  }
  std::atomic<bool> stop_{false};
  std::atomic<int> came_{0};
  std::mutex mutex_;
  std::set<int> ports_;
  std::thread thread_;
};
}  // namespace bora::test
