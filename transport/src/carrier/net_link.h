// net_link.h -- the Link between processes: the control plane, and for each pair of ranks one way for data.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "carrier/mpi_data.h"
#include "carrier/shm_data.h"
#include "carrier/tcp_data.h"
#include "carrier/zmq_data.h"
#include "control/control_plane.h"
#include "wire/authenticator.h"
#include "wire/link.h"

namespace bora::transport {
/// What joining a job leaves behind.
struct Joined {
  std::unique_ptr<Gate> gate, data_gate;  // rank 0: of the root's port; with BORA_CARRIER=zmq: of that of data. Longer than the context
  std::size_t strangers = 64;             // at a time on each port
  ZmqContext context;
  std::optional<JobKeys> keys;
  std::unique_ptr<Authenticator> authenticator;
  TcpListener tcp;            // for data between hosts, or with BORA_CARRIER=zmq
  Socket data, data_monitor;  // a ROUTER instead, or
  std::optional<MpiOptions> mpi;
  ControlSockets control;
  ShmListener shm;
  std::uint32_t epoch = 0;
  std::vector<std::string> who, addresses, nonces;  // by rank
  std::vector<std::string> shm_names;       // by rank; empty: not on this host, or not wanted
};
std::unique_ptr<Link> make_net_link(const ControlOptions&, Joined);
}  // namespace bora::transport
