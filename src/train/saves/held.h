// held.h -- a state that later steps leave as it is: what a checkpoint is written from.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "bora/array/array.h"
#include "bora/io/checkpoint.h"

namespace bora::training {
struct Run;
/// The state after `step` on this rank: handles of its blocks, and what a checkpoint says beside them. As long as it
/// lives, its memory is nobody else's.
struct HeldState {
  std::int64_t step = -1;
  std::vector<io::Leaf> leaves = {};  // their data is in `memory`
  Arrays memory = {};
  std::map<std::string, std::string> notes = {};
  std::int64_t bytes() const;  // of this rank's blocks
};
/// The state after Run::done, to be read before the next step begins.
HeldState state_now(Run&);
/// The same, to be read whenever one likes: the next step leaves it as it is (Trainable::keep_state).
HeldState hold(Run&);
}  // namespace bora::training
