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
#include <limits>
#include <map>
#include <memory>
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
// Connections at a time that have not yet proved to know the secret, of all addresses and of one.
constexpr std::size_t kStrangers = 16, kOfOneAddress = 8;
constexpr int kAtOnce = 64;          // connections that are accepted before others are heard
constexpr int kRefusals = 3;         // after which a listener's secret is another one
constexpr auto kStarved = std::chrono::milliseconds(100);  // without descriptors or processes
constexpr int kReach = 55;           // seconds in which a host may come up
constexpr int kLate = 60;            // seconds after the last end in which a host may come, or come back
constexpr int kEnding = 5;           // seconds after SIGTERM, and its agent's end, in which a host may hear the job's
constexpr int kStopped = 130;        // the exit code after a signal
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
  bool listens = bound == 0 && ::listen(fd, SOMAXCONN) == 0;
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
/// The network that a connection comes from, as bytes: an IPv4 address, or the half of an IPv6 one that names a
/// network, whose hosts have as many addresses as they like.
std::string network_of(const ::sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    auto& of4 = reinterpret_cast<const ::sockaddr_in&>(from);
    return {reinterpret_cast<const char*>(&of4.sin_addr), sizeof of4.sin_addr};
  }
  auto& ip = reinterpret_cast<const ::sockaddr_in6&>(from).sin6_addr;
  auto* bytes = reinterpret_cast<const char*>(&ip);
  return IN6_IS_ADDR_V4MAPPED(&ip) ? std::string(bytes + 12, 4) : std::string(bytes, 8);
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
    if (stream.handshake(kHandshake) != Handshake::done || !stream.read(asked, 2, kHandshake)) ::_exit(0);
    if ((ends && asked[0] == kAgent) || !write_all(news, asked)) ::_exit(0);
    if (!stream.write("+", 1) || asked[0] != kAgent) ::_exit(0);
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
  std::string from;  // its network
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
      bool starved = Clock::now() < accepts_again_;
      std::vector<::pollfd> files{{starved ? -1 : socket_, POLLIN, 0}, {signals_.file(), POLLIN, 0}};
      for (auto& c : connections_) files.push_back({c.news, POLLIN, 0});
      ::poll(files.data(), files.size(), starved ? 50 : 500);
      for (int s : signals_.take()) {
        if (!known() && ends_a_job(s)) return kStopped;
        if (ends_a_job(s)) ends_ = true, until_ = Clock::now() + seconds(kEnding);
        for (auto& c : connections_) ::kill(-c.pid, s == SIGHUP ? SIGTERM : s);
      }
      accept_all();
      hear();
      if (code_ >= 0) return code_;
      auto now = Clock::now();
      if (known()) met_ = true, until_ = now + seconds(ends_ ? kEnding : patience_.next_s), seen_ = now;
      if (Clock::now() < until_ && !gone()) continue;
      if (ends_) return kStopped;
      write_all(2, "bora: the launcher of this job is lost: it has not connected for a while; started again, the job "
                   "goes on from the newest checkpoint\n");
      return 86;
    }
  }

 private:
  bool known() const {
    return std::any_of(connections_.begin(), connections_.end(), [](auto& c) { return c.known; });
  }
  /// Nobody listens where the launcher runs. Its listener ends with it.
  bool gone() {
    if (!met_ || patience_.launcher.empty() || Clock::now() - seen_ < seconds(2)) return false;
    std::string ignored;
    int fd = connect_to(patience_.launcher, 1000, ignored);
    if (fd >= 0) ::close(fd), seen_ = Clock::now();
    return fd < 0 && Clock::now() - seen_ > seconds(patience_.gone_s);
  }
  /// Each newcomer may prove that it knows the secret: it takes the place of the oldest stranger, if there are too
  /// many.
  void accept_all() {
    for (int k = 0; k < kAtOnce; ++k) {
      ::sockaddr_storage from{};
      ::socklen_t size = sizeof from;
      int fd = ::accept4(socket_, reinterpret_cast<::sockaddr*>(&from), &size, SOCK_CLOEXEC);
      bool starved = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
      if (fd < 0 && !starved) return;
      hear();  // who has proved it meanwhile is no stranger any more
      auto network = fd < 0 ? std::string() : network_of(from);
      if (fd >= 0) make_room(network);
      while (fd < 0 || !begin(fd, network)) {
        if (!end_oldest([](auto&) { return true; })) {
          if (fd >= 0) ::close(fd);
          accepts_again_ = Clock::now() + kStarved;
          return;
        }
        if (fd < 0) break;
      }
    }
  }
  void make_room(const std::string& network) {
    std::map<std::string, std::size_t> count;
    std::size_t all = 0;
    for (auto& c : connections_)
      if (!c.known) ++count[c.from], ++all;
    auto most = std::max_element(count.begin(), count.end(), [](auto& a, auto& b) { return a.second < b.second; });
    bool crowds = count[network] >= kOfOneAddress;
    if (crowds || all >= kStrangers) end_oldest([&](auto& c) { return c.from == (crowds ? network : most->first); });
  }
  /// Ends the oldest of these strangers; false if there is none.
  template <class F> bool end_oldest(const F& which) {
    auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](auto& c) { return !c.known && which(c); });
    if (oldest == connections_.end()) return false;
    end(*oldest);
    connections_.erase(oldest);
    return true;
  }
  /// Takes the connection; false if the system lacks descriptors or processes for it.
  bool begin(int fd, const std::string& network) {
    int news[2];
    if (::pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    auto pid = ::fork();
    if (pid == 0) {
      ::close(socket_);  // which ends with the listener
      serve_connection(fd, news[1], secret_, agent_, ends_);
    }
    ::close(news[1]);
    if (pid < 0) return ::close(news[0]), false;
    ::setpgid(pid, pid);
    ::close(fd);
    connections_.push_back({pid, news[0], network});
    return true;
  }
  /// Takes note of what connections have said, and of those that have ended.
  void hear() {
    ::pid_t newest = 0;
    for (auto& c : connections_) {
      char said[2];
      if (c.known || ::read(c.news, said, sizeof said) != sizeof said) continue;
      c.known = true;
      if (said[0] == kEnd) code_ = static_cast<unsigned char>(said[1]);
      else newest = c.pid;
    }
    std::erase_if(connections_, [&](auto& c) {
      bool older = newest != 0 && c.known && c.pid != newest;
      bool over = older || ::waitpid(c.pid, nullptr, WNOHANG) != 0;
      if (older) end(c);
      else if (over) ::close(c.news);
      return over;
    });
  }
  static void end(const Connection& c) {
    ::kill(c.pid, SIGKILL);  // its agent ends the ranks
    ::waitpid(c.pid, nullptr, 0);
    ::close(c.news);
  }
  std::string secret_, agent_;
  Patience patience_;
  Clock::time_point until_, seen_ = {};  // seen_: a sign of the launcher
  Clock::time_point accepts_again_ = {};
  bool met_ = false, ends_ = false;  // ends_: it was told to
  int code_ = -1;                    // of the job, once a launcher has said it
  int socket_;
  Signals signals_ = {};
  std::vector<Connection> connections_ = {};
};
/// A launcher's call of a host that listens.
struct Call {
  const std::string &host, &secret;
  bool said = false;  // the words were written; a host that has heard of the end may end before it answers
  /// A connection on which the host has heard these words; null after `until`, or if it has another secret: the reason
  /// in `problem`. A host that closes the connection is tried again: strangers may crowd its port.
  std::unique_ptr<SecureStream> tell(char word, int code, Clock::time_point until, std::string& problem) {
    auto left = [&] { return std::chrono::duration<double>(until - Clock::now()).count(); };
    for (int refused = 0; left() > 0 && refused < kRefusals; ::poll(nullptr, 0, 300)) {
      int fd = connect_to(host, static_cast<int>(1000 * std::min(5.0, left())) + 1, problem);
      if (fd < 0 && said) return nullptr;  // it has ended
      if (fd < 0) continue;
      auto stream = std::make_unique<SecureStream>(fd, secret, false);
      auto begun = stream->handshake(std::min<double>(kHandshake, left()));
      std::string heard;
      bool told = begun == Handshake::done && stream->write({word, static_cast<char>(code)}, kHandshake);
      said = said || told;
      if (told && stream->read(heard, 1, std::min<double>(kHandshake, left()))) return stream;
      refused += begun == Handshake::refused;
      problem = begun == Handshake::refused
                    ? "its secret is another one"
                    : "it closes connections to port " + std::to_string(kAgentPort) + ", or does not answer there";
    }
    return nullptr;
  }
};
}  // namespace

int listen_for_launcher(const std::string& secret, const std::string& agent, const Patience& patience) {
  need_secret(secret);
  return Listener(secret, agent, patience).run();
}
int listen_for_launchers(const std::string& secret, const std::string& agent) {
  need_secret(secret);
  constexpr int kEver = std::numeric_limits<int>::max();
  for (;;)
    if (Listener(secret, agent, {.first_s = kEver, .next_s = kEver}).run() == kStopped) return kStopped;
}
int reach_agent(const std::string& host, const std::string& secret) {
  need_secret(secret);
  ::signal(SIGPIPE, SIG_IGN);
  std::string problem;
  if (auto to = Call{host, secret}.tell(kAgent, 0, Clock::now() + seconds(kReach), problem))
    return to->relay(0, 1) ? 0 : 255;
  write_all(2, host + ": " + problem + "\n");
  return 255;
}
void end_listeners(const std::vector<Host>& hosts, const std::string& secret, int code) {
  ::signal(SIGPIPE, SIG_IGN);
  auto knows = [&](const Host& host) {
    std::string ignored;
    Call call{host.name, secret};
    return call.tell(kEnd, code, Clock::now() + seconds(2), ignored) || call.said;
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
