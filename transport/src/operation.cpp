#include "operation.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include "bytes.h"
#include "sum.h"

namespace bora::transport {
namespace {
using Kind = Step::Kind;
constexpr std::int64_t kWindow = 2 << 20;  // bytes under way from one member to another, for each collective
constexpr std::int64_t kCopyBelow =
    16 << 10;  // a message up to this size is copied: cheaper than keeping track of the buffer

std::int64_t total(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), std::int64_t{0}); }
bool receives(const Step& s) { return s.kind == Kind::receive || s.kind == Kind::sum; }
bool rooted(Op op) { return op == Op::broadcast || op == Op::gather || op == Op::scatter; }
bool reduces(Op op) { return op == Op::all_reduce || op == Op::reduce_scatter; }
bool one_count(Op op) {
  return op == Op::all_reduce || op == Op::broadcast || op == Op::permute || op == Op::send_recv;
}
bool all_parts(Op op) {  // every member knows every part
  return op == Op::all_gather || op == Op::reduce_scatter || op == Op::gather || op == Op::scatter;
}
bool part_counts(Op op) { return all_parts(op) || op == Op::all_to_all; }

void validate(const Collective& c, const Group& g, int rank) {
  auto n = g.ranks.size();
  auto name = op_name(c.op);
  if (one_count(c.op))
    check<ValueError>(c.send_counts.size() == 1, name, ": send_counts must be {n}, it has ", c.send_counts.size(),
                      " entries");
  if (part_counts(c.op))
    check<ValueError>(c.recv_counts.size() == n, name, ": recv_counts has ", c.recv_counts.size(),
                      " entries for a group of ", n);
  if (c.op == Op::all_to_all) {
    check<ValueError>(c.send_counts.size() == n, name, ": send_counts has ", c.send_counts.size(),
                      " entries for a group of ", n);
    auto me = static_cast<std::size_t>(rank);
    check<ValueError>(c.send_counts[me] == c.recv_counts[me], name, ": sends ", c.send_counts[me],
                      " elements to itself and expects ", c.recv_counts[me]);
    auto same = [&](auto& counts) { return std::all_of(counts.begin(), counts.end(), [&](auto k) { return k == c.send_counts[0]; }); };
    check<ValueError>(!c.uniform || (same(c.send_counts) && same(c.recv_counts)), name, ": uniform, but its parts differ in length");
  }
  for (auto* counts : {&c.send_counts, &c.recv_counts})
    for (auto k : *counts) check<ValueError>(k >= 0, name, ": a count is negative: ", k);
  auto member = [&](int p) { return p >= -1 && p < static_cast<int>(n); };
  if (rooted(c.op))
    check<ValueError>(c.root >= 0 && member(c.root), name, ": root ", c.root, " is not a position in a group of ", n);
  check<ValueError>(member(c.source) && member(c.target), name, ": source ", c.source, " or target ", c.target,
                    " is not a position in a group of ", n);
  if (!reduces(c.op)) return;
  check<DtypeError>(is_numeric(c.dtype), name, ": random keys cannot be reduced");
  check<DtypeError>(c.reduce != Reduce::mean || is_float(c.dtype), name, ": a mean needs a floating dtype, got ", c.dtype);
}
std::int64_t bytes_of(const Collective& c) { return count_of(c) * static_cast<std::int64_t>(dtype_size(c.dtype)); }
/// Whether in and out share memory.
bool overlap(const Collective& c) {
  auto a = static_cast<const std::byte*>(c.in), b = static_cast<const std::byte*>(c.out);
  return a && b && a < b + bytes_of(c) && b < a + bytes_of(c);
}
}  // namespace

std::int64_t count_of(const Collective& c) {
  if (c.op == Op::barrier) return 0;
  if (c.op == Op::all_to_all) return total(c.send_counts);
  return one_count(c.op) ? c.send_counts.empty() ? 0 : c.send_counts[0] : total(c.recv_counts);
}
std::uint64_t fingerprint_of(const Group& g, const Collective& c) {
  Hash h;
  h.text(g.name).list(g.ranks).num(c.op).num(c.dtype).num(c.fingerprint);
  if (reduces(c.op)) h.num(c.reduce);
  if (one_count(c.op)) h.num(count_of(c));
  if (all_parts(c.op)) h.list(c.recv_counts);
  if (rooted(c.op)) h.num(c.root);
  if (c.op == Op::all_to_all) h.num(c.uniform && !c.send_counts.empty() ? c.send_counts[0] : -1);
  return h.value();
}
std::string Summary::short_text() const {
  std::ostringstream s;
  s << op_name(op) << " seq " << seq << (members->name.empty() ? "" : " ") << members->name;
  return s.str();
}
std::string Summary::text() const {
  static constexpr std::string_view names[] = {"sum", "max", "min", "mean"};
  std::ostringstream s;
  s << op_name(op);
  if (reduces(op)) s << " " << names[static_cast<std::size_t>(reduce)];
  if (op != Op::barrier) s << " " << dtype << "[" << count << "]";
  s << " seq " << seq << (members->name.empty() ? "" : " ") << members->name;
  return s.str();
}

Operation::Operation(Summary s, const Collective& c, const Layout& layout, int rank, std::uint32_t my_rank,
                     std::shared_ptr<Bell> bell)
    : summary(std::move(s)),
      c_(c),
      rank_(rank),
      my_rank_(my_rank),
      element_(static_cast<std::int64_t>(dtype_size(c.dtype))),
      running_element_(static_cast<std::int64_t>(running_size(c.dtype))),
      bell_(std::move(bell)) {
  auto& group = *summary.members;
  validate(c, group, rank);
  auto size = static_cast<int>(group.ranks.size());
  algorithm_ = choose_algorithm({c.op, bytes_of(c), c.uniform}, layout);
  schedule_ = make_schedule({c.op, rank, size, c.send_counts, c.recv_counts, c.root, c.source, c.target, layout.blocks}, algorithm_);
  copies_ = schedule_.overwrites && overlap(c);
  if (schedule_.work > 0) work_.reset(new std::byte[static_cast<std::size_t>(schedule_.work * element_)]);
  peers_.resize(static_cast<std::size_t>(size));
  for (auto& step : schedule_.steps) {
    Progress p;
    auto n = step.kind == Kind::send || step.kind == Kind::copy ? step.from.size() : step.to.size();
    bool moves = step.kind == Kind::send || receives(step);
    auto widest = static_cast<std::size_t>(schedule_.running ? running_element_ : element_);
    p.chunk = moves ? chunk_elements(n, widest) : std::max<std::int64_t>(n, 1);
    p.chunks = std::max<std::int64_t>(
        1, (n + p.chunk - 1) / p.chunk);  // an empty range is one empty message: ranks still meet
    auto expect = [&](int peer, std::int64_t element) {
      p.streams.push_back({.peer = peer, .element = element});
      peers_[static_cast<std::size_t>(peer)].expected += n * element;
    };
    if (step.kind == Kind::receive) expect(step.peer, element_);
    if (step.kind == Kind::sum) {
      if (step.peer >= 0) expect(step.peer, running_element_);
      for (int k = step.first; k < step.last; ++k)
        if (k != rank) expect(k, element_);
    }
    progress_.push_back(std::move(p));
  }
  open_steps_ = schedule_.steps.size();
}
std::string Operation::describe() const {
  auto text = summary.text();
  if (c_.describe) text += " (" + c_.describe() + ")";
  return text;
}
std::vector<int> Operation::peers() const {
  std::vector<int> found;
  auto add = [&](int position) { found.push_back(summary.members->ranks[static_cast<std::size_t>(position)]); };
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    auto& step = schedule_.steps[i];
    if (step.kind == Kind::send) add(step.peer);
    if (step.kind == Kind::sum && step.next >= 0) add(step.next);
    for (auto& s : progress_[i].streams) add(s.peer);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}
std::vector<int> Operation::waiting_for() const {
  std::vector<int> ranks;
  auto add = [&](int position) {
    int r = summary.members->ranks[static_cast<std::size_t>(position)];
    if (std::find(ranks.begin(), ranks.end(), r) == ranks.end()) ranks.push_back(r);
  };
  for (std::size_t i = 0; i < progress_.size(); ++i)
    for (auto& s : progress_[i].streams)
      if (s.arrived < progress_[i].chunks) add(s.peer);
  if (!ranks.empty()) return ranks;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    auto& step = schedule_.steps[i];
    bool open = progress_[i].next < progress_[i].chunks;
    if (step.kind == Kind::send && (open || pins() > 0)) add(step.peer);
    if (step.kind == Kind::sum && step.next >= 0 && open) add(step.next);
  }
  return ranks;
}
std::pair<std::int64_t, std::int64_t> Operation::chunks() const {
  std::int64_t here = 0, all = 0, sent = 0, to_send = 0;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    auto& p = progress_[i];
    for (auto& s : p.streams) here += s.arrived, all += p.chunks;
    if (schedule_.steps[i].kind == Kind::send) sent += p.next, to_send += p.chunks;
  }
  return all > 0 ? std::pair{here, all} : std::pair{sent, to_send};
}
std::int64_t Operation::chunk_size(std::size_t step, std::int64_t chunk) const {
  auto& s = schedule_.steps[step];
  auto n = s.kind == Kind::send ? s.from.size() : s.to.size();
  return std::min(progress_[step].chunk, n - chunk * progress_[step].chunk);
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
  return std::shared_ptr<const void>(this, [self, bell = bell_](const void*) {
    if (self->pins_.fetch_sub(1) == 1) bell->ring();
  });
}
bool Operation::ready(std::size_t i) const {
  auto& s = schedule_.steps[i];
  auto over = [&](std::size_t k) { return progress_[k].next == progress_[k].chunks; };
  for (int k = 0; k <= s.after; ++k)
    if (schedule_.steps[static_cast<std::size_t>(k)].kind != Kind::send && !over(static_cast<std::size_t>(k))) return false;
  if (s.needs < 0) return true;
  auto needs = static_cast<std::size_t>(s.needs);
  return over(needs) || progress_[needs].next > progress_[i].next;
}
void Operation::step_moved(std::size_t i) {
  if (++progress_[i].next == progress_[i].chunks) --open_steps_;
}
const std::byte* Operation::memory(Place p) const {
  return p == Place::work ? work_.get() : static_cast<const std::byte*>(p == Place::out ? c_.out : c_.in);
}
bool Operation::has_room(int peer, std::int64_t bytes) const {
  auto flying = peers_[static_cast<std::size_t>(peer)].in_flight;
  return flying == 0 || flying + bytes <= kWindow;
}
/// Sends the next message of a step.
void Operation::put(std::size_t i, int peer, std::int64_t offset, const std::byte* bytes, std::int64_t n, Owner* owner, Link& link) {
  Header h = header(peer, schedule_.steps[i]);
  h.chunk = static_cast<std::uint32_t>(progress_[i].next);
  h.offset = static_cast<std::uint64_t>(offset);
  h.bytes = static_cast<std::uint32_t>(n);
  if (reduces(c_.op) && schedule_.steps[i].source == Place::in) h.flags |= kSummed;
  link.send(static_cast<int>(h.dst), h, n > 0 ? bytes : nullptr, n <= kCopyBelow ? nullptr : owner);
  peers_[static_cast<std::size_t>(peer)].in_flight += n;
  bytes_sent += n;
}
void Operation::send_chunk(std::size_t i, Link& link) {
  auto& s = schedule_.steps[i];
  auto& p = progress_[i];
  auto n = chunk_size(i, p.next) * element_, offset = p.next * p.chunk * element_;
  put(i, s.peer, offset, memory(s.source) + s.from.begin * element_ + offset, n, copies_ ? nullptr : this, link);
  step_moved(i);
}
bool Operation::advance(Link& link) {
  bool any = false;
  for (bool moved = true; moved; any = any || moved) {
    moved = false;
    // One message for each stream in turn, so that all members get their first chunk early.
    for (bool sent = true; sent;) {
      sent = false;
      for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
        auto& s = schedule_.steps[i];
        if (s.kind != Kind::send || progress_[i].next == progress_[i].chunks || !ready(i) ||
            !has_room(s.peer, chunk_size(i, progress_[i].next) * element_))
          continue;
        send_chunk(i, link);
        sent = moved = true;
      }
    }
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i)
      if (progress_[i].next < progress_[i].chunks) moved = run_here(i, link) || moved;
  }
  return any;
}
/// Copies, folds, and sums that do not wait for a message but for room or for nobody.
bool Operation::run_here(std::size_t i, Link& link) {
  auto& s = schedule_.steps[i];
  if (s.kind == Kind::sum) return (s.next >= 0 || progress_[i].streams.empty()) && sum_chunks(i, link);
  if ((s.kind != Kind::copy && s.kind != Kind::zero && s.kind != Kind::fold) || !ready(i)) return false;
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
    reduce_in_order(c_.reduce, c_.dtype, parts, to, static_cast<std::size_t>(s.to.size()));
  }
  step_moved(i);
  return true;
}
std::string Operation::accept(Arrival a, Link& link) {
  auto& ranks = summary.members->ranks;
  auto found = std::find(ranks.begin(), ranks.end(), static_cast<int>(a.header.src));
  if (found == ranks.end()) return "it is not of this group";
  auto peer = static_cast<int>(found - ranks.begin());
  auto& account = peers_[static_cast<std::size_t>(peer)];
  if (a.header.type == MessageType::credit) {
    account.in_flight = std::max<std::int64_t>(0, account.in_flight - a.header.bytes);
    return {};
  }
  for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
    auto& s = schedule_.steps[i];
    if (!receives(s) || s.tag != a.header.step) continue;
    auto& p = progress_[i];
    for (auto& stream : p.streams) {
      if (stream.peer != peer) continue;
      if (stream.arrived >= p.chunks || a.header.chunk != stream.arrived) return "it sends more messages than fit";
      auto n = chunk_size(i, stream.arrived) * stream.element, offset = stream.arrived * p.chunk * stream.element;
      if (a.header.bytes != n || a.header.offset != static_cast<std::uint64_t>(offset))
        return "it sends another number of elements";
      ++stream.arrived;
      account.expected -= n;
      bytes_received += n;
      if (s.kind == Kind::sum) {
        if (a.remote && !a.copy()) return {};
        stream.held.push_back(std::move(a));
        sum_chunks(i, link);
      } else {
        if (!a.read(const_cast<std::byte*>(memory(s.target)) + s.to.begin * element_ + offset)) return {};
        a.hold.reset();
        step_moved(i);
        consumed(peer, n, link);
      }
      return {};
    }
  }
  return "nothing is expected from it";
}
namespace {
/// A chunk of a running sum on its way.
struct Chunk final : Owner {
  std::shared_ptr<std::byte[]> bytes;
  explicit Chunk(std::int64_t n) : bytes(new std::byte[static_cast<std::size_t>(n)]) {}
  std::shared_ptr<const void> pin() override { return bytes; }
};
}  // namespace
/// Sums every chunk of which all parts are here, straight from the messages. True if there was one.
bool Operation::sum_chunks(std::size_t i, Link& link) {
  auto& s = schedule_.steps[i];
  auto& p = progress_[i];
  auto size = static_cast<int>(peers_.size());
  bool ends = s.last == size, any = false;
  auto element = ends ? element_ : running_element_;
  auto here = [&] { return std::none_of(p.streams.begin(), p.streams.end(), [](auto& t) { return t.held.empty(); }); };
  while (p.next < p.chunks && here()) {
    auto n = chunk_size(i, p.next), first = p.next * p.chunk;
    if (s.next >= 0 && !has_room(s.next, n * element)) break;
    auto stream = p.streams.begin();
    Stretch stretch{.ends = ends ? size : 0};
    if (s.peer >= 0) stretch.before = (stream++)->held.front().bytes;
    std::vector<const std::byte*> parts;
    for (int k = s.first; k < s.last; ++k)
      parts.push_back(k == rank_ ? memory(Place::in) + (s.from.begin + first) * element_ : (stream++)->held.front().bytes);
    if (s.next < 0) {
      reduce_in_order(c_.reduce, c_.dtype, parts, static_cast<std::byte*>(c_.out) + (s.to.begin + first) * element_,
                      static_cast<std::size_t>(n), stretch);
    } else {
      Chunk result(n * element);
      reduce_in_order(c_.reduce, c_.dtype, parts, result.bytes.get(), static_cast<std::size_t>(n), stretch);
      put(i, s.next, first * element, result.bytes.get(), n * element, &result, link);
    }
    for (auto& t : p.streams) {
      t.held.pop_front();
      consumed(t.peer, n * t.element, link);
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
  if (account.owed < kWindow / 2 || account.expected <= kWindow - account.owed) return;
  Header h = header(peer, {});
  h.type = MessageType::credit;
  h.bytes = static_cast<std::uint32_t>(account.owed);
  account.owed = 0;
  link.send(static_cast<int>(h.dst), h, nullptr, nullptr);
}
void Operation::make_room(int rank) {
  for (auto& p : progress_)
    for (auto& s : p.streams)
      if (summary.members->ranks[static_cast<std::size_t>(s.peer)] == rank)
        for (auto& a : s.held) a.copy();
}
void Operation::drop() {
  for (auto& p : progress_)
    for (auto& s : p.streams) s.held.clear();
  c_.describe = nullptr;
}
void Operation::complete() {
  c_.describe = nullptr;
  done = true;
}
}  // namespace bora::transport
