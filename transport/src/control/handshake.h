// handshake.h -- what ranks and rank 0 tell each other until all have met.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "wire/header.h"

namespace bora::transport {
/// First byte of a message.
enum class JoinMessage : std::uint8_t { handshake = 200, missing, accepted, refused };

/// What a rank says about itself.
struct Handshake {
  std::uint32_t protocol = kProtocol;
  std::int32_t rank = 0, size = 1, pid = 0;  // up to here the same in every protocol, so that one verdict can name all
  std::string job = {}, build = {}, host = {}, machine = {}, address = {};  // machine: this boot of this host
  std::string nonce = {};                   // random bytes, for the keys of data connections
  std::string shm_host = {}, shm_name = {}; // empty: shared memory is not wanted, or not to be had
  std::string dtypes = {};                  // that it can reduce
  std::string part = {};                    // host_id|network namespace: of the machine, what counts as a host of its own
  std::string bytes() const;
  std::string place() const { return machine + "/" + part; }
  std::string who() const;  // "rank 3 (host b, pid 812)"
};
/// Nothing if it is not a handshake. Of another protocol only the numbers are read.
std::optional<Handshake> read_handshake(std::string_view message);

/// What every rank learns of all when they have met.
struct Welcome {
  struct Rank {
    std::string who = {}, place = {}, address = {}, nonce = {}, shm_host = {}, shm_name = {};
  };
  std::uint32_t epoch = 0;
  std::vector<Rank> ranks = {};
  std::string tuning = {};  // as Tuning::bytes
  std::string bytes() const;
};
/// What rank 0 has said: one of these, or nothing that is known.
struct Answer {
  std::string absent = {};              // who is still missing
  std::optional<std::string> refused = {};
  bool final = false;                   // refused for what this rank is, not for who did not come
  std::optional<Welcome> welcome = {};
};
/// Throws TransportError if it ends too early.
Answer read_answer(std::string_view message, int size);
}  // namespace bora::transport
