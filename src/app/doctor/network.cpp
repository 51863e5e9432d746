#include "network.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include "base/api/bytes.h"
#include "bora/transport/transport.h"

namespace bora::app::doctor {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kRateNote = 110e6, kRateProblem = 10e6;        // bytes/s: below 1 Gbit/s, below 100 Mbit/s
constexpr double kTripNote = 1e-3, kTripProblem = 10e-3;        // s
constexpr double kFactorNote = 1.5, kFactorProblem = 3;         // to the fastest link
constexpr double kAgainNote = 0.001, kAgainProblem = 0.01;      // of segments
constexpr std::int64_t kFewSegments = 3;                        // sent again, which say nothing
constexpr int kHeader = 28;                                     // of IPv4 and UDP
constexpr std::size_t kMostElements = 1 << 20;                  // of a trial, 4 bytes each
constexpr int kTrips = 15;
constexpr double kEnough = 0.05;                                // s: a trial that takes so long is not made larger

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
/// The address from which packets to this host leave, IPv4; empty: unknown.
std::string own_address_towards(const std::string& host) {
  ::addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in mine{};
  ::socklen_t size = sizeof mine;
  char text[INET_ADDRSTRLEN] = "";
  if (fd >= 0 && ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(fd, reinterpret_cast<::sockaddr*>(&mine), &size) == 0)
    ::inet_ntop(AF_INET, &mine.sin_addr, text, sizeof text);
  if (fd >= 0) ::close(fd);
  ::freeaddrinfo(found);
  return text;
}
std::string interface_of(const std::string& address) {
  ::ifaddrs* all = nullptr;
  std::string name;
  if (::getifaddrs(&all) != 0) return name;
  for (auto* i = all; i; i = i->ifa_next) {
    char text[INET_ADDRSTRLEN] = "";
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
    ::inet_ntop(AF_INET, &reinterpret_cast<::sockaddr_in*>(i->ifa_addr)->sin_addr, text, sizeof text);
    if (address == text) name = i->ifa_name;
  }
  ::freeifaddrs(all);
  return name;
}
int mtu_of(const std::string& interface_name) {
  ::ifreq asked{};  // not /sys, which may show the interfaces of another network namespace
  std::strncpy(asked.ifr_name, interface_name.c_str(), sizeof asked.ifr_name - 1);
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool known = fd >= 0 && ::ioctl(fd, SIOCGIFMTU, &asked) == 0;
  if (fd >= 0) ::close(fd);
  return known ? asked.ifr_mtu : 0;
}
/// The end of a rank for packets that are not to be cut.
class Packets {
 public:
  explicit Packets(const std::string& address) {
    fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ::sockaddr_in at{};
    at.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &at.sin_addr);
    ::socklen_t size = sizeof at;
    auto* any = reinterpret_cast<::sockaddr*>(&at);
    int whole = IP_PMTUDISC_PROBE;  // neither cut nor kept back by what was learned before
    if (fd_ < 0 || ::bind(fd_, any, size) != 0 || ::getsockname(fd_, any, &size) != 0) return;
    ::setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
    port_ = ntohs(at.sin_port);
  }
  ~Packets() {
    if (fd_ >= 0) ::close(fd_);
  }
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;
  int port() const { return port_; }
  void send(const std::string& address, int port, int bytes) const {
    ::sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    const std::string packet(static_cast<std::size_t>(bytes), 'b');
    for (int i = 0; i < 3; ++i)
      [[maybe_unused]] auto sent =
          ::sendto(fd_, packet.data(), packet.size(), MSG_DONTWAIT, reinterpret_cast<::sockaddr*>(&to), sizeof to);
  }
  /// The largest packet that has arrived by now; 0: none.
  int largest() const {
    int most = 0;
    std::string packet(65536, 0);
    for (ssize_t n; fd_ >= 0 && (n = ::recv(fd_, packet.data(), packet.size(), MSG_DONTWAIT)) >= 0;)
      most = std::max(most, static_cast<int>(n));
    return most;
  }

 private:
  int fd_ = -1, port_ = 0;
};
/// What a rank says of its end.
struct End {
  std::string host, address, interface_name;
  int mtu = 0, port = 0;
  std::string packed() const {
    return ByteWriter().text(host).text(address).text(interface_name).num(mtu).num(port).take();
  }
  static End of(const std::string& bytes) {
    ByteReader u(bytes, "a report of bora doctor");
    End e{u.text(), u.text(), u.text()};
    e.mtu = u.num<int>(), e.port = u.num<int>();
    return e;
  }
};
/// The round trips and the rate between two ranks, which both call it.
std::optional<Link> try_link(transport::Context& context, int from, int to) {
  float one = 1;
  if (context.rank() == to) {
    for (std::vector<float> got;;) {
      context.receive(from, &one, 1);
      if (one == 0) return {};
      if (one > 1) got.resize(static_cast<std::size_t>(one)), context.receive(from, got.data(), std::ssize(got));
      context.send(from, &one, 1);
    }
  }
  if (context.rank() != from) return {};
  std::vector<float> bytes(kMostElements, 1);
  auto trip = [&](std::size_t n) {
    auto begin = Clock::now();
    auto size = static_cast<float>(n);
    context.send(to, &size, 1);
    if (n > 1) context.send(to, bytes.data(), static_cast<std::int64_t>(n));
    context.receive(to, &size, 1);
    return seconds_since(begin);
  };
  // The best of some: what busy hosts add is no fault of the link.
  Link link{from, to, 0, trip(1)};
  for (int i = 0; i < kTrips; ++i) link.round_trip_s = std::min(link.round_trip_s, trip(1));
  for (std::size_t n = 1 << 14;; n *= 4) {  // 64 KiB, 256 KiB, ...
    auto seconds = trip(n);
    for (int i = 0; i < 2 && seconds < kEnough; ++i) seconds = std::min(seconds, trip(n));
    link.bytes_per_s = std::max(link.bytes_per_s, 4 * static_cast<double>(n) / seconds);
    if (n >= kMostElements || seconds > kEnough) break;
  }
  one = 0;
  context.send(to, &one, 1);
  return link;
}
/// The next rank on another host; -1: there is none.
int next_host(const std::vector<std::string>& places, int rank) {
  auto n = static_cast<int>(places.size());
  for (int i = 1; i < n; ++i) {
    auto r = (rank + i) % n;
    if (places[static_cast<std::size_t>(r)] != places[static_cast<std::size_t>(rank)]) return r;
  }
  return -1;
}
void look_at_packets(transport::Context& context, const std::vector<End>& ends, const Packets& packets,
                     const std::vector<std::string>& places, const std::vector<std::string>& hosts, HostReport& to) {
  const auto& end = ends[static_cast<std::size_t>(context.rank())];
  auto next = next_host(places, context.rank());
  const auto& other = ends[static_cast<std::size_t>(std::max(next, 0))];
  for (int bytes : {64, end.mtu - kHeader})
    if (next >= 0) packets.send(other.address, other.port, bytes);
  auto until = Clock::now() + std::chrono::milliseconds(300);
  int largest = 0;
  while (Clock::now() < until) ::poll(nullptr, 0, 10), largest = std::max(largest, packets.largest());
  auto all = context.exchange(std::to_string(largest), "doctor: packets that have arrived");
  if (next < 0) return;
  auto got = std::atoi(all[static_cast<std::size_t>(next)].c_str());
  auto text = "packets of " + std::to_string(end.mtu) + " bytes on " + end.interface_name;
  if (got >= end.mtu - kHeader) return to.ok("mtu", text + " arrive at " + hosts[static_cast<std::size_t>(next)]);
  if (got > 0)
    return to.problem("mtu", text + " do not arrive at " + hosts[static_cast<std::size_t>(next)] + ", small ones do",
                      "sudo ip link set " + end.interface_name + " mtu 1500 (1400 behind a tunnel), on all hosts; or "
                      "larger ones on each switch between");
}
}  // namespace

TcpCounters tcp_counters(const std::string& root) {
  std::ifstream file(root + "/proc/net/snmp");
  std::string names, values;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Tcp:")) (names.empty() ? names : values) = line;
  std::istringstream name(names), value(values);
  TcpCounters r;
  for (std::string n, v; name >> n && value >> v;) {
    if (n == "OutSegs") r.sent = std::atoll(v.c_str());
    if (n == "RetransSegs") r.again = std::atoll(v.c_str());
  }
  return r;
}
void look_at_retransmissions(const TcpCounters& before, const TcpCounters& after, Findings& to) {
  auto again = after.again - before.again, sent = std::max<std::int64_t>(after.sent - before.sent, 1);
  auto share = static_cast<double>(again) / static_cast<double>(sent);
  auto text = std::to_string(again) + " of " + std::to_string(sent) + " segments of TCP were sent again";
  const std::string repair = "look for a bad cable, port or full switch: ethtool -S, ip -s link, tc -s qdisc";
  if (again > kFewSegments && share >= kAgainProblem) to.problem("lost", text, repair);
  else if (again > kFewSegments && share >= kAgainNote) to.note("lost", text, repair);
  else to.ok("lost", text);
}
void look_at_links(const std::vector<Link>& links, const std::vector<std::string>& hosts, Findings& to) {
  if (links.empty()) return;
  auto name = [&](const Link& l) {
    return hosts[static_cast<std::size_t>(l.from)] + " to " + hosts[static_cast<std::size_t>(l.to)];
  };
  auto [slow, fast] = std::minmax_element(links.begin(), links.end(),
                                          [](auto& a, auto& b) { return a.bytes_per_s < b.bytes_per_s; });
  auto far = std::max_element(links.begin(), links.end(),
                              [](auto& a, auto& b) { return a.round_trip_s < b.round_trip_s; });
  auto rate = [](double x) { return digits(x / 1e6) + " MB/s"; };
  auto factor = fast->bytes_per_s / slow->bytes_per_s;
  auto text = "the slowest link, " + name(*slow) + ", carries " + rate(slow->bytes_per_s);
  if (links.size() > 1) text += ", the fastest, " + name(*fast) + ", " + digits(factor) + " times as much";
  const std::string repair = "ethtool INTERFACE (speed, duplex), or another interface: transport.interface";
  if (slow->bytes_per_s < kRateProblem || factor >= kFactorProblem) to.problem("links", text, repair);
  else if (slow->bytes_per_s < kRateNote || factor >= kFactorNote) to.note("links", text, repair);
  else to.ok("links", text);
  auto trip = "a round trip takes up to " + digits(1e6 * far->round_trip_s) + " us (" + name(*far) + ")";
  const std::string nearer = "hosts in one rack or zone; without a tunnel between them";
  if (far->round_trip_s >= kTripProblem) to.problem("trips", trip, nearer);
  else if (far->round_trip_s >= kTripNote) to.note("trips", trip, nearer);
  else to.ok("trips", trip);
}
void look_at_network(transport::Context& context, const transport::Config& config,
                     const std::vector<std::string>& hosts, HostReport& to, Findings& job) {
  // Ranks of one host have one network; two hosts of one name have different addresses.
  auto root = config.root.substr(0, config.root.rfind(':'));
  if (root.starts_with('[')) root = root.substr(1, root.size() - 2);
  auto address = context.rank() == 0 ? std::string() : own_address_towards(root);
  auto addresses = context.exchange(address, "doctor: addresses");
  if (context.rank() == 0) {
    auto other = std::find_if(addresses.begin(), addresses.end(), [](auto& a) { return !a.empty(); });
    if (other != addresses.end()) address = own_address_towards(*other);
  }
  const Packets packets(address);
  const auto interface_name = interface_of(address);
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  const End mine{host, address, interface_name, mtu_of(interface_name), packets.port()};
  std::vector<End> ends;
  std::vector<std::string> places;
  for (auto& bytes : context.exchange(mine.packed(), "doctor: interfaces")) {
    ends.push_back(End::of(bytes));
    places.push_back(ends.back().address + " " + ends.back().host);
  }
  const bool known = std::all_of(ends.begin(), ends.end(), [](auto& e) { return !e.address.empty() && e.mtu > 0; });
  if (mine.mtu > 0) to.facts["mtu"] = std::to_string(mine.mtu);
  if (known) look_at_packets(context, ends, packets, places, hosts, to);
  else job.note("mtu", "whether large packets arrive was not tried: some hosts have no IPv4 address to each other",
                "ping -6 -M do -s 1452 HOST");
  const auto before = tcp_counters();
  std::string links;
  for (int r = 0; r < context.size(); ++r) {
    auto next = next_host(places, r);
    if (auto link = next < 0 ? std::nullopt : try_link(context, r, next))
      links = ByteWriter().num(link->from).num(link->to).num(link->bytes_per_s).num(link->round_trip_s).take();
    context.exchange("", "doctor: a link");  // one at a time
  }
  if (next_host(places, context.rank()) >= 0) look_at_retransmissions(before, tcp_counters(), to);
  std::vector<Link> all;
  for (auto& bytes : context.exchange(links, "doctor: links")) {
    if (bytes.empty()) continue;
    ByteReader u(bytes, "a report of bora doctor");
    Link l{u.num<int>(), u.num<int>()};
    l.bytes_per_s = u.num<double>(), l.round_trip_s = u.num<double>();
    all.push_back(l);
  }
  look_at_links(all, hosts, job);
}
}  // namespace bora::app::doctor
