// ranks.h -- the ranks of one machine as its processes.
#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <string>
#include <string_view>
#include <vector>
#include "launch/ranks/messages.h"

namespace bora::launch {
/// How a rank's process ended.
struct Ending {
  int status = 0;         // from waitpid
  std::string lost = {};  // reason if the status is unknown since the host cannot be reached, else empty
  /// Exit code as in a shell; -signal for a killed process, -1 if unknown.
  int code() const;
  std::string words() const;  // "killed by signal 9 (Killed)"
};
/// Callbacks for events of ranks.
struct RankEvents {
  virtual ~RankEvents() = default;
  virtual void printed(int rank, bool errors, std::string_view bytes) = 0;  // on stdout or stderr, in any pieces
  virtual void ended(int rank, const Ending&) = 0;
  /// The rank's process, in an elastic job, has left its generation, because of a loss (or as it was asked to: `why` is
  /// empty), and waits for a rank in the next. `lost`: the rank that it misses, or -1.
  virtual void left(int rank, int lost, const std::string& why) = 0;
  virtual void reached(std::int64_t step) = 0;  // a rank of an elastic job has made this step
  /// The ground on which the ranks of an elastic job stand, as one of them says (Message::ground).
  virtual void stands_on(const std::string&) {}
  /// Nothing is heard of these ranks' host, in an elastic job (Message::silent). Those that others miss, too, are lost.
  virtual void silent(const std::string&) {}
};
/// The descriptor of a rank's channel to its launcher, in an elastic job, the number of the generation that the rank is
/// started for, and that one's heirs: "9:3:" or "9:3:0,2".
inline constexpr const char* kGenerationVariable = "BORA_GENERATION_FD";
/// The ranks of one machine, this one or another.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual void add_files(std::vector<::pollfd>&) const = 0;  // call serve when one of them is readable
  virtual void serve(RankEvents&) = 0;                       // reports events so far; does not block
  virtual bool running() const = 0;
  virtual void signal(int) = 0;
  virtual void end() = 0;  // kills the ranks and all their processes
  virtual std::vector<int> waiting() const = 0;  // ranks that have left their generation, ascending
  /// meet_again, over or silent: to those that have not.
  virtual void tell(Message, std::string_view payload = {}) = 0;
  virtual void end_silent() = 0;                 // kills those that have not
};

/// The ranks that one machine starts.
struct RanksToStart {
  int first = 0, count = 1, size = 1;     // ranks first .. first + count - 1 of `size`
  std::vector<std::string> command = {};  // argv of every rank
  std::string root = {};                  // host:port of rank 0
  int root_socket = -1;                   // bound to root, for rank 0 if it is started here
  std::string job = {};                   // BORA_JOB
  std::string secret = {};                // passed on as a descriptor
  std::string interface_name = {};        // BORA_INTERFACE, unless empty
  int columns = 0;                        // of the terminal that shows rank 0's progress; 0: none
  bool elastic = false;                   // ranks may go on in another generation
  int generation = 0;                     // of the job, also of one that has started again
  std::string ground = {};                // of the others, for processes that are started beside them; empty: unknown
  bool wait = false;                      // new processes wait for a rank, once they have compared themselves
  std::string heirs = {};                 // "0,2": ranks that get what the others hold; empty: they train
};
/// Each rank has its own process group, an empty stdin and its BORA_* variables, and dies with this process.
class LocalRanks final : public Ranks {
 public:
  /// Throws ConfigError if a process cannot be made. A command that cannot be run ends with 2 and a line on stderr.
  LocalRanks(const RanksToStart&, const ::sigset_t& signals_of_ranks);
  ~LocalRanks() override;
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  void add_files(std::vector<::pollfd>&) const override;
  void serve(RankEvents&) override;
  bool running() const override;
  void signal(int) override;
  void end() override;
  std::vector<int> waiting() const override;
  void tell(Message, std::string_view payload) override;
  void end_silent() override;
  /// The next generation: rank first + i is the process of the waiting rank kept[i], or a new one if that is -1 or has
  /// ended. Waiting ranks that are not among them are killed. A process that cannot be made is a rank that ends with 2
  /// and a line on stderr: others go on.
  void regroup(const RanksToStart& job, const std::vector<int>& kept);

 private:
  struct Rank {
    ::pid_t pid = 0;
    int number = -1;
    int streams[2] = {-1, -1};  // stdout, stderr
    int channel = -1;           // of an elastic job
    bool ended = false, waits = false;
    std::string received = {};  // from the channel
    std::string failure = {};   // why there is no process
  };
  static void greet(int channel, const RanksToStart&);
  void replace(const RanksToStart&, int i, int& secret);
  void start(const RanksToStart&, int i, int secret);
  [[noreturn]] void become_rank(const RanksToStart&, int i, int secret, const int (&files)[3],
                                ::pid_t launcher) const;
  static void finish(Rank&);
  static void print(Rank&, int stream, std::size_t most, RankEvents&);
  static void serve_channel(Rank&, RankEvents&);
  ::sigset_t signals_of_ranks_;
  std::vector<Rank> ranks_ = {};
};

/// Whether this signal asks for the end of a job; SIGUSR1 asks for a checkpoint, SIGUSR2 what ranks wait for.
constexpr bool ends_a_job(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }
/// SIGCHLD and signals to pass on (SIGTERM, SIGINT, SIGUSR1, SIGUSR2; SIGHUP unless ignored, as under nohup), as a file
/// to poll. The destructor restores the mask.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int file() const { return fd_; }
  const ::sigset_t& before() const { return before_; }
  std::vector<int> take();  // the signals to pass on

 private:
  ::sigset_t before_{};
  int fd_;
};

/// False if the reader has gone or there is no space.
bool write_all(int fd, std::string_view text);
/// That of the user's BORA_SECRET_FILE, or 32 random bytes. ConfigError.
std::string secret_of_job();
/// A memory file with these bytes, closed on exec. ConfigError.
int secret_file(const std::string& bytes);
/// A bound socket that listens only once rank 0 has it: it keeps the port from other processes until then.
class RootSocket {
 public:
  RootSocket() = default;
  /// Bound to `wanted` (host:port), or to a free port of the loopback interface. ConfigError, also for a port in use.
  explicit RootSocket(const std::string& wanted);
  /// Bound to a free port at this address of the machine. ConfigError.
  static RootSocket at(const std::string& ip);
  ~RootSocket();
  RootSocket(RootSocket&&) noexcept;
  RootSocket& operator=(RootSocket&&) noexcept;
  int file() const { return fd_; }
  int port() const;
  const std::string& address() const { return address_; }  // host:port

 private:
  bool bind(const std::string& host, const std::string& port, int flags);
  int fd_ = -1;
  std::string address_ = {};
};
}  // namespace bora::launch
