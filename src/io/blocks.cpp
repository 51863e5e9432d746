#include "blocks.h"
#include <algorithm>
#include <cstring>
#include "base/api/crc32c.h"

namespace bora::io {
std::vector<StoredLeaf> write_blocks(const std::vector<Leaf>& leaves, const Place& place,
                                     const std::function<void(const char* data, std::int64_t n)>& put) {
  std::vector<StoredLeaf> stored;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = leaves[i];
    stored.push_back({leaf.path, leaf.type});
    StoredBlock block{block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank), place.rank, offset};
    block.bytes = elements(block.box) * static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    if (block.bytes == 0 || writer_of(leaf.spec, i, place) != place.rank) continue;
    auto data = static_cast<const char*>(leaf.data);
    for (std::int64_t at = 0; at < block.bytes; at += kChunk) {
      auto n = std::min(kChunk, block.bytes - at);
      block.crc.push_back(crc32c(data + at, static_cast<std::size_t>(n)));
      put(data + at, n);
    }
    offset += block.bytes;
    stored.back().blocks.push_back(std::move(block));
  }
  return stored;
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
  auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
  each_run(block_.box, wanted, *part, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    auto* out = static_cast<char*>(leaf.data) + to * item;
    for (auto at = from * item, n = count * item; n > 0;) {  // forwards, so that each chunk is loaded once
      load(at / kChunk);
      auto inside = at % kChunk, take = std::min(n, kChunk - inside);
      std::memcpy(out, bytes_ + inside, static_cast<std::size_t>(take));
      at += take, out += take, n -= take;
    }
  });
  return elements(*part);
}
void BlockReader::verify() {
  for (std::int64_t chunk = 0; chunk * kChunk < block_.bytes; ++chunk) load(chunk);
}
}  // namespace bora::io
