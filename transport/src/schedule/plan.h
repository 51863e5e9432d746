// plan.h -- one rank's part in a collective, without the buffers: made once, used by every equal collective of the
// group.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "schedule/select.h"

namespace bora::transport {
struct Plan {
  struct Stream {  // from one member to one step
    int peer = 0;
    std::int64_t element = 0;  // bytes
  };
  struct Messages {  // of one step
    std::int64_t chunk = 0, chunks = 0;  // elements (units) of a chunk, number of chunks
    std::size_t first = 0, last = 0;     // its streams
    int before = -1;                     // step that must be over before this one sends
  };
  CollectiveCall like = {};  // without buffers and words
  std::string group = {};    // its name, which the fingerprint covers
  std::int64_t count = 0;
  // The units that are sent: elements, or units of the wire's codec. Steps and messages count these.
  std::int64_t element = 0, running = 0;  // bytes of one; of a running sum of one
  std::int64_t bytes = 0;                 // of all
  Dtype dtype = Dtype::f32;               // of the elements
  std::uint64_t fingerprint = 0;  // must be equal on all members
  const Algorithm* algorithm = nullptr;
  Schedule schedule = {};
  std::vector<Messages> messages = {};  // by step
  std::vector<Stream> streams = {};
  std::vector<std::int64_t> expected = {};  // bytes, by position
  std::vector<int> peers = {};              // ranks it exchanges messages with, ascending
};
/// Throws ValueError / DtypeError when the collective does not fit the group.
Plan make_plan(const Group&, const CollectiveCall&, const Layout&, const Tuning&, int rank);
/// Whether one plan serves both collectives.
bool same_but_buffers(const CollectiveCall&, const CollectiveCall&);
/// Elements of the vector that a rank holds (all_reduce, broadcast, permute), of all parts (all_gather, reduce_scatter,
/// gather, scatter), or of the parts that a rank sends (all_to_all).
std::int64_t count_of(const CollectiveCall&);
inline bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}
inline bool receives(const Step& s) { return s.kind == Step::Kind::receive || s.kind == Step::Kind::sum; }
}  // namespace bora::transport
