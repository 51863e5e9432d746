// data_path.h -- carries data messages to some of the peers. One implementation for each medium (tcp_data.cpp,
// zmq_data.cpp, shm_data.cpp, mpi/data.cpp); net_link.cpp chooses one for each pair, beside the control plane.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "wire/link.h"

namespace bora::transport {
/// A rank whose connection broke, and how.
struct Broken {
  int rank = -1;
  std::string how = {};  // follows "its data connection with rank 3 "
};
/// All calls but ready and asleep are made under the engine's lock.
class DataPath {
 public:
  virtual ~DataPath() = default;
  /// Called by the higher rank of a pair, once; `Up` tells the lower one.
  virtual void connect(int peer) = 0;
  virtual void send(int peer, const Header&, const std::byte* bytes, PayloadOwner*) = 0;
  virtual bool receive(Sink&) = 0;
  virtual int descriptor() const = 0;    // readable when data may have arrived for a sleeping thread
  virtual bool ready() { return true; }  // whether data may have arrived; cheap, asked of memory only
  // A thread is about to wait for the descriptor, which must become readable from now on.
  virtual void asleep() {}
  // Messages wait to be sent, which receive does.
  virtual bool sending() const { return false; }
  virtual void stop() = 0;             // the job is lost: no buffer is read any more
  /// Connections that broke a while ago: if their ranks live, waits for their data would never end. Called about ten
  /// times a second.
  virtual std::vector<Broken> broken(Clock::time_point) { return {}; }
};
/// A higher rank has connected: from now on messages to it can be sent.
using Up = std::function<void(int peer)>;
}  // namespace bora::transport
