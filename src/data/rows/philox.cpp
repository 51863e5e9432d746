#include "bora/data/philox.h"
#include "bora/base/error.h"

namespace bora::data {
namespace {
__extension__ using Wide = unsigned __int128;
}
// O'Neill's seed_seq_fe, as in numpy/random/bit_generator.pyx.
std::vector<std::uint32_t> seed_words(const std::vector<std::uint64_t>& entropy, std::size_t words) {
  std::vector<std::uint32_t> given;
  for (auto number : entropy) {
    given.push_back(static_cast<std::uint32_t>(number));
    if (number >> 32) given.push_back(static_cast<std::uint32_t>(number >> 32));
  }
  std::uint32_t hash = 0x43b0d7e5, pool[4];
  auto hashed = [&](std::uint32_t value, std::uint32_t multiplier) {
    value ^= hash;
    hash *= multiplier;
    value *= hash;
    return value ^ value >> 16;
  };
  auto mixed = [&](std::uint32_t x, std::uint32_t y) {
    auto z = 0xca01f9dd * x - 0x4973f715 * hashed(y, 0x931e8875);
    return z ^ z >> 16;
  };
  for (std::size_t i = 0; i < 4; ++i) pool[i] = hashed(i < given.size() ? given[i] : 0, 0x931e8875);
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      if (from != to) pool[to] = mixed(pool[to], pool[from]);
  for (std::size_t from = 4; from < given.size(); ++from)
    for (auto& word : pool) word = mixed(word, given[from]);
  hash = 0x8b51f9dd;
  std::vector<std::uint32_t> result(words);
  for (std::size_t i = 0; i < words; ++i) result[i] = hashed(pool[i % 4], 0x58f38ded);
  return result;
}

Philox::Key Philox::key(std::uint64_t seed) {
  auto w = seed_words({seed}, 4);
  return {w[0] | std::uint64_t{w[1]} << 32, w[2] | std::uint64_t{w[3]} << 32};
}
Philox::result_type Philox::operator()() {
  if (next_ == 4) {
    for (auto& word : counter_)
      if (++word != 0) break;
    block_ = counter_;
    auto key = key_;
    for (int round = 0; round < 10; ++round) {
      auto a = Wide{0xd2e7470ee14c6c93} * block_[0], b = Wide{0xca5a826395121157} * block_[2];
      block_ = {static_cast<std::uint64_t>(b >> 64) ^ block_[1] ^ key[0], static_cast<std::uint64_t>(b),
                static_cast<std::uint64_t>(a >> 64) ^ block_[3] ^ key[1], static_cast<std::uint64_t>(a)};
      key[0] += 0x9e3779b97f4a7c15;
      key[1] += 0xbb67ae8584caa73b;
    }
    next_ = 0;
  }
  return block_[static_cast<std::size_t>(next_++)];
}
std::uint32_t Philox::bits32() {
  if (has_upper_) {
    has_upper_ = false;
    return upper_;
  }
  auto bits = (*this)();
  has_upper_ = true;
  upper_ = static_cast<std::uint32_t>(bits >> 32);
  return static_cast<std::uint32_t>(bits);
}
double Philox::uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
// Lemire 2019, "Fast random integer generation in an interval".
std::int64_t Philox::integer(std::int64_t low, std::int64_t high) {
  check<ValueError>(low < high, "integer: there is none in [", low, ", ", high, ")");
  auto last = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) - 1;  // drawn: 0 .. last
  auto plus = [&](std::uint64_t n) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + n); };
  if (last == 0) return low;
  if (last == 0xffffffff) return plus(bits32());
  if (last < 0xffffffff) {
    auto n = static_cast<std::uint32_t>(last) + 1;
    auto product = std::uint64_t{bits32()} * n;
    if (static_cast<std::uint32_t>(product) < n)
      for (auto least = (0xffffffff - static_cast<std::uint32_t>(last)) % n;
           static_cast<std::uint32_t>(product) < least;)
        product = std::uint64_t{bits32()} * n;
    return plus(product >> 32);
  }
  if (last == max()) return plus((*this)());
  auto n = last + 1;
  auto product = Wide{(*this)()} * n;
  if (static_cast<std::uint64_t>(product) < n)
    for (auto least = (max() - last) % n; static_cast<std::uint64_t>(product) < least;) product = Wide{(*this)()} * n;
  return plus(static_cast<std::uint64_t>(product >> 64));
}
}  // namespace bora::data
