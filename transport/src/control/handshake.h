// handshake.h -- messages between rank 0 and the others until all ranks have arrived.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "wire/header.h"

namespace bora::transport {
/// First byte of a message.
enum class JoinMessage : std::uint8_t { handshake = 200, missing, accepted, refused, again };

/// A rank's description of itself.
struct Handshake {
  std::uint32_t protocol = kProtocol;
  std::int32_t rank = 0, size = 1, pid = 0;  // up to here the same in every protocol, so that one verdict can name all
  std::string job = {}, build = {}, host = {}, machine = {}, address = {};  // machine: this boot of this host
  std::string nonce = {};  // random bytes of this process: for the keys of data connections, and to recognize it
  std::string shm_host = {}, shm_name = {};  // empty: shared memory is unwanted or unavailable
  std::string dtypes = {};                   // that this rank can reduce
  // host_id|network namespace: ranks of one machine with different parts count as on different hosts.
  std::string part = {};
  std::string bytes() const;
  std::string place() const { return machine + "/" + part; }
  std::string who() const;  // "rank 3 (host b, pid 812)"
  /// Of one process, which sends its handshake on every connection that it makes.
  bool same_process(const Handshake& h) const { return protocol == h.protocol && pid == h.pid && nonce == h.nonce; }
};
bool is_handshake(std::string_view message);
/// nullopt if it is not a handshake. Of another protocol's only the numbers are read.
std::optional<Handshake> read_handshake(std::string_view message);

/// Rank 0's message to every rank when all have arrived.
struct Welcome {
  struct Rank {
    std::string who = {}, place = {}, address = {}, nonce = {}, shm_host = {}, shm_name = {};
  };
  std::uint32_t epoch = 0;
  std::vector<Rank> ranks = {};
  std::string tuning = {};  // as Tuning::bytes
  std::string bytes() const;
};
/// An answer of rank 0: one of these, or none if the message is unknown.
struct Answer {
  std::string absent = {};  // the missing ranks
  std::optional<std::string> refused = {};
  // Refused for this rank's own properties, not for missing ranks.
  bool final = false;
  bool again = false;  // rank 0 wants the handshake once more
  std::optional<Welcome> welcome = {};
};
/// Throws TransportError if it ends too early.
Answer read_answer(std::string_view message, int size);
}  // namespace bora::transport
