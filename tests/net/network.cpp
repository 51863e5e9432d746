#include "network.h"
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace bora::net {
namespace {
constexpr std::size_t kVirtio = 10;          // bytes of the virtio header in front of a packet
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kLargest = 70000;      // a burst that the kernel would cut into packets (segmentation offload)
constexpr int kFraming = 24;                 // preamble, check sum and gap of one packet on the wire
constexpr int kHeaders = 54;                 // that the packets of a burst repeat
constexpr std::int64_t kAhead = 200'000;     // ns that the switch may be late without losing time on the wire
constexpr std::int64_t kIdle = 100'000'000;  // ns between looks for the end

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
int must(int result, const std::string& what) {
  if (result < 0) throw std::runtime_error("emulated network: " + what + ": " + std::strerror(errno));
  return result;
}
/// Runs `ip` commands in the calling thread's network.
void ip(const std::string& commands) {
  FILE* f = popen("ip -batch - >/dev/null", "w");
  bool ok = f && std::fputs(commands.c_str(), f) >= 0;
  if (!f || pclose(f) != 0 || !ok) throw std::runtime_error("emulated network: ip refuses one of:\n" + commands);
}
std::uint32_t sum16(const unsigned char* p, std::size_t n, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i + 1 < n; i += 2) sum += static_cast<std::uint32_t>(p[i] << 8 | p[i + 1]);
  return sum;
}
void put_check_sum(unsigned char* at, std::uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  at[0] = static_cast<unsigned char>(~sum >> 8);
  at[1] = static_cast<unsigned char>(~sum);
}
/// Makes a TCP data packet a reset of its connection: 20 bytes of IP, 20 of TCP, no data. False if it is none.
bool turn_into_reset(std::vector<unsigned char>& bytes, std::size_t& size) {
  auto* net = bytes.data() + kVirtio + kEthernet;
  if (size < kVirtio + kEthernet + 40 || net[-2] != 8 || net[-1] != 0 || net[0] != 0x45 || net[9] != IPPROTO_TCP)
    return false;
  auto* tcp = net + 20;
  auto length = static_cast<std::size_t>(net[2] << 8 | net[3]);
  if (length <= 20u + (tcp[12] >> 4) * 4u) return false;  // an acknowledgement alone
  std::memset(bytes.data(), 0, kVirtio);
  size = kVirtio + kEthernet + 40;
  net[2] = 0, net[3] = 40, net[10] = net[11] = 0;
  put_check_sum(net + 10, sum16(net, 20));
  tcp[12] = 5 << 4, tcp[13] = 0x14, tcp[16] = tcp[17] = 0;  // RST, ACK
  put_check_sum(tcp + 16, sum16(tcp, 20, sum16(net + 12, 8, IPPROTO_TCP + 20)));
  return true;
}
}  // namespace

std::string missing() {
  if (geteuid() != 0) return "an emulated network needs root";
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) return std::string("an emulated network needs /dev/net/tun: ") + std::strerror(errno);
  close(fd);
  if (std::system("ip -V >/dev/null 2>&1") != 0)
    return "an emulated network needs the command ip: apt-get install iproute2";
  std::string why;
  std::thread([&] {  // namespaces belong to a thread
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0)
      why = std::string("an emulated network needs network namespaces: ") + std::strerror(errno);
  })
      .join();
  return why;
}

Network::Network(int hosts, const Wire& wire) : wire_(wire) {
  for (int h = 0; h < hosts; ++h) {
    ports_.push_back(std::make_unique<Port>());
    std::string error;
    std::thread([&, h] {
      try {
        make_host(h, *ports_.back());
      } catch (const std::exception& e) { error = e.what(); }
    }).join();
    if (!error.empty()) throw std::runtime_error(error);
  }
  thread_ = std::thread([this] { run(); });
}
Network::~Network() {
  stop_ = true;
  thread_.join();
  for (auto& p : ports_)
    for (int fd : {p->tap, p->net, p->uts}) close(fd);
}
void Network::make_host(int host, Port& p) const {
  must(unshare(CLONE_NEWNET | CLONE_NEWUTS), "unshare");
  auto name = "node" + std::to_string(host);
  must(sethostname(name.data(), name.size()), "sethostname");
  auto self = "/proc/self/task/" + std::to_string(gettid()) + "/ns/";
  p.net = must(open((self + "net").c_str(), O_RDONLY | O_CLOEXEC), self + "net");
  p.uts = must(open((self + "uts").c_str(), O_RDONLY | O_CLOEXEC), self + "uts");
  p.tap = must(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq r{};
  std::strcpy(r.ifr_name, "net0");
  r.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  must(ioctl(p.tap, TUNSETIFF, &r), "TUNSETIFF");
  // Bursts go through whole, which is what makes 10 Gbit/s possible; but losing one would lose all its packets.
  if (wire_.loss_percent == 0) must(ioctl(p.tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), "TUNSETOFFLOAD");
  std::ostringstream s;
  s << "link set lo mtu 1500 up\n"  // with the default, 65536, some libraries stall for tens of milliseconds
    << "route replace local 127.0.0.0/8 dev lo table local congctl cubic\n"
    << "link set net0 mtu " << wire_.mtu << " up\n"
    << "addr add " << address(host) << "/24 dev net0\n"
    << "addr add " << address6(host) << "/64 dev net0 nodad\n"
    // Clusters use cubic; the machine's own default may be another.
    << "route replace 10.77.0.0/24 dev net0 congctl cubic\n"
    << "route replace fd77::/64 dev net0 congctl cubic\n";
  ip(s.str());
}
void Network::enter(int host) const {
  auto& p = *ports_[static_cast<std::size_t>(host)];
  must(setns(p.net, CLONE_NEWNET), "setns");
  must(setns(p.uts, CLONE_NEWUTS), "setns");
}
void Network::publish(int first) const {
  for (auto& p : ports_) {
    must(dup3(p->net, first++, O_CLOEXEC), "dup3");
    must(dup3(p->uts, first++, O_CLOEXEC), "dup3");
  }
}
void Network::cut(int host, bool sending, bool receiving) {
  ports_[static_cast<std::size_t>(host)]->mute = sending;
  ports_[static_cast<std::size_t>(host)]->deaf = receiving;
}

// ---- the switch ----
Network::PacketPtr Network::fresh() {
  if (spare_.empty()) {
    auto p = std::make_unique<Packet>();
    p->bytes.resize(kLargest);
    return p;
  }
  auto p = std::move(spare_.back());
  spare_.pop_back();
  return p;
}
/// Reads the host's packets not much earlier than the wire can carry them: waiting packets belong in the host's queues.
bool Network::read_from(Port& from, std::int64_t now) {
  bool any = false;
  while (from.up_free < now + kAhead) {
    auto p = fresh();
    auto n = read(from.tap, p->bytes.data(), kLargest);
    if (n < static_cast<ssize_t>(kVirtio + kEthernet)) {
      spare_.push_back(std::move(p));
      return any;
    }
    any = true;
    p->size = static_cast<std::size_t>(n);
    p->at = std::max(from.up_free, now);
    from.up_free = p->at + time_of(p->size);
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    bool lost = static_cast<double>(random_ >> 33) < wire_.loss_percent / 100 * 2147483648.0;
    if (from.mute || lost) drop(std::move(p));
    else from.sending.push_back(std::move(p));
  }
  return any;
}
/// Time of a packet, or of the packets of a burst, on the wire.
std::int64_t Network::time_of(std::size_t size) const {
  auto bytes = static_cast<std::int64_t>(size), whole = std::int64_t{wire_.mtu} - 40;
  auto packets = (bytes + whole - 1) / whole;
  return static_cast<std::int64_t>(static_cast<double>(bytes + packets * kFraming + (packets - 1) * kHeaders) * 8000 /
                                   wire_.mbit);
}
/// Forwards the packets whose way up has begun, in that order over all ports: their way down begins at the same time.
bool Network::forward(std::int64_t now) {
  for (bool any = false;; any = true) {
    std::size_t first = ports_.size();
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      auto& q = ports_[i]->sending;
      if (!q.empty() && q.front()->at <= now &&
          (first == ports_.size() || q.front()->at < ports_[first]->sending.front()->at))
        first = i;
    }
    if (first == ports_.size()) return any;
    auto& from = *ports_[first];
    auto p = std::move(from.sending.front());
    from.sending.pop_front();
    auto* to = p->bytes.data() + kVirtio;
    std::memcpy(from.mac, to + 6, 6);
    from.known = true;
    auto found = std::find_if(ports_.begin(), ports_.end(), [&](auto& q) {
      return q.get() != &from && q->known && std::memcmp(q->mac, to, 6) == 0;
    });
    if ((to[0] & 1) == 0 && found != ports_.end()) {
      send_to(**found, std::move(p));
      continue;
    }
    for (auto& q : ports_) {
      if (q.get() == &from) continue;
      auto copy = fresh();
      copy->size = p->size;
      copy->at = p->at;
      std::memcpy(copy->bytes.data(), p->bytes.data(), p->size);
      send_to(*q, std::move(copy));
    }
    spare_.push_back(std::move(p));
  }
}
/// Queues the packet for a host; it arrives when the wire has had time for it and all packets before it, and the delay
/// is over.
void Network::send_to(Port& to, PacketPtr p) {
  auto bytes = static_cast<std::int64_t>(p->size);
  if (to.deaf || to.queued + bytes > wire_.queue_kb * std::int64_t{1024}) return drop(std::move(p));
  if (to.reset && turn_into_reset(p->bytes, p->size)) to.reset = false;
  to.down_free = std::max(to.down_free, p->at) + time_of(p->size);
  p->at = to.down_free + wire_.delay_us * std::int64_t{1000};
  to.queued += static_cast<std::int64_t>(p->size);
  to.queue.push_back(std::move(p));
}
bool Network::deliver(Port& to, std::int64_t now) {
  bool any = false;
  while (!to.queue.empty() && to.queue.front()->at <= now) {
    auto& p = *to.queue.front();
    if (write(to.tap, p.bytes.data(), p.size) < 0 && errno == EAGAIN) break;
    to.queued -= static_cast<std::int64_t>(p.size);
    spare_.push_back(std::move(to.queue.front()));
    to.queue.pop_front();
    any = true;
  }
  return any;
}
void Network::run() {
  prctl(PR_SET_TIMERSLACK, 1);
  std::vector<pollfd> polled;
  for (auto& p : ports_) polled.push_back({p->tap, POLLIN, 0});
  while (!stop_) {
    auto now = now_ns(), next = now + kIdle;
    bool any = false;
    for (auto& p : ports_) any = read_from(*p, now) || any;
    any = forward(now) || any;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      auto& p = *ports_[i];
      any = deliver(p, now) || any;
      if (!p.queue.empty()) next = std::min(next, p.queue.front()->at);
      if (!p.sending.empty()) next = std::min(next, p.sending.front()->at);
      bool full = p.up_free >= now + kAhead;  // then it is not read from, so that it is not asked either
      if (full) next = std::min(next, p.up_free - kAhead + 1);
      polled[i].fd = full ? -1 : p.tap;
    }
    auto left = next - now_ns();
    if (any || left <= 0) continue;
    timespec t{0, std::min(left, kIdle - 1)};
    ppoll(polled.data(), polled.size(), &t, nullptr);
  }
}
}  // namespace bora::net
