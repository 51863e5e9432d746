// Checks that the entries of a manifest are consistent, so that no read or write leaves the ranges it describes.
#include <algorithm>
#include <map>
#include <set>
#include "blocks.h"
#include "manifest.h"

namespace bora::io {
namespace {
template <class... Parts> void need(bool ok, const Parts&... parts) { check<CheckpointError>(ok, parts...); }
bool earlier(const BlockRange& a, const BlockRange& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

constexpr std::int64_t kMostCheckpointBytes = std::int64_t{1} << 60;  // no disk has as many; sums do not overflow
std::int64_t bytes_of(const Shape& shape, std::int64_t item) {
  std::int64_t bytes = item;
  for (auto d : shape) need(d >= 0, "its shape is ", shape);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (auto d : shape)
    need(!__builtin_mul_overflow(bytes, d, &bytes) && bytes <= kMostCheckpointBytes, "its shape ", shape,
         " has more bytes than any disk");
  return bytes;
}
void check_block(const StoredBlock& b, const Shape& shape, std::int64_t item) {
  need(b.box.size() == shape.size(), "a block has ", b.box.size(), " dimensions, the shape ", shape, " has ",
       shape.size());
  std::int64_t bytes = item;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto& range = b.box[d];
    need(0 <= range.begin && range.begin < range.end && range.end <= shape[d], "a block is ", range.begin, ":",
         range.end, " in dimension ", d, " of the shape ", shape);
    bytes *= range.size();  // at most the bytes of the shape
  }
  need(b.bytes == bytes, "a block has ", b.bytes, " bytes, its box ", bytes);
  std::int64_t end = 0;
  need(b.file >= 0 && b.offset >= 0 && !__builtin_add_overflow(b.offset, b.bytes, &end), "a block lies ", b.offset,
       " bytes into file ", b.file);
  auto chunks = static_cast<std::uint64_t>((b.bytes - 1) / kChunk + 1);
  need(b.crc.size() == chunks, "a block of ", b.bytes, " bytes has ", b.crc.size(), " checksums, not ", chunks);
}
/// Blocks must be a grid, as a Spec over a mesh cuts them: in each dimension consecutive ranges, and one block for each
/// choice of ranges. So they cover the shape without overlap.
void check_cover(const StoredLeaf& leaf) {
  auto& shape = leaf.type.shape;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return need(leaf.blocks.empty(), "it is empty, but has blocks");
  std::size_t cells = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Box ranges;
    for (auto& b : leaf.blocks) ranges.push_back(b.box[d]);
    std::sort(ranges.begin(), ranges.end(), earlier);
    ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
    std::int64_t at = 0;
    for (auto& range : ranges) {
      need(range.begin == at, "its blocks overlap or leave a gap at ", std::min(at, range.begin), " in dimension ", d);
      at = range.end;
    }
    need(at == shape[d], "its blocks end at ", at, " in dimension ", d, " of the shape ", shape);
    need(!__builtin_mul_overflow(cells, ranges.size(), &cells) && cells <= leaf.blocks.size(), "its ",
         leaf.blocks.size(), " blocks do not cover the shape ", shape);
  }
  need(leaf.blocks.size() == cells, "it has ", leaf.blocks.size(), " blocks, not ", cells);
  std::vector<const Box*> boxes;
  for (auto& b : leaf.blocks) boxes.push_back(&b.box);
  auto before = [](const Box* a, const Box* b) {
    return std::lexicographical_compare(a->begin(), a->end(), b->begin(), b->end(), earlier);
  };
  std::sort(boxes.begin(), boxes.end(), before);
  auto twin = std::adjacent_find(boxes.begin(), boxes.end(), [](const Box* a, const Box* b) { return *a == *b; });
  need(twin == boxes.end(), "two of its blocks have the same box");
}
}  // namespace

std::string contradiction(const Manifest& m) {
  struct Part {
    std::int64_t offset, bytes;
    const StoredLeaf* leaf;
  };
  std::map<std::int64_t, std::vector<Part>> files;
  std::set<std::string_view> paths;
  std::int64_t total = 0;
  for (auto& leaf : m.leaves) try {
      need(paths.insert(leaf.path).second, "it is listed twice");
      auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
      total += bytes_of(leaf.type.shape, item);
      need(total <= kMostCheckpointBytes, "with it there are more bytes than on any disk");
      for (auto& b : leaf.blocks) {
        check_block(b, leaf.type.shape, item);
        files[b.file].push_back({b.offset, b.bytes, &leaf});
      }
      check_cover(leaf);
    } catch (const CheckpointError& e) { return "leaf '" + leaf.path + "': " + e.text(); }
  for (auto& [file, parts] : files) {
    std::sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
    std::int64_t end = 0;
    for (auto& p : parts) {
      if (p.offset != end)
        return "leaf '" + p.leaf->path + "': its block at " + std::to_string(p.offset) + " of file rank-" +
               std::to_string(file) + " does not follow the one before, which ends at " + std::to_string(end);
      end += p.bytes;
    }
  }
  return {};
}
}  // namespace bora::io
