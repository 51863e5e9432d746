// epoch.h -- how the ranks of an elastic job go on in their processes, after a loss or because there are more hosts:
// each asks its launcher, which answers with a place in the job's next epoch.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "messages.h"

namespace bora::launch {
/// A rank's place in an epoch of its job.
struct Place {
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  int columns = 0;  // as RanksToStart has it
  std::string root = {}, job = {}, secret = {}, heirs = {};
};
std::string packed(const Place&);
Place unpacked_place(ByteReader&);
/// Tells the launcher why this process has left its epoch (empty: because it was asked to), and waits for a place in
/// the next one, whose variables (BORA_RANK and the others of the launcher) are then those of this process. False if
/// the launcher did not start it to go on, or ends it. `lost`: the rank that this one misses, -1 if none.
bool next_epoch(const std::string& why, int lost = -1);
/// Whether a launcher would answer. The first call takes the channel to it, which programs that this process starts do
/// not inherit.
bool can_go_on();
/// How many times this process has gone on.
int epochs_behind();
bool in_first_epoch();  // of its job, too
/// Not empty: this epoch is for handing over what its ranks hold to these of them, for which there are places in the
/// next one; then all leave it.
std::vector<int> heirs();
/// Tells the launcher which step this process has made, some times a second at most.
void reached(std::int64_t step);
/// Whether the launcher has asked the ranks of this epoch to leave it in order, after their next step.
bool asked_to_meet_again();
/// Why a rank that still waits for the others of its epoch need not: the launcher has lost one. Else empty.
std::string epoch_is_over();
/// Whether the launcher hears nothing of the host of this rank of the epoch. From any thread.
bool host_is_silent(int rank);
}  // namespace bora::launch
