// A checkpoint's manifest under a right checksum. A manifest that is accepted can be restored: every block's bytes lie
// where they should, once.
#include <cstdlib>
#include <cstring>
#include "base/api/crc32c.h"
#include "bora/base/error.h"
#include "io/blocks.h"
#include "io/manifest.h"

using namespace bora;
using namespace bora::io;
namespace {
void need(bool ok) {
  if (!ok) std::abort();
}
void restore(const StoredLeaf& leaf) {
  auto n = volume(leaf.type.shape);
  if (n > 1 << 16) return;
  Box whole;
  for (auto d : leaf.type.shape) whole.push_back({0, d});
  std::vector<int> seen(static_cast<std::size_t>(n));
  for (auto& block : leaf.blocks) {
    std::vector<char> bytes(static_cast<std::size_t>(block.bytes));
    auto part = overlap(block.box, whole);
    need(part && *part == block.box);
    each_run(block.box, whole, *part, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        need((from + i + 1) * static_cast<std::int64_t>(dtype_size(leaf.type.dtype)) <= block.bytes);
        ++seen.at(static_cast<std::size_t>(to + i));
      }
    });
    need(block.crc.size() == bytes.size() / kChunk + (bytes.size() % kChunk != 0));
  }
  for (auto x : seen) need(x == 1);
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string body(reinterpret_cast<const char*>(data), n), header("borackp1\1\0\0\0", 12);
  auto crc = crc32c(body.data(), body.size());
  auto size = static_cast<std::uint64_t>(body.size());
  header.append(reinterpret_cast<const char*>(&crc), sizeof crc)
      .append(reinterpret_cast<const char*>(&size), sizeof size);
  try {
    auto m = parse_manifest(header + body);
    // A file may have several notes in another order, or numbers in the other order of bytes.
    if (m.notes.size() <= 1 && body[0] == 1) need(manifest_bytes(m) == header + body);
    for (auto& leaf : m.leaves) restore(leaf);
  } catch (const CheckpointError&) {}
  try {
    parse_manifest(body);
  } catch (const CheckpointError&) {}
  try {
    unpack(body);
  } catch (const CheckpointError&) {}
  return 0;
}
