// engine.h -- the Context over any Link: matches messages with collectives, waits, and ends every wait on a failure.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include "bora/transport/halting.h"
#include "control/coordinator.h"
#include "engine/recorder.h"
#include "wire/link.h"

namespace bora::transport {
struct EngineOptions {
  int rank = 0, size = 1, ranks_on_host = 1;
  std::vector<int> hosts = {};  // by rank, the same on all ranks; empty: all on one
  Tuning tuning = {};           // the same on all ranks
  double stuck_warn_s = 30, stuck_abort_s = 300;
  std::string flight_dir = {};
};

/// One lock guards all state. Progress is made by the thread in start(), by a thread in a wait (the leader), or by the
/// progress thread while no thread waits.
class Engine final : public Context, public Halts, public std::enable_shared_from_this<Engine>, private Sink {
 public:
  Engine(EngineOptions, std::unique_ptr<Link>);
  ~Engine() override;
  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  int ranks_on_host() const override { return options_.ranks_on_host; }
  WorkPtr start(const Group&, const CollectiveCall&) override;
  void run(const Group&, const CollectiveCall&) override;
  std::vector<std::string> exchange(const std::string& mine, std::string_view what) override;
  void abort(const std::string& reason) noexcept override;
  void dump(const std::string& why) override;
  void leave() override;
  Traffic traffic() const override;
  void tell(const std::string& status) override;
  std::vector<Told> told() const override;
  std::shared_ptr<void> allocate(std::size_t bytes) override {
    check_process();
    return link_->allocate(bytes);
  }
  void ask_to_halt() override;
  void begin_work(std::int64_t done, bool returns) override;
  void end_work(std::int64_t done) override;
  const std::atomic<bool>& given_up() const override { return given_up_; }
  void halt_if_given_up() override;
  void on_lost(std::function<void(const RankLost&)>, double grace_s) override;
  const EngineOptions& options() const { return options_; }
  void tune(const Tuning&);  // before any use but that of measure_links; the same on all ranks
  bool test(Operation&);
  void wait(Operation&);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // group, seq
  enum class State { running, failing, lost, left };
  struct Members {
    std::shared_ptr<const Group> group;
    std::uint32_t id = 0;
    int position = -1;
    Layout layout = {};
    std::uint64_t next = 0;
    struct Planned {
      std::shared_ptr<const Plan> plan;
      std::shared_ptr<Operation> last = nullptr;  // reused once nothing else refers to it
    };
    std::vector<Planned> plans = {};
  };
  struct Waiting {  // a thread inside a wait
    std::uint64_t generation = 0;
    Clock::time_point since = {};
    Operation* operation = nullptr;  // none: an exchange or leave
    std::string text = {};
    std::uint64_t number = 0;
    bool reports = true;  // to the coordinator, when it takes long
    bool warned = false;
    Clock::time_point next_report = {}, moved_at = {};
    std::int64_t moved = 0;  // bytes_moved at that time
  };
  // Sink
  void data(Arrival) override;
  std::byte* place(const Header&) override;
  void make_room(int rank) override;
  void control(std::string_view message) override;
  void lost(int rank, const std::string& how) override;
  void broken(int rank, const std::string& how) override;
  void dropped(bool stale) override { ++(stale ? traffic_.stale : traffic_.refused); }

  Members& members(const Group&);
  Members::Planned& plan_for(Members&, const CollectiveCall&);
  std::shared_ptr<Operation> begin(Lock&, const Group&, const CollectiveCall&);
  bool pump();
  bool sweep(Clock::time_point now);
  void end(Operation&, Clock::time_point now);
  template <class Done> void await(Lock&, Waiting&, Done done);
  void await_that(Lock&, Waiting&, const std::function<bool()>& done);  // the same, from other sources
  void run();
  void check_waits(Clock::time_point now);
  void report(Waiting&);
  void ask(Ask, int rank, const std::string& why);
  Activity activity() const;
  void write_recorder(const std::string& why);
  void fail(int rank, const std::string& text);
  bool needs(int rank) const;
  std::int64_t bytes_moved(const Waiting&) const;
  void give_up(const std::string& why);
  void watch(bool leading, bool busy);
  void announce(Lock&);
  RankLost during(const Waiting&) const;
  void disagree(const Summary&, const Operation*, int peer);
  void depart(Lock&, bool meet);
  void agreed(Lock&);
  [[noreturn]] void halt_here(Lock&);
  void arrive();
  void halting(Control, ByteReader&);
  void notify();
  void check_thread();
  void check_here() const;
  void check_process() const;
  void leave_to_parent();

  EngineOptions options_;
  mutable std::mutex m_;
  std::condition_variable cv_;
  std::unique_ptr<Link> link_;
  int spins_;                             // polls before a wait begins to yield; none where ranks outnumber cores
  Clock::time_point crowded_until_ = {};  // other programs want the cores
  State state_ = State::running;
  std::map<std::uint32_t, Members> groups_;
  Members* last_ = nullptr;  // of the previous collective
  Started started_;
  std::map<Key, std::shared_ptr<Operation>> active_;
  decltype(active_)::node_type spare_;  // for the next entry
  std::map<Key, std::vector<Arrival>> early_;
  Recorder recorder_;
  std::uint64_t dumps_ = dumps_asked_for();
  std::vector<Waiting*> waiting_;
  std::uint64_t generation_ = 0;
  bool leading_ = false, disagreed_ = false;
  // The progress thread was woken and left the events to the leader, which may have stopped polling.
  bool unseen_ = false;
  std::thread::id user_thread_, leader_;
  bool several_threads_ = false;
  std::map<std::uint64_t, std::vector<std::string>> exchanged_;
  std::uint64_t exchanges_ = 0;
  bool all_left_ = false;
  Traffic traffic_;
  Clock::duration waited_ = {};                                        // all waits but the present one
  Clock::time_point blocked_since_ = {};                               // of the present one
  std::vector<std::pair<std::string, Clock::time_point>> told_ = {};  // on rank 0, by rank
  std::optional<RankLost> lost_;
  bool says_during_ = false;
  std::function<void(const RankLost&)> callback_;
  double grace_s_ = 0;
  Clock::time_point now_ = {};  // when pump last ran
  Clock::time_point grace_end_ = {}, next_tick_ = {};
  int exceptions_ = 0;
  struct Halt {
    Standing standing = {};
    std::uint64_t asked = 0, number = 0;   // the agreement under way; the last one
    std::optional<std::int64_t> at = {};   // where all halt
    bool arrived = false, over = false;    // over: all have, and collectives have ended
  } halt_ = {};
  std::atomic<bool> given_up_{false};      // this rank is in a piece of work behind the place where all halt
  bool stop_ = false;
  unsigned forks_;  // of this process when it joined
  std::thread thread_;
};
/// Ends the process on a loss that no caller can be told of: prints the line; exit code 86.
[[noreturn]] void end_process(const std::string& why);
}  // namespace bora::transport
