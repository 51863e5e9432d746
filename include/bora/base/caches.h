// caches.h -- what the library keeps for later calls, in numbers.
//   for (auto& c : caches()) std::cout << to_string(c) << '\n';
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bora {
/// A cache of this process, or all caches of one kind. Each drops what it used least recently beyond its limit; a later
/// call makes it again, and no number changes by that.
struct CacheReport {
  /// jit(NAME), a jitted function that is alive, by its option .name; memo(FORM), forms of Programs that are alive
  /// (executable, batched, split into a forward and a backward pass ..); eager loops; kernels; fft tables.
  std::string name;
  std::size_t entries = 0;
  /// Most entries. Of jit: for each rank of each mesh. Of memo: for each Program, and for each rank where the form is
  /// one rank's.
  std::size_t limit = 0;
  std::uint64_t hits = 0, misses = 0;  // look-ups since the cache was made
  std::uint64_t evictions = 0;
  std::optional<std::size_t> bytes = {};  // of the entries' code, where it is counted
};
/// Caches in use: jitted functions in the order in which they were made, then the kinds. Safe from any thread; other
/// threads may change the numbers meanwhile.
std::vector<CacheReport> caches();

/// One line: "jit(step): 2 of 64, 98 hits, 2 misses, 0 evictions".
inline std::string to_string(const CacheReport& c) {
  auto text = c.name + ": " + std::to_string(c.entries) + " of " + std::to_string(c.limit) + ", " +
              std::to_string(c.hits) + " hits, " + std::to_string(c.misses) + " misses, " +
              std::to_string(c.evictions) + " evictions";
  return c.bytes ? text + ", " + std::to_string(*c.bytes) + " bytes" : text;
}
}  // namespace bora
