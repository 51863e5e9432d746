#include "wire/address.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>
#include "base/api/reason.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr std::string_view kInterface = "transport.interface (BORA_INTERFACE): ";
std::string ip_of(const sockaddr* a, socklen_t size) {
  char text[NI_MAXHOST] = "";
  getnameinfo(a, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);  // with the scope of a link-local address
  return text;
}
std::string ip_of(const sockaddr* a) {
  return ip_of(a, a->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
}
bool is_ipv6(const std::string& ip) { return ip.find(':') != std::string::npos; }
/// IPv4 if there is such an address, else IPv6. 0 or the error of getaddrinfo.
int find(const std::string& host, std::string& ip) {
  int error = 0;
  for (int family : {AF_INET, AF_INET6}) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    int e = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (e != 0) {
      if (error == 0) error = e;
      continue;
    }
    ip = ip_of(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
  }
  return error;
}
const unsigned char* address_bytes(const sockaddr* a) {
  return a->sa_family == AF_INET6
             ? reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr.s6_addr
             : reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(a)->sin_addr);
}
/// An address or a network: its bytes and how many bits count.
struct Network {
  unsigned char bytes[16] = {};
  int bits = -1;  // -1: it is neither
};
Network network(const std::string& word, int family) {
  Network n;
  auto slash = word.find('/');
  int all = family == AF_INET6 ? 128 : 32, bits = all;
  if (inet_pton(family, word.substr(0, slash).c_str(), n.bytes) != 1) return n;
  if (slash != std::string::npos) {
    auto [end, error] = std::from_chars(word.data() + slash + 1, word.data() + word.size(), bits);
    check<ConfigError>(error == std::errc{} && end == word.data() + word.size() && bits >= 0 && bits <= all,
                       kInterface, "'", word, "' is no network: behind the / there must be a number from 0 to ", all);
  }
  n.bits = bits;
  return n;
}
bool is_in(const std::string& word, const sockaddr* a) {
  auto n = network(word, a->sa_family);
  auto own = address_bytes(a);
  for (int bit = 0; bit < n.bits; ++bit)
    if ((n.bytes[bit / 8] ^ own[bit / 8]) & (0x80 >> bit % 8)) return false;
  return n.bits >= 0;
}
}  // namespace

std::string bracketed(const std::string& ip) { return is_ipv6(ip) ? "[" + ip + "]" : ip; }
bool is_loopback(const std::string& ip) { return ip.starts_with("127.") || ip == "::1"; }
std::string Address::text() const { return bracketed(host) + ":" + port; }
std::string Address::endpoint() const { return "tcp://" + bracketed(ip) + ":" + port; }

Address resolve(const Config& c, Clock::time_point start) {
  auto& text = c.root;
  auto colon = text.rfind(':');
  check<ConfigError>(colon != std::string::npos && colon > 0, "root: expected host:port, got '", text, "'");
  Address a{text.substr(0, colon), text.substr(colon + 1), {}};
  if (a.host.size() > 2 && a.host.front() == '[' && a.host.back() == ']') a.host = a.host.substr(1, a.host.size() - 2);
  else
    check<ConfigError>(!is_ipv6(a.host), "root: an IPv6 address stands in brackets, [", a.host, "]:", a.port, "; got '",
                       text, "'");
  int port = 0;
  auto [end, error] = std::from_chars(a.port.data(), a.port.data() + a.port.size(), port);
  check<ConfigError>(error == std::errc{} && end == a.port.data() + a.port.size() && port > 0 && port < 65536,
                     "root: '", a.port, "' in '", text, "' is not a port");
  int e = find(a.host, a.ip);
  while (e != 0 && c.root_may_lag && std::chrono::duration<double>(Clock::now() - start).count() < c.join_timeout_s) {
    std::this_thread::sleep_for(500ms);
    e = find(a.host, a.ip);
  }
  check<ConfigError>(e == 0, "root: cannot find host '", a.host, "': ", gai_strerror(e));
  return a;
}
std::string own_address(const Address& root, const std::string& interfaces) {
  int family = is_ipv6(root.ip) ? AF_INET6 : AF_INET;
  if (!interfaces.empty()) {
    bool others = interfaces.front() == '^';
    std::vector<std::string> words;
    std::istringstream list(interfaces.substr(others));
    for (std::string word; std::getline(list, word, ',');) words.push_back(word);
    ifaddrs* found = nullptr;
    check<ConfigError>(getifaddrs(&found) == 0, "cannot list network interfaces: ", system_reason);
    std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
    std::string names, ip;
    for (auto* i = all.get(); i; i = i->ifa_next) {
      if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP)) continue;
      names += (names.empty() ? "" : ", ") + std::string(i->ifa_name);
      bool named =
          std::any_of(words.begin(), words.end(), [&](auto& w) { return w == i->ifa_name || is_in(w, i->ifa_addr); });
      if (named != others && !(others && is_loopback(ip_of(i->ifa_addr))) && (ip.empty() || ip.starts_with("fe80:")))
        ip = ip_of(i->ifa_addr);
    }
    check<ConfigError>(!ip.empty(), kInterface, "no network interface '", interfaces, "' with an ",
                       family == AF_INET6 ? "IPv6" : "IPv4", " address; there are: ", names);
    return ip;
  }
  auto to = socket_address(root.ip, 9);
  SocketAddress mine;
  mine.size = sizeof mine.bytes;
  int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool ok = fd >= 0 && connect(fd, to.get(), to.size) == 0 && getsockname(fd, mine.get(), &mine.size) == 0;
  int e = errno;
  if (fd >= 0) close(fd);
  check<ConfigError>(ok, "root: no route to ", root.host, ": ", std::strerror(e));
  return ip_of(mine.get());
}
SocketAddress socket_address(const std::string& ip, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  int e = getaddrinfo(ip.c_str(), std::to_string(port).c_str(), &hints, &found);
  check<TransportError>(e == 0, "'", ip, "' is not an address: ", gai_strerror(e));
  SocketAddress a;
  std::memcpy(&a.bytes, found->ai_addr, found->ai_addrlen);
  a.size = found->ai_addrlen;
  freeaddrinfo(found);
  return a;
}
Descriptor listen_at(const std::string& ip, int port) {
  auto at = socket_address(ip, port);
  int fd = ::socket(at.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
  if (fd < 0) return {};
  Descriptor socket(fd);
  if (port != 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd, at.get(), at.size) == 0 && ::listen(fd, kBacklog) == 0) return socket;
  auto why = errno;
  socket = Descriptor();
  errno = why;
  return {};
}
int port_of(int socket) {
  SocketAddress at;
  at.size = sizeof at.bytes;
  if (::getsockname(socket, at.get(), &at.size) != 0) return 0;
  return ntohs(at.bytes.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at.bytes).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(at.bytes).sin_port);
}
void leave_bbr(int socket) {
  for (const char* name : {"cubic", "reno"})
    if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, static_cast<socklen_t>(std::strlen(name))) == 0) return;
}
void leave_bbr_within_host(int socket) {
  SocketAddress a, b;
  a.size = b.size = sizeof a.bytes;
  if (getsockname(socket, a.get(), &a.size) != 0 || getpeername(socket, b.get(), &b.size) != 0) return;
  bool ip = a.bytes.ss_family == AF_INET || a.bytes.ss_family == AF_INET6;
  if (ip && ip_of(a.get()) == ip_of(b.get())) leave_bbr(socket);
}
}  // namespace bora::transport
