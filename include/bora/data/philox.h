// philox.h -- random numbers of a record: a pure function of (key, index), the same in any order and on any thread.
// Numbers equal those that NumPy's Generator(Philox) gives a random_map of Grain.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace bora::data {
/// NumPy's SeedSequence(entropy).generate_state(words): 32-bit words from any numbers.
std::vector<std::uint32_t> seed_words(const std::vector<std::uint64_t>& entropy, std::size_t words);

/// Philox4x64-10 with 2^64 numbers for each index. Salmon et al. 2011. A standard generator of 64-bit numbers.
class Philox {
 public:
  using Key = std::array<std::uint64_t, 2>;
  /// NumPy's Philox(seed).
  static Key key(std::uint64_t seed);
  Philox(const Key& key, std::uint64_t index) : key_(key), counter_{0, 0, 0, index} {}
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  /// 64 random bits.
  result_type operator()();
  /// 32 random bits: the lower half of 64, then the upper one.
  std::uint32_t bits32();
  /// Uniform in [0, 1), 53 bits. NumPy's random().
  double uniform();
  /// Uniform in [low, high). NumPy's integers(low, high). ValueError if empty.
  std::int64_t integer(std::int64_t low, std::int64_t high);

 private:
  Key key_;
  std::array<std::uint64_t, 4> counter_, block_ = {};
  int next_ = 4;  // number of the block's next word
  std::uint32_t upper_ = 0;
  bool has_upper_ = false;
};
}  // namespace bora::data
