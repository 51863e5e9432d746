#include "zmq_link.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include "bytes.h"
#include "schedule.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr std::size_t kInlineBytes = 16 << 10;  // up to here the payload rides in the header's frame
constexpr int kBatch = 32;                      // messages taken from a socket before others have their turn
constexpr std::uint32_t kControlIndex = 0xffffffffu;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {
    check<TransportError>(fd >= 0, "no more file descriptors: ", std::strerror(errno));
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};
class EventBell final : public Bell {
 public:
  EventBell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  void ring() override {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(fd_.get(), &one, sizeof one);  // full means rung already
  }
  void clear() {
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(fd_.get(), &count, sizeof count);
  }
  int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
};
/// Keeps a buffer until ZeroMQ's thread has sent it. The flag orders that thread after the sender also for ThreadSanitizer, which cannot see
/// into libzmq.
struct Hold {
  std::shared_ptr<const void> owner;
  std::atomic<bool> made{false};
};
void release(void*, void* hint) {
  auto h = static_cast<Hold*>(hint);
  if (h->made.load(std::memory_order_acquire)) delete h;
}
std::string routing_id(std::uint32_t epoch, std::uint32_t rank) { return Writer().num(epoch).num(rank).take(); }

class ZmqLink final : public Link {
 public:
  ZmqLink(const ZmqLinkOptions& o, Joined j)
      : options_(o),
        j_(std::move(j)),
        peers_(static_cast<std::size_t>(o.size)),
        heard_(static_cast<std::size_t>(o.size), Clock::now()),
        suspected_(static_cast<std::size_t>(o.size), false) {
    for (int r = o.rank + 1; r < o.size; ++r) peer(r).id = routing_id(j_.epoch, static_cast<std::uint32_t>(r));
    watch_fd(control_epoll_, j_.control.descriptor(), kControlIndex);
    watch_fd(control_epoll_, j_.control_monitor.descriptor(), kControlIndex);
    watch_fd(control_epoll_, j_.data_monitor.descriptor(), kControlIndex);
    watch_fd(data_epoll_, j_.data.descriptor(), static_cast<std::uint32_t>(o.rank));
    watch_fd(leader_epoll_, leader_bell_->fd(), 0);
    watch_fd(leader_epoll_, control_epoll_.get(), 1);
    watch_fd(leader_epoll_, data_epoll_.get(), 2);
    watch_fd(progress_epoll_, progress_bell_.fd(), 0);
    watch_fd(progress_epoll_, control_epoll_.get(), 1);
    watch_fd(progress_epoll_, data_epoll_.get(), 2, 0);
    if (o.rank == 0) judge_.emplace(j_.who, [this](int r, std::string m) { from_judge(r, std::move(m)); });
  }
  ~ZmqLink() override {
    stop_data();
    int linger = 1000;  // the last words (an abort, the leave of all) must get out
    zmq_setsockopt(j_.control.get(), ZMQ_LINGER, &linger, sizeof linger);
    zmq_socket_monitor(j_.control.get(), nullptr, 0);
  }

  void open(int r) override {
    auto& p = peer(r);
    if (p.open || stopped_) return;
    p.open = true;
    if (r > options_.rank) return;  // it connects to us
    p.dealer = Socket(*j_.context, ZMQ_DEALER);
    set_data_options(p.dealer);
    p.dealer.set(ZMQ_ROUTING_ID, routing_id(j_.epoch, static_cast<std::uint32_t>(options_.rank)));
    p.dealer.set(ZMQ_RECONNECT_IVL, -1);
    p.monitor = p.dealer.monitor(*j_.context, "data-" + std::to_string(r));
    watch_fd(control_epoll_, p.monitor.descriptor(), kControlIndex);
    watch_fd(data_epoll_, p.dealer.descriptor(), static_cast<std::uint32_t>(r));
    auto& address = j_.addresses[static_cast<std::size_t>(r)];
    check<TransportError>(zmq_connect(p.dealer.get(), address.c_str()) == 0, "cannot connect to ", who(r), " at ",
                          address, ": ", zmq_strerror(zmq_errno()));
    Header h;
    h.type = MessageType::hello;
    h.src = static_cast<std::uint32_t>(options_.rank);
    h.dst = static_cast<std::uint32_t>(r);
    send(r, h, nullptr, nullptr);
  }
  void send(int r, const Header& header, const std::byte* bytes, std::shared_ptr<const void> hold) override {
    if (stopped_) return;
    Header h = header;
    h.epoch = j_.epoch;
    h = sealed(h);
    auto n = h.payload();
    auto& p = peer(r);
    if (r > options_.rank && !p.up) {  // until it has connected
      Waiting w{h, bytes, {}, std::move(hold)};
      if (!w.hold && n > 0) w.copy.assign(reinterpret_cast<const char*>(bytes), n);
      p.waiting.push_back(std::move(w));
      return;
    }
    put(r, h, bytes, std::move(hold));
  }
  void to_judge(std::string message) override {
    if (judge_) judge_->handle(0, message);
    else send_control(0, message);
  }
  bool receive(Sink& sink) override {
    bool any = false;
    mark(control_epoll_);
    mark(data_epoll_);
    if (control_dirty_ || !self_.empty()) any = receive_control(sink);
    if (stopped_) return any;
    if (router_dirty_) any = drain(options_.rank, j_.data, router_dirty_, sink) || any;
    for (int r = 0; r < options_.rank && !stopped_; ++r)
      if (auto& p = peer(r); p.dirty) any = drain(r, p.dealer, p.dirty, sink) || any;
    return any;
  }
  void tick(Clock::time_point now, Sink& sink) override {
    if (judge_) judge_->tick(now);
    // Time in which this process was stopped is not the others' silence.
    if (auto gap = now - last_tick_; gap > 1s)
      for (auto& t : heard_) t += gap;
    last_tick_ = now;
    auto seconds = [&](Clock::time_point t) { return std::chrono::duration<double>(now - t).count(); };
    if (seconds(last_ping_) >= options_.heartbeat_s) {
      last_ping_ = now;
      auto ping = Writer().num(Control::ping).take();
      for (int r = 0; r < options_.size; ++r)
        if (r != options_.rank && hears(r)) send_control(r, ping);
    }
    for (int r = 0; r < options_.size; ++r) {
      if (r == options_.rank || !hears(r)) continue;
      auto i = static_cast<std::size_t>(r);
      auto silence = seconds(heard_[i]);
      if (silence > options_.suspect_s && !suspected_[i])
        std::fprintf(stderr, "warning: %s has been silent for %.1f s\n", who(r).c_str(), silence);
      suspected_[i] = silence > options_.suspect_s;
      if (silence <= options_.dead_s) continue;
      char text[64];
      std::snprintf(text, sizeof text, "no heartbeat for %.1f s", silence);
      gone(r, text, sink);
    }
    // A data connection that broke while its owner lives would leave a wait without an end.
    for (int r = 0; r < options_.rank; ++r)
      if (peer(r).broken != Clock::time_point{} && now - peer(r).broken > 1s) to_judge(data_lost(r));
  }
  void watch(bool leading, bool busy) override {
    bool armed = !leading && busy;
    if (armed == armed_) return;
    armed_ = armed;
    watch_fd(progress_epoll_, data_epoll_.get(), 2, armed ? std::uint32_t{EPOLLIN} : 0u, EPOLL_CTL_MOD);
  }
  bool ready() override {
    epoll_event e;
    return epoll_wait(leader_epoll_.get(), &e, 1, 0) > 0;
  }
  void park(Side side, std::chrono::milliseconds limit) override {
    bool leader = side == Side::leader;
    epoll_event e[4];
    epoll_wait((leader ? leader_epoll_ : progress_epoll_).get(), e, 4, static_cast<int>(limit.count()));
    if (leader) leader_bell_->clear();
    else progress_bell_.clear();
  }
  void wake(Side side) override {
    if (side == Side::leader) leader_bell_->ring();
    else progress_bell_.ring();
  }
  std::shared_ptr<Bell> bell() override { return leader_bell_; }
  void stop_data() override {
    if (stopped_) return;
    stopped_ = true;
    for (auto& p : peers_) {
      p.waiting.clear();
      close_watched(p.dealer, p.monitor, data_epoll_);
    }
    close_watched(j_.data, j_.data_monitor, data_epoll_);
  }
  bool must_meet() const override { return true; }
  std::string who(int r) const override { return j_.who[static_cast<std::size_t>(r)]; }

 private:
  struct Waiting {
    Header header;
    const std::byte* bytes;
    std::string copy;
    std::shared_ptr<const void> hold;
  };
  struct Peer {
    bool open = false, up = false, dirty = false;
    std::string id;                // of a higher rank
    Socket dealer, monitor;        // to a lower rank
    std::vector<Waiting> waiting;  // for a higher rank that has not connected yet
    Clock::time_point broken = {};
  };
  Peer& peer(int r) { return peers_[static_cast<std::size_t>(r)]; }

  static void watch_fd(const Descriptor& epoll, int fd, std::uint32_t index, std::uint32_t events = EPOLLIN,
                       int how = EPOLL_CTL_ADD) {
    epoll_event e{};
    e.events = events;
    e.data.u32 = index;
    check<TransportError>(epoll_ctl(epoll.get(), how, fd, &e) == 0,
                          "cannot watch a descriptor: ", std::strerror(errno));
  }
  void close_watched(Socket& s, Socket& monitor, const Descriptor& epoll) {
    if (!s) return;
    epoll_ctl(epoll.get(), EPOLL_CTL_DEL, s.descriptor(), nullptr);
    epoll_ctl(control_epoll_.get(), EPOLL_CTL_DEL, monitor.descriptor(), nullptr);
    zmq_socket_monitor(s.get(), nullptr, 0);
    monitor.close();
    s.close();
  }
  void mark(const Descriptor& epoll) {
    epoll_event e[64];
    int n = epoll_wait(epoll.get(), e, 64, 0);
    for (int i = 0; i < n; ++i)
      if (e[i].data.u32 == kControlIndex) control_dirty_ = true;
      else if (static_cast<int>(e[i].data.u32) == options_.rank) router_dirty_ = true;
      else peer(static_cast<int>(e[i].data.u32)).dirty = true;
  }
  /// Frames of one message. Sending may take news off a socket's descriptor, so the socket counts as dirty afterwards.
  void put(int r, const Header& h, const std::byte* bytes, std::shared_ptr<const void> hold) {
    auto n = h.payload();
    bool higher = r > options_.rank;
    auto& p = peer(r);
    auto& s = higher ? j_.data : p.dealer;
    (higher ? router_dirty_ : p.dirty) = true;
    if (higher && !s.send(p.id, true)) return;  // it has gone: the control plane will say so
    std::string_view head(reinterpret_cast<const char*>(&h), sizeof h);
    if (n == 0) {
      s.send(head, false);
      return;
    }
    Frame f;
    if (!hold && n <= kInlineBytes) {
      zmq_msg_init_size(f.get(), sizeof h + n);
      auto to = static_cast<char*>(zmq_msg_data(f.get()));
      std::memcpy(to, &h, sizeof h);
      std::memcpy(to + sizeof h, bytes, n);
    } else {
      s.send(head, true);
      if (hold) {
        auto keep = new Hold{std::move(hold)};
        keep->made.store(true, std::memory_order_release);
        zmq_msg_init_data(f.get(), const_cast<std::byte*>(bytes), n, release, keep);
      } else {
        zmq_msg_init_size(f.get(), n);
        std::memcpy(zmq_msg_data(f.get()), bytes, n);
      }
    }
    s.send(f);
  }
  bool drain(int index, Socket& s, bool& dirty, Sink& sink) {
    bool any = false;
    for (int k = 0; k < kBatch && !stopped_; ++k) {
      if (!take(index, s, sink)) {
        if (!stopped_) dirty = false;
        return any;
      }
      any = true;
    }
    return any;
  }
  /// Takes one message; a malformed one, a stranger's, or one of an earlier job is dropped whole. False if there is none.
  bool take(int index, Socket& s, Sink& sink) {
    auto frame = std::make_shared<Frame>();
    if (!s.receive(*frame)) return false;
    std::string id;
    if (index == options_.rank) {  // from the ROUTER: the sender's id comes first
      id = frame->view();
      if (!frame->more() || !s.receive(*frame)) return true;
    }
    Arrival a;
    auto sender = static_cast<std::uint32_t>(index);
    bool good = parse_header(frame->data(), frame->size(), a.header) && a.header.epoch == j_.epoch &&
                a.header.dst == static_cast<std::uint32_t>(options_.rank) &&
                a.header.src < static_cast<std::uint32_t>(options_.size);
    if (good) {
      if (index == options_.rank) good = id == routing_id(j_.epoch, a.header.src) && a.header.src > a.header.dst;
      else good = a.header.src == sender;
    }
    if (!good) {
      s.skip_rest(*frame);
      return true;
    }
    if (a.header.type == MessageType::hello) {
      auto& p = peer(static_cast<int>(a.header.src));
      p.up = true;
      for (auto& w : std::exchange(p.waiting, {})) {
        auto bytes = w.hold ? w.bytes : reinterpret_cast<const std::byte*>(w.copy.data());
        put(static_cast<int>(a.header.src), w.header, bytes, std::move(w.hold));
      }
      return true;
    }
    if (a.header.type == MessageType::data) {
      auto inside = frame->size() - sizeof(Header);
      a.bytes = frame->data() + sizeof(Header);
      if (inside == 0 && a.header.bytes > 0) {
        auto payload = std::make_shared<Frame>();
        if (!frame->more() || !s.receive(*payload)) return true;
        frame = payload;
        inside = frame->size();
        a.bytes = frame->data();
      }
      if (inside != a.header.bytes || frame->more()) {
        s.skip_rest(*frame);
        return true;
      }
      a.hold = frame;
    }
    sink.data(std::move(a));
    return true;
  }

  // ---- control ----
  bool hears(int r) const { return options_.rank == 0 ? !judge_->left(r) : r == 0; }
  void send_control(int r, const std::string& message) {
    control_dirty_ = true;
    if (options_.rank == 0 && !j_.control.send(j_.ids[static_cast<std::size_t>(r)], true)) return;
    j_.control.send(message, false);
  }
  void from_judge(int r, std::string message) {
    if (r != 0) return send_control(r, message);
    self_.push_back(std::move(message));
    progress_bell_.ring();
  }
  std::string data_lost(int r) {
    return Writer()
        .num(Control::aborted)
        .num(static_cast<std::int32_t>(r))
        .text(who(r) + " lost: its data connection with rank " + std::to_string(options_.rank) + " was closed")
        .take();
  }
  void gone(int r, const std::string& how, Sink& sink) {
    if (judge_) judge_->lost(r, how);
    else sink.lost(r, how);
  }
  bool receive_control(Sink& sink) {
    bool any = false;
    // Events first, then messages, then what the events mean: a rank's last words are read before it counts as lost.
    std::vector<int> closed;
    while (auto e = next_event(j_.control_monitor))
      if (e->event == ZMQ_EVENT_DISCONNECTED) closed.push_back(e->descriptor);
    if (!stopped_) {
      while (next_event(j_.data_monitor)) {}
      for (auto& p : peers_)
        while (p.monitor) {
          auto e = next_event(p.monitor);
          if (!e) break;
          if (e->event == ZMQ_EVENT_DISCONNECTED) p.broken = Clock::now();
        }
    }
    control_dirty_ = false;
    Frame f;
    while (j_.control.receive(f)) {
      any = true;
      int from = 0;
      if (options_.rank == 0) {
        std::string id(f.view());
        auto found = std::find(j_.ids.begin(), j_.ids.end(), id);
        if (!f.more() || !j_.control.receive(f)) continue;
        if (found == j_.ids.end()) {
          refuse(id, f);
          continue;
        }
        from = static_cast<int>(found - j_.ids.begin());
      }
      auto message = f.view();
      heard_[static_cast<std::size_t>(from)] = Clock::now();
      if (message.empty() || static_cast<std::uint8_t>(message[0]) == static_cast<std::uint8_t>(Control::ping))
        continue;
      if (judge_) judge_->handle(from, message);
      else sink.control(message);
    }
    for (int fd : closed) {
      any = true;
      if (options_.rank != 0) gone(0, "connection closed", sink);
      else if (auto found = j_.connections.find(fd); found != j_.connections.end()) {
        int r = found->second;
        j_.connections.erase(found);
        gone(r, "connection closed", sink);
      }
    }
    for (auto& m : std::exchange(self_, {})) sink.control(m), any = true;
    return any;
  }
  /// Somebody who comes when all ranks are there.
  void refuse(const std::string& id, Frame& f) {
    auto m = f.view();
    if (m.empty() || static_cast<std::uint8_t>(m[0]) != static_cast<std::uint8_t>(JoinMessage::hello))
      return j_.control.skip_rest(f);
    j_.control.skip_rest(f);
    if (j_.control.send(id, true))
      j_.control.send(Writer()
                          .num(JoinMessage::refused)
                          .text("the job already has all its " + std::to_string(options_.size) +
                                " ranks; was a rank started twice, or is another job using this port?")
                          .take(),
                      false);
    control_dirty_ = true;
  }

  ZmqLinkOptions options_;
  std::shared_ptr<EventBell> leader_bell_ = std::make_shared<EventBell>();
  EventBell progress_bell_;
  Descriptor control_epoll_{epoll_create1(EPOLL_CLOEXEC)}, data_epoll_{epoll_create1(EPOLL_CLOEXEC)},
      leader_epoll_{epoll_create1(EPOLL_CLOEXEC)}, progress_epoll_{epoll_create1(EPOLL_CLOEXEC)};
  Joined j_;
  std::vector<Peer> peers_;
  bool router_dirty_ = true, control_dirty_ = true, stopped_ = false, armed_ = false;
  std::optional<Judge> judge_;
  std::vector<std::string> self_;  // from the judge to rank 0
  std::vector<Clock::time_point> heard_;
  std::vector<bool> suspected_;
  Clock::time_point last_tick_ = Clock::now(), last_ping_ = {};
};
}  // namespace

void set_data_options(Socket& s) {
  s.set(ZMQ_LINGER, 0);
  s.set(ZMQ_IMMEDIATE, 0);  // messages may queue while the connection is made
  s.set(ZMQ_TCP_MAXRT, 30000);
  s.set(ZMQ_HANDSHAKE_IVL, 5000);
  s.set(ZMQ_MAXMSGSIZE, std::int64_t{kMaxChunkBytes + 4096});
  s.set(ZMQ_SNDHWM, 0);  // what is under way is bounded by each collective's window
  s.set(ZMQ_RCVHWM, 0);
}
std::optional<ConnectionEvent> next_event(Socket& monitor) {
  Frame f;
  if (!monitor.receive(f)) return std::nullopt;
  std::uint16_t event = 0;
  std::int32_t value = -1;
  if (f.size() >= sizeof event + sizeof value) {
    std::memcpy(&event, f.data(), sizeof event);
    std::memcpy(&value, f.data() + sizeof event, sizeof value);
  }
  monitor.skip_rest(f);
  if (event == ZMQ_EVENT_CONNECTED || event == ZMQ_EVENT_ACCEPTED) {
    sockaddr_storage a{}, b{};
    socklen_t an = sizeof a, bn = sizeof b;
    if (getsockname(value, reinterpret_cast<sockaddr*>(&a), &an) == 0 &&
        getpeername(value, reinterpret_cast<sockaddr*>(&b), &bn) == 0 && a.ss_family == AF_INET &&
        b.ss_family == AF_INET &&
        reinterpret_cast<sockaddr_in&>(a).sin_addr.s_addr == reinterpret_cast<sockaddr_in&>(b).sin_addr.s_addr) {
      for (const char* name : {"cubic", "reno"})
        if (setsockopt(value, IPPROTO_TCP, TCP_CONGESTION, name, static_cast<socklen_t>(std::strlen(name))) == 0) break;
    }
  }
  return ConnectionEvent{event, value};
}
std::unique_ptr<Link> make_zmq_link(const ZmqLinkOptions& o, Joined j) {
  return std::make_unique<ZmqLink>(o, std::move(j));
}
}  // namespace bora::transport
