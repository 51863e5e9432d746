// zmq_link.h -- ZeroMQ tcp. Control plane: a star around rank 0. Data plane: every rank binds one ROUTER, and of each pair that is used the
// higher rank connects a DEALER to the lower one's ROUTER.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "judge.h"
#include "link.h"
#include "zmq_socket.h"

namespace bora::transport {
/// What joining a job leaves behind.
struct Joined {
  std::unique_ptr<ZmqContext> context = std::make_unique<ZmqContext>();
  Socket data, data_monitor;        // ROUTER
  Socket control, control_monitor;  // ROUTER on rank 0, else a DEALER to it
  std::uint32_t epoch = 0;
  std::vector<std::string> who, addresses;  // by rank
  std::vector<std::string> ids;             // rank 0: the control connections' routing ids, by rank
  std::map<int, int> connections;           // rank 0: descriptor -> rank
};
/// Sets the options of a data socket.
void set_data_options(Socket&);
/// One event of a monitor: ZMQ_EVENT_* and the descriptor. Also moves new connections within this host off BBR, which costs loopback 2-5x.
struct ConnectionEvent {
  int event = 0, descriptor = -1;
};
std::optional<ConnectionEvent> next_event(Socket& monitor);
/// The message types of joining, beside Control: rank -> root and back.
enum class JoinMessage : std::uint8_t { hello = 200, missing, accepted, refused };

struct ZmqLinkOptions {
  int rank = 0, size = 1;
  double heartbeat_s = 1, suspect_s = 3, dead_s = 10;
};
std::unique_ptr<Link> make_zmq_link(const ZmqLinkOptions&, Joined);
}  // namespace bora::transport
