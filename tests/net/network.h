// network.h -- an emulated Ethernet of several hosts on one machine, for tests and measurements: each host is a network
// namespace with one TAP interface, and a thread here is the switch between them: rates, delays, queues, lost packets,
// cut cables, injected resets. Needs root, /dev/net/tun and the commands of iproute2. The kernel's own emulation (tc
// netem) is missing from many kernels.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bora::net {
struct Wire {
  double mbit = 1000;        // of every port, each way
  int delay_us = 100;        // one way
  double loss_percent = 0;   // of packets, drawn from a fixed sequence; above 0, packets are never larger than the MTU
  int queue_kb = 1024;       // in front of every host
  int mtu = 1500;
};
/// Why there can be no emulated network here and what to do; empty: there can.
std::string missing();

/// Hosts 0, 1, ... with the addresses 10.77.0.1, ... and fd77::1, ...; up when the constructor returns, gone with the
/// destructor. Throws std::runtime_error.
class Network {
 public:
  Network(int hosts, const Wire&);
  ~Network();
  int size() const { return static_cast<int>(ports_.size()); }
  static std::string address(int host) { return "10.77.0." + std::to_string(host + 1); }
  static std::string address6(int host) { return "fd77::" + std::to_string(host + 1); }
  /// This thread becomes one of the host's: its network and its name, node0, node1, ... For the child of a fork, before
  /// exec.
  void enter(int host) const;
  /// Descriptors first + 2 h and first + 2 h + 1 of this process become host h's network and name, for processes that
  /// are to enter it later.
  void publish(int first) const;
  /// From now on no packet from or to the host arrives; false: packets arrive again.
  void cut(int host, bool sending, bool receiving);
  /// The next TCP data packet to the host (IPv4) arrives as a reset of its connection.
  void reset_a_connection(int host) { ports_[static_cast<std::size_t>(host)]->reset = true; }
  /// Packets that the switch has dropped: lost, too many for a queue, or into a cut cable.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Packet {
    std::int64_t at = 0;  // ns: when its way up begins; then: when it has arrived
    std::size_t size = 0;
    std::vector<unsigned char> bytes;
  };
  using PacketPtr = std::unique_ptr<Packet>;
  struct Port {
    int tap = -1, net = -1, uts = -1;
    unsigned char mac[6] = {};
    bool known = false;  // the mac
    std::int64_t up_free = 0, down_free = 0;
    std::int64_t queued = 0;  // bytes
    std::deque<PacketPtr> sending = {};  // on the way up
    std::deque<PacketPtr> queue = {};    // on the way down
    std::atomic<bool> mute{false}, deaf{false}, reset{false};
  };
  void make_host(int host, Port&) const;
  void run();
  bool read_from(Port&, std::int64_t now);
  bool forward(std::int64_t now);
  void send_to(Port&, PacketPtr);
  bool deliver(Port&, std::int64_t now);
  PacketPtr fresh();
  std::int64_t time_of(std::size_t size) const;
  void drop(PacketPtr p) { ++dropped_, spare_.push_back(std::move(p)); }

  Wire wire_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<PacketPtr> spare_;
  std::uint64_t random_ = 12345;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};
}  // namespace bora::net
