// new_leaf.h -- leaves of a tree that are read anew.
#pragma once
#include "bora/array/array.h"
#include "bora/io/checkpoint.h"
#include "bora/tree/tree.h"

namespace bora::io {
/// A leaf of a tree whose block of this rank is uninitialized memory, to be filled through leaf.data.
struct NewLeaf {
  Leaf leaf;
  NewBuffer buffer;
  /// A block of `type` split as `spec` says, over the mesh in force.
  NewLeaf(const std::string& path, const Type& type, const Spec& spec);
  /// The Array, once the block is filled.
  Array done();
};
/// In place of the leaf in the slot: of its type and split as it is. The slot's Array is freed first, so that there is
/// memory for one.
NewLeaf in_place_of(const tree::Slot&, const std::string& path);
}  // namespace bora::io
