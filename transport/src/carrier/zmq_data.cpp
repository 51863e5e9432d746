#include "carrier/zmq_data.h"
#include <atomic>
#include "base/api/bytes.h"
#include "control/control_plane.h"
#include "schedule/schedule.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr std::size_t kInlineBytes = 16 << 10;  // up to here the payload rides in the header's frame
constexpr auto kConnectPatience = 30s;          // with a connection that is not up
constexpr int kBatch = 32;                      // messages taken from a socket before others have their turn
constexpr std::uint32_t kMonitor = 0x80000000u;  // added to a rank: its connection's events

/// Keeps a buffer until ZeroMQ's thread has sent it. The flag orders that thread after the sender also for
/// ThreadSanitizer, which cannot see into libzmq.
struct Hold {
  std::shared_ptr<const void> owner;
  std::atomic<bool> made{false};
};
void release(void*, void* hint) {
  auto h = static_cast<Hold*>(hint);
  if (h->made.load(std::memory_order_acquire)) delete h;
}
std::string routing_id(std::uint32_t epoch, std::uint32_t rank) { return ByteWriter().num(epoch).num(rank).take(); }
}  // namespace

ZmqData::ZmqData(ZmqContext context, Socket router, Socket monitor, Options o, Up up)
    : context_(std::move(context)),
      options_(std::move(o)),
      up_(std::move(up)),
      router_(std::move(router)),
      router_monitor_(std::move(monitor)),
      peers_(options_.addresses.size()) {
  for (std::size_t r = 0; r < peers_.size(); ++r)
    peers_[r].id = routing_id(options_.epoch, static_cast<std::uint32_t>(r));
  auto me = static_cast<std::uint32_t>(options_.rank);
  epoll_.add(router_.descriptor(), me);
  epoll_.add(router_monitor_.descriptor(), me | kMonitor);
}
void ZmqData::connect(int r) {
  auto& p = peer(r);
  auto index = static_cast<std::uint32_t>(r);
  p.dealer = Socket(context_, ZMQ_DEALER);
  set_data_options(p.dealer, options_.silence_ms);
  if (options_.keys) connect_with(p.dealer, *options_.keys);
  p.dealer.set(ZMQ_ROUTING_ID, peer(options_.rank).id);
  p.dealer.set(ZMQ_RECONNECT_IVL, -1);  // what was under way is lost with a connection
  p.since = Clock::now();
  p.monitor = p.dealer.monitor("data-" + std::to_string(r));
  epoll_.add(p.monitor.descriptor(), index | kMonitor);
  epoll_.add(p.dealer.descriptor(), index);
  auto& address = options_.addresses[static_cast<std::size_t>(r)];
  check<TransportError>(zmq_connect(p.dealer.get(), address.c_str()) == 0, "cannot connect to rank ", r, " at ",
                        address, ": ", zmq_reason);
  // A socket's descriptor becomes readable only once the socket has been read.
  look(p);
  send(r, handshake_header(options_.rank, r), nullptr, nullptr);
}
/// Sends the frames of one message. That may clear the readiness of the socket's descriptor, so the socket counts as
/// dirty afterwards.
void ZmqData::send(int r, const Header& header, const std::byte* bytes, PayloadOwner* owner) {
  if (stopped_) return;
  auto h = header;
  h.epoch = options_.epoch;
  h = sealed(h);
  auto n = h.payload();
  bool higher = r > options_.rank;
  auto& p = peer(r);
  auto& s = higher ? router_ : p.dealer;
  (higher ? router_dirty_ : p.dirty) = true;
  if (higher && !s.send(p.id, true)) return;  // the peer has gone: the control plane will report it
  std::string_view head(reinterpret_cast<const char*>(&h), sizeof h);
  if (n == 0) {
    s.send(head, false);
    return;
  }
  Frame f;
  if (!owner && n <= kInlineBytes) {
    zmq_msg_init_size(f.get(), sizeof h + n);
    auto to = static_cast<char*>(zmq_msg_data(f.get()));
    std::memcpy(to, &h, sizeof h);
    std::memcpy(to + sizeof h, bytes, n);
  } else {
    s.send(head, true);
    if (owner) {
      auto keep = new Hold{owner->pin()};
      keep->made.store(true, std::memory_order_release);
      zmq_msg_init_data(f.get(), const_cast<std::byte*>(bytes), n, release, keep);
    } else {
      zmq_msg_init_size(f.get(), n);
      std::memcpy(zmq_msg_data(f.get()), bytes, n);
    }
  }
  s.send(f);
}
bool ZmqData::receive(Sink& sink) {
  if (stopped_) return false;
  epoll_event e[64];
  int n = epoll_.wait(e, 64, 0);
  auto me = static_cast<std::uint32_t>(options_.rank);
  for (int i = 0; i < n; ++i) {
    auto index = e[i].data.u32;
    if (index == (me | kMonitor)) {
      while (next_event(router_monitor_)) {}
    } else if (index & kMonitor) {
      look(peer(static_cast<int>(index & ~kMonitor)));
    } else if (index == me) {
      router_dirty_ = true;
    } else {
      peer(static_cast<int>(index)).dirty = true;
    }
  }
  bool any = router_dirty_ && drain(options_.rank, router_, router_dirty_, sink);
  for (int r = 0; r < options_.rank && !stopped_; ++r)
    if (auto& p = peer(r); p.dirty) any = drain(r, p.dealer, p.dirty, sink) || any;
  return any;
}
/// Reads the events of a connection.
void ZmqData::look(Peer& p) {
  while (auto event = next_event(p.monitor)) {
    if (event->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) p.up = true;
    if (event->event == ZMQ_EVENT_DISCONNECTED || failed_handshake(event->event)) p.broken = Clock::now();
  }
}
std::vector<Broken> ZmqData::broken(Clock::time_point now) {
  std::vector<Broken> ranks;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    auto& p = peers_[r];
    auto rank = static_cast<int>(r);
    if (p.broken != Clock::time_point{} && now - p.broken > 1s) ranks.push_back({rank, "was closed"});
    if (p.dealer && !p.up && now - p.since > kConnectPatience) ranks.push_back({rank, "could not be made within 30 s"});
  }
  return ranks;
}
void ZmqData::stop() {
  if (std::exchange(stopped_, true)) return;
  for (auto& p : peers_) close(p.dealer, p.monitor);
  close(router_, router_monitor_);
}
void ZmqData::close(Socket& s, Socket& monitor) {
  if (!s) return;
  epoll_.remove(s.descriptor());
  epoll_.remove(monitor.descriptor());
  zmq_socket_monitor(s.get(), nullptr, 0);
  monitor.close();
  s.close();
}
bool ZmqData::drain(int index, Socket& s, bool& dirty, Sink& sink) {
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
bool ZmqData::take(int index, Socket& s, Sink& sink) {
  auto frame = std::make_shared<Frame>();
  if (!s.receive(*frame)) return false;
  std::string id;
  auto me = options_.rank;
  if (index == me) {  // from the ROUTER: the sender's id comes first
    id = frame->view();
    if (!frame->more() || !s.receive(*frame)) return true;
  }
  Arrival a;
  bool good = parse_header(frame->data(), frame->size(), a.header) && a.header.type != MessageType::filler;
  bool stale = good && a.header.epoch != options_.epoch;
  good = good && !stale && a.header.dst == static_cast<std::uint32_t>(me) && a.header.src < peers_.size();
  if (good) {
    if (index == me) good = id == peer(static_cast<int>(a.header.src)).id && a.header.src > a.header.dst;
    else good = a.header.src == static_cast<std::uint32_t>(index);
  }
  if (!good) {
    s.skip_rest(*frame);
    sink.dropped(stale);
    return true;
  }
  if (a.header.type == MessageType::handshake) {
    if (index == me) {
      if (options_.gate) options_.gate->keep(frame->connection());
      up_(static_cast<int>(a.header.src));
    }
    return true;
  }
  if (a.header.type == MessageType::data) {
    auto inside = frame->size() - sizeof(Header);
    a.bytes = frame->data() + sizeof(Header);
    if (inside == 0 && a.header.bytes > 0) {
      auto payload = std::make_shared<Frame>();
      if (!frame->more() || !s.receive(*payload)) return sink.dropped(false), true;
      frame = payload;
      inside = frame->size();
      a.bytes = frame->data();
    }
    if (inside != a.header.bytes || frame->more()) {
      s.skip_rest(*frame);
      sink.dropped(false);
      return true;
    }
    a.hold = frame;
  }
  sink.data(std::move(a));
  return true;
}
void set_data_options(Socket& s, int silence_ms) {
  s.set(ZMQ_LINGER, 0);
  s.set(ZMQ_IPV6, 1);
  s.set(ZMQ_IMMEDIATE, 0);  // messages may queue while the connection is made
  s.set(ZMQ_TCP_MAXRT, std::max(30000, silence_ms));
  s.set(ZMQ_HANDSHAKE_IVL, 5000);
  s.set(ZMQ_MAXMSGSIZE, std::int64_t{kMaxChunkBytes + 4096});
  s.set(ZMQ_SNDHWM, 0);  // messages under way are bounded by each collective's window
  s.set(ZMQ_RCVHWM, 0);
}
}  // namespace bora::transport
