// blocks.h -- boxes of a global array: overlaps, runs of elements that are contiguous in two boxes; and the blocks of a
// rank as bytes, in files and in memory.
#pragma once
#include <functional>
#include <optional>
#include "bora/io/checkpoint.h"

namespace bora::io {
inline std::int64_t elements(const Box& box) {
  std::int64_t n = 1;
  for (auto& range : box) n *= range.size();
  return n;
}
/// The box, cut along its first dimension into boxes of about `most` elements, in order.
std::vector<Box> pieces(const Box& box, std::int64_t most);
inline std::optional<Box> overlap(const Box& a, const Box& b) {
  Box r;
  for (std::size_t d = 0; d < a.size(); ++d) {
    r.push_back({std::max(a[d].begin, b[d].begin), std::min(a[d].end, b[d].end)});
    if (r.back().size() <= 0) return std::nullopt;
  }
  return r;
}
/// Index of the element `at` (global indices) in the row-major block `box`.
inline std::int64_t position(const Box& box, const Dims& at) {
  std::int64_t p = 0;
  for (std::size_t d = 0; d < box.size(); ++d) p = p * box[d].size() + at[d] - box[d].begin;
  return p;
}
/// Calls f(position in a, position in b, n) for runs of elements of `part`, a part of both blocks, contiguous in both.
template <class F> void each_run(const Box& a, const Box& b, const Box& part, const F& f) {
  std::size_t inner = part.size();  // dimensions before it are looped over, the rest is one run
  std::int64_t run = 1;
  while (inner > 0) {
    --inner;
    run *= part[inner].size();
    if (part[inner] != a[inner] || part[inner] != b[inner]) break;
  }
  Dims at;
  for (auto& range : part) at.push_back(range.begin);
  for (;;) {
    f(position(a, at), position(b, at), run);
    auto d = inner;
    while (d > 0 && ++at[d - 1] == part[d - 1].end) at[d - 1] = part[d - 1].begin, --d;
    if (d == 0) return;
  }
}
/// The ranks that hold the same block of an array as `rank`, in order.
inline std::vector<int> holders(const Spec& spec, const MeshShape& mesh, int rank) {
  MeshAxes free;
  for (auto& axis : mesh.axes)
    if (!spec.uses(axis.first)) free.push_back(axis.first);
  return mesh.group(rank, free);
}
/// The lowest of them: it represents them.
inline int first_holder(const Spec& spec, const MeshShape& mesh, int rank) { return holders(spec, mesh, rank)[0]; }
/// The one of them that writes the block: a different one for each array, to spread the work.
inline int writer_of(const Spec& spec, std::size_t index, const Place& place) {
  auto all = holders(spec, place.mesh, place.rank);
  return all[index % all.size()];
}
/// Whether writer_of is this rank, without a list of the holders.
inline bool writes(const Spec& spec, std::size_t index, const MeshShape& mesh, int rank) {
  MeshAxes free;
  for (auto& axis : mesh.axes)
    if (!spec.uses(axis.first)) free.push_back(axis.first);
  return index % static_cast<std::size_t>(mesh.parts(free)) == static_cast<std::size_t>(mesh.part(rank, free));
}

inline constexpr std::int64_t kChunk = 1 << 20;  // bytes that one checksum covers
/// All leaves with the blocks that `place` writes of them, which follow one another in its file; their checksums are 0.
std::vector<StoredLeaf> blocks_of(const std::vector<Leaf>&, const Place&);
/// The same with their checksums, which several threads make.
std::vector<StoredLeaf> summed_blocks(const std::vector<Leaf>&, const Place&);
/// The bytes of one stored block, verified chunk by chunk.
class BlockReader {
 public:
  /// n bytes of the block from `begin` on; they may go at the next call.
  using Get = std::function<const char*(std::int64_t begin, std::int64_t n)>;
  /// name: of the block, for errors. The block must outlive the reader.
  BlockReader(const StoredBlock& block, std::string name, Get get)
      : block_(block), name_(std::move(name)), get_(std::move(get)) {}
  /// Copies into leaf.data, the block `wanted` of the array, what the stored block has of it. Returns the number of
  /// elements. Throws CheckpointError if the bytes do not match their checksums.
  std::int64_t copy(const Leaf& leaf, const Box& wanted);
  /// The same of a part of both.
  void copy_part(const Leaf& leaf, const Box& wanted, const Box& part);
  /// Compares bytes [begin, end) with their checksums; begin is a multiple of kChunk.
  void verify(std::int64_t begin, std::int64_t end);

 private:
  void load(std::int64_t chunk);
  const StoredBlock& block_;
  std::string name_;
  Get get_;
  std::int64_t loaded_ = -1;
  const char* bytes_ = nullptr;  // of the loaded chunk
};
}  // namespace bora::io
