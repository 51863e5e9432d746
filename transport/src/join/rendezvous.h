// rendezvous.h -- how ranks find each other. Rank 0 listens at config.root (rendezvous_root.cpp); the others send it a
// handshake with their names and addresses (rendezvous_member.cpp); when all have arrived, or at the timeout, it sends
// all of them one verdict.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "carrier/net_link.h"
#include "control/handshake.h"
#include "engine/engine.h"
#include "wire/address.h"

namespace bora::transport {
/// In place of an address: how far data may go over MPI, which does not encrypt it.
inline constexpr const char *kMpiAnywhere = "mpi:anywhere", *kMpiHere = "mpi:here";

/// "bool u8 i32 ...": the dtypes that reduce_in_order takes in this build.
std::string reduced_dtypes();

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Called while ranks are missing; a text that is not empty ends run() with RankLost of it.
  void ask(std::function<std::string()> given_up) { given_up_ = std::move(given_up); }
  /// Returns when the job is complete. JoinTimeout, ConfigError, RankLost.
  virtual void run() = 0;
  Joined take() { return std::move(j_); }
  EngineOptions options() const;
  /// The key of the job's links in the cache of costs, on rank 0; empty: they have none.
  const std::string& links() const { return links_; }

 protected:
  using Seconds = std::chrono::duration<double>;
  /// Opens this rank's sockets. ConfigError.
  Rendezvous(const Config&, std::size_t strangers);
  double elapsed() const { return Seconds(Clock::now() - start_).count(); }
  void wait_for_news();
  int control_patience_ms() const { return std::max(10000, j_.silence_ms); }
  bool shares_memory(const std::string& shm_host) const { return !shm_host.empty() && shm_host == me_.shm_host; }
  void add(const Welcome::Rank&);

  Config c_;
  Clock::time_point start_;
  Address root_;
  Joined j_;
  Handshake me_;
  std::vector<std::string> places_;  // by rank, the same text on one host
  Tuning tuning_;
  std::string links_;

 private:
  void listen_with_zmq(const std::string& ip);
  std::function<std::string()> given_up_ = {};
  std::string zmq_address_;  // of data, with BORA_CARRIER=zmq
};
/// `strangers`: how many of their connections may be open on each port.
std::unique_ptr<Rendezvous> make_root_rendezvous(const Config&, std::size_t strangers);
std::unique_ptr<Rendezvous> make_member_rendezvous(const Config&, std::size_t strangers);
}  // namespace bora::transport
