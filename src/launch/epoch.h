// epoch.h -- how the ranks of an elastic job go on in their processes after a loss: each asks its launcher, which
// answers with a place in the job's next epoch.
#pragma once
#include <string>
#include "messages.h"

namespace bora::launch {
/// A rank's place in an epoch of its job.
struct Place {
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  int columns = 0;  // as RanksToStart has it
  std::string root = {}, job = {}, secret = {};
};
std::string packed(const Place&);
Place unpacked_place(ByteReader&);
/// Tells the launcher why this process has left its epoch, and waits for a place in the next one, whose variables
/// (BORA_RANK and the others of the launcher) are then those of this process. False if the launcher did not start it to
/// go on, or ends it.
bool next_epoch(const std::string& why);
bool can_go_on();  // whether a launcher would answer
/// How many times this process has gone on.
int epochs_behind();
}  // namespace bora::launch
