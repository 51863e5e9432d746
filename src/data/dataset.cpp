#include "bora/data/dataset.h"
#include <algorithm>
#include <bit>
#include <filesystem>
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

Rows Rows::zeros(std::int64_t begin, std::int64_t end, std::int64_t positions) {
  auto n = static_cast<std::size_t>((end - begin) * positions);
  return {begin, end, positions, std::vector<std::int32_t>(n), std::vector<std::int32_t>(n), std::vector<float>(n)};
}
Row Rows::row(std::int64_t number) {
  auto at = (number - begin) * positions;
  return {tokens.data() + at, targets.data() + at, weights.data() + at, positions};
}
Rows training_rows(const Dataset& data, std::int64_t positions, std::int64_t step, std::int64_t batch,
                   std::int64_t begin, std::int64_t end, std::int64_t seed) {
  auto n = data.size();
  check<ConfigError>(n > 0, "data: there is no row to train on");
  auto rows = Rows::zeros(begin, end, positions);
  for (auto r = begin; r < end; ++r) {
    auto sample = step * batch + r, pass = sample / n;
    auto index = index_shuffle(static_cast<std::uint64_t>(sample % n), static_cast<std::uint64_t>(n),
                               static_cast<std::uint32_t>(seed) + static_cast<std::uint32_t>(pass));
    data.at({static_cast<std::int64_t>(index), pass, seed}, rows.row(r));
  }
  return rows;
}
Rows evaluation_rows(const Dataset& data, std::int64_t positions, std::int64_t step, std::int64_t batch,
                     std::int64_t begin, std::int64_t end, std::int64_t count) {
  auto n = data.size();
  check<ConfigError>(n > 0, "data: there is no held-out row");
  count = std::min(count, n);
  auto rows = Rows::zeros(begin, end, positions);
  for (auto r = begin; r < end; ++r)
    if (auto sample = step * batch + r; sample < count) data.at({sample * n / count}, rows.row(r));
  return rows;
}
std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}
}  // namespace bora::data
