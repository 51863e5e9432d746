#include "shm_data.h"
#include <sys/socket.h>
#include <poll.h>
#include <sys/un.h>
#include <array>
#include <deque>
#include <fstream>
#include <random>
#include "bytes.h"
#include "shm_ring.h"

namespace bora::transport {
namespace {
constexpr std::uint32_t kListener = 0xffffffffu;
constexpr int kBatch = 32;  // messages taken from a ring before others have their turn

struct Address {
  sockaddr_un text{};
  socklen_t size = 0;
  explicit Address(const std::string& name) {
    text.sun_family = AF_UNIX;
    auto n = std::min(name.size(), sizeof text.sun_path - 1);
    std::memcpy(text.sun_path + 1, name.data(), n);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&text); }
};
bool same_user(int socket) {
  ucred c{};
  socklen_t n = sizeof c;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0 && c.uid == ::geteuid();
}
/// The first message of a connection, with the memory's descriptor beside it.
struct Greeting {
  std::uint32_t magic = kMagic, epoch = 0, from = 0, to = 0;
};
void greet(int socket, Greeting g, int memory) {
  iovec part{&g, sizeof g};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  auto c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
  check<TransportError>(::sendmsg(socket, &m, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof g),
                        "cannot pass shared memory to a peer: ", std::strerror(errno));
}
/// False if what has come is no greeting.
bool take_greeting(int socket, Greeting& g, Descriptor& memory) {
  iovec part{&g, sizeof g};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  auto n = ::recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (auto c = CMSG_FIRSTHDR(&m); n >= 0 && c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      memory = Descriptor(fd);  // of several the last one stays; the others are closed
    }
  }
  return n == static_cast<ssize_t>(sizeof g) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && memory &&
         g.magic == kMagic;
}

class ShmData final : public DataPath {
 public:
  ShmData(int rank, std::uint32_t epoch, ShmListener listener, std::vector<std::string> names, Up up)
      : rank_(rank),
        epoch_(epoch),
        listener_(std::move(listener)),
        names_(std::move(names)),
        up_(std::move(up)),
        peers_(names_.size()),
        readers_(new std::atomic<RingReader*>[names_.size()]{}) {
    epoll_.add(listener_.socket.get(), kListener);
  }
  void connect(int r) override {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    Address address(names_[static_cast<std::size_t>(r)]);
    check<TransportError>(::connect(socket.get(), address.get(), address.size) == 0 && same_user(socket.get()),
                          "cannot connect to rank ", r, " on this host: ", std::strerror(errno));
    auto memory = PairMemory::make();
    greet(socket.get(), {.epoch = epoch_, .from = static_cast<std::uint32_t>(rank_), .to = static_cast<std::uint32_t>(r)},
          memory->descriptor());
    add(r, std::move(socket), memory, true);
  }
  void send(int r, const Header& h, const std::byte* bytes, Owner* owner) override {
    if (stopped_) return;
    auto& p = *peers_[static_cast<std::size_t>(r)];
    if (p.queue.empty() && p.writer.put(h, bytes)) return wake_reader(p);
    Queued q{h, bytes, {}, {}};
    if (owner) q.hold = owner->pin();
    else if (h.payload() > 0) q.copy.assign(bytes, bytes + h.payload());
    p.queue.push_back(std::move(q));
    flush(p);
  }
  bool receive(Sink& sink) override {
    bool any = false;
    if (stopped_) return false;
    if (news_.exchange(false)) take_news();
    for (std::size_t r = 0; r < peers_.size() && !stopped_; ++r) {
      auto p = peers_[r].get();
      if (!p) continue;
      if (!p->queue.empty()) any = flush(*p) || any;
      try {
        RingReader::Message m;
        for (int k = 0; k < kBatch && !stopped_ && p->reader->next(m); ++k) {
          any = true;
          if (m.header.src != r || m.header.dst != static_cast<std::uint32_t>(rank_)) continue;
          if (m.hold && p->reader->crowded()) {
            std::shared_ptr<std::byte[]> copy(new std::byte[m.header.payload()]);
            std::memcpy(copy.get(), m.payload, m.header.payload());
            m.payload = copy.get();
            m.hold = std::move(copy);
          }
          sink.data({m.header, m.payload, std::move(m.hold)});
        }
      } catch (const TransportError& e) { sink.lost(static_cast<int>(r), e.what()); }
      if (!stopped_ && p->reader->must_wake()) wake(*p);
    }
    return any;
  }
  int descriptor() const override { return epoll_.get(); }
  bool ready() override {
    for (std::size_t i = 0, n = open_.load(std::memory_order_acquire); i < n; ++i)
      if (readers_[i].load(std::memory_order_relaxed)->ready()) return true;
    return false;
  }
  void asleep() override {
    news_ = true;  // whatever ends the sleep, the sockets are looked at
    for (std::size_t i = 0, n = open_.load(std::memory_order_acquire); i < n; ++i)
      readers_[i].load(std::memory_order_relaxed)->asleep();
  }
  void stop() override {
    stopped_ = true;
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
  struct Peer {
    Descriptor socket;
    RingWriter writer;
    std::shared_ptr<RingReader> reader;
    std::deque<Queued> queue = {};
  };
  void add(int r, Descriptor socket, const std::shared_ptr<PairMemory>& memory, bool maker) {
    epoll_.add(socket.get(), static_cast<std::uint32_t>(r));
    auto& p = peers_[static_cast<std::size_t>(r)];
    p.reset(new Peer{std::move(socket), RingWriter(memory, maker), std::make_shared<RingReader>(memory, maker)});
    auto n = open_.load();
    readers_[n] = p->reader.get();
    open_.store(n + 1, std::memory_order_release);
    news_ = true;
    p->reader->asleep();  // until somebody looks
  }
  /// New peers and wake-ups; the rings themselves say what has come.
  void take_news() {
    epoll_event e[32];
    int n = epoll_.wait(e, 32, 0);
    for (int i = 0; i < n; ++i) {
      if (e[i].data.u32 == kListener) {
        accept();
        continue;
      }
      auto& p = *peers_[e[i].data.u32];
      char bytes[64];
      ssize_t got = 0;
      while ((got = ::recv(p.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {}
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) epoll_.remove(p.socket.get());  // it has gone: the control plane says so
    }
  }
  void accept() {
    Descriptor socket;
    int fd = ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    socket = Descriptor(fd);
    // It has greeted before or is about to: nobody connects and then thinks about it. A stranger gets little of our time.
    pollfd ready{fd, POLLIN, 0};
    Greeting g;
    Descriptor memory;
    bool good = same_user(fd) && ::poll(&ready, 1, 200) == 1 && take_greeting(fd, g, memory) && g.epoch == epoch_ &&
                g.to == static_cast<std::uint32_t>(rank_) && g.from > g.to && g.from < peers_.size() && !peers_[g.from];
    if (!good) return;
    try {
      add(static_cast<int>(g.from), std::move(socket), PairMemory::map(std::move(memory)), false);
    } catch (const TransportError&) { return; }
    up_(static_cast<int>(g.from));
  }
  bool flush(Peer& p) {
    bool any = false;
    while (!p.queue.empty()) {
      auto& q = p.queue.front();
      if (!p.writer.put(q.header, q.hold ? q.bytes : q.copy.data())) {
        if (!p.writer.await_room()) break;
        continue;
      }
      p.queue.pop_front();
      any = true;
    }
    if (any) wake_reader(p);
    return any;
  }
  void wake_reader(Peer& p) {
    if (p.writer.must_wake()) wake(p);
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
  Epoll epoll_;
  std::vector<std::unique_ptr<Peer>> peers_;               // by rank
  std::unique_ptr<std::atomic<RingReader*>[]> readers_;    // of the peers there are, in the order they came: read without the lock
  std::atomic<std::size_t> open_{0};
  std::atomic<bool> news_{true};
  bool stopped_ = false;
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
  Address address(name);
  if (::bind(fd, address.get(), address.size) != 0 || ::listen(fd, 128) != 0) return {};
  return {std::move(socket), name};
}
std::string shm_host() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char net[64] = "";
  [[maybe_unused]] auto n = ::readlink("/proc/self/ns/net", net, sizeof net - 1);
  return boot + " " + net + " uid " + std::to_string(::geteuid());
}
std::unique_ptr<DataPath> make_shm_data(int rank, std::uint32_t epoch, ShmListener listener,
                                        std::vector<std::string> names, Up up) {
  return std::make_unique<ShmData>(rank, epoch, std::move(listener), std::move(names), std::move(up));
}
}  // namespace bora::transport
