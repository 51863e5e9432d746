// batch.h -- the rows of one step, of all ranks.
#pragma once
#include "bora/train/example.h"

namespace bora {
/// One global batch; each rank gave the rows it read.
struct GlobalBatch {
  training::Example example;
  /// f32 [1, notes], a sum over the ranks: the StepNotes of each; then positions of its rows that are no padding, in
  /// all and by source, told by one rank of those that read the same rows.
  Array notes;
};
}  // namespace bora
