// control_plane.h -- the control plane: ZeroMQ connections of all ranks with rank 0, heartbeats on them, and the
// coordinator beside rank 0.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "control/coordinator.h"
#include "wire/descriptor.h"
#include "wire/zmq_socket.h"

namespace bora::transport {
struct ControlOptions {
  int rank = 0, size = 1;
  double heartbeat_s = 1, suspect_s = 3, dead_s = 10;
  std::function<bool(int rank)> misses = {};  // Witness
};
/// The sockets that joining opened for the control plane.
struct ControlSockets {
  Socket socket, monitor;          // ROUTER on rank 0, else a DEALER to it
  std::vector<std::string> ids;    // rank 0: the connections' routing ids, by rank
  std::map<int, int> connections;  // rank 0: descriptor -> rank
  bool closed = false;             // the others: rank 0 has gone since it accepted this rank
};
/// One event of a monitor: ZMQ_EVENT_* and the descriptor. next_event also switches new connections within this host
/// off BBR, which makes loopback 2-5x slower.
struct ConnectionEvent {
  int event = 0, descriptor = -1;
};
std::optional<ConnectionEvent> next_event(Socket& monitor);
bool failed_handshake(int event);

/// Used under the engine's lock, except descriptor().
class ControlPlane {
 public:
  /// `wake` is called when the coordinator has a message for rank 0 itself.
  ControlPlane(const ControlOptions&, ControlSockets, std::vector<std::string> who, std::function<void()> wake);
  ~ControlPlane();
  void to_coordinator(std::string message);
  bool receive(Sink&);
  void tick(Clock::time_point now, Sink&);
  int descriptor() const { return epoll_.get(); }
  const std::string& who(int rank) const { return who_[static_cast<std::size_t>(rank)]; }

 private:
  bool hears(int r) const { return options_.rank == 0 ? !coordinator_->left(r) : r == 0; }
  void send(int r, const std::string& message);
  void from_coordinator(int r, std::string message);
  void gone(int r, const std::string& how, Sink&);
  void refuse(const std::string& id, Frame& f);

  ControlOptions options_;
  ControlSockets s_;
  std::vector<std::string> who_;
  std::function<void()> wake_;
  Epoll epoll_;
  bool dirty_ = true;
  std::optional<Coordinator> coordinator_;
  std::vector<std::string> self_;  // from the coordinator to rank 0
  bool receiving_ = false;         // inside of receive(), which hands these over at its end
  std::vector<Clock::time_point> heard_;
  std::vector<bool> suspected_;
  Clock::time_point last_tick_ = Clock::now(), last_ping_ = {};
};
}  // namespace bora::transport
