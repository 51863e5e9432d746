#include "launch.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include "bora/base/error.h"

namespace bora::app {
namespace {
using Clock = std::chrono::steady_clock;
constexpr std::string_view error_mark = "bora: ", clear_line = "\r\033[K";

/// False: nobody listens any more, or there is no room.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::string choose_root(const std::string& wanted) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto colon = wanted.rfind(':');
  if (!wanted.empty()) {
    int port = 0;
    auto digits = colon == std::string::npos ? std::string_view() : std::string_view(wanted).substr(colon + 1);
    auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    check<ConfigError>(parsed.ptr == digits.data() + digits.size() && port > 0 && port < 65536, "BORA_ROOT: expected host:port, got '", wanted, "'");
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_INET;
    auto host = wanted.substr(0, colon);
    check<ConfigError>(::getaddrinfo(host.c_str(), nullptr, &hints, &found) == 0, "BORA_ROOT: no host '", host, "'");
    address.sin_addr = reinterpret_cast<::sockaddr_in*>(found->ai_addr)->sin_addr;
    ::freeaddrinfo(found);
  }
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::socklen_t size = sizeof address;
  bool ok = ::bind(fd, reinterpret_cast<::sockaddr*>(&address), size) == 0;
  auto reason = errno;
  ::getsockname(fd, reinterpret_cast<::sockaddr*>(&address), &size);
  ::close(fd);
  check<ConfigError>(ok, "cannot listen on ", wanted, ": ",
                     reason == EADDRINUSE ? "the port is in use" : std::strerror(reason));
  return wanted.empty() ? "127.0.0.1:" + std::to_string(ntohs(address.sin_port)) : wanted;
}

namespace {

/// One output stream of one rank, cut into lines.
struct Output {
  int fd = -1;
  bool errors = false;  // stderr
  std::string pending = {};
};
struct Rank {
  pid_t pid = 0;
  Output streams[2] = {};
  int log = -1;
  std::optional<int> status = {};
};

class Job {
 public:
  Job(const Launch& options, const std::string& root, const sigset_t& child_mask) : Job(options, child_mask) {
    std::error_code error;
    if (!options.log_dir.empty()) std::filesystem::create_directories(options.log_dir, error);
    check<ConfigError>(!error, "launch: cannot make the folder ", options.log_dir, ": ", error.message());
    for (int r = 0; r < options.ranks; ++r) start(r, root);  // if one cannot be started, the destructor ends the others
  }
  ~Job() {
    end_all();
    for (auto& rank : ranks_) {
      if (rank.pid > 0 && !rank.status) ::waitpid(rank.pid, nullptr, 0);
      for (auto& s : rank.streams)
        if (s.fd >= 0) ::close(s.fd);
      if (rank.log >= 0) ::close(rank.log);
    }
  }
  /// Until every rank has ended.
  void wait(int signals) {
    while (running()) {
      std::vector<::pollfd> fds{{signals, POLLIN, 0}};
      for (auto& rank : ranks_)
        for (auto& s : rank.streams)
          if (s.fd >= 0) fds.push_back({s.fd, POLLIN, 0});
      auto left =
          deadline_ ? std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now()).count() : -1;
      ::poll(fds.data(), fds.size(), deadline_ ? static_cast<int>(std::max<std::int64_t>(0, left + 1)) : -1);
      for (::signalfd_siginfo s; ::read(signals, &s, sizeof s) == sizeof s;)
        if (s.ssi_signo != SIGCHLD) pass_on(static_cast<int>(s.ssi_signo));
      for (auto& rank : ranks_)
        for (auto& s : rank.streams) drain(rank, s);
      reap();
      if (deadline_ && Clock::now() >= *deadline_) end_all(), deadline_.reset();
    }
    end_all();  // what ranks themselves started
    for (auto& rank : ranks_)
      for (auto& s : rank.streams) drain(rank, s), finish(rank, s);
  }
  bool interrupted() const { return interrupted_; }
  /// The exit code; prints the one line.
  int verdict() {
    if (failed_.empty()) {
      for (auto& line : said_) print(2, line.text + "\n");
      check<IoError>(arrived_, "cannot write to standard output: it is full or closed");
      bool stopped = interrupted_ ||
                     std::any_of(ranks_.begin(), ranks_.end(), [](auto& r) { return exit_code(*r.status) == 130; });
      return stopped ? 130 : 0;
    }
    // Survivors end with 86 because of another rank: the cause is the first that ended otherwise.
    auto cause = std::find_if(failed_.begin(), failed_.end(), [&](int r) { return exit_code(status(r)) != 86; });
    auto r = cause == failed_.end() ? failed_[0] : *cause;
    auto code = exit_code(status(r));
    auto words = WIFSIGNALED(status(r)) ? "killed by signal " + std::to_string(WTERMSIG(status(r))) + " (" +
                                              ::strsignal(WTERMSIG(status(r))) + ")"
                                        : "ended with exit code " + std::to_string(code);
    auto line = std::string(error_mark) + "rank " + std::to_string(r) + " lost: " + words;
    if (code == 2 || code == 86) {
      auto theirs = std::find_if(said_.rbegin(), said_.rend(), [&](auto& l) { return l.rank == r; });
      if (theirs != said_.rend()) line = theirs->text;
      else if (!said_.empty()) line = said_.front().text;
      else if (code == 2) line = std::string(error_mark) + "rank " + std::to_string(r) + " " + words;
    }
    print(2, line + "\n");
    return code == 2 ? 2 : 86;
  }

 private:
  struct Line {
    int rank;
    std::string text;
  };
  Job(const Launch& options, const sigset_t& child_mask)
      : options_(options), child_mask_(child_mask), ranks_(static_cast<std::size_t>(options.ranks)) {}
  /// As a shell says it; -signal for a rank that was killed.
  static int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }
  int status(int r) const { return *ranks_[static_cast<std::size_t>(r)].status; }
  bool running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](auto& r) { return !r.status; });
  }

  void start(int r, const std::string& root) {
    auto& rank = ranks_[static_cast<std::size_t>(r)];
    int pipes[2][2];
    for (int s = 0; s < 2; ++s) {
      bool made = ::pipe2(pipes[s], O_CLOEXEC) == 0;
      check<ConfigError>(made, "launch: ", options_.ranks, " ranks need more open files: ", std::strerror(errno));
      ::fcntl(pipes[s][0], F_SETFL, O_NONBLOCK);
      rank.streams[s] = {pipes[s][0], s == 1};
    }
    if (!options_.log_dir.empty()) {
      auto path = options_.log_dir + "/rank-" + std::to_string(r) + ".log";
      rank.log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      check<ConfigError>(rank.log >= 0, "cannot write ", path, ": ", std::strerror(errno));
    }
    auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    auto launcher = ::getpid();
    rank.pid = ::fork();
    check<ConfigError>(rank.pid >= 0, "launch: cannot start rank ", r, ": ", std::strerror(errno));
    if (rank.pid > 0) {
      ::setpgid(rank.pid, rank.pid);  // here and there: whichever comes first
      ::close(pipes[0][1]);
      ::close(pipes[1][1]);
      return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(86);
    // A shell starts background jobs with SIGINT ignored; a rank listens to what the launcher passes on.
    for (int s : {SIGTERM, SIGINT, SIGHUP}) ::signal(s, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &child_mask_, nullptr);
    set("BORA_RANK", std::to_string(r));
    set("BORA_SIZE", std::to_string(options_.ranks));
    set("BORA_ROOT", root);
    set("BORA_LOCAL_RANK", std::to_string(r));
    set("BORA_LOCAL_SIZE", std::to_string(options_.ranks));
    set("BORA_JOB", std::to_string(launcher) + "@" + root);
    if (options_.waits_passively) ::setenv("OMP_WAIT_POLICY", "passive", 0);
    if (options_.secret >= 0) set("BORA_SECRET_FD", std::to_string(::dup(options_.secret)));
    ::winsize window{};
    if (r == 0 && ::isatty(2) && ::ioctl(2, TIOCGWINSZ, &window) == 0)
      set("BORA_TERMINAL", std::to_string(window.ws_col));
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(pipes[0][1], 1);
    ::dup2(pipes[1][1], 2);
    std::vector<char*> argv;
    for (auto& word : options_.command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    for (std::string_view part :
         {error_mark, std::string_view("cannot run "), std::string_view(argv[0]), std::string_view(": "),
          std::string_view(std::strerror(errno)), std::string_view("\n")})
      write_all(2, part);
    ::_exit(2);
  }

  /// Lines. Rank 0's progress bar is a line without end on stderr: what comes next takes its place.
  void print(int fd, std::string_view text) {
    bool terminal = ::isatty(2) != 0;
    if (bar_ && (terminal || fd == 2)) bar_ = false, write_all(2, terminal ? clear_line : "\n");
    if (!write_all(fd, text) && fd == 1) arrived_ = false;
  }
  void show(const Rank& rank, const Output& stream, std::string_view text) {
    auto r = &rank - ranks_.data();
    if (r == 0 && stream.errors) bar_ = !text.ends_with('\n') && !text.ends_with(clear_line), write_all(2, text);
    else if (r == 0) print(1, text);
    else if (rank.log < 0) print(stream.errors ? 2 : 1, "[rank " + std::to_string(r) + "] " + std::string(text));
  }
  void drain(Rank& rank, Output& stream) {
    char buffer[1 << 14];
    while (stream.fd >= 0) {
      auto n = ::read(stream.fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;  // nothing more for now
      if (n == 0) {
        ::close(stream.fd);
        stream.fd = -1;
        break;
      }
      if (rank.log >= 0) write_all(rank.log, {buffer, static_cast<std::size_t>(n)});
      stream.pending.append(buffer, static_cast<std::size_t>(n));
      split(rank, stream);
    }
  }
  void split(Rank& rank, Output& stream) {
    std::size_t begin = 0;
    for (auto end = stream.pending.find('\n'); end != std::string::npos; end = stream.pending.find('\n', begin)) {
      line(rank, stream, std::string_view(stream.pending).substr(begin, end + 1 - begin));
      begin = end + 1;
    }
    stream.pending.erase(0, begin);
    // A progress bar is a line without end: rank 0's passes at once, unless it may become an error line.
    auto part = std::string_view(stream.pending).substr(0, error_mark.size());
    if (&rank == ranks_.data() && !part.empty() && (!stream.errors || part != error_mark.substr(0, part.size()))) {
      show(rank, stream, stream.pending);
      stream.pending.clear();
    }
  }
  void line(const Rank& rank, const Output& stream, std::string_view text) {
    auto cleared = text.rfind(clear_line);  // of the bar that an error ended
    auto error = text.substr(cleared == std::string_view::npos ? 0 : cleared + clear_line.size());
    if (!stream.errors || !error.starts_with(error_mark)) return show(rank, stream, text);
    if (error.size() < text.size()) show(rank, stream, text.substr(0, text.size() - error.size()));
    said_.push_back({static_cast<int>(&rank - ranks_.data()), std::string(error.substr(0, error.find('\n')))});
  }
  void finish(Rank& rank, Output& stream) {
    if (!stream.pending.empty()) line(rank, stream, stream.pending + "\n");
    stream.pending.clear();
  }

  void reap() {
    for (int r = 0; r < options_.ranks; ++r) {
      auto& rank = ranks_[static_cast<std::size_t>(r)];
      int status = 0;
      if (rank.status || ::waitpid(rank.pid, &status, WNOHANG) != rank.pid) continue;
      rank.status = status;
      auto code = exit_code(status);
      bool asked = ended_ || (interrupted_ && code < 0) || code == 130;  // by us, or by the user
      if (code == 0 || asked) continue;
      failed_.push_back(r);
      if (!deadline_) deadline_ = Clock::now() + std::chrono::milliseconds(static_cast<int>(options_.grace_s * 1000));
    }
  }
  void pass_on(int signal) {
    if (interrupted_) return end_all();
    interrupted_ = true;
    for (auto& rank : ranks_)
      if (!rank.status) ::kill(-rank.pid, signal == SIGHUP ? SIGTERM : signal);  // both ask for an orderly stop
  }
  void end_all() {
    ended_ = true;
    for (auto& rank : ranks_)
      if (rank.pid > 0) ::kill(-rank.pid, SIGKILL);
  }

  const Launch& options_;
  const sigset_t& child_mask_;
  std::vector<Rank> ranks_;
  std::vector<int> failed_ = {};  // in the order in which they were noticed
  std::vector<Line> said_ = {};
  std::optional<Clock::time_point> deadline_ = {};
  bool interrupted_ = false, ended_ = false;
  bool bar_ = false, arrived_ = true;  // stderr is inside of a line; all of stdout was written
};

/// SIGCHLD and the signals that are passed on, as a file to poll; the mask is restored at the end. SIGHUP stays ignored
/// under nohup.
struct Signals {
  sigset_t before{};
  int fd;
  Signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int s : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&set, s);
    struct ::sigaction hangup {};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) ::sigaddset(&set, SIGHUP);
    ::sigprocmask(SIG_BLOCK, &set, &before);
    fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    for (::signalfd_siginfo s; ::read(fd, &s, sizeof s) == sizeof s;) {}
    ::close(fd);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
};
}  // namespace

int make_secret() {
  char bytes[32];
  int fd = ::memfd_create("secret", MFD_CLOEXEC);
  bool made = fd >= 0 && ::getrandom(bytes, sizeof bytes, 0) == sizeof bytes &&
              ::write(fd, bytes, sizeof bytes) == static_cast<ssize_t>(sizeof bytes);
  check<ConfigError>(made, "launch: cannot make a secret: ", std::strerror(errno));
  return fd;
}

int launch(const Launch& options) {
  check<ConfigError>(options.ranks >= 1, "launch: -n must be 1 or more, got ", options.ranks);
  std::cout.flush();
  Signals signals;
  for (int restart = 0;; ++restart) {
    Job job(options, choose_root(options.root), signals.before);
    job.wait(signals.fd);
    auto code = job.verdict();
    if (code != 86 || job.interrupted() || restart == options.max_restarts) return code;
    write_all(2, "restarting the job (" + std::to_string(restart + 1) + " of " + std::to_string(options.max_restarts) +
                     ")\n");
  }
}
}  // namespace bora::app
