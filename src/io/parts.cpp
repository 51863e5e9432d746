// Blocks of a rank as one string: the length of the description, the description (manifest.h), the blocks.
#include "bora/io/parts.h"
#include <algorithm>
#include <cstring>
#include <utility>
#include "bora/base/bytes.h"
#include "bora/base/crc32c.h"
#include "blocks.h"
#include "manifest.h"

namespace bora::io {
namespace {
std::size_t size_of(const Leaf& leaf, const Box& box) {
  return static_cast<std::size_t>(elements(box)) * dtype_size(leaf.type.dtype);
}
}  // namespace

std::string pack_part(const std::vector<Leaf>& leaves, const Place& place) {
  std::vector<StoredLeaf> stored;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = leaves[i];
    stored.push_back({leaf.path, leaf.type});
    StoredBlock block{block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank), place.rank, offset};
    block.bytes = static_cast<std::int64_t>(size_of(leaf, block.box));
    if (block.bytes == 0 || writer_of(leaf.spec, i, place) != place.rank) continue;
    auto data = static_cast<const char*>(leaf.data);
    for (std::int64_t at = 0; at < block.bytes; at += kChunk)
      block.crc.push_back(crc32c(data + at, static_cast<std::size_t>(std::min(kChunk, block.bytes - at))));
    offset += block.bytes;
    stored.back().blocks.push_back(std::move(block));
  }
  auto part = ByteWriter().text(pack(stored)).take();
  part.reserve(part.size() + static_cast<std::size_t>(offset));
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
    auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    for (auto& block : m.find(leaf.path)->blocks) {
      auto common = overlap(block.box, wanted_[i]);
      if (!common) continue;
      check<CheckpointError>(
          block.offset >= 0 && block.bytes == elements(block.box) * item &&
              block.offset + block.bytes <= static_cast<std::int64_t>(blocks.size()) &&
              static_cast<std::int64_t>(block.crc.size()) == (block.bytes + kChunk - 1) / kChunk,
          "snapshot: leaf '", leaf.path, "': the part of rank ", block.file, " does not hold its block");
      auto data = blocks.data() + block.offset;
      for (std::int64_t at = 0; at < block.bytes; at += kChunk)
        check<CheckpointError>(crc32c(data + at, static_cast<std::size_t>(std::min(kChunk, block.bytes - at))) ==
                                   block.crc[static_cast<std::size_t>(at / kChunk)],
                               "snapshot: leaf '", leaf.path, "': the part of rank ", block.file,
                               " does not match its checksum");
      each_run(block.box, wanted_[i], *common, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
        std::memcpy(static_cast<char*>(leaf.data) + to * item, data + from * item, static_cast<std::size_t>(n * item));
      });
      filled_[i] += elements(*common);
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
