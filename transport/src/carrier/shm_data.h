// shm_data.h -- data between processes of one host: rings in shared memory, and a unix socket for each pair that passes
// the memory's descriptor, wakes a sleeper, and is checked for the peer's user.
#pragma once
#include <string>
#include <vector>
#include "carrier/data_path.h"
#include "wire/descriptor.h"

namespace bora::transport {
/// The place at which a rank listens for its peers of the same host: an abstract unix socket with a random name.
struct ShmListener {
  Descriptor socket;
  std::string name;  // without the leading zero
};
/// No name if the kernel refuses.
ShmListener listen_for_shm();
/// Two ranks with equal texts can share memory: boot, network namespace (of abstract sockets) and user.
std::string shm_host();
/// The host's identity since its start; empty if the system has none. Throws TransportError if it cannot be read now.
std::string boot_id();
std::string network_namespace();
/// Called when a lower rank given to `connect` cannot share memory, with the reason: that rank waits for data on
/// another path.
using Without = std::function<void(int peer, const std::string& why)>;
/// `names`: each rank's socket. Up is called on both sides of a pair.
std::unique_ptr<DataPath> make_shm_data(int rank, std::uint32_t epoch, ShmListener, std::vector<std::string> names, Up,
                                        Without);
}  // namespace bora::transport
