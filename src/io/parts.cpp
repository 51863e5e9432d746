// Blocks of a rank as one string: the length of the description, the description (manifest.h), the blocks.
#include "io/api/parts.h"
#include <algorithm>
#include <utility>
#include "base/api/bytes.h"
#include "base/api/crc32c.h"
#include "blocks.h"
#include "manifest.h"

namespace bora::io {
namespace {
std::size_t size_of(const Leaf& leaf, const Box& box) {
  return static_cast<std::size_t>(elements(box)) * dtype_size(leaf.type.dtype);
}
}  // namespace

std::string pack_part(const std::vector<Leaf>& leaves, const Place& place) {
  auto stored = summed_blocks(leaves, place);  // first: the description stands in front of the bytes
  auto part = ByteWriter().text(pack(stored)).take();
  part.reserve(part.size() + static_cast<std::size_t>(part_bytes(leaves, place.mesh, place.rank)));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    for (auto& block : stored[i].blocks)
      part.append(static_cast<const char*>(leaves[i].data), static_cast<std::size_t>(block.bytes));
  return part;
}

std::int64_t part_bytes(const std::vector<Leaf>& leaves, const MeshShape& mesh, int rank) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (writes(leaves[i].spec, i, mesh, rank))
      bytes += static_cast<std::int64_t>(
          size_of(leaves[i], block_of_rank(leaves[i].type, leaves[i].spec, mesh, rank)));
  return bytes;
}

bool has_part_of(const std::vector<Leaf>& leaves, const MeshShape& mesh, int rank, int of) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = leaves[i];
    auto box = block_of_rank(leaf.type, leaf.spec, mesh, of);
    if (size_of(leaf, box) == 0 || writer_of(leaf.spec, i, {mesh, of}) != of) continue;
    if (block_of_rank(leaf.type, leaf.spec, mesh, rank) != box) return false;
  }
  return true;
}

PartCut::PartCut(std::string_view part, const std::vector<Leaf>& leaves, const MeshShape& mesh, int rank) {
  ByteReader fields(part, "a snapshot's part");
  auto stored = unpack(fields.text());
  auto data = fields.rest();
  std::int64_t offset = 0;
  for (auto& s : stored) {
    auto leaf = std::find_if(leaves.begin(), leaves.end(), [&](auto& l) { return l.path == s.path; });
    bool fits = leaf != leaves.end() && leaf->type.shape == s.type.shape;  // else the reader says what does not
    auto wanted = fits ? block_of_rank(leaf->type, leaf->spec, mesh, rank) : Box{};
    std::vector<StoredBlock> kept;
    for (auto& block : s.blocks) {
      if (!fits || !overlap(block.box, wanted)) continue;
      check<CheckpointError>(block.offset >= 0 && block.bytes >= 0 &&
                                 block.offset + block.bytes <= static_cast<std::int64_t>(data.size()),
                             "snapshot: leaf '", s.path, "': the part of rank ", block.file,
                             " does not hold its block");
      blocks_.push_back(data.substr(static_cast<std::size_t>(block.offset), static_cast<std::size_t>(block.bytes)));
      kept.push_back(block);
      kept.back().offset = std::exchange(offset, offset + block.bytes);
    }
    s.blocks = std::move(kept);
  }
  head_ = ByteWriter().text(pack(stored)).take();
  size_ = static_cast<std::int64_t>(head_.size()) + offset;
}
std::string PartCut::bytes() const {
  auto all = head_;
  all.reserve(static_cast<std::size_t>(size_));
  for (auto block : blocks_) all.append(block);
  return all;
}

PartsReader::PartsReader(const std::vector<Leaf>& leaves, const Place& place)
    : leaves_(leaves), filled_(leaves.size(), 0) {
  for (auto& leaf : leaves) wanted_.push_back(block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank));
}
void PartsReader::read(std::string_view part) {
  ByteReader fields(part, "a snapshot's part");
  Manifest m;
  m.leaves = unpack(fields.text());
  auto blocks = fields.rest();
  check_leaves("in memory", m, leaves_);
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    auto& leaf = leaves_[i];
    for (auto& block : m.find(leaf.path)->blocks) {
      if (!overlap(block.box, wanted_[i])) continue;
      auto name = "snapshot: leaf '" + leaf.path + "': the part of rank " + std::to_string(block.file);
      check<CheckpointError>(
          block.offset >= 0 && block.bytes == static_cast<std::int64_t>(size_of(leaf, block.box)) &&
              block.offset + block.bytes <= static_cast<std::int64_t>(blocks.size()) &&
              static_cast<std::int64_t>(block.crc.size()) == (block.bytes + kChunk - 1) / kChunk,
          name, " does not hold its block");
      auto data = blocks.data() + block.offset;
      filled_[i] += BlockReader(block, name, [=](std::int64_t begin, std::int64_t) { return data + begin; })
                        .copy(leaf, wanted_[i]);
    }
  }
}
void PartsReader::finish() const {
  for (std::size_t i = 0; i < leaves_.size(); ++i)
    check<CheckpointError>(filled_[i] == elements(wanted_[i]), "snapshot: leaf '", leaves_[i].path,
                           "': its parts have ", filled_[i], " of ", elements(wanted_[i]),
                           " elements that this rank needs");
}
}  // namespace bora::io
