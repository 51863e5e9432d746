#include "carrier/tcp_data.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include "carrier/tcp_connection.h"
#include "schedule/schedule.h"
#include "wire/address.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr int kUnsent = 128 << 10;  // bytes that wait in the kernel, for each connection

void set_options(int socket, int patience_ms) {
  int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

class TcpData final : public DataPath {
  static constexpr std::uint32_t kListener = 0;
  static constexpr auto kPatience = 5s;  // with a connection before its handshake

 public:
  TcpData(TcpListener listener, TcpOptions o, Up up)
      : listener_(std::move(listener.socket)),
        options_(std::move(o)),
        up_(std::move(up)),
        by_rank_(options_.addresses.size()) {
    epoll_.add(listener_.get(), kListener);
  }
  void connect(int r) override {
    auto &text = options_.addresses[static_cast<std::size_t>(r)],
         &own = options_.addresses[static_cast<std::size_t>(options_.rank)];
    auto colon = text.rfind(':');
    auto ip = text.substr(7, colon - 7);  // behind data://
    if (ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
    auto to = socket_address(ip, std::atoi(text.c_str() + colon + 1));
    Descriptor socket(::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    check<TransportError>(static_cast<bool>(socket), "cannot connect to rank ", r, ": ", std::strerror(errno));
    set_options(socket.get(), options_.patience_ms);
    if (text.substr(0, colon) == own.substr(0, own.rfind(':'))) leave_bbr(socket.get());
    bool ok = ::connect(socket.get(), to.get(), to.size) == 0 || errno == EINPROGRESS;
    check<TransportError>(ok, "cannot connect to rank ", r, " at ", text.substr(7), ": ", std::strerror(errno));
    auto& c = add(std::move(socket));
    adopt(c, r);
    send(r, handshake_header(options_.rank, r), nullptr, nullptr);
  }
  void send(int r, const Header& header, const std::byte* bytes, PayloadOwner* owner) override {
    auto c = by_rank_[static_cast<std::size_t>(r)];
    if (stopped_ || !c) return;  // the peer has gone: the control plane will report it
    Queued q{header, bytes, header.payload(), {}};
    q.header.epoch = options_.epoch;
    q.header = sealed(q.header);
    bool first = turns_.empty();
    if (!first && header.type == MessageType::credit) return overtake(*c, q);
    if (!first) keep(q, owner);
    c->queue.push_back(std::move(q));
    turns_.push_back(c);
    if (!first) return;
    // Bytes that the kernel takes at once need not be kept.
    flush();
    if (!c->queue.empty()) keep(c->queue.front(), owner);
  }
  bool receive(Sink& sink) override {
    if (stopped_) return false;
    epoll_event e[64];
    int n = epoll_.wait(e, 64, 0);
    bool any = false;
    for (int i = 0; i < n && !stopped_; ++i) {
      if (e[i].data.u32 == kListener) {
        accept(sink);
        continue;
      }
      auto found = connections_.find(e[i].data.u32);
      if (found == connections_.end()) continue;
      auto& c = *found->second;
      if (e[i].events & EPOLLOUT) any = flush() || any;
      if (c.socket && !stopped_ && (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) any = read(c, sink) || any;
      if (!c.socket && !stopped_) connections_.erase(found);
    }
    return any;
  }
  int descriptor() const override { return epoll_.get(); }
  bool sending() const override { return !turns_.empty(); }
  void stop() override {
    if (std::exchange(stopped_, true)) return;
    for (auto& [id, c] : connections_) {  // callers further up in this thread may use them
      c->queue.clear();
      c->socket = Descriptor();
    }
    turns_.clear();
    awaited_ = nullptr;
    std::fill(by_rank_.begin(), by_rank_.end(), nullptr);
    listener_ = Descriptor();
  }
  std::vector<Broken> broken(Clock::time_point now) override {
    let_others_pass();
    if (resting_ && !stopped_) epoll_.add(listener_.get(), kListener), resting_ = false;
    for (auto it = connections_.begin(); it != connections_.end();)
      it = it->second->peer < 0 && now - it->second->since > kPatience ? connections_.erase(it) : std::next(it);
    std::vector<Broken> found;
    for (auto& [b, since] : broken_)
      if (now >= since) found.push_back(b);
    return found;
  }

 private:
  using Connection = TcpConnection;
  using Queued = TcpConnection::Queued;
  static void keep_copy(const std::shared_ptr<Pool>& pool, Queued& q) {
    auto to = Pool::get(pool, q.size);
    std::memcpy(to.get(), q.bytes, q.size);
    q.bytes = to.get();
    q.hold = std::move(to);
  }
  void keep(Queued& q, PayloadOwner* owner) {
    if (q.size == 0 || q.hold) return;
    if (owner) q.hold = owner->pin();
    else keep_copy(pool_, q);
  }
  Connection& add(Descriptor socket) {
    auto c = std::make_unique<Connection>();
    c->id = ++last_id_;
    c->socket = std::move(socket);
    epoll_.add(c->socket.get(), c->id);
    return *(connections_[c->id] = std::move(c));
  }
  /// A credit does not wait behind data, only behind a message that has begun: its peer may be out of credits.
  void overtake(Connection& c, const Queued& q) {
    auto begun = c.seal ? c.complete + (c.begun ? 1 : 0) : std::size_t{c.sent > 0};
    c.queue.insert(c.queue.begin() + static_cast<std::ptrdiff_t>(begun), q);
    turns_.insert(turns_.begin() + 1, &c);
    flush();
  }
  /// A peer that has taken nothing for a while does not hold up the others.
  void let_others_pass() {
    auto head = turns_.empty() ? nullptr : turns_.front();
    if (std::exchange(written_before_, written_) != written_ || !head) return;
    std::stable_partition(turns_.begin(), turns_.end(), [&](auto* c) { return c != head; });
    flush();
  }
  /// Assigns the connection to rank r.
  void adopt(Connection& c, int r) {
    c.peer = r;
    by_rank_[static_cast<std::size_t>(r)] = &c;
    if (options_.keys && !c.seal) set_keys(c, r);
  }
  void set_keys(Connection& c, int r) {
    auto& nonces = options_.nonces;
    auto me = static_cast<std::size_t>(options_.rank), other = static_cast<std::size_t>(r);
    c.seal.emplace(direction_key(options_.keys->data, options_.epoch, options_.rank, r, nonces[me], nonces[other]));
    c.open.emplace(direction_key(options_.keys->data, options_.epoch, r, options_.rank, nonces[other], nonces[me]));
  }
  void accept(Sink& sink) {
    for (int k = 0; k < kAccepts && !stopped_; ++k) {
      int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      auto error = errno;
      if (fd < 0 && (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)) {
        if (forget_oldest_stranger()) continue;
        if (!std::exchange(starved_, true))
          std::fprintf(stderr, "warning: who connects to this rank has to wait: %s\n", std::strerror(error));
        epoll_.remove(listener_.get());  // until the next tick, which avoids a busy loop
        resting_ = true;
      }
      if (fd < 0) return;
      Descriptor socket(fd);
      auto strangers =
          std::count_if(connections_.begin(), connections_.end(), [](auto& c) { return c.second->peer < 0; });
      if (static_cast<std::size_t>(strangers) >= options_.strangers) forget_oldest_stranger();
      set_options(fd, options_.patience_ms);
      leave_bbr_within_host(fd);
      auto& c = add(std::move(socket));
      auto id = c.id;
      // The kernel hides a connection until bytes have arrived: a rank is never counted as a stranger.
      read(c, sink);
      if (!c.socket && !stopped_) connections_.erase(id);
    }
  }
  bool forget_oldest_stranger() {
    auto stranger = std::find_if(connections_.begin(), connections_.end(), [](auto& c) { return c.second->peer < 0; });
    if (stranger == connections_.end()) return false;
    connections_.erase(stranger);
    return true;
  }
  /// Ends the connection. `wait`: how long its peer may go on without it before that counts as its loss: after the last
  /// collective connections close while the ranks still leave over the control plane.
  void drop(Connection& c, const std::string& why, Clock::duration wait) {
    if (c.peer >= 0) {
      by_rank_[static_cast<std::size_t>(c.peer)] = nullptr;
      std::erase(turns_, &c);
      if (awaited_ == &c) awaited_ = nullptr;
      broken_.emplace_back(Broken{c.peer, why}, Clock::now() + wait);
    }
    c.queue.clear();
    c.socket = Descriptor();
  }
  /// Writes messages in the order in which they were sent, over all connections: each member gets its chunk in its
  /// turn, and two ranks in step do not fill the switch's queue in front of a third one. True if the kernel took any
  /// bytes.
  bool flush() {
    bool any = false;
    while (!turns_.empty()) {
      auto& c = *turns_.front();
      std::size_t n = 1;
      while (n < turns_.size() && n < TcpConnection::kMessages && turns_[n] == &c) ++n;
      auto before = c.queue.size();
      auto wrote = c.write(n);
      any = any || wrote.bytes > 0;
      written_ += wrote.bytes;
      if (wrote.error != 0) {
        drop(c, std::string("was closed: ") + std::strerror(wrote.error), 1s);  // with its turns
        continue;
      }
      // Its turns need not be adjacent any more: a credit may have come between.
      auto it = turns_.begin();
      for (auto gone = before - c.queue.size(); gone > 0; --gone) it = turns_.erase(std::find(it, turns_.end(), &c));
      if (!wrote.all) break;  // the socket is full
    }
    auto head = turns_.empty() ? nullptr : turns_.front();
    if (head != awaited_) {
      if (awaited_) epoll_.change(awaited_->socket.get(), awaited_->id, EPOLLIN);
      if (head) epoll_.change(head->socket.get(), head->id, EPOLLIN | EPOLLOUT);
      awaited_ = head;
    }
    return any;
  }
  bool read(Connection& c, Sink& sink) {
    bool any = false;
    for (int k = 0; k < kReads && c.socket; ++k) {
      auto missing = c.in_body ? c.body_size - c.body_read : 0;
      iovec parts[2] = {{missing > 0 ? c.body_at + c.body_read : nullptr, missing},
                        {c.staged.data() + c.end, c.staged.size() - c.end}};
      auto asked = missing + parts[1].iov_len;
      auto n = missing > 0 ? ::readv(c.socket.get(), parts, 2)
                           : ::recv(c.socket.get(), parts[1].iov_base, parts[1].iov_len, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return any;
      if (n <= 0) {
        drop(c, n == 0 ? "was closed" : std::string("was closed: ") + std::strerror(errno), 1s);
        return true;
      }
      any = true;
      auto got = static_cast<std::size_t>(n), direct = std::min(missing, got);
      c.body_read += direct;
      c.end += got - direct;
      if (!take(c, sink)) return true;
      if (got < asked) return true;
    }
    return any;
  }
  /// Hands over all complete messages. False if the connection, or the job, has ended.
  bool take(Connection& c, Sink& sink) {
    for (;;) {
      if (!c.in_body) {
        if (c.end - c.begin < sizeof(Header)) break;
        bool whole = parse_header(c.staged.data() + c.begin, sizeof(Header), c.header);
        if (!whole || !fits(c)) {
          sink.dropped(whole && c.header.epoch != options_.epoch);
          return ends(c, "sent a message that makes no sense");
        }
        c.begin += sizeof(Header);
        c.body_size = c.header.payload();
        c.body_read = c.body_opened = 0;
        c.in_body = true;
        if (c.open) c.open->begin(c.header);
        c.body_at = c.body_size == 0 ? nullptr : sink.place(c.header);
        c.body = c.body_at ? nullptr : Pool::get(pool_, c.body_size);
        if (c.body) c.body_at = c.body.get();
      }
      auto n = std::min(c.body_size - c.body_read, c.end - c.begin);
      if (n > 0) std::memcpy(c.body_at + c.body_read, c.staged.data() + c.begin, n);
      c.body_read += n;
      c.begin += n;
      if (c.open) c.open_some();
      if (c.body_read < c.body_size || (c.open && c.end - c.begin < kTagBytes)) break;
      c.in_body = false;
      if (c.open && !c.open->end(c.staged.data() + std::exchange(c.begin, c.begin + kTagBytes))) {
        sink.dropped(false);
        return ends(c, "sent a message that is not authentic");
      }
      if (!deliver(c, sink)) return false;
    }
    // Moves the rest to the front, so that a whole header always has room.
    std::memmove(c.staged.data(), c.staged.data() + c.begin, c.end - c.begin);
    c.end -= std::exchange(c.begin, 0);
    return true;
  }
  bool ends(Connection& c, const char* why) {
    drop(c, why, 0s);
    return false;
  }
  /// Whether such a header is valid on this connection.
  bool fits(Connection& c) {
    auto& h = c.header;
    auto src = static_cast<int>(h.src);
    if (h.epoch != options_.epoch || h.dst != static_cast<std::uint32_t>(options_.rank) || h.src >= by_rank_.size() ||
        h.payload() > kMaxChunkBytes)
      return false;
    if (c.peer >= 0) return src == c.peer && h.type != MessageType::handshake;
    // The handshake: of a higher rank that has not connected before.
    if (h.type != MessageType::handshake || src <= options_.rank || by_rank_[h.src] || met_.contains(src)) return false;
    c.claimed = src;
    if (options_.keys) set_keys(c, src);
    return true;
  }
  bool deliver(Connection& c, Sink& sink) {
    auto n = c.header.payload();
    if (c.peer < 0) {
      if (!met_.insert(c.claimed).second) return ends(c, "came twice");
      adopt(c, c.claimed);
      up_(c.peer);
      return true;
    }
    Arrival a{c.header, n > 0 ? c.body_at : nullptr, {}};
    if (n > 0) a.hold = std::move(c.body);
    a.copied = true;
    sink.data(std::move(a));
    return !stopped_;
  }

  Descriptor listener_;
  TcpOptions options_;
  Up up_;
  Epoll epoll_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> by_rank_;
  std::deque<Connection*> turns_;  // the connections of queued messages in order, one entry for each message
  Connection* awaited_ = nullptr;  // the first of them, while its socket is full
  std::uint64_t written_ = 0, written_before_ = 0;  // bytes; a tick ago
  std::set<int> met_;  // higher ranks that have connected
  std::vector<std::pair<Broken, Clock::time_point>> broken_;  // and when the loss counts
  std::uint32_t last_id_ = kListener;
  // Resting: does not listen until the next tick.
  bool stopped_ = false, resting_ = false, starved_ = false;
};
}  // namespace

TcpListener listen_on_tcp(const std::string& ip) {
  TcpListener l{listen_at(ip, 0)};
  check<ConfigError>(static_cast<bool>(l.socket), "cannot listen on ", ip, ": ", std::strerror(errno));
  int seconds = 5;  // for so long the kernel hides a silent connection
  setsockopt(l.socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
  l.address = "data://" + bracketed(ip) + ":" + std::to_string(port_of(l.socket.get()));
  return l;
}
std::unique_ptr<DataPath> make_tcp_data(TcpListener l, TcpOptions o, Up up) {
  return std::make_unique<TcpData>(std::move(l), std::move(o), std::move(up));
}
}  // namespace bora::transport
