#include "carrier/net_link.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include "base/api/bytes.h"
#include "carrier/arena.h"

namespace bora::transport {
namespace {
constexpr int kMemoryFirst = 64;  // polls of memory for each poll of sockets, which takes a system call
/// This thread is inside receive, and checks afterwards itself which collectives have ended.
thread_local bool receiving = false;
struct Receiving {
  Receiving() { receiving = true; }
  ~Receiving() { receiving = false; }
};
class EventWakeup final : public Wakeup {
 public:
  void ring() override {
    if (!receiving) event_.ring();
  }
  void clear() { event_.clear(); }
  int descriptor() const { return event_.get(); }

 private:
  Event event_;
};

std::unique_ptr<DataPath> between_hosts(Joined& j, const ZmqContext& context, Gate* gate, int rank, Up up) {
  if (j.mpi) return make_mpi_data(*j.mpi, std::move(up));
  if (j.data)
    return std::make_unique<ZmqData>(context, std::move(j.data), std::move(j.data_monitor),
                                     ZmqData::Options{.rank = rank,
                                                      .epoch = j.epoch,
                                                      .addresses = std::move(j.addresses),
                                                      .keys = j.keys,
                                                      .gate = gate,
                                                      .silence_ms = j.silence_ms},
                                     std::move(up));
  TcpOptions o{.rank = rank,
               .epoch = j.epoch,
               .addresses = std::move(j.addresses),
               .nonces = std::move(j.nonces),
               .keys = j.keys,
               .strangers = j.strangers,
               .patience_ms = std::max(TcpOptions().patience_ms, j.silence_ms)};
  return make_tcp_data(std::move(j.tcp), std::move(o), std::move(up));
}

class NetLink final : public Link {
 public:
  NetLink(const ControlOptions& o, Joined j)
      : rank_(o.rank),
        gate_(std::move(j.gate)),
        data_gate_(std::move(j.data_gate)),
        context_(j.context),
        authenticator_(std::move(j.authenticator)),
        control_(o, std::move(j.control), std::move(j.who), [this] { progress_wakeup_.ring(); }),
        wire_(between_hosts(j, context_, data_gate_.get(), o.rank, [this](int r) { up(r, wire_.get()); })),
        shm_names_(std::move(j.shm_names)),
        peers_(static_cast<std::size_t>(o.size)) {
    if (std::any_of(shm_names_.begin(), shm_names_.end(), [](auto& n) { return !n.empty(); }))
      shm_ = make_shm_data(rank_, j.epoch, std::move(j.shm), shm_names_, [this](int r) { up(r, shm_.get()); },
                           [this](int r, const std::string& why) { without_memory(r, why); });
    leader_epoll_.add(leader_wakeup_->descriptor(), 0);
    progress_epoll_.add(progress_wakeup_.get(), 0);
    for (auto* e : {&leader_epoll_, &progress_epoll_}) {
      auto events = e == &leader_epoll_ ? std::uint32_t{EPOLLIN} : 0u;
      // While another thread leads, it takes the events: the progress thread is woken once and does not stay awake
      // until they are taken.
      e->add(control_.descriptor(), 1, e == &leader_epoll_ ? std::uint32_t{EPOLLIN} : EPOLLIN | EPOLLET);
      e->add(wire_->descriptor(), 2, events);
      if (shm_) e->add(shm_->descriptor(), 3, events);
    }
  }

  void open(int r) override {
    auto& p = peer(r);
    if (p.open || stopped_) return;
    p.open = true;
    if (r > rank_) return;  // it connects to us
    try {
      connect(r);
    } catch (const TransportError&) {  // no descriptor, perhaps: the next collective tries again
      p.open = false;
      throw;
    }
  }
  void send(int r, const Header& h, const std::byte* bytes, PayloadOwner* owner) override {
    if (stopped_) return;
    auto& p = peer(r);
    if (p.path != shm_.get() && h.payload() <= kCopied) owner = nullptr;
    if (p.path) return p.path->send(r, h, bytes, owner);
    Waiting w{h, bytes, {}, {}};  // until it has connected
    if (owner) w.hold = owner->pin();
    else if (h.payload() > 0) w.copy.assign(bytes, bytes + h.payload());
    p.waiting.push_back(std::move(w));
  }
  void to_coordinator(std::string message) override { control_.to_coordinator(std::move(message)); }
  bool receive(Sink& sink) override {
    Receiving here;
    bool any = shm_ && shm_->receive(sink);
    // If all data comes through memory, system calls can wait a little.
    if (by_memory() && ++without_sockets_ < kMemoryFirst && !slept_.load(std::memory_order_relaxed)) return any;
    slept_ = false;
    without_sockets_ = 0;
    any = control_.receive(sink) || any;
    if (stopped_ || !wire_->receive(sink)) return any;
    if (shm_) shm_->receive(sink);  // wakes sleeping peers for data forwarded or buffers released through memory
    return true;
  }
  void tick(Clock::time_point now, Sink& sink) override {
    without_sockets_ = kMemoryFirst;
    control_.tick(now, sink);
    if (stopped_) return;
    for (auto& [r, how] : wire_->broken(now))
      sink.broken(r, "its data connection with rank " + std::to_string(rank_) + " " + how);
  }
  void watch(bool leading, bool busy) override {
    bool armed = !leading && (busy || wire_->sending());
    if (armed == armed_.load()) return;
    armed_ = armed;
    auto events = armed ? std::uint32_t{EPOLLIN} : 0u;
    progress_epoll_.change(wire_->descriptor(), 2, events);
    if (!shm_) return;
    progress_epoll_.change(shm_->descriptor(), 3, events);
    if (!armed) return;
    shm_->asleep();  // the progress thread may sleep already
    if (shm_->ready()) progress_wakeup_.ring();
  }
  bool by_memory() const override { return only_memory_.load(std::memory_order_relaxed); }
  bool ready() override {
    if (shm_) {
      if (shm_->ready()) return true;
      if (++looks_ % kMemoryFirst != 0) return false;  // memory is polled often, the rest now and then
    }
    epoll_event e;
    return leader_epoll_.wait(&e, 1, 0) > 0;
  }
  void park(Side side, std::chrono::milliseconds limit) override {
    bool leader = side == Side::leader;
    if (leader || armed_.load()) {
      wire_->asleep();
      if (shm_) shm_->asleep();
      if (shm_ && shm_->ready()) limit = {};
    }
    epoll_event e[4];
    (leader ? leader_epoll_ : progress_epoll_).wait(e, 4, static_cast<int>(limit.count()));
    slept_ = true;  // and an event other than data may have ended it
    if (leader) leader_wakeup_->clear();
    else progress_wakeup_.clear();
  }
  void wake(Side side) override {
    if (side == Side::leader) leader_wakeup_->ring();
    else progress_wakeup_.ring();
  }
  std::shared_ptr<Wakeup> wakeup() override { return leader_wakeup_; }
  void stop_data() override {
    if (std::exchange(stopped_, true)) return;
    for (auto& p : peers_) p.waiting.clear();
    wire_->stop();
    if (shm_) shm_->stop();
  }
  std::shared_ptr<void> allocate(std::size_t bytes) override {
    if (auto arena = shm_ ? Arena::mine() : nullptr) return arena->allocate(bytes);
    return private_memory(bytes);
  }
  bool must_meet() const override { return true; }
  std::string who(int r) const override { return control_.who(r); }

 private:
  struct Waiting final : PayloadOwner {
    Waiting(const Header& h, const std::byte* b, std::vector<std::byte> c, std::shared_ptr<const void> p)
        : header(h), bytes(b), copy(std::move(c)), hold(std::move(p)) {}
    std::shared_ptr<const void> pin() override { return hold; }
    Header header;
    const std::byte* bytes;
    std::vector<std::byte> copy;
    std::shared_ptr<const void> hold;
  };
  struct Peer {
    bool open = false;
    DataPath* path = nullptr;
    std::vector<Waiting> waiting;
  };
  void connect(int r) {
    if (shm_ && !shm_names_[static_cast<std::size_t>(r)].empty()) {
      try {
        return shm_->connect(r);
      } catch (const TransportError& e) { return without_memory(r, e.what()); }
    }
    wire_->connect(r);
    up(r, wire_.get());
  }
  Peer& peer(int r) { return peers_[static_cast<std::size_t>(r)]; }
  void without_memory(int r, const std::string& why) {
    std::fprintf(stderr, "warning: no shared memory with %s, so data goes as between hosts: %s\n", who(r).c_str(),
                 why.c_str());
    wire_->connect(r);
    up(r, wire_.get());
  }
  void up(int r, DataPath* path) {
    auto& p = peer(r);
    if (p.path) return;
    p.path = path;
    only_memory_ = std::all_of(peers_.begin(), peers_.end(), [&](auto& q) { return !q.path || q.path == shm_.get(); });
    for (auto& w : std::exchange(p.waiting, {}))
      path->send(r, w.header, w.hold ? w.bytes : w.copy.data(), w.hold ? &w : nullptr);
  }

  int rank_;
  std::shared_ptr<EventWakeup> leader_wakeup_ = std::make_shared<EventWakeup>();
  Event progress_wakeup_;
  Epoll leader_epoll_, progress_epoll_;
  std::unique_ptr<Gate> gate_, data_gate_;
  ZmqContext context_;
  std::unique_ptr<Authenticator> authenticator_;
  ControlPlane control_;
  std::unique_ptr<DataPath> wire_;  // between hosts
  std::vector<std::string> shm_names_;
  std::unique_ptr<DataPath> shm_;
  std::vector<Peer> peers_;
  std::atomic<bool> armed_{false}, only_memory_{false};
  std::atomic<unsigned> looks_{0};
  std::atomic<bool> slept_{false};
  int without_sockets_ = 0;
  bool stopped_ = false;
};
}  // namespace

std::unique_ptr<Link> make_net_link(const ControlOptions& o, Joined j) {
  return std::make_unique<NetLink>(o, std::move(j));
}
}  // namespace bora::transport
