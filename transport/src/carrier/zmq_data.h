// zmq_data.h -- data over ZeroMQ tcp (BORA_CARRIER=zmq): every rank binds one ROUTER, and of each pair in use the
// higher rank connects a DEALER to the lower one's ROUTER.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "carrier/data_path.h"
#include "carrier/gate.h"
#include "wire/descriptor.h"
#include "wire/secret.h"
#include "wire/zmq_socket.h"

namespace bora::transport {
/// Sets the options of a data socket.
void set_data_options(Socket&, int silence_ms = 0);

class ZmqData final : public DataPath {
 public:
  struct Options {
    int rank = 0;
    std::uint32_t epoch = 0;
    std::vector<std::string> addresses = {};  // by rank
    std::optional<JobKeys> keys = {};
    Gate* gate = nullptr;  // in front of the ROUTER
    int silence_ms = 0;    // as in Joined
  };
  ZmqData(ZmqContext, Socket router, Socket monitor, Options, Up);
  ~ZmqData() override { stop(); }
  void connect(int peer) override;
  void send(int peer, const Header&, const std::byte* bytes, PayloadOwner*) override;
  bool receive(Sink&) override;
  int descriptor() const override { return epoll_.get(); }
  void stop() override;
  std::vector<Broken> broken(Clock::time_point now) override;

 private:
  struct Peer {
    bool dirty = false;
    std::string id;          // of a higher rank
    Socket dealer, monitor;  // to a lower rank
    bool up = false;         // its handshake has succeeded
    Clock::time_point since = {}, broken = {};
  };
  Peer& peer(int r) { return peers_[static_cast<std::size_t>(r)]; }
  bool drain(int index, Socket&, bool& dirty, Sink&);
  bool take(int index, Socket&, Sink&);
  void look(Peer&);
  void close(Socket&, Socket& monitor);

  ZmqContext context_;
  Options options_;
  Up up_;
  Socket router_, router_monitor_;
  Epoll epoll_;
  std::vector<Peer> peers_;
  bool router_dirty_ = true, stopped_ = false;
};
}  // namespace bora::transport
