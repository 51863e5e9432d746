// data.cpp -- data over MPI, point to point: a message is the 64 bytes of its header and the payload. Compiled into a
// library of its own.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include "carrier/mpi_data.h"
#include "schedule/schedule.h"
#include "wire/descriptor.h"
#include "wire/forks.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr int kTag = 0;
constexpr int kBatch = 32;             // messages taken before others have their turn
constexpr long kNap = 50'000;          // ns; MPI wakes no thread, so a sleeping one polls again after this time
constexpr auto kLastSends = 1s;        // of a rank that leaves
constexpr auto kLastMeeting = 5s;      // of processes that end: afterwards MPI is not finalised

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int n = 0;
  MPI_Error_string(error, text, &n);
  return {text, static_cast<std::size_t>(n)};
}
void check_call(int error, const char* what) {
  check<TransportError>(error == MPI_SUCCESS, what, " failed: ", text_of(error));
}
/// False if it has not ended by then.
bool ends(MPI_Request& request, Clock::time_point until) {
  for (int done = 0;; sched_yield()) {
    check_call(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return true;
    if (Clock::now() > until) return false;
  }
}

/// A message in the carrier's own memory. MPI cannot take back a transfer that has begun, and once a job is lost the
/// caller's buffers must not be touched.
struct Message {
  MPI_Request request = MPI_REQUEST_NULL;
  std::shared_ptr<std::byte[]> bytes = {};
  std::size_t size = 0;
  // A sent message keeps its collective, which makes progress, until the message has gone.
  std::shared_ptr<const void> hold = {};
};

/// This process's MPI, from its first job over MPI to its end.
struct Library {
  MPI_Comm comm = MPI_COMM_NULL;  // of our own, with all ranks
  unsigned forks_then = 0;
  int users = 0;
  bool lost = false;                    // some rank may never answer
  std::vector<Message> abandoned = {};  // buffers that MPI may still read or write, like these:
  MPI_Comm copy = MPI_COMM_NULL;
  int mine = 0;
  std::vector<int> all = {};
  static Library& get() {
    static auto* library = new Library;  // never destroyed: MPI may still use the buffers
    return *library;
  }
};
/// At exit. MPI_Finalize waits for all ranks without a limit: it is called only after all have reached a barrier.
void finalize() {
  auto& l = Library::get();
  int finalized = 0;
  if (forks() != l.forks_then || l.lost || l.users > 0 || l.comm == MPI_COMM_NULL) return;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  MPI_Request all;
  try {
    if (MPI_Ibarrier(l.comm, &all) == MPI_SUCCESS && ends(all, Clock::now() + kLastMeeting)) MPI_Finalize();
  } catch (const TransportError&) {
    // A rank has gone: the control plane has reported it.
  }
}
void begin(Library& l) {
  int begun = 0, ended = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  check<ConfigError>(!ended, kMpi, "the program has called MPI_Finalize already; join before that");
  if (begun) MPI_Query_thread(&level);
  else {
    check_call(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    l.forks_then = forks();
    std::atexit(finalize);
  }
  check<ConfigError>(level == MPI_THREAD_MULTIPLE,
                     kMpi, "MPI was begun for fewer threads than MPI_THREAD_MULTIPLE, which Bora's progress thread ",
                     "needs: ", begun ? "the program must call MPI_Init_thread with it" : "this MPI does not have it");
}
/// Meets all ranks of the MPI job; returns, by rank of ours, the rank in `comm`.
std::vector<int> meet(Library& l, const MpiOptions& o) {
  int size = 0;
  if (l.comm == MPI_COMM_NULL) begin(l);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check<ConfigError>(size == o.size, kMpi, "the MPI job has ", size, " ranks, this one ", o.size,
                     "; start all of them, and nobody else, with one mpirun");
  auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.timeout_s));
  auto wait = [&](MPI_Request& request) {
    if (ends(request, until)) return;
    l.lost = true;
    throw JoinTimeout("the ranks of the MPI job did not meet within " + std::to_string(static_cast<int>(o.timeout_s)) +
                      " s");
  };
  MPI_Request request;
  if (l.comm == MPI_COMM_NULL) {
    check_call(MPI_Comm_idup(MPI_COMM_WORLD, &l.copy, &request), "MPI_Comm_idup");
    wait(request);
    l.comm = l.copy;
    check_call(MPI_Comm_set_errhandler(l.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check<ConfigError>(l.users == 0, kMpi, "this process is in a job over MPI already; let go of it first");
  l.mine = o.rank;
  l.all.assign(static_cast<std::size_t>(size), 0);
  check_call(MPI_Iallgather(&l.mine, 1, MPI_INT, l.all.data(), 1, MPI_INT, l.comm, &request), "MPI_Iallgather");
  wait(request);
  std::vector<int> where(l.all.size(), -1);
  for (int i = 0; i < size; ++i) {
    auto r = l.all[static_cast<std::size_t>(i)];
    bool once = r >= 0 && r < size && where[static_cast<std::size_t>(r)] < 0;
    check<ConfigError>(once, kMpi, "rank ", i, " of the MPI job is rank ", r,
                       " of this one, and so is another: each must have one of its own");
    where[static_cast<std::size_t>(r)] = i;
  }
  return where;
}

class MpiData final : public DataPath {
 public:
  MpiData(const MpiOptions& o, Up up)
      : options_(o), up_(std::move(up)), where_(meet(library_, o)), rank_at_(where_.size()), failed_(where_.size()) {
    for (std::size_t r = 0; r < where_.size(); ++r) rank_at_[static_cast<std::size_t>(where_[r])] = static_cast<int>(r);
    ++library_.users;
    nap(1);
  }
  ~MpiData() override {
    for (auto end = Clock::now() + kLastSends; !stopped_ && !sending_.empty() && Clock::now() < end;) finish_sends();
    stop_using(sending_);
    for (auto& [from, messages] : arriving_) stop_using(messages);
    --library_.users;
  }
  void connect(int r) override { send(r, handshake_header(options_.rank, r), nullptr, nullptr); }
  void send(int r, const Header& header, const std::byte* bytes, PayloadOwner* owner) override {
    if (stopped_) return;
    auto h = header;
    h.epoch = options_.epoch;
    h = sealed(h);
    auto n = h.payload();
    Message m{.bytes = std::shared_ptr<std::byte[]>(new std::byte[sizeof h + n]), .size = sizeof h + n};
    std::memcpy(m.bytes.get(), &h, sizeof h);
    if (n > 0) std::memcpy(m.bytes.get() + sizeof h, bytes, n);
    int done = 0, error = MPI_Isend(m.bytes.get(), static_cast<int>(m.size), MPI_BYTE,
                                    where_[static_cast<std::size_t>(r)], kTag, library_.comm, &m.request);
    if (error == MPI_SUCCESS) error = MPI_Test(&m.request, &done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return failed(r, text_of(error));
    if (done) return;
    if (owner) m.hold = owner->pin();
    sending_.push_back(std::move(m));
  }
  bool receive(Sink& sink) override {
    if (stopped_) return false;
    bool any = finish_sends();
    any = match() || any;
    for (auto it = arriving_.begin(); it != arriving_.end() && !stopped_;) {
      any = deliver(it->first, it->second, sink) || any;
      it = it->second.empty() && !stopped_ ? arriving_.erase(it) : std::next(it);
    }
    return any;
  }
  int descriptor() const override { return timer_.get(); }
  void asleep() override { nap(kNap); }
  bool sending() const override { return !sending_.empty(); }
  void stop() override {  // the job is lost; transfers under way keep their buffers
    if (std::exchange(stopped_, true)) return;
    library_.lost = true;
    for (auto& m : sending_) m.hold.reset();
  }
  std::vector<Broken> broken(Clock::time_point now) override {
    std::vector<Broken> found;
    for (std::size_t r = 0; r < failed_.size(); ++r)
      if (auto& f = failed_[r]; !f.how.empty() && now >= f.counts) found.push_back({static_cast<int>(r), f.how});
    return found;
  }

 private:
  struct Failure {
    std::string how = {};
    Clock::time_point counts = {};
  };
  /// Makes the timer's descriptor readable after this time, until the next nap.
  void nap(long nanoseconds) {
    itimerspec t{};
    t.it_value.tv_nsec = nanoseconds;
    timerfd_settime(timer_.get(), 0, &t, nullptr);
  }
  /// If the rank has gone, the control plane reports it first, and better.
  void failed(int r, const std::string& why, Clock::duration wait = 1s) {
    auto& f = failed_[static_cast<std::size_t>(r)];
    if (f.how.empty()) f = {"failed: " + why, Clock::now() + wait};
  }
  /// Keeps for ever the buffers that MPI has not given back.
  template <class Messages> void stop_using(Messages& messages) {
    for (auto& m : messages) {
      m.hold.reset();
      if (m.request != MPI_REQUEST_NULL) library_.abandoned.push_back(std::move(m));
    }
  }
  bool finish_sends() {
    auto gone = std::remove_if(sending_.begin(), sending_.end(), [](Message& m) {
      int done = 0;
      // The loss of its receiver is reported elsewhere.
      return MPI_Test(&m.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
    });
    bool any = gone != sending_.end();
    sending_.erase(gone, sending_.end());
    return any;
  }
  /// Begins to receive announced messages.
  bool match() {
    bool any = false;
    for (int k = 0; k < kBatch; ++k) {
      int there = 0, size = 0;
      MPI_Message announced;
      MPI_Status status;
      if (MPI_Improbe(MPI_ANY_SOURCE, kTag, library_.comm, &there, &announced, &status) != MPI_SUCCESS || !there)
        return any;
      any = true;
      MPI_Get_count(&status, MPI_BYTE, &size);
      auto r = rank_at_[static_cast<std::size_t>(status.MPI_SOURCE)];
      if (size < static_cast<int>(sizeof(Header)) || size > static_cast<int>(sizeof(Header) + kMaxChunkBytes)) {
        failed(r, "it sent a message of " + std::to_string(size) + " bytes", 0s);
        continue;
      }
      Message m{.bytes = std::shared_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(size)]),
                .size = static_cast<std::size_t>(size)};
      auto error = MPI_Imrecv(m.bytes.get(), size, MPI_BYTE, &announced, &m.request);
      if (error != MPI_SUCCESS) failed(r, text_of(error));
      else arriving_[status.MPI_SOURCE].push_back(std::move(m));
    }
    return any;
  }
  /// Hands over the arrived messages of one rank, in the order in which they were sent.
  bool deliver(int from, std::deque<Message>& messages, Sink& sink) {
    bool any = false;
    auto r = rank_at_[static_cast<std::size_t>(from)];
    while (!messages.empty() && !stopped_) {
      int done = 0, error = MPI_Test(&messages.front().request, &done, MPI_STATUS_IGNORE);
      if (error != MPI_SUCCESS) failed(r, text_of(error));
      if (error != MPI_SUCCESS || !done) return any;
      any = true;
      auto m = std::move(messages.front());
      messages.pop_front();
      Arrival a;
      bool good = parse_header(m.bytes.get(), m.size, a.header), stale = good && a.header.epoch != options_.epoch;
      if (!good || stale || !fits(a.header, r, m.size)) {
        sink.dropped(stale);
        if (!stale) failed(r, "it sent a message that makes no sense", 0s);
        continue;
      }
      if (a.header.type == MessageType::handshake) {
        up_(r);
        continue;
      }
      a.bytes = m.bytes.get() + sizeof(Header);
      a.hold = std::move(m.bytes);
      a.copied = true;
      sink.data(std::move(a));
    }
    return any;
  }
  /// Whether such a header from rank r is valid.
  bool fits(const Header& h, int r, std::size_t size) const {
    bool handshake = h.type == MessageType::handshake;
    return h.src == static_cast<std::uint32_t>(r) && h.dst == static_cast<std::uint32_t>(options_.rank) &&
           size == sizeof(Header) + h.payload() && (!handshake || r > options_.rank);
  }

  Library& library_ = Library::get();
  MpiOptions options_;
  Up up_;
  std::vector<int> where_, rank_at_;  // ranks: ours to MPI's, and back
  std::vector<Failure> failed_;       // by rank
  Descriptor timer_{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  std::vector<Message> sending_;
  std::map<int, std::deque<Message>> arriving_;  // by MPI's rank
  bool stopped_ = false;
};
void check_rank() {
  auto started = [](const char* name) { return std::getenv(name) != nullptr; };
  check<ConfigError>(
      started("PMIX_RANK") || started("PMI_RANK") || started("OMPI_COMM_WORLD_RANK"),
      kMpi, "nobody started this process as a rank of an MPI job; use mpirun, or srun --mpi=pmix");
}
}  // namespace
}  // namespace bora::transport

extern "C" __attribute__((visibility("default"))) const bora::transport::MpiCarrier bora_mpi_carrier = {
    bora::transport::check_rank,
    [](const bora::transport::MpiOptions& o, bora::transport::Up up) -> std::unique_ptr<bora::transport::DataPath> {
      return std::make_unique<bora::transport::MpiData>(o, std::move(up));
    }};
