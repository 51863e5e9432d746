// recorder.h -- the flight recorder: the last 4096 collectives of this rank, always kept; written to a file on a
// failure or on request.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "base/api/json.h"
#include "engine/operation.h"

namespace bora::transport {
/// Used under the engine's lock. A collective costs one slot and two readings of the clock: 60 to 110 ns.
class Recorder {
 public:
  static constexpr std::size_t kKept = 4096;
  // Bytes by member: of kKept collectives of 16 members, or of fewer larger ones.
  static constexpr std::size_t kMoves = 16 * kKept;
  Recorder() : moved_(kMoves) { ring_.reserve(kKept); }
  /// The pointer stays valid until kKept more have been added: far more than may be under way.
  Record* add(Record);
  /// Sets the bytes sent to and received from every member, by position.
  void note(Record&, const std::vector<Moved>&);
  const Record* find(std::uint32_t group, std::uint64_t seq) const;
  /// The record that ended last, or null.
  const Record* last_ended() const;
  /// Writes one JSON object a line for each collective, oldest first. `state` writes the members that begin with
  /// "state" for a collective that has not ended.
  void write(JsonWriter&, const std::function<void(JsonWriter&, const Record&)>& state) const;

 private:
  std::vector<Record> ring_;
  std::vector<Moved> moved_;  // a ring as well: a vector in every Record would tear holes into the heap
  std::uint64_t moves_ = 0;   // ever written to it
  std::size_t next_ = 0;  // the slot that is written next, once the ring is full
};
/// "2026-11-22T12:01:02.123456Z": a moment of the steady clock by the present wall clock.
std::string wall_time(Clock::time_point);
/// Writes a whole file, or leaves the previous one; in a thread of its own, because a file system may hang. Waits for
/// it for a fifth of a second. Empty, or the error.
std::string write_whole(const std::string& folder, const std::string& name, const std::string& text);

/// How often SIGUSR2 has come since dump_on_sigusr2(); its handler counts and does nothing else.
std::uint64_t dumps_asked_for();
}  // namespace bora::transport
