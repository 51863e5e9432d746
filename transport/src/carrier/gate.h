// gate.h -- a proxy in front of a ZeroMQ socket. ZeroMQ accepts connections until no descriptors are left; the gate
// accepts for it, limits the number and the age of unknown connections, and forwards bytes through a unix socket.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include "wire/descriptor.h"
#include "wire/link.h"
#include "wire/zmq_socket.h"

namespace bora::transport {
class Gate {
 public:
  /// Forwards connections to `listener` (which listens) to `inside`, a ROUTER that must not be reachable otherwise: it
  /// is bound here. At most `strangers` connections are open besides one for each of the `ranks` that come here: ranks
  /// that come all at once do not displace each other. None that is not kept is open longer than a few seconds.
  /// patience_ms: that the kernel tries to send. TransportError.
  Gate(Descriptor listener, Socket& inside, std::size_t strangers, std::size_t ranks, int patience_ms);
  /// To be called after `inside` and its context have been closed: their last messages are still forwarded.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  /// The connection on which ZeroMQ received a message, given by its descriptor (Frame::connection), is a rank's: the
  /// gate does not end it any more. False if it has done so already.
  bool keep(int descriptor);
  /// Accepts no more connections.
  void close();

 private:
  struct Side {
    Descriptor socket;
    std::vector<char> waiting = {};  // bytes for this side, which takes none now
    std::uint32_t events = EPOLLIN;
  };
  struct Passage {
    Side outer = {}, inner = {};  // inner: once ZMTP's signature has arrived
    Clock::time_point since = Clock::now();
    std::string from = {};     // address, without port
    std::size_t answered = 0;  // bytes that ZeroMQ sent
    bool kept = false;
  };
  using Passages = std::map<std::uint32_t, Passage>;
  void run();
  void accept();
  bool take_in(Descriptor outer, std::string from);
  bool open_inner(std::uint32_t id, Passage&);
  bool connect_inner(std::uint32_t id, Passage&);
  bool evict();
  void end_old();
  bool serve(std::uint32_t id, Passage&);
  bool pass(Side& from, Side& to, std::size_t& bytes);
  void watch(std::uint32_t index, Side& reads, bool wanted);

  std::string name_;  // of the unix socket, without the leading zero
  std::size_t most_;  // open connections, except that none that is kept is ended for it
  int patience_ms_;
  Descriptor listener_;
  Epoll epoll_;
  Event wakeup_;
  Passages passages_;
  std::uint32_t last_ = 0;
  std::minstd_rand random_{std::random_device{}()};
  bool listening_ = true, starved_ = false;  // starved: of resources for an inner side
  Clock::time_point again_ = {};             // when to listen again, after a lack of descriptors
  std::vector<char> buffer_ = std::vector<char>(64 << 10);
  std::mutex mutex_;  // the thread releases it while it waits for events
  bool stop_ = false;
  std::thread thread_;
};
}  // namespace bora::transport
