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
/// The results of joining a job.
struct Joined {
  // Sockets of rank 0's root port; of the data port with BORA_CARRIER=zmq. Outlive the context.
  std::unique_ptr<Gate> gate, data_gate;
  std::size_t strangers = 64;  // open at a time on each port
  int silence_ms = 0;          // that a rank may have: the kernel's own patience with a connection is no less
  ZmqContext context;
  std::optional<JobKeys> keys;
  std::unique_ptr<Authenticator> authenticator;
  TcpListener tcp;            // for data between hosts, or
  Socket data, data_monitor;  // with BORA_CARRIER=zmq: a ROUTER, or
  std::optional<MpiOptions> mpi;
  ControlSockets control;
  ShmListener shm;
  std::uint32_t epoch = 0;
  std::vector<std::string> who, addresses, nonces;  // by rank
  std::vector<std::string> shm_names;       // by rank; empty: not on this host, or not wanted
};
std::unique_ptr<Link> make_net_link(const ControlOptions&, Joined);
}  // namespace bora::transport
