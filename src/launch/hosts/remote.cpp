#include "remote.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

namespace bora::launch {
namespace {
constexpr std::size_t kMostShell = 1 << 16;  // bytes of a login shell
std::string quoted(const std::string& word) {  // for any shell
  std::string s = "'";
  for (char c : word) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}
}  // namespace

std::vector<std::string> environment_for_ranks(char** environment, const std::vector<std::string>& names) {
  constexpr std::string_view ours[] = {"BORA_RANK",        "BORA_SIZE",     "BORA_ROOT",     "BORA_LOCAL_RANK",
                                       "BORA_LOCAL_SIZE",  "BORA_JOB",      "BORA_LAUNCHER", "BORA_SECRET_FD",
                                       "BORA_SECRET_FILE", "BORA_TERMINAL", "BORA_HOST_ID"};
  constexpr std::string_view families[] = {"BORA_", "OMP_", "GOMP_", "LC_", "MALLOC_", "ONEDNN_"};
  constexpr std::string_view single[] = {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",   "LANG",
                                         "TZ",   "ASAN_OPTIONS",    "TSAN_OPTIONS", "UBSAN_OPTIONS"};
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
  check<ConfigError>(!words.empty(), "--ssh: expected a command, got '", command, "'");
  if (words[0].substr(words[0].rfind('/') + 1) == "ssh")
    for (auto option : {"-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=3",
                        "-oServerAliveCountMax=3", "-oLogLevel=ERROR"})
      words.emplace_back(option);
  return words;
}

RemoteRanks::RemoteRanks(const Host& host, const Reach& ssh, const std::string& agent)
    : host_(host) {
  // The first is a socket: writing to it after ssh has gone is an error, not a signal.
  int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  auto made = [&](bool yes, std::string_view problem) {
    if (yes) return;
    std::string why = std::strerror(errno);
    for (auto& ends : pipes)
      for (int fd : ends)
        if (fd >= 0) ::close(fd);
    throw ConfigError("launch: " + std::string(problem) + ": " + why);
  };
  made(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes[0]) == 0 && ::pipe2(pipes[1], O_CLOEXEC) == 0 &&
           ::pipe2(pipes[2], O_CLOEXEC) == 0,
       "more hosts need more open files");
  const auto remote = "exec " + quoted(agent) + " agent" +
                      (host.interface_name.empty() ? "" : " --interface " + quoted(host.interface_name));
  auto launcher = ::getpid();
  ssh_ = ::fork();
  made(ssh_ >= 0, "cannot start " + ssh.before[0]);
  if (ssh_ == 0) {
    ::setpgid(0, 0);  // a terminal's ^C reaches only the launcher, which tells the agents
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(255);
    ::sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(pipes[0][0], 0), ::dup2(pipes[1][1], 1), ::dup2(pipes[2][1], 2);
    std::vector<char*> argv;
    auto add = [&](const std::string& word) { argv.push_back(const_cast<char*>(word.c_str())); };
    for (auto& word : ssh.before) add(word);
    add(host.name);
    for (auto& word : ssh.after) add(word);
    add(remote);
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    write_all(2, "cannot run " + ssh.before[0] + ": " + std::strerror(errno) + "\n");
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
void RemoteRanks::send(Message type, std::string_view payload) {
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
void RemoteRanks::start(const RanksToStart& r, const std::vector<std::string>& environment, const std::string& folder,
                        const std::vector<int>& kept) {
  first_ = r.first;
  elastic_ = r.elastic;
  missed_ = false;
  for (auto* marks : {&ended_, &waits_}) marks->assign(static_cast<std::size_t>(r.count), false);
  ByteWriter fields;
  fields.num<std::int64_t>(++starts_)
      .num<std::int64_t>(r.first)
      .num<std::int64_t>(r.count)
      .num<std::int64_t>(r.size)
      .texts(r.command)
      .text(r.root)
      .text(r.job)
      .text(r.secret)
      .text(host_.interface_name)
      .num<std::int64_t>(r.columns)
      .num<std::int64_t>(r.elastic)
      .num<std::int64_t>(r.generation)
      .text(r.heirs)
      .text(r.ground)
      .num<std::int64_t>(r.wait)
      .texts(environment)
      .text(folder);
  for (int rank : kept) fields.num<std::int64_t>(rank + 1);
  auto message = fields.take();
  check<ConfigError>(message.size() < kMostBytes / 2, "launch: command and environment have ", message.size(),
                     " bytes; at most ", kMostBytes / 2, " can be given to other hosts");
  send(Message::job, message);
}
void RemoteRanks::add_files(std::vector<::pollfd>& files) const {
  for (int fd : {out_, err_})
    if (fd >= 0) files.push_back({fd, POLLIN, 0});
  if (in_ >= 0 && !to_send_.empty()) files.push_back({in_, POLLOUT, 0});
}
void RemoteRanks::serve(RankEvents& events) {
  flush();
  if (err_ >= 0 && !read_some(err_, said_)) ::close(std::exchange(err_, -1));
  if (said_.size() > kMostBytes) said_.erase(0, said_.size() - kMostBytes / 2);
  if (ssh_ > 0 && ending_ && Clock::now() >= patience_) ::kill(ssh_, SIGKILL);
  if (out_ < 0) return;
  auto before = received_.size();
  bool open = read_some(out_, received_);
  if (received_.size() > before) liveness_.heard();
  if (liveness_.tick() && ready_) {
    send(Message::alive, {});
    if (elastic_ && liveness_.seconds() >= kSilentIfMissed && !ended_.empty())
      events.silent(ByteWriter().num<std::int64_t>(first_).num(static_cast<std::int64_t>(ended_.size())).take());
  }
  try {
    take_frames(events);
  } catch (const TransportError& e) {
    said_ = e.text();
    open = false;
  }
  if (open && ready_ && liveness_.seconds() >= (missed_ ? kSilentIfMissed : kSilentHost)) {
    said_ = "no sign of life for " + std::to_string(liveness_.seconds()) + " s";
    ::kill(ssh_, SIGKILL);
    open = false;
  }
  if (!open) closed(events);
}
void RemoteRanks::take_frames(RankEvents& events) {
  if (!ready_) {
    auto at = received_.find(kGreeting);
    if (at == std::string::npos) {
      constexpr auto any = kGreeting.substr(0, kGreeting.rfind(' ') + 1);
      auto other = received_.find(any), end = other == std::string::npos ? other : received_.find('\n', other + 1);
      if (end != std::string::npos && failure_.empty())
        failure_ = "another version of bora is installed there: it says '" +
                   received_.substr(other + 1, end - other - 1) + "', this one '" +
                   std::string(kGreeting.substr(1, kGreeting.size() - 2)) + "'";
      // A login shell may print what it likes: only what may be a part of the greeting is kept.
      if (received_.size() > kMostShell) received_.erase(0, received_.size() - kGreeting.size());
      refuses_ = !failure_.empty();
      return;
    }
    auto whole = received_.substr(at + kGreeting.size());
    auto f = next_frame(whole);
    if (!f) return;
    check<TransportError>(f->type == Message::handshake || f->type == Message::failed, "an agent begins with '",
                          static_cast<char>(f->type), "'");
    auto u = f->fields();
    if (f->type == Message::failed) failure_ = u.text(), refuses_ = true;
    else address_ = u.text(), ready_ = true;
    received_ = whole;
  }
  while (auto f = next_frame(received_)) {
    auto u = f->fields();
    if (f->type == Message::failed) failure_ = u.text(), refuses_ = true;
    if (f->type == Message::reached) events.reached(u.num<std::int64_t>());
    if (f->type == Message::ground) events.stands_on(f->payload);
    if (f->type != Message::printed && f->type != Message::ended && f->type != Message::left) continue;
    if (count(u, 1 << 30) != starts_) continue;  // the agent has replaced what ended meanwhile
    auto i = count(u, static_cast<std::int64_t>(ended_.size()));
    if (f->type == Message::left) {
      waits_[static_cast<std::size_t>(i)] = true;
      auto lost = count(u, 1 << 20) - 1;
      events.left(first_ + i, lost, std::string(u.rest()));
    } else if (f->type == Message::printed) {
      bool errors = count(u, 2) != 0;
      events.printed(first_ + i, errors, u.rest());
    } else {
      ended_[static_cast<std::size_t>(i)] = true;
      events.ended(first_ + i, {.status = static_cast<int>(u.num<std::int64_t>())});
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
bool RemoteRanks::running() const {
  return ssh_ > 0 && (!elastic_ || std::find(ended_.begin(), ended_.end(), false) != ended_.end());
}
std::vector<int> RemoteRanks::waiting() const {
  std::vector<int> r;
  for (std::size_t i = 0; i < waits_.size(); ++i)
    if (waits_[i] && !ended_[i]) r.push_back(first_ + static_cast<int>(i));
  return r;
}
void RemoteRanks::miss(int rank) {
  missed_ = missed_ || (rank >= first_ && rank < first_ + static_cast<int>(ended_.size()));
}
void RemoteRanks::tell(Message what, std::string_view payload) { send(what, payload); }
void RemoteRanks::end_silent() { send(Message::end_silent, {}); }
void RemoteRanks::signal(int s) { send(Message::signal_all, ByteWriter().num<std::int64_t>(s).take()); }
void RemoteRanks::end() {
  if (std::exchange(ending_, true)) return;
  patience_ = Clock::now() + std::chrono::seconds(2);
  send(Message::end_all, {});
  if (!ready_ && ssh_ > 0) ::kill(ssh_, SIGKILL);  // no agent could answer
}
}  // namespace bora::launch
