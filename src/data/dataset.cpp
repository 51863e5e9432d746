#include "bora/data/dataset.h"
#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>
#include "bora/base/error.h"
#include "bora/data/data.h"

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

std::int64_t pass_shift(const Place& place, std::int64_t positions) {
  if (place.pass == 0) return 0;
  return static_cast<std::int64_t>(index_shuffle(static_cast<std::uint64_t>(place.pass % positions),
                                                 static_cast<std::uint64_t>(positions),
                                                 static_cast<std::uint32_t>(place.seed)));
}

TrainingRows::TrainingRows(std::shared_ptr<const Dataset> rows, std::string name)
    : TrainingRows({{std::move(rows), std::move(name)}}, Mix::of({1})) {}
TrainingRows::TrainingRows(std::vector<Part> parts, Mix mix) : parts_(std::move(parts)), mix_(std::move(mix)) {
  check<ValueError>(mix_.sources() == static_cast<std::int64_t>(parts_.size()), "TrainingRows: ", parts_.size(),
                    " parts, but the mixture has ", mix_.sources());
  for (auto& part : parts_)
    check<ConfigError>(part.rows->size() > 0, "data: there is no row to train on", part.name.empty() ? "" : " in ",
                       part.name);
}
std::int64_t TrainingRows::size() const {
  std::int64_t n = 0;
  for (auto& part : parts_) n += part.rows->size();
  return n;
}
std::int64_t TrainingRows::at(std::int64_t sample, std::int64_t seed, const Row& row) const {
  auto [source, number] = mix_.at(sample);
  auto& rows = *parts_[static_cast<std::size_t>(source)].rows;
  auto n = rows.size(), pass = number / n;
  auto shuffle = static_cast<std::uint32_t>(seed) + static_cast<std::uint32_t>(pass) +
                 static_cast<std::uint32_t>(source) * 0x9e3779b9U;  // parts of one size have orders of their own
  auto index = index_shuffle(static_cast<std::uint64_t>(number % n), static_cast<std::uint64_t>(n), shuffle);
  rows.at({static_cast<std::int64_t>(index), pass, seed}, row);
  return source;
}

Rows Rows::zeros(std::int64_t begin, std::int64_t end, const RowShape& shape) {
  auto n = static_cast<std::size_t>((end - begin) * shape.positions),
       inputs = static_cast<std::size_t>((end - begin) * shape.inputs);
  Rows r{begin, end, shape};
  r.tokens.resize(n), r.targets.resize(n), r.weights.resize(n);
  r.segments.resize(shape.segments ? n : 0), r.places.resize(shape.places ? n : 0);
  r.inputs.resize(inputs), r.input_mask.resize(inputs);
  r.parts.resize(static_cast<std::size_t>(end - begin));
  r.filled.resize(r.parts.size());
  return r;
}
Row Rows::row(std::int64_t number) {
  auto at = (number - begin) * shape.positions, input = (number - begin) * shape.inputs;
  return {shape,
          tokens.data() + at,
          targets.data() + at,
          weights.data() + at,
          shape.segments ? segments.data() + at : nullptr,
          shape.places ? places.data() + at : nullptr,
          shape.inputs > 0 ? inputs.data() + input : nullptr,
          shape.inputs > 0 ? input_mask.data() + input : nullptr,
          filled.data() + (number - begin)};
}
Rows training_rows(const TrainingRows& data, const RowShape& shape, std::int64_t step, std::int64_t batch,
                   std::int64_t begin, std::int64_t end, std::int64_t seed) {
  auto rows = Rows::zeros(begin, end, shape);
  rows.filled_by_part.resize(data.parts().size());
  for (auto r = begin; r < end; ++r) {
    auto part = data.at(step * batch + r, seed, rows.row(r));
    auto i = static_cast<std::size_t>(r - begin);
    rows.parts[i] = static_cast<std::int32_t>(part);
    rows.filled_by_part[static_cast<std::size_t>(part)] += rows.filled[i];
  }
  return rows;
}
Rows evaluation_rows(const Dataset& data, const RowShape& shape, std::int64_t step, std::int64_t batch,
                     std::int64_t begin, std::int64_t end, std::int64_t count) {
  auto n = data.size();
  check<ConfigError>(n > 0, "data: there is no held-out row");
  count = std::min(count, n);
  auto rows = Rows::zeros(begin, end, shape);
  for (auto r = begin; r < end; ++r)
    if (auto sample = step * batch + r; sample < count) data.at({sample * n / count}, rows.row(r));
  return rows;
}
std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}
}  // namespace bora::data
