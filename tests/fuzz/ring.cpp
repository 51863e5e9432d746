// A ring in shared memory with arbitrary contents from the other side: two counts, then the ring's first bytes. Nothing
// outside is read.
#include <algorithm>
#include <cstring>
#include "carrier/shm_ring.h"

using namespace bora::transport;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static auto memory = PairMemory::make();
  auto& counts = memory->counts(true);
  std::uint64_t words[2] = {};
  std::memcpy(words, data, std::min(n, sizeof words));
  auto used = std::min(n, sizeof words);
  auto bytes = std::min(n - used, PairMemory::kRingBytes);
  if (bytes > 0) std::memcpy(memory->bytes(true), data + used, bytes);
  counts.written = words[0];
  counts.released = words[1];
  counts.pid = 0;
  auto reader = std::make_shared<RingReader>(memory, false);
  try {
    RingReader::Message m;
    unsigned sum = 0;
    for (int k = 0; k < 64 && reader->next(m); ++k)
      for (std::uint64_t i = 0, in_ring = bytes_in_ring(m.header); i < in_ring; ++i)
        sum += static_cast<unsigned>(m.payload[i]);
    asm volatile("" : : "r"(sum));
  } catch (const bora::TransportError&) {}
  return 0;
}
