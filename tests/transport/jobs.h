// jobs.h -- jobs for tests: ranks as threads, over pointers or over ZeroMQ, and as real processes.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>
#include "bora/transport/transport.h"
#include "support/crowded.h"
#include "support/places.h"
#include "support/processes.h"

namespace bora::transport {
/// Ports of this process alone, below the range from which the kernel gives ports to connections: tests that run at the
/// same time would otherwise choose the same port before either binds it. An abstract socket, held to the end, is the
/// mark of a hundred ports.
inline int hundred_ports() {
  static int next = getpid() * 7;
  for (;;) {
    int first = 10000 + next++ % 220 * 100, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    auto name = "bora test ports " + std::to_string(first);
    name.copy(a.sun_path + 1, name.size());
    auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(fd, reinterpret_cast<sockaddr*>(&a), size) == 0) return first;
    if (errno != EADDRINUSE) throw std::runtime_error("no mark for test ports");
    close(fd);
  }
}
/// A port that nothing uses.
inline int free_port() {
  static int next = 0;
  for (;;) {
    if (next % 100 == 0) next = hundred_ports();
    int port = next++, fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool ok = bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
    close(fd);
    if (ok) return port;
  }
}
inline Group everybody(int n, std::string name = "axis data") {
  Group g{.ranks = std::vector<int>(static_cast<std::size_t>(n)), .name = std::move(name)};
  std::iota(g.ranks.begin(), g.ranks.end(), 0);
  return g;
}
enum class Carrier { local, tcp, zmq, shm, registered, automatic };  // registered: shm, on buffers that peers read
inline std::string carrier_name(Carrier c) {
  const char* names[] = {"local", "tcp", "zmq", "shm", "registered", "auto"};
  return names[static_cast<int>(c)];
}
inline Config config_for(int rank, int size, int port, Carrier carrier = Carrier::tcp) {
  return {.rank = rank,
          .size = size,
          .root = "127.0.0.1:" + std::to_string(port),
          .join_timeout_s = 20,
          .carrier = carrier_name(carrier == Carrier::registered ? Carrier::shm : carrier)};
}
/// Runs body on every rank, each a thread; returns each rank's error text, empty if it ended well. `change` edits each
/// rank's Config, of which threads use only `algorithms`.
inline std::vector<std::string> run_ranks(Carrier carrier, int n, const std::function<void(Context&)>& body,
                                          const std::function<void(Config&)>& change = [](Config&) {}) {
  std::vector<std::string> errors(static_cast<std::size_t>(n));
  std::vector<ContextPtr> contexts(static_cast<std::size_t>(n));
  Config first;
  change(first);
  if (carrier == Carrier::local) contexts = local(n, first.algorithms);
  int port = carrier != Carrier::local ? free_port() : 0;
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      auto i = static_cast<std::size_t>(r);
      try {
        auto config = config_for(r, n, port, carrier);
        change(config);
        auto c = carrier == Carrier::local ? std::move(contexts[i]) : join(config);
        body(*c);
      } catch (const std::exception& e) { errors[i] = e.what(); }
    });
  for (auto& t : threads) t.join();
  return errors;
}
inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (std::size_t r = 0; r < errors.size(); ++r) EXPECT_EQ(errors[r], "") << "rank " << r;
}
/// A real process of a job: PROGRAM ARGS with BORA_* set, after `before` has run in it. Its output is read
/// at the end.
class Process {
 public:
  Process(int rank, int size, int port, std::vector<std::string> args,
          std::vector<std::pair<std::string, std::string>> env = {}, const std::function<void()>& before = {},
          std::string program = test::transport_rank()) {
    int fds[2];
    if (pipe(fds) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], 1);
      dup2(fds[1], 2);
      close(fds[0]);
      close(fds[1]);
      if (before) before();
      setenv("BORA_RANK", std::to_string(rank).c_str(), 1);
      setenv("BORA_SIZE", std::to_string(size).c_str(), 1);
      setenv("BORA_ROOT", ("127.0.0.1:" + std::to_string(port)).c_str(), 1);
      for (auto& [k, v] : env) setenv(k.c_str(), v.c_str(), 1);
      std::vector<char*> argv{program.data()};
      for (auto& a : args) argv.push_back(a.data());
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    close(fds[1]);
    out_ = fds[0];
  }
  ~Process() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), finish();
    close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }
  void signal(int s) const { ::kill(pid_, s); }
  /// Reads its output until it contains `text`.
  bool wait_for_text(const std::string& text) {
    char buffer[512];
    while (output_.find(text) == std::string::npos) {
      auto n = read(out_, buffer, sizeof buffer);
      if (n <= 0) return false;
      output_.append(buffer, static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Waits for its end: exit code, or -signal.
  int finish() {
    char buffer[512];
    for (ssize_t n; (n = read(out_, buffer, sizeof buffer)) > 0;) output_.append(buffer, static_cast<std::size_t>(n));
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return test::end_of(status);
  }
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string output_;
};
inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
}  // namespace bora::transport
