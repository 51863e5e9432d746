// restore_slots.h -- leaves of a tree from a checkpoint of another one.
#pragma once
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"
#include "bora/tree/node.h"

namespace bora::io {
/// Replaces the leaves in these slots by what the checkpoint has at the paths `from`, split as they are and in their
/// dtypes. The manifest has those paths, with the leaves' shapes. All ranks return or throw the same CheckpointError.
void restore_slots(const std::vector<tree::Slot>&, const std::vector<std::string>& from, const std::string& folder,
                   const Manifest&, const Place&);
}  // namespace bora::io
