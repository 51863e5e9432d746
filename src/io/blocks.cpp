#include "blocks.h"
#include <algorithm>
#include <cstring>
#include "base/api/crc32c.h"
#include "io/api/jobs.h"

namespace bora::io {
namespace {
constexpr std::int64_t kPieceBytes = 16 * kChunk;  // of a block that one thread goes through
}
std::vector<StoredLeaf> blocks_of(const std::vector<Leaf>& leaves, const Place& place) {
  std::vector<StoredLeaf> stored;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = leaves[i];
    stored.push_back({leaf.path, leaf.type});
    StoredBlock block{block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank), place.rank, offset};
    block.bytes = elements(block.box) * static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    if (block.bytes == 0 || writer_of(leaf.spec, i, place) != place.rank) continue;
    block.crc.resize(static_cast<std::size_t>((block.bytes + kChunk - 1) / kChunk));
    offset += block.bytes;
    stored.back().blocks.push_back(std::move(block));
  }
  return stored;
}
std::vector<StoredLeaf> summed_blocks(const std::vector<Leaf>& leaves, const Place& place) {
  auto stored = blocks_of(leaves, place);
  run_jobs([&](std::vector<Job>& jobs) {
    for (std::size_t i = 0; i < leaves.size(); ++i)
      for (auto& block : stored[i].blocks)
        for (std::int64_t begin = 0; begin < block.bytes; begin += kPieceBytes) {
          auto end = std::min(begin + kPieceBytes, block.bytes);
          jobs.push_back({end - begin, [begin, end, data = static_cast<const char*>(leaves[i].data),
                                        crc = block.crc.data()] {
                            for (auto at = begin; at < end; at += kChunk)
                              crc[at / kChunk] =
                                  crc32c(data + at, static_cast<std::size_t>(std::min(kChunk, end - at)));
                          }});
        }
  });
  return stored;
}

std::vector<Box> pieces(const Box& box, std::int64_t most) {
  if (box.empty()) return std::vector<Box>{box};
  auto rows = box[0].size(), step = std::max<std::int64_t>(1, rows * most / std::max<std::int64_t>(1, elements(box)));
  std::vector<Box> r{box};
  for (auto row = box[0].begin + step; row < box[0].end; row += step) {
    r.back()[0].end = row;
    r.push_back(box);
    r.back()[0].begin = row;
  }
  return r;
}
void BlockReader::load(std::int64_t chunk) {
  if (chunk == loaded_) return;
  auto begin = chunk * kChunk, n = std::min(kChunk, block_.bytes - begin);
  bytes_ = get_(begin, n);
  check<CheckpointError>(crc32c(bytes_, static_cast<std::size_t>(n)) == block_.crc.at(static_cast<std::size_t>(chunk)),
                         name_, " is damaged: ", n, " bytes from ", block_.offset + begin,
                         " do not match their checksum");
  loaded_ = chunk;
}
std::int64_t BlockReader::copy(const Leaf& leaf, const Box& wanted) {
  auto part = overlap(block_.box, wanted);
  if (!part) return 0;
  copy_part(leaf, wanted, *part);
  return elements(*part);
}
void BlockReader::copy_part(const Leaf& leaf, const Box& wanted, const Box& part) {
  auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
  each_run(block_.box, wanted, part, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    auto* out = static_cast<char*>(leaf.data) + to * item;
    for (auto at = from * item, n = count * item; n > 0;) {  // forwards, so that each chunk is loaded once
      load(at / kChunk);
      auto inside = at % kChunk, take = std::min(n, kChunk - inside);
      std::memcpy(out, bytes_ + inside, static_cast<std::size_t>(take));
      at += take, out += take, n -= take;
    }
  });
}
void BlockReader::verify(std::int64_t begin, std::int64_t end) {
  for (auto chunk = begin / kChunk; chunk * kChunk < end; ++chunk) load(chunk);
}
}  // namespace bora::io
