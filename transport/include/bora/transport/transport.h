// transport.h -- communication between ranks: joining a job, and collectives over groups of ranks. Knows bytes, dtypes
// and reductions, not Arrays.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "bora/base/collective.h"
#include "bora/base/dtype.h"
#include "bora/base/error.h"

namespace bora::transport {
/// A rank was lost, the ranks disagree, or a deadline passed. `rank`: the first rank concerned, -1 if none. Every rank
/// of the job gets one that names the same rank; nothing can be sent afterwards.
struct RankLost : TransportError {
  RankLost(const std::string& what, int r) : TransportError(what), rank(r) {}
  int rank;
};
/// The job's ranks do not fit together, or rank 0 takes no such rank.
struct Refused : ConfigError {
  using ConfigError::ConfigError;
};
/// Not every rank arrived within join_timeout; names the missing ones. `rank`: the first of them, -1 if this rank does
/// not know.
struct JoinTimeout : TransportError {
  explicit JoinTimeout(const std::string& what, int r = -1) : TransportError(what), rank(r) {}
  int rank;
};

struct Config {                          // how this rank joins its job
  int rank = 0, size = 1;                // of this rank; of the job
  std::string root = "127.0.0.1:29650";  // host:port or [IPv6]:port that rank 0 listens on; the only fixed port
  // Rank 0: a socket bound to that address, which reserves it; the library takes it over. -1: none.
  int root_socket = -1;
  double join_timeout_s = 120;  // until ranks that have not arrived are an error
  /// Between signs of life; silence until a rank is asked; until it is lost.
  double heartbeat_s = 1, suspect_s = 3, dead_s = 10;
  double stuck_warn_s = 30, stuck_abort_s = 300;  // a rank lives but does not enter a collective that others wait in
  std::string job = {};                           // ranks with another job name are refused
  // Lines that ranks must share, each a name, a tab and a value: version, mesh, settings. One without a tab: "build".
  std::string build = {};
  /// Carrier of data: auto (shared memory within a host, tcp between hosts), mpi (shared memory within a host, MPI
  /// between hosts: not encrypted, in builds with BORA_MPI), or for all pairs tcp, zmq (tcp by ZeroMQ) or shm.
  std::string carrier = "auto";
  /// Shared by all ranks of the job and kept from others: connections are encrypted, and peers without it are refused.
  /// Empty: neither, and only the loopback interface is used, unless `insecure_private_network` says that no stranger
  /// reaches this network.
  std::string secret = {};
  bool insecure_private_network = false;  // a job of several hosts may go without a secret
  bool root_may_lag = false;              // the root's name may resolve only after a while (Kubernetes)
  std::string launcher = "the caller";    // the source of these settings, for messages
  // Folder for rank-<r>.jsonl, this rank's last 4096 collectives, written when the job is lost or on request.
  std::string flight_dir = {};
  // Ranks of one machine with different ids count as on different hosts (containers; tests).
  std::string host_id = {};
  /// Whether links are measured when the job starts, for the choice of algorithms (rank 0 decides): auto (if there are
  /// several hosts and their costs are not in the user's cache; half a second), on (always, and kept), off (a fixed
  /// table chooses).
  std::string calibrate = "auto";
  // "all_reduce=chain,broadcast=double_tree": used instead of the best one where possible; rank 0's value counts.
  std::string algorithms = {};
  /// Network interfaces to listen on, the first that fits: names, addresses, networks ("eth1", "10.1.0.0/16"), with
  /// commas; "^docker0,10.9.0.0/16": any but those and loopback. Empty: the interface that routes to the root.
  std::string interface = {};
};
/// An option of Config as somebody wrote it. `place` begins its errors: a variable, a flag, a line of a file.
struct Option {
  std::string name, text, place;
};
/// The config with these options, each over the ones before it. Every field is an option but those that the launcher
/// decides (rank, size, root, ...), the build and the secret; its name is the field's, without the unit: join_timeout.
/// ConfigError: an unknown option, a text of another type, a time that is not above 0.
Config with_options(Config, const std::vector<Option>&);
/// The launcher's settings: BORA_RANK, BORA_SIZE, BORA_ROOT, else torchrun's, Slurm's, Open MPI's, PMI's or an indexed
/// Kubernetes Job's variables, else one process (docs/transport.md has the table). BORA_LAUNCHER (bora, torchrun,
/// slurm, ompi, pmi, kubernetes, none) chooses among several; BORA_ROOT names the address where the launcher does not,
/// BORA_ROOT_FD a socket bound to it. The secret is in BORA_SECRET_FILE (read only by its owner) or BORA_SECRET_FD.
/// Each option comes from the variable of its name, if it is not empty: BORA_CARRIER, BORA_JOIN_TIMEOUT. ConfigError if
/// inconsistent.
Config config_from_environment();
Config config_from_environment(const std::function<const char*(const char*)>& variable);

/// Ranks of a job in the order in which their parts are concatenated. `name` appears in errors ("axis data").
struct Group {
  std::vector<int> ranks = {};
  std::string name = {};
};

/// A collective under way. wait() returns when the buffers may be used, or throws RankLost; it never waits without a
/// deadline.
class Work {
 public:
  virtual ~Work() = default;
  virtual bool test() = 0;  // done? throws as wait does
  virtual void wait() = 0;
};
using WorkPtr = std::shared_ptr<Work>;  // of a collective that was started

/// Totals of this rank, for plans and reports.
struct Traffic {
  std::uint64_t collectives = 0, bytes_sent = 0, bytes_received = 0;
  /// Dropped data messages: `stale` ones of an earlier epoch of the job; `refused` ones, malformed or from strangers.
  std::uint64_t stale = 0, refused = 0;
  /// Seconds in which the program, or a thread of it, waited for other ranks; of them those of the present wait.
  double waited_s = 0, waiting_s = 0;
};
/// What a rank has told last (Context::tell), and how long ago.
struct Told {
  std::string status = {};
  double seconds_ago = 0;
};

/// One rank of a job. Collectives of one group must be started in the same order on every member, by one thread at a
/// time. In a child forked after joining, every call but the destructor throws TransportError: the job belongs to the
/// parent.
class Context {
 public:
  virtual ~Context() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int ranks_on_host() const = 0;  // number of ranks of this job on this host, this one included
  virtual WorkPtr start(const Group&, const CollectiveCall&) = 0;
  virtual void run(const Group&, const CollectiveCall&) = 0;  // start and wait
  void barrier(const Group& g) { run(g, {}); }
  /// n elements from this rank to another, which calls receive with the same n and dtype.
  void send(int to, const void* data, std::int64_t n, Dtype = Dtype::f32);
  void receive(int from, void* data, std::int64_t n, Dtype = Dtype::f32);
  /// At least `bytes` bytes, 64-byte aligned, for buffers of collectives: peers on this host read them in place, so
  /// that sending copies nothing. Any other memory may be used too. Not for a forked child.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  /// All-gathers small texts: every rank gets all of them, in rank order. For handshakes, digests and fingerprints.
  virtual std::vector<std::string> exchange(const std::string& mine, std::string_view what) = 0;
  /// Every rank writes its flight recorder (Config::flight_dir), and rank 0 prints on stderr which ranks wait for
  /// which. Returns at once.
  virtual void dump(const std::string& why) = 0;
  /// Ends the job everywhere, naming this rank and the reason.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Meets the others at a barrier (at most 10 s) and leaves. Called by the destructor if nothing failed.
  virtual void leave() = 0;
  virtual Traffic traffic() const = 0;
  /// Tells rank 0 the status of this rank, at most kMostStatus bytes, in place of the one before. Returns at once; a
  /// status that does not arrive is no error. From any thread.
  static constexpr std::size_t kMostStatus = 1024;
  virtual void tell(const std::string& status) = 0;
  /// On rank 0: what every rank told last, by rank; empty texts of those that have told nothing. On other ranks all are
  /// empty. From any thread.
  virtual std::vector<Told> told() const = 0;
  /// Sets a callback for the loss of the job: it runs on the progress thread, once, before any wait throws, with the
  /// message and the first rank. Default: none. grace_s > 0: a process that still runs that long afterwards (inside a
  /// long kernel) is ended with the message and exit code 86.
  virtual void on_lost(std::function<void(const RankLost&)>, double grace_s) = 0;
};
using ContextPtr = std::shared_ptr<Context>;  // of the job that a rank joined

/// From now on SIGUSR2 makes every Context of this process dump(); without this call the library leaves signals alone.
void dump_on_sigusr2();

/// Joins the job: rendezvous at config.root over ZeroMQ (tcp), then links to peers as they are needed, through shared
/// memory within a host. size 1 needs no sockets. Throws JoinTimeout, ConfigError (contradictions, port in use,
/// refused), TransportError.
ContextPtr join(const Config&);
/// n ranks as threads of this process, which read each other's buffers directly. The Contexts fail together.
/// `algorithms` as in Config.
std::vector<ContextPtr> local(int n, const std::string& algorithms = {});
}  // namespace bora::transport
