// boxes.h -- parts of arrays from a checkpoint, whatever tree they were in.
#pragma once
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"

namespace bora::io {
/// A box of a stored array, and the memory that it fills, row-major.
struct BoxToRead {
  const StoredLeaf* from = nullptr;
  Box box = {};
  void* to = nullptr;
};
/// Reads them, each byte compared with its checksum; on this rank alone. CheckpointError naming the leaf.
void read_boxes(const std::string& folder, const std::vector<BoxToRead>&);
}  // namespace bora::io
