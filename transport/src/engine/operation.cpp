#include "engine/operation.h"
#include <algorithm>
#include <cstring>
#include <sstream>
#include "schedule/codec.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
constexpr std::uint64_t kMeetEvery = 16;
/// Whether some member may only send.
bool one_way(CollectiveKind kind) {
  return kind != CollectiveKind::barrier && kind != CollectiveKind::all_gather && !reduces(kind);
}
/// Whether in and out share memory.
bool overlap(const CollectiveCall& c, std::int64_t bytes) {
  auto a = static_cast<const std::byte*>(c.in), b = static_cast<const std::byte*>(c.out);
  return a && b && a < b + bytes && b < a + bytes;
}
}  // namespace

std::string Summary::short_text() const {
  std::ostringstream s;
  s << word(kind) << " seq " << seq << (members->name.empty() ? "" : " ") << members->name;
  return s.str();
}
std::string Summary::text() const {
  std::ostringstream s;
  s << word(kind);
  if (reduces(kind)) s << " " << word(reduce);
  if (kind != CollectiveKind::barrier) s << " " << dtype << "[" << count << "]";
  if (!wire.exact()) s << " as " << word(wire);
  s << " seq " << seq << (members->name.empty() ? "" : " ") << members->name;
  return s.str();
}

Operation::Operation(std::shared_ptr<const Plan> plan, int rank, std::uint32_t my_rank, std::shared_ptr<Wakeup> wakeup)
    : moved(plan->expected.size()),
      plan_(std::move(plan)),
      rank_(rank),
      my_rank_(my_rank),
      element_(plan_->element),
      running_element_(plan_->running),
      done_(plan_->messages.size()),
      streams_(plan_->streams.size()),
      peers_(plan_->expected.size()),
      wakeup_(std::move(wakeup)) {}
void Operation::renew(const Summary& s, const CollectiveCall& c) {
  summary = s;
  in_ = static_cast<const std::byte*>(c.in);
  out_ = static_cast<std::byte*>(c.out);
  words_ = c.describe;
  copies_ = plan_->schedule.overwrites && overlap(c, plan_->count * element_);
  meets_ = one_way(c.kind) && s.seq % kMeetEvery == kMeetEvery - 1;
  std::fill(done_.begin(), done_.end(), 0);
  for (auto& stream : streams_) stream.arrived = 0;
  for (std::size_t k = 0; k < peers_.size(); ++k) peers_[k] = {.expected = plan_->expected[k]};
  open_steps_ = done_.size();
  moved.assign(peers_.size(), {});
  done = false;
  if (!c.wire.exact()) begin_encoded(c);
  if (plan_->schedule.work > 0) work_.reset(new std::byte[static_cast<std::size_t>(plan_->schedule.work * element_)]);
}
/// Encodes the parts of the operand; each part begins with a unit of its own.
void Operation::begin_encoded(const CollectiveCall& c) {
  bool scatters = c.kind == CollectiveKind::reduce_scatter;
  auto& parts = scatters ? c.recv_counts : c.send_counts;
  sums_ = static_cast<float*>(c.out);
  sums_count_ = parts[scatters ? static_cast<std::size_t>(rank_) : 0];
  plain_sums_ = scatters && c.wire.blocks();
  auto bytes = plain_sums_ ? 0 : encoded_bytes(c.wire, sums_count_);
  for (auto n : parts) bytes += encoded_bytes(c.wire, n);
  encoded_.reset(new std::byte[static_cast<std::size_t>(bytes)]);
  auto from = static_cast<const float*>(c.in);
  auto* to = encoded_.get();
  for (auto n : parts) {
    if (n > 0) encode(c.wire, from, n, to);
    from += n, to += encoded_bytes(c.wire, n);
  }
  in_ = encoded_.get();
  out_ = to;
  copies_ = false;
}
/// Reduces n elements of the operation's vector, or of this rank's part, from element `first` on.
void Operation::reduce(const std::vector<const std::byte*>& parts, std::int64_t first, std::int64_t n, std::byte* out,
                       const Stretch& stretch) const {
  auto& wire = plan_->like.wire;
  if (!wire.blocks())
    return reduce_in_order(summary.reduce, plan_->dtype, parts, out, static_cast<std::size_t>(n), stretch);
  auto begin = first * wire.block, end = std::min(sums_count_, begin + n * wire.block);
  if (begin < end)
    sum_encoded(wire, summary.reduce, parts, end - begin, plain_sums_ ? sums_ + begin : nullptr,
                plain_sums_ ? nullptr : out);
}
std::string Operation::describe() const {
  auto text = summary.text();
  if (words_) text += " (" + words_() + ")";
  return text;
}
std::vector<int> Operation::waiting_for() const {
  std::vector<int> ranks;
  auto add = [&](int position) {
    int r = summary.members->ranks[static_cast<std::size_t>(position)];
    if (std::find(ranks.begin(), ranks.end(), r) == ranks.end()) ranks.push_back(r);
  };
  for (auto& m : plan_->messages)
    for (auto k = m.first; k < m.last; ++k)
      if (streams_[k].arrived < m.chunks) add(plan_->streams[k].peer);
  if (!ranks.empty()) return ranks;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    auto& step = steps_[i];
    bool open = !over(i);
    if (step.kind == Kind::send && (open || pins() > 0)) add(step.peer);
    if (step.kind == Kind::sum && step.next >= 0 && open) add(step.next);
  }
  if (int position = meets_ ? unread() : -1; position >= 0) add(position);
  return ranks;
}
std::pair<std::int64_t, std::int64_t> Operation::chunks() const {
  std::int64_t here = 0, all = 0, sent = 0, to_send = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    auto& m = plan_->messages[i];
    for (auto k = m.first; k < m.last; ++k) here += streams_[k].arrived, all += m.chunks;
    if (steps_[i].kind == Kind::send) sent += done_[i], to_send += m.chunks;
  }
  return all > 0 ? std::pair{here, all} : std::pair{sent, to_send};
}
std::int64_t Operation::chunk_size(std::size_t step, std::int64_t chunk) const {
  auto& s = steps_[step];
  auto n = s.kind == Kind::send ? s.from.size() : s.to.size();
  auto most = plan_->messages[step].chunk;
  return std::min(most, n - chunk * most);
}
Header Operation::header(int peer, const Step& s) const {
  Header h;
  h.group = summary.group;
  h.seq = summary.seq;
  h.fingerprint = summary.fingerprint;
  h.src = my_rank_;
  h.dst = static_cast<std::uint32_t>(summary.members->ranks[static_cast<std::size_t>(peer)]);
  h.step = s.tag;
  return h;
}
/// Keeps this operation from finishing while the carrier reads its buffers; carriers release it on any thread.
std::shared_ptr<const void> Operation::pin() {
  pins_.fetch_add(1);
  auto self = shared_from_this();
  return std::shared_ptr<const void>(this, [self, wakeup = wakeup_](const void*) {
    if (self->pins_.fetch_sub(1) == 1) wakeup->ring();
  });
}
bool Operation::ready(std::size_t i) const {
  auto& s = steps_[i];
  if (!over(plan_->messages[i].before)) return false;
  for (int k = 0; k <= s.after; ++k)
    if (steps_[static_cast<std::size_t>(k)].kind != Kind::send && !over(k)) return false;
  return over(s.needs) || done_[static_cast<std::size_t>(s.needs)] > done_[i];
}
void Operation::step_moved(std::size_t i) {
  if (++done_[i] == plan_->messages[i].chunks) --open_steps_;
}
const std::byte* Operation::memory(Place p) const {
  return p == Place::work ? work_.get() : p == Place::out ? out_ : in_;
}
bool Operation::has_room(int peer, std::int64_t bytes) const {
  auto flying = peers_[static_cast<std::size_t>(peer)].in_flight;
  return flying == 0 || flying + bytes <= kWindow;
}
/// Whether the first `chunks` messages of every stream from `in` have been sent, so that `out` may be written where the
/// two are the same.
bool Operation::may_overwrite(std::int64_t chunks) const {
  if (!copies_) return true;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].kind == Kind::send && steps_[i].source == Place::in &&
        done_[i] < std::min(chunks, plan_->messages[i].chunks))
      return false;
  return true;
}
/// Sends the next message of a step.
void Operation::put(std::size_t i, int peer, std::int64_t offset, const std::byte* bytes, std::int64_t n,
                    PayloadOwner* owner, Link& link) {
  Header h = header(peer, steps_[i]);
  h.chunk = static_cast<std::uint32_t>(done_[i]);
  h.offset = static_cast<std::uint64_t>(offset);
  h.bytes = static_cast<std::uint32_t>(n);
  if (reduces(summary.kind) && steps_[i].source == Place::in) h.flags |= kSummed;
  if (one_way(summary.kind) && peers_.size() == 2) h.flags |= kOneWay;
  link.send(static_cast<int>(h.dst), h, n > 0 ? bytes : nullptr, n > 0 ? owner : nullptr);
  peers_[static_cast<std::size_t>(peer)].in_flight += n;
  moved[static_cast<std::size_t>(peer)].out += n;
}
void Operation::send_chunk(std::size_t i, Link& link) {
  auto& s = steps_[i];
  auto n = chunk_size(i, done_[i]) * element_, offset = done_[i] * plan_->messages[i].chunk * element_;
  put(i, s.peer, offset, memory(s.source) + s.from.begin * element_ + offset, n, copies_ ? nullptr : this, link);
  step_moved(i);
}
bool Operation::may_send(std::size_t i) const {
  return !over(i) && ready(i) && has_room(steps_[i].peer, chunk_size(i, done_[i]) * element_);
}
/// One message for each stream in turn, so that all members get their first chunk early.
bool Operation::send_what_can_be(Link& link) {
  bool any = false;
  for (bool sent = true; sent;) {
    sent = false;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind != Kind::send || !may_send(i)) continue;
      send_chunk(i, link);
      any = sent = true;
    }
  }
  return any;
}
/// As Schedule::in_turns says.
bool Operation::send_in_turns(Link& link) {
  for (bool any = false;; any = true) {
    auto next = steps_.size();
    auto turn = [&](std::size_t i) { return std::pair(steps_[i].needs >= 0, done_[i]); };
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].kind == Kind::send && !over(i) && (next == steps_.size() || turn(i) < turn(next))) next = i;
    if (next == steps_.size() || !may_send(next)) return any;
    send_chunk(next, link);
  }
}
bool Operation::advance(Link& link) {
  bool any = false;
  for (bool moved = true; moved; any = any || moved) {
    moved = plan_->schedule.in_turns ? send_in_turns(link) : send_what_can_be(link);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (!over(i)) moved = run_here(i, link) || moved;
  }
  return any;
}
/// Runs copies, folds, and sums that wait for no message, but for room, for own sends, or for nothing.
bool Operation::run_here(std::size_t i, Link& link) {
  auto& s = steps_[i];
  auto& m = plan_->messages[i];
  if (s.kind == Kind::sum) return (s.next >= 0 || copies_ || m.first == m.last) && sum_chunks(i, link);
  if ((s.kind != Kind::copy && s.kind != Kind::zero && s.kind != Kind::fold) || !ready(i)) return false;
  if (s.kind == Kind::fold && !may_overwrite(INT64_MAX)) return false;
  auto n = static_cast<std::size_t>(s.to.size() * element_);
  auto to = const_cast<std::byte*>(memory(s.target)) + s.to.begin * element_;
  auto from = memory(s.source) + s.from.begin * element_;
  if (s.kind == Kind::zero && n > 0) std::memset(to, 0, n);
  if (s.kind == Kind::copy && n > 0 && from != to) std::memmove(to, from, n);
  if (s.kind == Kind::fold) {
    auto size = static_cast<int>(peers_.size());
    std::vector<const std::byte*> parts;
    for (int k = 0; k < size; ++k)
      parts.push_back(work_.get() + (s.from.begin + s.to.size() * ((k - s.first + size) % size)) * element_);
    reduce(parts, s.to.begin, s.to.size(), to, {.ends = size});
  }
  step_moved(i);
  return true;
}
int Operation::position_of(std::uint32_t rank) const {
  auto& ranks = summary.members->ranks;
  auto found = std::find(ranks.begin(), ranks.end(), static_cast<int>(rank));
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}
/// Finds the stream whose next message this is. Empty, or the reason why there is none.
std::string Operation::find_slot(const Header& h, int peer, Slot& slot) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!receives(steps_[i]) || steps_[i].tag != h.step) continue;
    auto& m = plan_->messages[i];
    for (auto k = m.first; k < m.last; ++k) {
      auto [from, element] = plan_->streams[k];
      if (from != peer) continue;
      auto arrived = streams_[k].arrived;
      if (arrived >= m.chunks || h.chunk != arrived) return "it sends more messages than fit";
      slot = {i, k, chunk_size(i, arrived) * element, arrived * m.chunk * element};
      bool fits = h.bytes == slot.bytes && h.offset == static_cast<std::uint64_t>(slot.offset);
      return fits ? "" : "it sends another number of elements";
    }
  }
  return "nothing is expected from it";
}
std::byte* Operation::target(const Slot& slot) {
  auto& s = steps_[slot.step];
  return const_cast<std::byte*>(memory(s.target)) + s.to.begin * element_ + slot.offset;
}
std::byte* Operation::place(const Header& h) {
  Slot slot;
  auto peer = position_of(h.src);
  bool copied = peer >= 0 && find_slot(h, peer, slot).empty() && steps_[slot.step].kind != Kind::sum;
  return copied ? target(slot) : nullptr;
}
std::string Operation::accept(Arrival a, Link& link) {
  auto peer = position_of(a.header.src);
  if (peer < 0) return "it is not of this group";
  auto& account = peers_[static_cast<std::size_t>(peer)];
  if (a.header.type == MessageType::credit) {
    account.in_flight = std::max<std::int64_t>(0, account.in_flight - a.header.bytes);
    return {};
  }
  Slot slot;
  if (auto why = find_slot(a.header, peer, slot); !why.empty()) return why;
  auto& stream = streams_[slot.stream];
  ++stream.arrived;
  account.expected -= slot.bytes;
  moved[static_cast<std::size_t>(peer)].in += slot.bytes;
  if (steps_[slot.step].kind == Kind::sum) {
    if (a.remote && !a.copy()) return {};
    stream.held.push_back(std::move(a));
    sum_chunks(slot.step, link);
    if (!stream.held.empty()) stream.held.back().keep();
  } else {
    if (!a.read(target(slot))) return {};
    a.hold.reset();
    step_moved(slot.step);
    consumed(peer, slot.bytes, link);
  }
  return {};
}
namespace {
/// A chunk of a running sum on its way.
struct Chunk final : PayloadOwner {
  std::shared_ptr<std::byte[]> bytes;
  explicit Chunk(std::int64_t n) : bytes(new std::byte[static_cast<std::size_t>(n)]) {}
  std::shared_ptr<const void> pin() override { return bytes; }
};
}  // namespace
/// Sums every chunk whose parts have all arrived, straight from the messages. True if there was one.
bool Operation::sum_chunks(std::size_t i, Link& link) {
  auto& s = steps_[i];
  auto& m = plan_->messages[i];
  auto& next = done_[i];
  auto size = static_cast<int>(peers_.size());
  bool ends = s.last == size, any = false;
  auto element = ends ? element_ : running_element_;
  auto begin = streams_.begin() + static_cast<std::ptrdiff_t>(m.first),
       end = streams_.begin() + static_cast<std::ptrdiff_t>(m.last);
  auto here = [&] { return std::none_of(begin, end, [](auto& t) { return t.held.empty(); }); };
  while (next < m.chunks && here() && may_overwrite(next + 1)) {
    auto n = chunk_size(i, next), first = next * m.chunk;
    if (s.next >= 0 && !(over(m.before) && has_room(s.next, n * element))) break;
    auto stream = begin;
    Stretch stretch{.ends = ends ? size : 0};
    if (s.peer >= 0) stretch.before = (stream++)->held.front().bytes;
    parts_.clear();
    for (int k = s.first; k < s.last; ++k)
      parts_.push_back(k == rank_ ? memory(Place::in) + (s.from.begin + first) * element_
                                  : (stream++)->held.front().bytes);
    if (s.next < 0) {
      reduce(parts_, s.to.begin + first, n, out_ + (s.to.begin + first) * element_, stretch);
    } else {
      Chunk result(n * element);
      reduce(parts_, s.to.begin + first, n, result.bytes.get(), stretch);
      put(i, s.next, first * element, result.bytes.get(), n * element, &result, link);
    }
    for (auto k = m.first; k < m.last; ++k) {
      auto& held = streams_[k].held;
      held.erase(held.begin());
      consumed(plan_->streams[k].peer, n * plan_->streams[k].element, link);
    }
    step_moved(i);
    any = true;
  }
  return any;
}
/// Returns credit when the peer could run out of it.
void Operation::consumed(int peer, std::int64_t bytes, Link& link) {
  auto& account = peers_[static_cast<std::size_t>(peer)];
  account.owed += bytes;
  bool last = meets_ && account.expected == 0;
  if (!last && (account.owed < kWindow / 8 || account.expected <= kWindow - account.owed)) return;
  Header h = header(peer, {});
  h.type = MessageType::credit;
  h.bytes = static_cast<std::uint32_t>(account.owed);
  account.owed = 0;
  link.send(static_cast<int>(h.dst), h, nullptr, nullptr);
}
int Operation::unread() const {
  for (std::size_t k = 0; k < peers_.size(); ++k)
    if (peers_[k].in_flight > 0) return static_cast<int>(k);
  return -1;
}
void Operation::make_room(int rank) {
  for (std::size_t k = 0; k < streams_.size(); ++k)
    if (summary.members->ranks[static_cast<std::size_t>(plan_->streams[k].peer)] == rank)
      for (auto& a : streams_[k].held) a.copy();
}
void Operation::drop() {
  for (auto& s : streams_) s.held.clear();
  words_ = nullptr;
}
void Operation::complete() {
  if (encoded_ && !plain_sums_ && sums_count_ > 0) decode(plan_->like.wire, out_, sums_count_, sums_);
  encoded_.reset();
  work_.reset();
  words_ = nullptr;
  done = true;
}
}  // namespace bora::transport
