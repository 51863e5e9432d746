#include "bora/data/windows.h"
#include <algorithm>
#include <bit>
#include <random>
#include "bora/base/error.h"

namespace bora::data {
std::uint64_t index_shuffle(std::uint64_t index, std::uint64_t n, std::uint32_t seed) {
  check<ValueError>(index < n, "index_shuffle: ", index, " is not below ", n);
  if (n == 1) return 0;
  const auto bits = std::max(16, static_cast<int>(std::bit_width(n - 1)));
  const auto word = (bits + 1) / 2;  // bits of each half
  const auto mask = (std::uint64_t{1} << word) - 1;
  std::uint32_t keys[4];
  std::seed_seq({seed}).generate(keys, keys + 4);
  auto rotate = [&](std::uint64_t x, int by) { return ((x << by) | (x >> (word - by))) & mask; };
  auto round = [&](std::uint64_t x, std::uint32_t key) {
    return ((rotate(x, 1) & rotate(x, 8 % word)) ^ rotate(x, 2) ^ key) & mask;
  };
  auto value = index;
  do {
    auto left = value >> word, right = value & mask;
    left ^= round(right, keys[0]);
    right ^= round(left, keys[1]);
    left ^= round(right, keys[2]);
    right ^= round(left, keys[3]);
    value = left << word | right;
  } while (value >= n);
  return value;
}

std::int64_t Windows::size() const { return stream.size() / positions; }

namespace {
Rows empty_rows(std::int64_t step, std::int64_t begin, std::int64_t end, std::int64_t width) {
  auto rows = static_cast<std::size_t>(end - begin);
  return {step, begin, end, std::vector<std::uint8_t>(rows * static_cast<std::size_t>(width)),
          std::vector<float>(rows, 1.0F)};
}
}  // namespace

Rows Windows::training_rows(std::int64_t step, std::int64_t batch, std::int64_t begin, std::int64_t end,
                            std::int64_t seed) const {
  auto n = size();
  check<ConfigError>(n > 0, "data: ", stream.size(), " bytes to train on hold no window of ", positions + 1);
  auto r = empty_rows(step, begin, end, positions + 1);
  for (auto row = begin; row < end; ++row) {
    auto sample = step * batch + row, pass = sample / n;
    auto window = index_shuffle(static_cast<std::uint64_t>(sample % n), static_cast<std::uint64_t>(n),
                                static_cast<std::uint32_t>(seed) + static_cast<std::uint32_t>(pass));
    // The first pass begins at byte 0; later ones at a byte that depends on the pass alone, to cut other windows.
    auto shift = pass == 0 ? 0
                           : index_shuffle(static_cast<std::uint64_t>(pass % positions),
                                           static_cast<std::uint64_t>(positions), static_cast<std::uint32_t>(seed));
    stream.read(static_cast<std::int64_t>(window) * positions + static_cast<std::int64_t>(shift), positions + 1,
                r.tokens.data() + (row - begin) * (positions + 1));
  }
  return r;
}

Rows Windows::evaluation_rows(std::int64_t step, std::int64_t batch, std::int64_t begin, std::int64_t end,
                              std::int64_t count) const {
  auto n = (stream.size() - 1) / positions;  // whole windows: an evaluation does not wrap around
  check<ConfigError>(n > 0, "data: ", stream.size(), " held-out bytes hold no window of ", positions + 1);
  count = std::min(count, n);
  auto r = empty_rows(step, begin, end, positions + 1);
  for (auto row = begin; row < end; ++row) {
    auto sample = step * batch + row;
    if (sample < count)
      stream.read(sample * n / count * positions, positions + 1, r.tokens.data() + (row - begin) * (positions + 1));
    else r.weights[static_cast<std::size_t>(row - begin)] = 0;
  }
  return r;
}
}  // namespace bora::data
