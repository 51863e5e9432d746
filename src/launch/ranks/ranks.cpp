#include "launch/api/ranks.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>
#include "bora/base/error.h"
#include "base/api/reason.h"
#include "bora/base/text.h"
#include "bora/transport/transport.h"

namespace bora::launch {
namespace {
constexpr std::size_t kTurn = 1 << 16;  // bytes of a stream: the other ranks and signals come next
}  // namespace
int secret_file(const std::string& bytes) {
  int fd = ::memfd_create("secret", MFD_CLOEXEC);
  check<ConfigError>(fd >= 0 && write_all(fd, bytes), "launch: cannot keep the job's secret: ", system_reason);
  return fd;
}
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // another program that shares it made it non-blocking
      ::pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}
std::string secret_of_job() {
  auto given = transport::config_from_environment([](const char* name) -> const char* {
    return std::string_view(name) == "BORA_SECRET_FILE" ? std::getenv(name) : nullptr;
  });
  if (!given.secret.empty()) return given.secret;
  std::string bytes(32, '\0');
  bool made = ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<::ssize_t>(bytes.size());
  check<ConfigError>(made, "launch: cannot make a secret: ", std::strerror(errno));
  return bytes;
}
/// IPv4 if the host has such an address, else IPv6, as the ranks choose. False: the reason in errno, 0 if no such host.
bool RootSocket::bind(const std::string& host, const std::string& port, int flags) {
  for (int family : {AF_INET, AF_INET6}) {
    ::addrinfo hints{}, *found = nullptr;
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) continue;
    fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    bool bound = fd_ >= 0 && ::bind(fd_, found->ai_addr, found->ai_addrlen) == 0;
    auto reason = errno;
    ::freeaddrinfo(found);
    if (!bound && fd_ >= 0) ::close(std::exchange(fd_, -1));
    errno = reason;
    return bound;
  }
  errno = 0;
  return false;
}
RootSocket::RootSocket(const std::string& wanted) {
  if (wanted.empty()) {
    *this = at("127.0.0.1");
    return;
  }
  auto colon = wanted.rfind(':');
  int port = 0;
  auto digits = colon == std::string::npos ? std::string() : wanted.substr(colon + 1);
  auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  check<ConfigError>(parsed.ptr == digits.data() + digits.size() && port > 0 && port < 65536,
                     "BORA_ROOT: expected host:port, got '", wanted, "'");
  auto host = wanted.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  else
    check<ConfigError>(host.find(':') == std::string::npos,
                       "BORA_ROOT: an IPv6 address stands in brackets, [::1]:29650; got '", wanted, "'");
  bool bound = bind(host, digits, 0);
  auto reason = errno;
  check<ConfigError>(bound || reason != 0, "BORA_ROOT: no host '", host, "'");
  check<ConfigError>(bound, "cannot listen on ", wanted, ": ",
                     reason == EADDRINUSE ? "the port is in use" : std::strerror(reason));
  address_ = wanted;
}
RootSocket RootSocket::at(const std::string& ip) {
  RootSocket s;
  bool bound = s.bind(ip, "0", AI_NUMERICHOST);
  auto reason = errno;
  check<ConfigError>(bound, "cannot listen on ", ip, ": ", reason != 0 ? std::strerror(reason) : "it is no address");
  s.address_ = (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" + std::to_string(s.port());
  return s;
}
RootSocket::~RootSocket() {
  if (fd_ >= 0) ::close(fd_);
}
RootSocket::RootSocket(RootSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}
RootSocket& RootSocket::operator=(RootSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(address_, other.address_);
  return *this;
}
int RootSocket::port() const {
  ::sockaddr_in6 bound{};  // same port offset as sockaddr_in
  ::socklen_t size = sizeof bound;
  return ::getsockname(fd_, reinterpret_cast<::sockaddr*>(&bound), &size) == 0 ? ntohs(bound.sin6_port) : 0;
}

int Ending::code() const { return !lost.empty() ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
std::string Ending::words() const {
  if (!lost.empty()) return lost;
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
}

LocalRanks::LocalRanks(const RanksToStart& job, const ::sigset_t& signals_of_ranks)
    : signals_of_ranks_(signals_of_ranks) {
  int secret = -1;
  try {
    if (!job.secret.empty()) secret = secret_file(job.secret);
    for (int i = 0; i < job.count; ++i) start(job, i, secret);
  } catch (...) {  // no destructor ends the ranks that run already
    for (auto& rank : ranks_) finish(rank);
    throw;
  }
  if (secret >= 0) ::close(secret);
}
LocalRanks::~LocalRanks() {
  for (auto& rank : ranks_) finish(rank);
}
void LocalRanks::start(const RanksToStart& job, int i, int secret) {
  auto& rank = ranks_.emplace_back();
  rank.number = job.first + i;
  int pipes[2][2], channel[2] = {-1, -1};
  struct Theirs {
    std::vector<int> files = {};
    ~Theirs() {
      for (int fd : files) ::close(fd);
    }
  } theirs;
  auto need = [&](bool made) {
    check<ConfigError>(made, "launch: ", job.count, " ranks need more open files: ", std::strerror(errno));
  };
  for (int s = 0; s < 2; ++s) {
    need(::pipe2(pipes[s], O_CLOEXEC) == 0);
    theirs.files.push_back(pipes[s][1]);
    ::fcntl(pipes[s][0], F_SETFL, O_NONBLOCK);
    rank.streams[s] = pipes[s][0];
  }
  if (job.elastic) {
    need(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0);
    theirs.files.push_back(channel[1]);
    rank.channel = channel[0];
    ::fcntl(channel[0], F_SETFL, O_NONBLOCK);
    greet(channel[0], job);
  }
  auto launcher = ::getpid();
  rank.pid = ::fork();
  check<ConfigError>(rank.pid >= 0, "launch: cannot start rank ", rank.number, ": ", std::strerror(errno));
  if (rank.pid == 0) become_rank(job, i, secret, {pipes[0][1], pipes[1][1], channel[1]}, launcher);
  ::setpgid(rank.pid, rank.pid);  // in parent and child, to avoid a race
}
/// The first words in a new rank's channel, which are there before it begins.
void LocalRanks::greet(int channel, const RanksToStart& job) {
  std::string words;
  if (!job.ground.empty()) words = frame(Message::ground, job.ground);
  if (job.wait) words += frame(Message::wait, {});
  auto sent = ::send(channel, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  check<ConfigError>(sent == static_cast<::ssize_t>(words.size()), "launch: a new rank's channel does not take ",
                     words.size(), " bytes: ", system_reason);
}
void LocalRanks::regroup(const RanksToStart& job, const std::vector<int>& kept) {
  auto old = std::exchange(ranks_, {});
  int secret = -1;
  for (int i = 0; i < job.count; ++i) {
    auto was = kept[static_cast<std::size_t>(i)];
    auto rank = std::find_if(old.begin(), old.end(), [&](auto& r) { return r.number == was; });
    if (rank == old.end() || rank->ended || !rank->waits) {
      replace(job, i, secret);
      continue;
    }
    auto number = job.first + i;
    RankAssignment next{number, job.size, i, job.count, job.columns, job.root, job.job, job.secret, job.heirs};
    auto message = frame(Message::assign, packed(next));
    // A small message into an empty socket; the end of a rank that cannot take it is noticed as ever.
    [[maybe_unused]] auto sent = ::send(rank->channel, message.data(), message.size(), MSG_NOSIGNAL);
    ranks_.push_back(std::exchange(*rank, {}));
    ranks_.back().number = number;
    ranks_.back().waits = false;
  }
  if (secret >= 0) ::close(secret);
  for (auto& rank : old) finish(rank);
}
/// A new process beside others, or a rank that has failed.
void LocalRanks::replace(const RanksToStart& job, int i, int& secret) {
  auto before = ranks_.size();
  try {
    if (secret < 0 && !job.secret.empty()) secret = secret_file(job.secret);
    start(job, i, secret);
  } catch (const ConfigError& e) {
    if (ranks_.size() > before) finish(ranks_.back()), ranks_.pop_back();
    auto& failed = ranks_.emplace_back();
    failed.number = job.first + i;
    failed.failure = e.text();
  }
}
/// Kills it, if it runs, with the processes that it started.
void LocalRanks::finish(Rank& rank) {
  if (rank.pid > 0) ::kill(-rank.pid, SIGKILL);
  if (rank.pid > 0 && !rank.ended) ::waitpid(rank.pid, nullptr, 0);
  for (int fd : {rank.streams[0], rank.streams[1], rank.channel})
    if (fd >= 0) ::close(fd);
}
void LocalRanks::become_rank(const RanksToStart& job, int i, int secret, const int (&files)[3],
                             ::pid_t launcher) const {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(86);
  ::dup2(files[0], 1);
  ::dup2(files[1], 2);
  // A shell starts background jobs with SIGINT ignored; a rank must react to signals that the launcher passes on.
  for (int s : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(s, SIG_DFL);
  for (int s : {SIGUSR1, SIGUSR2}) ::signal(s, SIG_IGN);  // must not kill a rank that has no handler, or none yet
  ::sigprocmask(SIG_SETMASK, &signals_of_ranks_, nullptr);
  auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  auto need = [](int fd) {
    if (fd >= 0) return fd;
    write_all(2, std::string("bora: launch: a rank needs more open files: ") + std::strerror(errno) + "\n");
    ::_exit(2);
  };
  auto inherited = [&](int fd) { return std::to_string(need(::dup(fd))); };
  set("BORA_RANK", std::to_string(job.first + i));
  set("BORA_SIZE", std::to_string(job.size));
  set("BORA_ROOT", job.root);
  set("BORA_LOCAL_RANK", std::to_string(i));
  set("BORA_LOCAL_SIZE", std::to_string(job.count));
  set("BORA_JOB", job.job);
  ::unsetenv("BORA_LAUNCHER");     // this is the launcher
  ::unsetenv("BORA_SECRET_FILE");  // replaced by BORA_SECRET_FD
  if (secret >= 0) set("BORA_SECRET_FD", inherited(secret));
  ::unsetenv("BORA_ROOT_FD");
  if (job.first + i == 0 && job.root_socket >= 0) set("BORA_ROOT_FD", inherited(job.root_socket));
  if (!job.interface_name.empty()) set("BORA_INTERFACE", job.interface_name);
  ::unsetenv(kGenerationVariable);
  if (files[2] >= 0)
    set(kGenerationVariable, inherited(files[2]) + ":" + std::to_string(job.generation) + ":" + job.heirs);
  if (job.first + i == 0 && job.columns > 0) set("BORA_TERMINAL", std::to_string(job.columns));
  ::dup2(need(::open("/dev/null", O_RDONLY)), 0);
  std::vector<char*> argv;
  for (auto& word : job.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  write_all(2, "bora: " + one_line(std::string("cannot run ") + argv[0]) + ": " + std::strerror(errno) + "\n");
  ::_exit(2);
}
void LocalRanks::add_files(std::vector<::pollfd>& files) const {
  for (auto& rank : ranks_)
    for (int fd : {rank.streams[0], rank.streams[1], rank.channel})
      if (fd >= 0) files.push_back({fd, POLLIN, 0});
}
/// Passes on at most so many bytes of a stream.
void LocalRanks::print(Rank& rank, int stream, std::size_t most, RankEvents& events) {
  char buffer[1 << 14];
  int& fd = rank.streams[stream];
  while (most > 0 && fd >= 0) {
    auto n = ::read(fd, buffer, std::min(most, sizeof buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nothing more for now
    if (n == 0) ::close(std::exchange(fd, -1));
    else events.printed(rank.number, stream == 1, {buffer, static_cast<std::size_t>(n)});
    most -= static_cast<std::size_t>(n);
  }
}
void LocalRanks::serve(RankEvents& events) {
  for (auto& rank : ranks_) {
    for (int s = 0; s < 2; ++s) print(rank, s, kTurn, events);
    if (rank.channel >= 0) serve_channel(rank, events);
  }
  for (auto& rank : ranks_) {
    int status = rank.pid > 0 ? 0 : 2 << 8;
    if (rank.ended || (rank.pid > 0 && ::waitpid(rank.pid, &status, WNOHANG) != rank.pid)) continue;
    rank.ended = true;
    if (!rank.failure.empty()) events.printed(rank.number, true, "bora: " + one_line(rank.failure) + "\n");
    rank.waits = false;
    for (int s = 0, left = 0; s < 2; ++s)  // what it has said since: nobody reads it once all have ended
      if (rank.streams[s] >= 0 && ::ioctl(rank.streams[s], FIONREAD, &left) == 0)
        print(rank, s, static_cast<std::size_t>(left), events);
    events.ended(rank.number, {.status = status});
  }
}
void LocalRanks::serve_channel(Rank& rank, RankEvents& events) {
  bool open = read_some(rank.channel, rank.received);
  try {
    while (auto f = next_frame(rank.received)) {
      auto fields = f->fields();
      if (f->type == Message::reached) events.reached(fields.num<std::int64_t>());
      if (f->type == Message::ground) events.stands_on(std::string(fields.rest()));
      if (f->type != Message::left) continue;
      rank.waits = true;
      auto lost = count(fields, 1 << 20) - 1;
      events.left(rank.number, lost, std::string(fields.rest()));
    }
  } catch (const TransportError&) { open = false; }
  if (!open) ::close(std::exchange(rank.channel, -1));
}
std::vector<int> LocalRanks::waiting() const {
  std::vector<int> r;
  for (auto& rank : ranks_)
    if (rank.waits && !rank.ended && rank.channel >= 0) r.push_back(rank.number);
  return r;
}
void LocalRanks::tell(Message what, std::string_view payload) {
  auto message = frame(what, payload);
  for (auto& rank : ranks_)  // a few bytes; a rank whose socket is full has not listened for long and will not now
    if (!rank.ended && !rank.waits && rank.channel >= 0)
      [[maybe_unused]] auto sent = ::send(rank.channel, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}
void LocalRanks::end_silent() {
  for (auto& rank : ranks_)
    if (rank.pid > 0 && !rank.ended && !rank.waits) ::kill(-rank.pid, SIGKILL);
}
bool LocalRanks::running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](auto& r) { return !r.ended; });
}
void LocalRanks::signal(int s) {
  for (auto& rank : ranks_)
    if (rank.pid > 0 && !rank.ended) ::kill(-rank.pid, s);
}
void LocalRanks::end() {
  for (auto& rank : ranks_)
    if (rank.pid > 0) ::kill(-rank.pid, SIGKILL);
}

Signals::Signals() {
  ::signal(SIGCHLD, SIG_DFL);  // where it is ignored, as a parent may leave it, the system keeps no exit codes
  ::sigset_t set;
  ::sigemptyset(&set);
  for (int s : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::sigaddset(&set, s);
  struct ::sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) ::sigaddset(&set, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  auto reason = errno;
  if (fd_ < 0) ::sigprocmask(SIG_SETMASK, &before_, nullptr);  // else nothing could interrupt the job
  check<ConfigError>(fd_ >= 0, "launch: cannot wait for signals: ", std::strerror(reason));
}
Signals::~Signals() {
  take();
  ::close(fd_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}
std::vector<int> Signals::take() {
  std::vector<int> found;
  for (::signalfd_siginfo s; ::read(fd_, &s, sizeof s) == sizeof s;)
    if (s.ssi_signo != SIGCHLD) found.push_back(static_cast<int>(s.ssi_signo));
  return found;
}
}  // namespace bora::launch
