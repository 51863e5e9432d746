#include "launch/api/tunnel.h"
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "bora/base/error.h"
#include "base/api/reason.h"
#include "launch/api/ranks.h"
#include "liveness.h"
#include "secure_stream.h"

namespace bora::launch {
namespace {
using std::chrono::seconds;
constexpr int kHandshake = 10;       // seconds
constexpr std::size_t kStrangers = 16;  // connections at a time that have not yet proved to know the secret
constexpr int kReach = 55;           // seconds in which a host may come up
constexpr int kLate = 60;            // seconds after the last end in which a host may come, or come back
constexpr int kEnding = 5;           // seconds after SIGTERM, and its agent's end, in which a host may hear the job's
constexpr char kAgent = 'A', kEnd = 'E';

void need_secret(const std::string& secret) {
  check<ConfigError>(!secret.empty(), "launch: hosts that are reached without ssh need the job's secret; set "
                     "BORA_SECRET_FILE on all of them");
}
int listening_socket() {
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1, no = 0;
  bool six = fd >= 0;
  if (!six) fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (six) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  ::sockaddr_in6 of6{};
  of6.sin6_family = AF_INET6, of6.sin6_port = htons(kAgentPort), of6.sin6_addr = in6addr_any;
  ::sockaddr_in of4{};
  of4.sin_family = AF_INET, of4.sin_port = htons(kAgentPort);
  auto bound = six ? ::bind(fd, reinterpret_cast<::sockaddr*>(&of6), sizeof of6)
                   : ::bind(fd, reinterpret_cast<::sockaddr*>(&of4), sizeof of4);
  bool listens = bound == 0 && ::listen(fd, 64) == 0;
  check<ConfigError>(listens, "launch: cannot listen on port ", kAgentPort, ": ", system_reason);
  return fd;
}
/// A connection to the host; -1: the reason in `problem`.
int connect_to(const std::string& host, int milliseconds, std::string& problem) {
  ::addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  auto code = ::getaddrinfo(host.c_str(), std::to_string(kAgentPort).c_str(), &hints, &found);
  if (code != 0) return problem = ::gai_strerror(code), -1;
  int connected = -1;
  for (auto* a = found; a && connected < 0; a = a->ai_next) {
    int fd = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    ::socklen_t size = sizeof error;
    bool begun = fd >= 0 && (::connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS);
    if (!begun) error = errno;
    ::pollfd file{fd, POLLOUT, 0};
    if (begun && ::poll(&file, 1, milliseconds) <= 0) error = ETIMEDOUT;
    else if (begun) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (begun && error == 0) connected = fd;
    else if (fd >= 0) ::close(fd);
    if (error != 0) problem = std::strerror(error);
  }
  ::freeaddrinfo(found);
  return connected;
}
/// "address port" of one end.
std::string words_of(int socket, bool peer) {
  ::sockaddr_storage a{};
  ::socklen_t size = sizeof a;
  auto* to = reinterpret_cast<::sockaddr*>(&a);
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if ((peer ? ::getpeername(socket, to, &size) : ::getsockname(socket, to, &size)) == 0)
    ::getnameinfo(to, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  std::string ip = host;
  if (ip.starts_with("::ffff:")) ip.erase(0, 7);  // IPv4 on a socket of IPv6
  return ip + " " + port;
}
/// A process of the listener's: one connection. Tells the listener what it is, in `news`: a letter and a number.
/// `ends`: no agent is to begin here any more.
[[noreturn]] void serve_connection(int socket, int news, const std::string& secret, const std::string& agent,
                                   bool ends) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int s : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::signal(s, [](int) {});  // for the agent, which has this group
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // As sshd does: the agent takes its address from there.
  auto connection = words_of(socket, true) + " " + words_of(socket, false);
  ::setenv("SSH_CONNECTION", connection.c_str(), 1);
  try {
    SecureStream stream(socket, secret, true);
    std::string asked;
    if (!stream.handshake(kHandshake) || !stream.read(asked, 2, kHandshake)) ::_exit(0);
    if ((ends && asked[0] == kAgent) || !write_all(news, asked)) ::_exit(0);
    if (asked[0] == kEnd) stream.write("+", 1);
    if (asked[0] != kAgent) ::_exit(0);
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) ::_exit(1);
    auto child = ::fork();
    if (child == 0) {
      ::dup2(to[0], 0), ::dup2(from[1], 1);
      ::execl(agent.c_str(), agent.c_str(), "agent", nullptr);
      ::_exit(127);
    }
    ::close(to[0]), ::close(from[1]);
    stream.relay(from[0], to[1]);
    if (child > 0) ::waitpid(child, nullptr, 0);  // it ends its ranks
  } catch (const Error&) {}
  ::_exit(0);
}

struct Connection {
  ::pid_t pid;
  int news;
  bool known = false;
};
class Listener {
 public:
  Listener(const std::string& secret, const std::string& agent, const Patience& patience)
      : secret_(secret), agent_(agent), patience_(patience), until_(Clock::now() + seconds(patience.first_s)),
        socket_(listening_socket()) {}
  ~Listener() {
    ::close(socket_);
    for (auto& c : connections_) end(c);
  }
  int run() {
    for (;;) {
      std::vector<::pollfd> files{{socket_, POLLIN, 0}, {signals_.file(), POLLIN, 0}};
      for (auto& c : connections_) files.push_back({c.news, POLLIN, 0});
      ::poll(files.data(), files.size(), 500);
      for (int s : signals_.take()) {
        if (connections_.empty() && ends_a_job(s)) return 130;
        if (ends_a_job(s)) ends_ = true, until_ = Clock::now() + seconds(kEnding);
        for (auto& c : connections_) ::kill(-c.pid, s == SIGHUP ? SIGTERM : s);
      }
      accept_all();
      if (auto code = hear(); code >= 0) return code;
      bool known = std::any_of(connections_.begin(), connections_.end(), [](auto& c) { return c.known; });
      if (known) met_ = true, until_ = Clock::now() + seconds(ends_ ? kEnding : patience_.next_s), seen_ = Clock::now();
      if (Clock::now() < until_ && !gone()) continue;
      if (ends_) return 130;
      write_all(2, "bora: the launcher of this job is lost: it has not connected for a while; started again, the job "
                   "goes on from the newest checkpoint\n");
      return 86;
    }
  }

 private:
  /// Nobody listens where the launcher runs. Its listener ends with it.
  bool gone() {
    if (!met_ || patience_.launcher.empty() || Clock::now() - seen_ < seconds(2)) return false;
    std::string ignored;
    int fd = connect_to(patience_.launcher, 1000, ignored);
    if (fd >= 0) ::close(fd), seen_ = Clock::now();
    return fd < 0 && Clock::now() - seen_ > seconds(patience_.gone_s);
  }
  void accept_all() {
    for (int fd; (fd = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      auto strangers = std::count_if(connections_.begin(), connections_.end(), [](auto& c) { return !c.known; });
      int news[2];
      if (static_cast<std::size_t>(strangers) >= kStrangers || ::pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) {
        ::close(fd);
        continue;
      }
      auto pid = ::fork();
      if (pid == 0) serve_connection(fd, news[1], secret_, agent_, ends_);
      if (pid > 0) ::setpgid(pid, pid), connections_.push_back({pid, news[0]});
      else ::close(news[0]);
      ::close(news[1]), ::close(fd);
    }
  }
  /// The job's exit code once a launcher has said it, else -1.
  int hear() {
    int code = -1;
    ::pid_t newest = 0;
    for (auto& c : connections_) {
      char said[2];
      if (c.known || ::read(c.news, said, sizeof said) != sizeof said) continue;
      c.known = true;
      if (said[0] == kEnd) code = static_cast<unsigned char>(said[1]);
      else newest = c.pid;
    }
    std::erase_if(connections_, [&](auto& c) {
      bool older = newest != 0 && c.known && c.pid != newest;
      bool over = older || ::waitpid(c.pid, nullptr, WNOHANG) != 0;
      if (older) end(c);
      else if (over) ::close(c.news);
      return over;
    });
    return code;
  }
  static void end(const Connection& c) {
    ::kill(c.pid, SIGKILL);  // its agent ends the ranks
    ::waitpid(c.pid, nullptr, 0);
    ::close(c.news);
  }
  std::string secret_, agent_;
  Patience patience_;
  Clock::time_point until_, seen_ = {};  // seen_: a sign of the launcher
  bool met_ = false, ends_ = false;  // ends_: it was told to
  int socket_;
  Signals signals_ = {};
  std::vector<Connection> connections_ = {};
};
}  // namespace

int listen_for_launcher(const std::string& secret, const std::string& agent, const Patience& patience) {
  need_secret(secret);
  return Listener(secret, agent, patience).run();
}
int reach_agent(const std::string& host, const std::string& secret) {
  need_secret(secret);
  ::signal(SIGPIPE, SIG_IGN);
  std::string problem;
  int refused = 0;
  for (auto until = Clock::now() + seconds(kReach); Clock::now() < until && refused < 3; ::poll(nullptr, 0, 300)) {
    int fd = connect_to(host, 5000, problem);
    if (fd < 0) continue;
    SecureStream stream(fd, secret, false);
    if (!stream.handshake(kHandshake)) {
      problem = "its secret is another one, or it does not answer";
      ++refused;
      continue;
    }
    if (!stream.write({kAgent, '\0'}, kHandshake)) continue;
    return stream.relay(0, 1) ? 0 : 255;
  }
  write_all(2, host + ": " + problem + "\n");
  return 255;
}
void end_listeners(const std::vector<Host>& hosts, const std::string& secret, int code) {
  ::signal(SIGPIPE, SIG_IGN);
  auto knows = [&](const Host& host) {
    std::string answer;
    int fd = connect_to(host.name, 2000, answer);
    if (fd < 0) return false;
    SecureStream stream(fd, secret, false);
    answer.clear();
    if (!stream.handshake(2) || !stream.write({kEnd, static_cast<char>(code)}, 2)) return false;
    stream.read(answer, 1, 2);  // a host that has heard it may end before it answers
    return true;
  };
  auto left = hosts;
  std::erase_if(left, knows);
  if ((code != 0 && code != 2) || left.empty()) return;  // after another end all are started again, or none
  std::string names;
  for (auto& host : left) names += (names.empty() ? "" : ", ") + host.name;
  write_all(2, "the job has ended; " + names + " will be told, if they come within " + std::to_string(kLate) + " s\n");
  for (auto until = Clock::now() + seconds(kLate); !left.empty() && Clock::now() < until; ::poll(nullptr, 0, 500))
    std::erase_if(left, knows);
}
}  // namespace bora::launch
