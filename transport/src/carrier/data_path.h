// data_path.h -- what carries data messages to some of the peers. One implementation a medium (tcp_data.cpp, zmq_data.cpp, shm_data.cpp, mpi/data.cpp); net_link.cpp
// chooses one for each pair and puts the control plane beside them.
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
  std::string how = {};  // behind "its data connection with rank 3 "
};
/// All calls but ready and asleep are made under the engine's lock.
class DataPath {
 public:
  virtual ~DataPath() = default;
  /// Called by the higher rank of a pair, once; the lower one learns of it through `Up`.
  virtual void connect(int peer) = 0;
  virtual void send(int peer, const Header&, const std::byte* bytes, Owner*) = 0;
  virtual bool receive(Sink&) = 0;
  virtual int descriptor() const = 0;  // readable when something may have arrived for a sleeper
  virtual bool ready() { return true; }  // may anything have arrived? Cheap; asked of memory only
  virtual void asleep() {}               // somebody is about to wait for the descriptor: it must become readable from now on
  virtual bool sending() const { return false; }  // something has yet to leave, which it does while somebody calls receive
  virtual void stop() = 0;             // the job is lost: no buffer is read any more
  /// Connections that broke a while ago: if their ranks live, a wait for their data would have no end. About ten times a second.
  virtual std::vector<Broken> broken(Clock::time_point) { return {}; }
};
/// A higher rank has connected: from now on messages to it can be sent.
using Up = std::function<void(int peer)>;
}  // namespace bora::transport
