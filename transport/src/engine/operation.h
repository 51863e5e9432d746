// operation.h -- one collective of one rank under way: its steps, its arrived messages, and those it may send.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "schedule/plan.h"
#include "schedule/sum.h"
#include "wire/link.h"

namespace bora::transport {
/// A collective in words and numbers, also kept after it has ended.
struct Summary {
  CollectiveKind kind = CollectiveKind::barrier;
  Reduction reduce = Reduction::sum;
  Dtype dtype = Dtype::f32;
  Wire wire = {};
  std::int64_t count = 0;
  std::uint32_t group = 0;
  std::uint64_t seq = 0, fingerprint = 0;
  std::shared_ptr<const Group> members = {};
  /// "all_reduce sum f32[1024] seq 812 axis data", or "f32[1024] as int8/64"
  std::string text() const;
  /// "all_reduce seq 812 axis data"
  std::string short_text() const;
};

/// Bytes of payload sent to a member, and received from it.
struct Moved {
  std::int64_t out = 0, in = 0;
};

/// The flight recorder's entry for a collective. Times of events that have not happened are zero.
struct Record {
  Summary summary = {};
  std::string_view algorithm = {};  // its name
  Moved all = {};              // of a running collective only on request
  std::uint64_t moved_at = 0;  // the members' bytes in the recorder, by position
  Clock::time_point enqueued = {}, started = {}, first_byte = {}, ended = {};
};

/// Used under the engine's lock, except `done`, `pins` and `summary`.
class Operation : public PayloadOwner, public std::enable_shared_from_this<Operation> {
 public:
  /// `rank`: position in the group.
  Operation(std::shared_ptr<const Plan>, int rank, std::uint32_t my_rank, std::shared_ptr<Wakeup>);
  /// Begins a collective: the first one, or the next one once nothing refers to the last any more.
  void renew(const Summary&, const CollectiveCall&);
  /// Takes a message or a credit. Empty, or why it cannot be part of this collective.
  std::string accept(Arrival, Link&);
  /// The final place of a payload that is the next of its stream and is only copied; else nullptr.
  std::byte* place(const Header&);
  /// Sends what may be sent, then makes local copies and sums. True if anything moved.
  bool advance(Link&);
  bool finished() const { return open_steps_ == 0 && pins_.load() == 0 && (!meets_ || unread() < 0); }
  /// The ranks that this one waits for.
  std::vector<int> waiting_for() const;
  /// Chunks done of all: received ones, or sent ones for a rank that only sends.
  std::pair<std::int64_t, std::int64_t> chunks() const;
  std::string describe() const;    // summary and the program's own words
  void make_room(int rank);        // copies the held messages of this rank
  void drop();                     // the job is lost: drops arrived messages and the program's words
  void complete();                 // finished: any thread may read it from now on
  std::atomic<bool> done{false};
  Summary summary;
  std::vector<Moved> moved;  // by position
  Record* record = nullptr;  // the engine's
  std::uint64_t order = 0;   // among all collectives of this rank
  int pins() const { return pins_.load(); }
  std::shared_ptr<const void> pin() override;

 private:
  struct Stream {  // of the plan's
    std::int64_t arrived = 0;        // chunks
    std::vector<Arrival> held = {};  // of a sum that waits for other members
  };
  struct Peer {
    std::int64_t in_flight = 0;  // bytes sent and not credited
    std::int64_t owed = 0;       // bytes consumed and not credited to the peer
    std::int64_t expected = 0;   // bytes the peer still has to send
  };
  int unread() const;  // a member that has not read all messages sent to it; -1: none
  bool over(std::size_t step) const { return done_[step] == plan_->messages[step].chunks; }
  bool over(int step) const { return step < 0 || over(static_cast<std::size_t>(step)); }  // -1: none
  struct Slot {
    std::size_t step = 0, stream = 0;
    std::int64_t bytes = 0, offset = 0;  // of the message in its stream
  };
  int position_of(std::uint32_t rank) const;  // -1: not of this group
  std::string find_slot(const Header&, int peer, Slot&) const;
  std::byte* target(const Slot&);
  bool ready(std::size_t step) const;
  bool may_send(std::size_t step) const;
  bool send_what_can_be(Link&);
  bool send_in_turns(Link&);
  void send_chunk(std::size_t step, Link&);
  bool run_here(std::size_t step, Link&);
  bool sum_chunks(std::size_t step, Link&);
  void begin_encoded(const CollectiveCall&);
  void reduce(const std::vector<const std::byte*>& parts, std::int64_t first, std::int64_t n, std::byte* out,
              const Stretch&) const;
  void put(std::size_t step, int peer, std::int64_t offset, const std::byte*, std::int64_t bytes, PayloadOwner*, Link&);
  bool may_overwrite(std::int64_t chunks) const;
  bool has_room(int peer, std::int64_t bytes) const;
  const std::byte* memory(Place) const;
  void consumed(int peer, std::int64_t bytes, Link&);
  void step_moved(std::size_t step);
  Header header(int peer, const Step&) const;
  std::int64_t chunk_size(std::size_t step, std::int64_t chunk) const;  // elements

  std::shared_ptr<const Plan> plan_;
  const std::vector<Step>& steps_ = plan_->schedule.steps;
  const std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
  std::function<std::string()> words_;
  int rank_;  // position in the group
  std::uint32_t my_rank_;
  std::int64_t element_, running_element_;  // bytes
  std::unique_ptr<std::byte[]> work_;
  // If f32 travels in a codec: in and out in its units, and the caller's out. Sums of a reduce_scatter in blocks are
  // not encoded again.
  std::unique_ptr<std::byte[]> encoded_;
  float* sums_ = nullptr;
  std::int64_t sums_count_ = 0;
  bool plain_sums_ = false;
  bool copies_ = false;  // sends must be copies
  // Ends when all sent messages have been read: now and then, or a rank that only sends would run far ahead.
  bool meets_ = false;
  std::vector<std::int64_t> done_;  // by step: chunks sent, received or summed
  std::vector<Stream> streams_;
  std::vector<const std::byte*> parts_;  // of a chunk that is summed
  std::vector<Peer> peers_;  // by position
  std::size_t open_steps_ = 0;
  std::atomic<int> pins_{0};
  std::shared_ptr<Wakeup> wakeup_;
};
}  // namespace bora::transport
