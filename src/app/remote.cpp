#include "remote.h"
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include "bora/base/error.h"

namespace bora::app {
namespace {
using Clock = std::chrono::steady_clock;
// Separates the agent's messages from output of a login shell. The number changes with the message format.
constexpr std::string_view greeting = "\nbora agent 1\n";
constexpr std::size_t most_bytes = 1 << 20;
enum Type : char {
  hello = 'H',
  job = 'J',
  failed = 'F',
  printed = 'P',
  ended = 'E',
  signal_all = 'S',
  end_all = 'K',
  alive = 'A'
};

/// Packs numbers and texts into a message.
class Packer {
 public:
  Packer& number(std::int64_t n) { return bytes_.append(reinterpret_cast<const char*>(&n), sizeof n), *this; }
  Packer& text(std::string_view s) { return number(static_cast<std::int64_t>(s.size())), bytes_.append(s), *this; }
  Packer& texts(const std::vector<std::string>& all) {
    number(static_cast<std::int64_t>(all.size()));
    for (auto& s : all) text(s);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t number() {
    std::int64_t n = 0;
    std::memcpy(&n, piece(sizeof n).data(), sizeof n);
    return n;
  }
  int count(std::int64_t below) {
    auto n = number();
    check<TransportError>(n >= 0 && n < below, "a number between the launcher and its agent is ", n, ", not below ",
                          below);
    return static_cast<int>(n);
  }
  std::string text() { return std::string(piece(static_cast<std::size_t>(count(most_bytes)))); }
  std::vector<std::string> texts() {
    std::vector<std::string> all(static_cast<std::size_t>(count(1 << 16)));
    for (auto& s : all) s = text();
    return all;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view piece(std::size_t n) {
    check<TransportError>(n <= bytes_.size(), "a message between the launcher and its agent is cut short");
    auto p = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return p;
  }
  std::string_view bytes_;
};
std::string frame(char type, std::string_view payload) {
  auto size = static_cast<std::uint32_t>(payload.size());
  return type + std::string(reinterpret_cast<const char*>(&size), sizeof size).append(payload);
}
struct Frame {
  char type;
  std::string payload;
};
/// Removes the next whole message from `bytes`.
std::optional<Frame> next_frame(std::string& bytes) {
  std::uint32_t size = 0;
  if (bytes.size() < 1 + sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data() + 1, sizeof size);
  check<TransportError>(size <= most_bytes, "a message between the launcher and its agent has ", size, " bytes");
  if (bytes.size() < 1 + sizeof size + size) return std::nullopt;
  Frame f{bytes[0], bytes.substr(1 + sizeof size, size)};
  bytes.erase(0, 1 + sizeof size + size);
  return f;
}
std::string quoted(const std::string& word) {  // for any shell
  std::string s = "'";
  for (char c : word) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}
/// Reads all available bytes; false at the end.
bool read_some(int fd, std::string& bytes) {
  char buffer[1 << 16];
  for (;;) {
    auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}
}  // namespace

std::vector<std::string> environment_for_ranks(char** environment, const std::vector<std::string>& names) {
  constexpr std::string_view ours[] = {"BORA_RANK",        "BORA_SIZE", "BORA_ROOT",     "BORA_LOCAL_RANK",
                                       "BORA_LOCAL_SIZE",  "BORA_JOB",  "BORA_LAUNCHER", "BORA_SECRET_FD",
                                       "BORA_SECRET_FILE", "BORA_SSH",  "BORA_TERMINAL", "BORA_HOST_ID"};
  constexpr std::string_view families[] = {"BORA_", "OMP_", "GOMP_", "LC_", "MALLOC_", "ONEDNN_"};
  constexpr std::string_view single[] = {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "TZ", "ASAN_OPTIONS",
                                         "TSAN_OPTIONS", "UBSAN_OPTIONS"};
  std::vector<std::string> found;
  for (auto e = environment; *e; ++e) {
    std::string_view variable = *e;
    auto name = variable.substr(0, variable.find('='));
    auto is_it = [&](auto& word) { return name == word; };
    bool wanted = std::any_of(std::begin(families), std::end(families), [&](auto f) { return name.starts_with(f); }) ||
                  std::any_of(std::begin(single), std::end(single), is_it) ||
                  std::any_of(names.begin(), names.end(), is_it);
    if (wanted && std::none_of(std::begin(ours), std::end(ours), is_it)) found.emplace_back(variable);
  }
  return found;
}
std::vector<std::string> ssh_words(const std::string& command) {
  std::istringstream in(command.empty() ? "ssh" : command);
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  check<ConfigError>(!words.empty(), "BORA_SSH: expected a command, got '", command, "'");
  if (words[0].substr(words[0].rfind('/') + 1) == "ssh")
    for (auto option : {"-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=3",
                        "-oServerAliveCountMax=3", "-oLogLevel=ERROR"})
      words.emplace_back(option);
  return words;
}

RemoteRanks::RemoteRanks(const Host& host, const std::vector<std::string>& ssh, const std::string& agent)
    : host_(host) {
  int pipes[3][2];  // the first is a socket: writing to it after ssh has gone is an error, not a signal
  bool made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes[0]) == 0 &&
              ::pipe2(pipes[1], O_CLOEXEC) == 0 && ::pipe2(pipes[2], O_CLOEXEC) == 0;
  check<ConfigError>(made, "launch: more hosts need more open files: ", std::strerror(errno));
  const auto remote = "exec " + quoted(agent) + " agent" +
                (host.interface_name.empty() ? "" : " --interface " + quoted(host.interface_name));
  auto launcher = ::getpid();
  ssh_ = ::fork();
  check<ConfigError>(ssh_ >= 0, "launch: cannot start ", ssh[0], ": ", std::strerror(errno));
  if (ssh_ == 0) {
    ::setpgid(0, 0);  // a terminal's ^C reaches only the launcher, which tells the agents
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(255);
    ::sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(pipes[0][0], 0), ::dup2(pipes[1][1], 1), ::dup2(pipes[2][1], 2);
    std::vector<char*> argv;
    for (auto& word : ssh) argv.push_back(const_cast<char*>(word.c_str()));
    for (const auto* word : {&host.name, &remote}) argv.push_back(const_cast<char*>(word->c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    write_all(2, "cannot run " + ssh[0] + ": " + std::strerror(errno) + "\n");
    ::_exit(255);
  }
  ::close(pipes[0][0]), ::close(pipes[1][1]), ::close(pipes[2][1]);
  in_ = pipes[0][1], out_ = pipes[1][0], err_ = pipes[2][0];
  for (int fd : {in_, out_, err_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}
RemoteRanks::~RemoteRanks() {
  for (int fd : {in_, out_, err_})
    if (fd >= 0) ::close(fd);
  if (ssh_ > 0) ::kill(ssh_, SIGKILL), ::waitpid(ssh_, nullptr, 0);
}
void RemoteRanks::send(char type, std::string_view payload) {
  if (in_ < 0) return;
  to_send_ += frame(type, payload);
  flush();
}
void RemoteRanks::flush() {
  while (in_ >= 0 && !to_send_.empty()) {
    auto n = ::send(in_, to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) ::close(std::exchange(in_, -1));  // the other files report the host's fate
    else to_send_.erase(0, static_cast<std::size_t>(n));
  }
}
void RemoteRanks::start(const RanksToStart& r, const std::vector<std::string>& environment, const std::string& folder) {
  first_ = r.first;
  ended_.assign(static_cast<std::size_t>(r.count), false);
  auto message = Packer()
                     .number(r.first)
                     .number(r.count)
                     .number(r.size)
                     .texts(r.command)
                     .text(r.root)
                     .text(r.job)
                     .text(r.secret)
                     .text(host_.interface_name)
                     .number(r.columns)
                     .texts(environment)
                     .text(folder)
                     .take();
  check<ConfigError>(message.size() < most_bytes / 2, "launch: command and environment have ", message.size(),
                     " bytes; at most ", most_bytes / 2, " can be given to other hosts");
  send(job, message);
}
void RemoteRanks::add_files(std::vector<::pollfd>& files) const {
  for (int fd : {out_, err_})
    if (fd >= 0) files.push_back({fd, POLLIN, 0});
  if (in_ >= 0 && !to_send_.empty()) files.push_back({in_, POLLOUT, 0});
}
void RemoteRanks::serve(RankEvents& events) {
  flush();
  if (err_ >= 0 && !read_some(err_, said_)) ::close(std::exchange(err_, -1));
  if (said_.size() > most_bytes) said_.erase(0, said_.size() - most_bytes / 2);
  if (ssh_ > 0 && ending_ && Clock::now() >= patience_) ::kill(ssh_, SIGKILL);
  if (out_ < 0) return;
  bool open = read_some(out_, received_);
  try {
    take_frames(events);
  } catch (const TransportError& e) {
    said_ = e.text();
    open = false;
  }
  if (!open) closed(events);
}
void RemoteRanks::take_frames(RankEvents& events) {
  if (!ready_) {
    auto at = received_.find(greeting);
    if (at == std::string::npos) return;
    auto whole = received_.substr(at + greeting.size());
    auto f = next_frame(whole);
    if (!f) return;
    check<TransportError>(f->type == hello || f->type == failed, "an agent begins with '", f->type, "'");
    Unpacker u(f->payload);
    if (f->type == failed) failure_ = u.text();
    else address_ = u.text(), ready_ = true;
    received_ = whole;
  }
  while (auto f = next_frame(received_)) {
    Unpacker u(f->payload);
    if (f->type == failed) failure_ = u.text();
    if (f->type != printed && f->type != ended) continue;
    auto i = u.count(static_cast<std::int64_t>(ended_.size()));
    if (f->type == printed) {
      bool errors = u.count(2) != 0;
      events.printed(first_ + i, errors, u.rest());
    } else {
      ended_[static_cast<std::size_t>(i)] = true;
      events.ended(first_ + i, {.status = static_cast<int>(u.number())});
    }
  }
}
/// The connection has ended: the ranks are done or lost.
void RemoteRanks::closed(RankEvents& events) {
  for (int* fd : {&in_, &out_})
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
  // ssh ends after the agent's output ends; its last message and exit code may come a little later.
  int status = 0;
  for (int i = 0; ::waitpid(ssh_, &status, WNOHANG) == 0; ++i) {
    if (i == 200 || ending_) ::kill(ssh_, SIGKILL);
    ::poll(nullptr, 0, 5);
  }
  ssh_ = 0;
  if (err_ >= 0) read_some(err_, said_), ::close(std::exchange(err_, -1));
  while (!said_.empty() && std::isspace(static_cast<unsigned char>(said_.back()))) said_.pop_back();
  auto last = said_.substr(said_.rfind('\n') + 1);
  auto why = !last.empty() ? last : "ssh " + Ending{.status = status}.words();
  if (failure_.empty() && !ready_) failure_ = why;
  for (std::size_t i = 0; i < ended_.size(); ++i)
    if (!ended_[i])
      events.ended(first_ + static_cast<int>(i),
                   {.lost = !failure_.empty() ? failure_ : "the connection to its host ended: " + why});
  ended_.assign(ended_.size(), true);
}
void RemoteRanks::signal(int s) { send(signal_all, Packer().number(s).take()); }
void RemoteRanks::end() {
  if (std::exchange(ending_, true)) return;
  patience_ = Clock::now() + std::chrono::seconds(2);
  send(end_all, {});
  if (!ready_ && ssh_ > 0) ::kill(ssh_, SIGKILL);  // no agent could answer
}

namespace {
/// An interface's address, preferably IPv4. Without a name: the address at which ssh reached this machine, or empty.
std::string own_address(const std::string& interface_name) {
  if (interface_name.empty()) {
    auto connection = std::getenv("SSH_CONNECTION");  // client's address and port, then this machine's
    std::istringstream words(connection ? connection : "");
    std::string theirs, port, mine;
    words >> theirs >> port >> mine;
    return mine;
  }
  ::ifaddrs* all = nullptr;
  check<ConfigError>(::getifaddrs(&all) == 0, "cannot list network interfaces: ", std::strerror(errno));
  std::string names, ip;
  bool is_ipv4 = false;
  for (auto* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) continue;
    bool ipv4 = i->ifa_addr->sa_family == AF_INET;
    char text[NI_MAXHOST] = "";
    ::getnameinfo(i->ifa_addr, ipv4 ? sizeof(::sockaddr_in) : sizeof(::sockaddr_in6), text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST);
    if ((" " + names + ",").find(" " + std::string(i->ifa_name) + ",") == std::string::npos)
      names += (names.empty() ? "" : ", ") + std::string(i->ifa_name);
    if (interface_name != i->ifa_name || is_ipv4 || (!ipv4 && !ip.empty() && !ip.starts_with("fe80:"))) continue;
    ip = text;
    is_ipv4 = ipv4;
  }
  ::freeifaddrs(all);
  check<ConfigError>(!ip.empty(), "no network interface '", interface_name, "' with an address; there are: ", names);
  return ip;
}
/// Reports events of ranks as messages to the launcher.
struct Reporter final : RankEvents {
  int first = 0, count = 0;
  bool heard = true;  // the launcher still reads
  void say(char type, std::string_view payload) { heard = heard && write_all(1, frame(type, payload)); }
  void printed(int rank, bool errors, std::string_view bytes) override {
    say(Type::printed, Packer().number(rank - first).number(errors).take().append(bytes));
  }
  void ended(int rank, const Ending& e) override {
    say(Type::ended, Packer().number(rank - first).number(e.status).take());
  }
};
RanksToStart read_job(std::string_view message, Reporter& to) {
  Unpacker u(message);
  RanksToStart r;
  to.first = r.first = u.count(1 << 20), to.count = r.count = u.count(1 << 16), r.size = u.count(1 << 20);
  r.command = u.texts();
  for (auto* field : {&r.root, &r.job, &r.secret, &r.interface_name}) *field = u.text();
  r.columns = u.count(1 << 16);
  for (auto& variable : u.texts()) {
    auto equals = variable.find('=');
    if (equals != std::string::npos) ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  auto folder = u.text();
  check<ConfigError>(::chdir(folder.c_str()) == 0, "no folder ", folder, ": ", std::strerror(errno),
                     "; the launcher's working directory must exist on every host");
  check<ConfigError>(!r.command.empty(), "nothing to run");
  return r;
}
/// Runs until the ranks or the launcher have ended.
void run_job(const std::string& interface_name, Reporter& to) {
  auto ip = own_address(interface_name);
  ::signal(SIGPIPE, SIG_IGN);
  Signals signals;
  RootSocket socket;  // in case rank 0 is started here
  if (!ip.empty()) socket = RootSocket::at(ip);
  to.say(hello, Packer().text(socket.address()).take());
  ::fcntl(0, F_SETFL, O_NONBLOCK);
  std::string received;
  std::optional<LocalRanks> ranks;
  for (bool open = true; open && to.heard && (!ranks || ranks->running());) {
    std::vector<::pollfd> files{{0, POLLIN, 0}, {signals.file(), POLLIN, 0}};
    if (ranks) ranks->add_files(files);
    // Sends a sign of life now and then: TCP notices the loss of the launcher's machine only when it has data to send.
    if (::poll(files.data(), files.size(), 10'000) == 0) to.say(alive, {});
    auto asked = signals.take();
    if (!ranks && !asked.empty()) return;
    for (int s : asked) ranks->signal(s == SIGHUP ? SIGTERM : s);
    if (ranks) ranks->serve(to);
    if (files[0].revents != 0) open = read_some(0, received);
    while (auto f = next_frame(received)) {
      if (f->type == end_all) open = false;
      if (f->type == signal_all && ranks) ranks->signal(Unpacker(f->payload).count(65));
      if (f->type != job || ranks) continue;
      auto start = read_job(f->payload, to);
      if (start.root == socket.address()) start.root_socket = socket.file();
      ranks.emplace(start, signals.before());
      socket = {};  // rank 0 listens on it now
    }
  }
  if (!ranks) return;
  ranks->end();  // also processes that ranks started
  while (ranks->running() && to.heard) ranks->serve(to), ::poll(nullptr, 0, 1);
  ranks->serve(to);
}
}  // namespace

int serve_launcher(const std::string& interface_name) {
  Reporter to;
  write_all(1, greeting);
  try {
    run_job(interface_name, to);
  } catch (const Error& e) {
    if (to.count == 0) to.say(failed, Packer().text(e.text()).take());
    // Reported as bad input found by the ranks.
    char host[256] = "?";
    ::gethostname(host, sizeof host - 1);
    for (int r = to.first; r < to.first + to.count; ++r) {
      to.printed(r, true, std::string("bora: ") + host + ": " + e.text() + "\n");
      to.ended(r, {.status = 2 << 8});
    }
    return 2;
  }
  return 0;
}
}  // namespace bora::app
