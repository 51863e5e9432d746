// inquiry.h -- the activity of all ranks at one moment, and the sentence that names the waiting and the awaited ranks.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "base/api/bytes.h"
#include "wire/link.h"

namespace bora::transport {
/// Why the coordinator asks all ranks for their activity.
enum class Ask : std::uint8_t {
  dump,     // on request (SIGUSR2, Context::dump): ranks write their flight recorders too
  warning,  // a wait takes long
  overdue   // a wait takes too long: the job ends with the answer
};
/// A rank's activity. A wait outside of collectives (an exchange, leaving) has group 0.
struct Activity {
  struct Wait {
    std::uint32_t group = 0;
    std::uint64_t seq = 0;
    std::string text = {};  // "all_reduce seq 812 axis data"
    std::int64_t done = 0, all = 0;  // chunks
    std::vector<int> awaited = {};
  };
  std::string last = {};  // "all_reduce seq 811 axis data at 12:01:02"
  std::vector<Wait> waits = {};  // collectives under way, oldest first
};
void write(ByteWriter&, const Activity&);
/// Throws TransportError if the bytes end too early or name a rank that does not exist.
Activity read_activity(ByteReader&, int size);

/// "all_reduce seq 812 axis data: waiting for rank 3 (host b, pid 812; last finished all_reduce seq 811 axis data at
/// 12:01:02; in no collective); ranks 0, 1, 2 have 3 of 4 chunks". `who` names the ranks; no activity: the rank did not
/// answer; `left`: it has left the job.
std::string who_waits_for_whom(const std::vector<std::optional<Activity>>&, const std::vector<std::string>& who,
                               const std::vector<bool>& left);
/// "rank 3", "ranks 0, 1, 2".
std::string list_of(const std::vector<int>& ranks);
}  // namespace bora::transport
