#include "carrier/gate.h"
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include "base/api/threads.h"
#include "carrier/shm_socket.h"
#include "wire/address.h"
#include "wire/secret.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
// Indices of epoll: passage n has 2 n for its outer side and 2 n + 1 for its inner one.
constexpr std::uint32_t kListener = 0, kWakeup = 1, kFirst = 2;
constexpr auto kPatience = 6s;  // ZeroMQ's own limit, for a handshake, is 5 s
constexpr auto kPause = 100ms;  // without descriptors
constexpr auto kLastWords = 1s;
constexpr std::size_t kSignature = 10;  // bytes: 0xff, a length, 0x7f
constexpr std::size_t kGreeting = 64;   // bytes of ZMTP's greeting, which ZeroMQ sends to every peer

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", c);
    text += two;
  }
  return text;
}
bool out_of_descriptors(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }
std::string host_of(const SocketAddress& a) {
  char text[NI_MAXHOST] = "";
  getnameinfo(a.get(), a.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}
}  // namespace

Gate::Gate(Descriptor listener, Socket& inside, std::size_t strangers, std::size_t ranks, int patience_ms)
    : name_("bora-gate-" + hex(random_bytes(16))), most_(strangers + ranks), patience_ms_(patience_ms),
      listener_(std::move(listener)) {
  // Abstract names are visible to all users of a host.
  inside.set(ZMQ_IPC_FILTER_UID, static_cast<int>(::geteuid()));
  auto endpoint = "ipc://@" + name_;
  check<TransportError>(attach(zmq_bind, inside.get(), endpoint.c_str()),
                        "cannot make a gate: ", zmq_reason);
  int seconds = 5;  // for so long the kernel hides a silent connection
  setsockopt(listener_.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
  epoll_.add(listener_.get(), kListener);
  epoll_.add(wakeup_.get(), kWakeup);
  thread_ = start_thread("the gate of its port", [this] { run(); });
}
Gate::~Gate() {
  close();
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wakeup_.ring();
  thread_.join();
}
bool Gate::keep(int descriptor) {
  std::lock_guard lock(mutex_);
  UnixAddress peer("");
  peer.size = sizeof peer.text;
  if (descriptor < 0 || ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer.text), &peer.size) != 0)
    return false;
  // The name bound by connect_inner.
  std::string_view name(peer.text.sun_path + 1,
                        peer.size - std::min<std::size_t>(peer.size, offsetof(sockaddr_un, sun_path) + 1));
  if (!name.starts_with(name_ + "-")) return false;
  std::uint32_t id = 0;
  std::from_chars(name.data() + name_.size() + 1, name.data() + name.size(), id);
  auto found = passages_.find(id);
  return found != passages_.end() && (found->second.kept = true);
}
void Gate::close() {
  std::lock_guard lock(mutex_);
  listening_ = false;
  listener_ = Descriptor();
  again_ = {};
}

void Gate::run() {
  Clock::time_point end = {};
  for (std::unique_lock lock(mutex_);;) {
    if (stop_ && end == Clock::time_point{}) end = Clock::now() + kLastWords;
    if (stop_ && (passages_.empty() || Clock::now() >= end)) return;
    epoll_event e[64];
    int limit = stop_ || starved_ || again_ != Clock::time_point{} ? 20 : 500;
    lock.unlock();
    int n = epoll_.wait(e, 64, limit);
    lock.lock();
    end_old();
    bool news = false;
    for (int i = 0; i < n; ++i) {
      auto index = e[i].data.u32;
      if (index == kListener) news = true;
      if (index == kWakeup) wakeup_.clear();
      auto found = passages_.find(index / 2);
      if (index >= kFirst && found != passages_.end() && !serve(found->first, found->second)) passages_.erase(found);
    }
    if (news && listening_) accept();  // last: bytes forwarded before may show which connections are ranks'
  }
}
void Gate::end_old() {
  auto now = Clock::now();
  std::erase_if(passages_, [&](auto& p) { return !p.second.kept && now - p.second.since > kPatience; });
  if (std::exchange(starved_, false))
    for (auto it = passages_.begin(); it != passages_.end();) {
      auto& p = it->second;
      bool ready = p.inner.waiting.size() == kSignature && !p.inner.socket;
      it = ready && !serve(it->first, p) ? passages_.erase(it) : std::next(it);
    }
  if (again_ == Clock::time_point{} || now < again_) return;
  again_ = {};
  listening_ = true;
  epoll_.add(listener_.get(), kListener);
}
void Gate::accept() {
  for (int k = 0; k < kAccepts; ++k) {
    SocketAddress from;
    from.size = sizeof from.bytes;
    int fd = ::accept4(listener_.get(), from.get(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    auto error = errno;
    if (fd >= 0 && take_in(Descriptor(fd), host_of(from))) continue;
    if (fd < 0 && !out_of_descriptors(error)) return;
    if (evict()) continue;  // in favour of the new connection
    // All descriptors are the ranks' or the program's: do not poll for waiting connections.
    epoll_.remove(listener_.get());
    listening_ = false;
    again_ = Clock::now() + kPause;
    return;
  }
}
/// False if the system lacks resources for it.
bool Gate::take_in(Descriptor outer, std::string from) {
  if (passages_.size() >= most_) evict();
  int one = 1;
  setsockopt(outer.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(outer.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms_, sizeof patience_ms_);
  leave_bbr_within_host(outer.get());
  auto id = last_ = std::max(kFirst, last_ + 1);
  try {
    epoll_.add(outer.get(), 2 * id);
  } catch (const TransportError&) { return false; }
  auto p = passages_.emplace(id, Passage{.outer = {std::move(outer)}, .from = std::move(from)}).first;
  // The kernel hides a connection until bytes have arrived, so there are some to read.
  if (!serve(id, p->second)) passages_.erase(p);
  return true;
}
/// Connects to ZeroMQ once the peer has sent ZMTP's signature. False if it sent other bytes, or cannot be connected.
bool Gate::open_inner(std::uint32_t id, Passage& p) {
  auto& said = p.inner.waiting;
  char bytes[kSignature];
  auto n = ::recv(p.outer.socket.get(), bytes, kSignature - said.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  said.insert(said.end(), bytes, bytes + n);
  if (said[0] != '\xff' || (said.size() == kSignature && !(said.back() & 1))) return false;
  return said.size() < kSignature || connect_inner(id, p);
}
/// False if ZeroMQ has gone; if the system lacks resources, or ZeroMQ is busy, the connection is retried soon.
bool Gate::connect_inner(std::uint32_t id, Passage& p) {
  UnixAddress me(name_ + "-" + std::to_string(id)), inside(name_);
  Descriptor inner(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto fd = inner.get();
  if (::bind(fd, me.get(), me.size) != 0 || ::connect(fd, inside.get(), inside.size) != 0) {
    if (errno == ECONNREFUSED) return false;
    starved_ = true;
    return true;
  }
  epoll_.add(fd, 2 * id + 1);
  p.inner.socket = std::move(inner);
  return true;
}
/// Ends a stranger's connection: one of those that got least far (without the job's secret: to ZMTP's greeting), from
/// the address that has most of them. False if there is none.
bool Gate::evict() {
  std::map<std::string, int> count;
  for (auto& [id, p] : passages_)
    if (!p.kept) ++count[p.from];
  auto rank = [&](const Passage& p) {
    return std::pair{(p.inner.socket ? 0 : 1) + (p.answered <= kGreeting ? 1 : 0), count[p.from]};
  };
  // A random one of these: connections differ in how long they take to get farther.
  std::vector<Passages::iterator> worst;
  for (auto it = passages_.begin(); it != passages_.end(); ++it) {
    if (it->second.kept) continue;
    if (!worst.empty() && rank(it->second) > rank(worst[0]->second)) worst.clear();
    if (worst.empty() || rank(it->second) == rank(worst[0]->second)) worst.push_back(it);
  }
  if (worst.empty()) return false;
  passages_.erase(worst[random_() % worst.size()]);
  return true;
}
bool Gate::serve(std::uint32_t id, Passage& p) {
  std::size_t asked = 0;
  try {
    if (!p.inner.socket && !(p.inner.waiting.size() == kSignature ? connect_inner(id, p) : open_inner(id, p)))
      return false;
  } catch (const TransportError&) { starved_ = true; }
  if (!p.inner.socket) return true;
  auto both = [&] { return pass(p.outer, p.inner, asked) && pass(p.inner, p.outer, p.answered); };
  if (!both()) return both(), false;  // one side has gone: forward its last bytes, and those to it
  try {
    watch(2 * id, p.outer, p.inner.waiting.empty());
    watch(2 * id + 1, p.inner, p.outer.waiting.empty());
  } catch (const TransportError&) { return false; }
  return true;
}
/// Forwards arrived bytes; false if the connection has ended. Bytes that the other side does not take wait, and nothing
/// is read meanwhile.
bool Gate::pass(Side& from, Side& to, std::size_t& bytes) {
  auto put = [&](const char* data, std::size_t n) -> ssize_t {
    ssize_t sent = 0;
    while ((sent = ::send(to.socket.get(), data, n, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {}
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS) ? 0 : sent;
  };
  if (!to.waiting.empty()) {
    auto sent = put(to.waiting.data(), to.waiting.size());
    if (sent < 0) return false;
    to.waiting.erase(to.waiting.begin(), to.waiting.begin() + sent);
  }
  for (int k = 0; k < kReads && to.waiting.empty(); ++k) {
    auto n = ::recv(from.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    bytes += static_cast<std::size_t>(n);
    auto sent = put(buffer_.data(), static_cast<std::size_t>(n));
    if (sent < 0) return false;
    to.waiting.assign(buffer_.begin() + sent, buffer_.begin() + n);
  }
  return true;
}
void Gate::watch(std::uint32_t index, Side& side, bool reads) {
  auto events = (reads ? std::uint32_t{EPOLLIN} : 0u) | (side.waiting.empty() ? 0u : std::uint32_t{EPOLLOUT});
  if (std::exchange(side.events, events) != events) epoll_.change(side.socket.get(), index, events);
}
}  // namespace bora::transport
