// messages.h -- the messages between a launcher and its agent on another machine: a type, a length, fields, and the end
// of a line, since srun passes on whole lines only. Private.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include "base/api/bytes.h"

namespace bora::launch {
// Separates the agent's messages from output of a login shell. The number changes with the message format.
inline constexpr std::string_view kGreeting = "\nbora agent 6\n";
inline constexpr std::size_t kMostBytes = 1 << 20;  // of a message
enum class Message : char {
  handshake = 'H',
  job = 'J',
  failed = 'F',
  printed = 'P',
  ended = 'E',
  signal_all = 'S',
  end_all = 'K',
  alive = 'A',  // both ways
  end_silent = 'Q',
  // From a rank of an elastic job to its launcher:
  left = 'L',     // it has left its generation, and waits for a rank in the next one
  reached = 'T',  // a step
  // Both ways: the ground on which the ranks of the job stand (job/ground.h). A process that is started beside others
  // finds theirs in its channel, and compares itself before it meets them.
  ground = 'G',
  // From the launcher to such a rank:
  wait = 'W',        // it has none yet: once it has compared itself, it waits for one
  assign = 'N',      // its rank in the next generation
  meet_again = 'M',  // all leave their generation in order, after the next step
  over = 'O',        // another rank of the generation was lost, and those that still wait for it leave
  silent = 'I'       // a host's ranks (first, count), while it gives no sign of life: each second
};
std::string frame(Message type, std::string_view payload);
struct Frame {
  Message type;
  std::string payload;
  ByteReader fields() const { return ByteReader(payload, "a message between the launcher and its agent"); }
};
/// Removes the next whole message from `bytes`. Throws TransportError if it is too long.
std::optional<Frame> next_frame(std::string& bytes);
/// A number of 64 bits from 0 to below - 1. Throws TransportError.
int count(ByteReader&, std::int64_t below);
/// The rank of a process in a generation of its job, and what it needs to join there.
struct RankAssignment {
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  int columns = 0;  // as RanksToStart has it
  std::string root = {}, job = {}, secret = {}, heirs = {};
};
std::string packed(const RankAssignment&);
RankAssignment unpacked_assignment(ByteReader&);
/// Appends available bytes, at most 64 KiB, so that one that writes without a pause keeps no other waiting; false at
/// the end.
bool read_some(int fd, std::string& bytes);
}  // namespace bora::launch
