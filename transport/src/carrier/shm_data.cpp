#include "carrier/shm_data.h"
#include <poll.h>
#include <array>
#include <deque>
#include <random>
#include "base/api/file.h"
#include "base/api/reason.h"
#include "carrier/arena.h"
#include "carrier/shm_ring.h"
#include "carrier/shm_socket.h"

namespace bora::transport {
namespace {
// A payload below kLent is copied into the ring, a larger one if the receiver cannot map it and it is at most kCopied,
// or kCopiedAhead where that lets the sender go on (docs/transport.md).
constexpr std::uint32_t kLent = 4 << 10, kCopiedAhead = 64 << 10;
/// The first message of a connection, with the memory's descriptor attached. The receiver answers kTaken, which the
/// sender returns, or the reason why the pair cannot share memory; before that nothing is written to the memory.
struct ShmHandshake {
  std::uint32_t magic = kMagic, epoch = 0, from = 0, to = 0;
};
constexpr char kTaken = 'y';
constexpr std::size_t kWords = 256;  // of an answer
// Once the job is lost, peers release our buffers within this time.
constexpr auto kLastReads = std::chrono::seconds(1);

class ShmData final : public DataPath {
  static constexpr std::uint32_t kListener = 0xffffffffu;

 public:
  ShmData(int rank, std::uint32_t epoch, ShmListener listener, std::vector<std::string> names, Up up, Without without)
      : rank_(rank),
        epoch_(epoch),
        listener_(std::move(listener)),
        names_(std::move(names)),
        up_(std::move(up)),
        without_(std::move(without)),
        meeting_(names_.size()),
        peers_(names_.size()),
        open_peers_(new std::atomic<Peer*>[names_.size()]{}) {
    epoll_.add(listener_.socket.get(), kListener);
  }
  void connect(int r) override {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    UnixAddress address(names_[static_cast<std::size_t>(r)]);
    check<TransportError>(::connect(socket.get(), address.get(), address.size) == 0 && same_user(socket.get()),
                          "cannot connect to rank ", r, " on this host: ", system_reason);
    auto memory = PairMemory::make();
    ShmHandshake g{.epoch = epoch_, .from = static_cast<std::uint32_t>(rank_), .to = static_cast<std::uint32_t>(r)};
    epoll_.add(socket.get(), static_cast<std::uint32_t>(r));
    check<TransportError>(pass(socket.get(), &g, sizeof g, memory->descriptor()), "rank ", r,
                          " does not take connections");
    meeting_[static_cast<std::size_t>(r)] =
        std::make_unique<Meeting>(Meeting{std::move(socket), std::move(memory), true});
    ++meetings_;
  }
  void send(int r, const Header& h, const std::byte* bytes, PayloadOwner* owner) override {
    if (stopped_) return;
    auto& p = *peers_[static_cast<std::size_t>(r)];
    if (h.payload() < kLent || p.gone) owner = nullptr;
    if (owner) {
      auto lent = h;
      auto place = place_for(p, bytes, h.payload());
      if (place) lent.flags |= kInArena;
      // Summands are better read from the ring, which is in the cache.
      bool copied = h.payload() <= (h.flags & kOneWay ? kCopiedAhead : kCopied);
      if (!place && !copied && !(h.flags & kSummed) && p.writer.read()) {
        place = reinterpret_cast<std::uint64_t>(bytes);
        lent.flags |= kInProcess;
      }
      if (place) {
        auto at = reinterpret_cast<const std::byte*>(&*place);
        if (!p.queue.empty() || !p.writer.put(lent, at)) return post(p, lent, at, owner->pin());
        p.writer.lend(owner->pin());
        return posted(p);
      }
    }
    if (p.queue.empty() && p.writer.put(h, bytes)) return posted(p);
    if (!owner) return post(p, h, bytes, nullptr);
    p.queue.push_back({h, bytes, {}, owner->pin()});
    flush(p);
  }
  bool receive(Sink& sink) override {
    bool any = false;
    if (stopped_) {
      if (Clock::now() > last_read_) forget();
      take_news();
    } else if (meetings_ > 0 || (news_.load(std::memory_order_relaxed) && news_.exchange(false))) take_news();
    for (std::size_t r = 0; r < peers_.size(); ++r) {
      auto p = peers_[r].get();
      if (!p) continue;
      any = p->writer.take_back() || any;  // also after a loss: callers wait for their buffers
      if (stopped_) {
        give_back(*p);
        continue;
      }
      if (!p->queue.empty()) any = flush(*p) || any;
      try {
        RingReader::Message m;
        // One message of each peer: the next may be for a collective that starts when this one has ended.
        if (p->reader->next(m)) {
          any = true;
          if (m.header.payload() > kCopied) wake_readers();
          if (m.header.type == MessageType::socket) take_from_socket(*p);
          else if (m.header.src == r && m.header.dst == static_cast<std::uint32_t>(rank_)) hand_over(*p, m, sink);
          p->reader->done();
          if (p->reader->crowded()) sink.make_room(static_cast<int>(r));
        }
      } catch (const TransportError& e) { sink.lost(static_cast<int>(r), e.what()); }
    }
    for (auto& p : peers_)  // after all of them: a sum releases messages of other peers
      if (!stopped_ && p && p->reader->must_wake()) wake(*p);
    wake_readers();
    return any;
  }
  int descriptor() const override { return epoll_.get(); }
  bool ready() override {
    for (std::size_t i = 0, n = open_.load(std::memory_order_acquire); i < n; ++i)
      if (auto& p = *open_peers_[i].load(std::memory_order_relaxed); p.reader->ready() || p.writer.returned())
        return true;
    return false;
  }
  void asleep() override {
    news_ = true;  // after any sleep the sockets are polled
    for (std::size_t i = 0, n = open_.load(std::memory_order_acquire); i < n; ++i) {
      auto& p = *open_peers_[i].load(std::memory_order_relaxed);
      p.reader->asleep();
      p.writer.asleep();
    }
  }
  void stop() override {
    stopped_ = true;
    last_read_ = Clock::now() + kLastReads;
    for (auto& m : meeting_) m.reset();
    meetings_ = 0;
    for (auto& p : peers_)
      if (p) p->queue.clear();
  }

 private:
  struct Queued {
    Header header;
    const std::byte* bytes;
    std::vector<std::byte> copy;
    std::shared_ptr<const void> hold;
  };
  struct Meeting {  // a pair that has yet to agree on the memory
    Descriptor socket;
    std::shared_ptr<PairMemory> memory;
    bool maker;
  };
  struct Peer {
    Descriptor socket;
    RingWriter writer;
    std::shared_ptr<RingReader> reader;
    std::deque<Queued> queue = {};
    bool sent_arena = false, gone = false;
    bool posted = false;  // among posted_
    std::unique_ptr<ArenaView> arena = nullptr;  // the peer's
  };
  /// The place where the peer can read these bytes itself; nullopt if it cannot (yet).
  std::optional<std::uint64_t> place_for(Peer& p, const std::byte* bytes, std::size_t n) {
    auto arena = Arena::there_is();
    auto place = arena ? arena->offset_of(bytes, n) : std::nullopt;
    if (!place || p.writer.mapped()) return place;
    if (!p.sent_arena && pass(p.socket.get(), "", 1, arena->descriptor())) {
      p.sent_arena = true;
      post(p, {.type = MessageType::socket}, nullptr, nullptr);
    }
    return std::nullopt;
  }
  /// Sends a message with few bytes in the ring: copied at once, or queued until there is room.
  void post(Peer& p, const Header& h, const std::byte* bytes, std::shared_ptr<const void> pin) {
    Queued q{h, nullptr, {}, std::move(pin)};
    if (auto n = bytes_in_ring(h); n > 0) q.copy.assign(bytes, bytes + n);
    p.queue.push_back(std::move(q));
    flush(p);
  }
  void add(int r, Descriptor socket, const std::shared_ptr<PairMemory>& memory, bool maker) {
    auto& p = peers_[static_cast<std::size_t>(r)];
    p.reset(new Peer{std::move(socket), RingWriter(memory, maker), std::make_shared<RingReader>(memory, maker)});
    auto n = open_.load();
    open_peers_[n] = p.get();
    open_.store(n + 1, std::memory_order_release);
    news_ = true;
    p->reader->asleep();  // until a thread polls
  }
  void hand_over(Peer& p, const RingReader::Message& m, Sink& sink) {
    Arrival a{.header = m.header, .bytes = m.payload, .owner = p.reader.get()};
    a.header.flags = 0;
    if (m.header.payload() > 0 && (m.header.flags & (kInArena | kInProcess))) {
      std::memcpy(&a.address, m.payload, sizeof a.address);
      a.bytes = nullptr;
      if (m.header.flags & kInProcess) a.remote = p.reader.get();
      else a.bytes = p.arena ? p.arena->at(a.address, m.header.payload()) : nullptr;
      check<TransportError>(a.bytes || a.remote, "a peer's message in shared memory makes no sense");
    }
    sink.data(std::move(a));
  }
  /// Handles new peers and wake-ups; messages are found in the rings.
  void take_news() {
    epoll_event e[32];
    int n = epoll_.wait(e, 32, 0);
    for (int i = 0; i < n; ++i) {
      if (e[i].data.u32 == kListener) {
        accept();
        continue;
      }
      auto r = e[i].data.u32;
      if (meeting_[r]) meet(static_cast<int>(r));
      else if (peers_[r]) take_from_socket(*peers_[r]);
    }
  }
  /// Reads wake-ups, and takes the peer's arena.
  void take_from_socket(Peer& p) {
    char byte;
    ssize_t got = 0;
    for (;;) {
      Descriptor memory;
      got = take(p.socket.get(), &byte, 1, memory);
      if (got <= 0) break;
      if (!memory || p.arena) continue;
      try {
        p.arena = std::make_unique<ArenaView>(memory);
        p.reader->mapped();
      } catch (const TransportError& e) {
        std::fprintf(stderr, "warning: payloads are copied: %s\n", e.what());
      }
    }
    if (p.gone || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
    p.gone = true;  // the control plane reports it
    epoll_.remove(p.socket.get());
    p.writer.forget();
  }
  /// After a loss nobody reads what has arrived, and its sender waits for its buffers.
  static void give_back(Peer& p) {
    try {
      for (RingReader::Message m; p.reader->next(m);) p.reader->done();
    } catch (const TransportError&) {}  // the sender waits until kLastReads is over
  }
  void forget() {
    for (auto& p : peers_)
      if (p) p->writer.forget();
  }
  void accept() {
    int fd = ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {  // to say so, use the descriptor kept for this
      reserve_ = Descriptor();
      fd = ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    }
    if (fd < 0) return;
    Descriptor socket(fd);
    if (!same_user(fd)) return;  // before any wait: a stranger costs no time
    // Its handshake is here or about to arrive: peers send it right after they connect.
    pollfd ready{fd, POLLIN, 0};
    int readable = 0;
    while ((readable = ::poll(&ready, 1, 200)) < 0 && errno == EINTR) {}  // signals must not turn a peer away
    ShmHandshake g;
    Descriptor memory;
    auto got = readable == 1 ? take(fd, &g, sizeof g, memory) : 0;
    bool known = got >= static_cast<ssize_t>(sizeof g) && g.magic == kMagic && g.epoch == epoch_ &&
                 g.to == static_cast<std::uint32_t>(rank_) && g.from > g.to && g.from < peers_.size() &&
                 !peers_[g.from] && !meeting_[g.from];
    if (!known) return;
    std::string answer(1, kTaken);
    try {
      check<TransportError>(memory && got == sizeof g,
                            "the memory's descriptor was lost on its way: this process can have no more files open");
      auto m = std::make_unique<Meeting>(Meeting{{}, PairMemory::map(std::move(memory)), false});
      epoll_.add(fd, g.from);
      if (!pass(fd, answer.data(), answer.size())) return;
      m->socket = std::move(socket);
      meeting_[g.from] = std::move(m);
      ++meetings_;
    } catch (const TransportError& e) {
      answer = std::string(e.what()).substr(0, kWords);
      [[maybe_unused]] auto n = ::send(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (!reserve_) try {
        reserve_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
      } catch (const TransportError&) {}  // the next peer may have to wait
  }
  /// Reads the other side's answer about the memory. Then the maker knows which path messages take; the other side
  /// knows it when they begin, here or on another path.
  void meet(int r) {
    auto& m = meeting_[static_cast<std::size_t>(r)];
    char answer[kWords];
    Descriptor none;
    auto got = take(m->socket.get(), answer, sizeof answer, none);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    auto over = std::move(m);
    --meetings_;
    bool taken = got == 1 && answer[0] == kTaken;
    std::string why =
        got > 1 ? std::string(answer, std::min(static_cast<std::size_t>(got), sizeof answer)) : "it was not taken";
    try {
      if (taken && over->maker) taken = pass(over->socket.get(), &kTaken, 1);
    } catch (const TransportError& e) { taken = false, why = e.what(); }
    if (taken) {
      add(r, std::move(over->socket), over->memory, over->maker);
      up_(r);
    } else if (over->maker) without_(r, why);
  }
  bool flush(Peer& p) {
    bool any = false;
    while (!p.queue.empty()) {
      auto& q = p.queue.front();
      if (!p.writer.put(q.header, q.bytes ? q.bytes : q.copy.data())) {
        if (!p.writer.await_room()) break;
        continue;
      }
      if (q.hold && !q.bytes) p.writer.lend(std::move(q.hold));
      p.queue.pop_front();
      any = true;
    }
    if (any) posted(p);
    return any;
  }
  void posted(Peer& p) {
    if (!std::exchange(p.posted, true)) posted_.push_back(&p);
  }
  /// Asking whether a reader sleeps waits until the reader can see the bytes written, so arrived messages are read
  /// first; `receive` follows every send before the lock is released.
  void wake_readers() {
    for (auto* p : posted_) {
      p->posted = false;
      if (p->writer.must_wake()) wake(*p);
    }
    posted_.clear();
  }
  void wake(Peer& p) {
    char one = 1;
    [[maybe_unused]] auto n = ::send(p.socket.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL);  // full: it has been woken
  }

  int rank_;
  std::uint32_t epoch_;
  ShmListener listener_;
  std::vector<std::string> names_;
  Up up_;
  Without without_;
  Epoll epoll_;
  Descriptor reserve_{::eventfd(0, EFD_CLOEXEC)};          // kept to accept and refuse a peer when there are no others
  std::vector<std::unique_ptr<Meeting>> meeting_;          // by rank
  int meetings_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;               // by rank
  // The existing peers, in order of arrival: read without the lock.
  std::unique_ptr<std::atomic<Peer*>[]> open_peers_;
  std::atomic<std::size_t> open_{0};
  std::vector<Peer*> posted_;  // got messages, and may sleep
  std::atomic<bool> news_{true};
  bool stopped_ = false;
  Clock::time_point last_read_ = {};
};
}  // namespace

ShmListener listen_for_shm() {
  std::random_device random;
  std::string name = "bora-";
  for (int i = 0; i < 4; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", random());
    name += part;
  }
  int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {};
  Descriptor socket(fd);
  UnixAddress address(name);
  if (::bind(fd, address.get(), address.size) != 0 || ::listen(fd, 128) != 0) return {};
  return {std::move(socket), name};
}
std::string network_namespace() {
  char net[64] = "";
  [[maybe_unused]] auto n = ::readlink("/proc/self/ns/net", net, sizeof net - 1);
  return net;
}
std::string boot_id() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  if (::access(path.c_str(), R_OK) != 0) return {};
  auto text = read_file<TransportError>(path);
  return text.substr(0, text.find('\n'));
}
std::string shm_host() {
  return boot_id() + " " + network_namespace() + " uid " + std::to_string(::geteuid());
}
std::unique_ptr<DataPath> make_shm_data(int rank, std::uint32_t epoch, ShmListener listener,
                                        std::vector<std::string> names, Up up, Without without) {
  return std::make_unique<ShmData>(rank, epoch, std::move(listener), std::move(names), std::move(up),
                                   std::move(without));
}
}  // namespace bora::transport
