// coordinator.h -- one for each job, beside rank 0 (or between the threads of a process): gathers exchanges and
// departures, decides which rank was lost first, finds ranks that wait for each other, and sends all ranks the same
// verdict once. It knows messages, not carriers.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "base/api/bytes.h"
#include "control/halting.h"
#include "control/inquiry.h"

namespace bora::transport {
inline constexpr std::size_t kMostControl = std::size_t{64} << 20;  // bytes of a control message
/// Control messages: first byte of the body, then fields as ByteWriter writes them.
enum class Control : std::uint8_t {
  // to the coordinator
  waiting,      // u64 generation, u32 group, u64 seq, u64 fingerprint, text, list of ranks, started
  exchange,     // u64 number, text what, text mine
  leave,        // started
  close,        // rank 0 stops waiting for the others: without it there is no control plane
  aborted,      // i32 rank, bool: the sender cannot go on without it, text
  ask,          // Ask, i32 rank, text: why all ranks are asked for their activity
  activity,     // u64 number, Activity
  mismatch,     // i32 peer, u32 group, u64 seq, text mine
  halt,         // nothing: all ranks are to halt
  standing,     // u64 number, i64 done, bool inside, bool returns (Standing)
  arrived,      // u64 number: at the place where all halt
  description,  // text
  // from the coordinator
  abort,      // i32 rank, text
  exchanged,  // u64 number, u64 n, texts
  left,       // all ranks have left
  describe,   // u32 group, u64 seq
  report,     // u64 number, Ask, text why: asks for an Activity
  say,        // text: a line for rank 0's stderr
  compare,    // u32 group, u64 seq, u64 fingerprint, text, i32 waiting rank
  stand,      // u64 number: asks for a standing, from which the rank makes one step at most
  halt_at,    // u64 number, i64 done; -1: the work goes on
  halted,     // u64 number: all have arrived
  ping,       // nothing; between links
  status,     // to the coordinator: text; from it to rank 0: i32 rank, text
};
/// How many collectives a rank has started in each group.
using Started = std::map<std::uint32_t, std::uint64_t>;
/// The group number under which exchanges are counted.
inline constexpr std::uint32_t kExchangeGroup = 0;

class Coordinator {
 public:
  /// `who` names the ranks; `send` carries a message to a rank.
  Coordinator(std::vector<std::string> who, std::function<void(int, std::string)> send);
  void handle(int from, std::string_view message);
  void lost(int rank, const std::string& how);  // how: its connection or its heartbeat
  void tick(Clock::time_point now);
  bool left(int rank) const { return ranks_[static_cast<std::size_t>(rank)].leaving; }
  bool over() const { return over_; }

 private:
  struct Rank {
    bool leaving = false;
    Started started = {};
    // its wait, if any
    std::uint64_t generation = 0, seq = 0;
    std::uint32_t group = 0;
    std::string text = {};
    std::vector<int> awaited = {};
    int reports = 0;
    Clock::time_point first = {}, last = {};
  };
  struct Mismatch {
    int a, b;
    std::string text;
    Clock::time_point deadline;
  };
  struct Inquiry {
    std::uint64_t number = 0;
    Ask why = Ask::dump;
    int rank = -1;
    std::string text = {};
    std::vector<std::optional<Activity>> answers = {};
    Clock::time_point deadline = {};
  };
  Rank& at(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  void abort(int rank, const std::string& text);
  void waiting(int from, ByteReader& r);
  void look_for_deadlock(int from);
  void ask(Ask why, int rank, const std::string& text);
  void conclude();
  void halt(Control what, int from, ByteReader& r);
  void no_halt();
  void tell_all(const std::string& message);
  bool has_not_started(int rank, std::uint32_t group, std::uint64_t seq);

  std::vector<std::string> who_;
  std::function<void(int, std::string)> send_;
  std::vector<Rank> ranks_;
  struct Exchange {
    std::string what;
    int first = 0;
    std::map<int, std::string> texts;
  };
  std::map<std::uint64_t, Exchange> exchanges_;
  std::optional<Mismatch> mismatch_;
  std::optional<Inquiry> inquiry_;
  std::uint64_t inquiries_ = 0;
  std::optional<Halting> halting_;
  bool halts_ = false;  // it has been decided where
  std::uint64_t haltings_ = 0;
  std::map<Ask, Clock::time_point> concluded_;  // of each kind, the last one
  bool over_ = false;
};
/// Started as a part of a message.
void write_started(ByteWriter&, const Started&);
Started read_started(ByteReader&);
}  // namespace bora::transport
