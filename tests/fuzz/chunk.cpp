// A chunk of a cache: with its own checksums, and with such that fit, so that the search gets behind them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include "base/api/crc32c.h"
#include "bora/base/error.h"
#include "data/store/token_store.h"

using namespace bora;
using namespace bora::data;
namespace {
/// Reads every document whole and in two parts.
void read(std::string bytes) try {
  auto size = bytes.size();
  Chunk chunk(std::move(bytes), "chunk");
  for (std::size_t f = 0; f < chunk.header().fields; ++f) {
    std::int64_t total = 0;
    for (std::int64_t d = 0; d < chunk.size(); ++d) {
      auto n = chunk.length(d, f);
      if (n < 0 || n > static_cast<std::int64_t>(size)) std::abort();
      std::vector<std::int32_t> whole(static_cast<std::size_t>(n)), parts(whole);
      chunk.read(d, f, 0, n, whole.data());
      chunk.read(d, f, 0, n / 2, parts.data());
      chunk.read(d, f, n / 2, n - n / 2, parts.data() + n / 2);
      if (whole != parts) std::abort();
      total += n;
    }
    if (total != chunk.tokens(f)) std::abort();
  }
} catch (const IoError&) {}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string bytes(reinterpret_cast<const char*>(data), n);
  read(bytes);
  ChunkHeader h;
  if (n < sizeof h) return 0;
  ChunkHeader fresh;
  std::memcpy(&h, bytes.data(), sizeof h);
  std::memcpy(h.magic, fresh.magic, sizeof h.magic);
  h.bytes = n - sizeof h;
  h.fields = static_cast<std::uint16_t>(h.fields % 4 + 1);
  h.documents %= 64;
  auto ends = std::min<std::size_t>(h.bytes, h.documents * h.fields * 8);
  h.ends_crc = crc32c(bytes.data() + sizeof h, ends);
  h.ids_crc = crc32c(bytes.data() + sizeof h + ends, h.bytes - ends);
  h.header_crc = crc32c(&h, offsetof(ChunkHeader, header_crc));
  std::memcpy(bytes.data(), &h, sizeof h);
  read(std::move(bytes));
  return 0;
}
