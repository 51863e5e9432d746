#include "bora/data/dataset.h"
#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>
#include "bora/base/error.h"
#include "bora/data/data.h"
#include "data/rows/places.h"

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
Sequence<Place> places_of(const Dataset& rows, std::int64_t part, std::int64_t seed) {
  auto n = rows.size();
  return detail::make<Place>(n, false, {},
                             [=](std::int64_t i) { return std::optional(Place{i % n, i / n, seed, part}); });
}
namespace {
/// The places of training rows, by the row's number: every pass has each part's rows in another order.
Sequence<Place> order_of(const TrainingRows& data, std::int64_t seed) {
  std::vector<Sequence<Place>> parts;
  for (auto& part : data.parts()) {
    auto number = static_cast<std::int64_t>(parts.size());
    // Parts of one size have orders of their own.
    auto own = static_cast<std::uint32_t>(seed) + static_cast<std::uint32_t>(number) * 0x9e3779b9U;
    parts.push_back(places_of(*part.rows, number, seed).shuffle({.seed = own}));
  }
  return mix(parts, data.mix());
}
}  // namespace
std::int64_t TrainingRows::at(std::int64_t sample, std::int64_t seed, const Row& row) const {
  auto place = *order_of(*this, seed).at(sample);
  parts_[static_cast<std::size_t>(place.part)].rows->at(place, row);
  return place.part;
}

Rows Rows::zeros(std::int64_t begin, std::int64_t end, const RowShape& shape) {
  Rows r;
  r.begin = begin, r.end = end, r.shape = shape;
  each_column(shape, [&](const ColumnSpec& spec, auto of) {
    of(r).resize(static_cast<std::size_t>((end - begin) * spec.size(shape)));
  });
  r.parts.resize(static_cast<std::size_t>(end - begin));
  return r;
}
Row Rows::row(std::int64_t number) {
  Row r;
  r.shape = shape;
  each_column(shape, [&](const ColumnSpec& spec, auto of) {
    of(r) = of(*this).data() + (number - begin) * spec.size(shape);
  });
  return r;
}
Rows training_rows(const TrainingRows& data, const RowShape& shape, std::int64_t step, std::int64_t batch,
                   std::int64_t begin, std::int64_t end, std::int64_t seed) {
  auto rows = Rows::zeros(begin, end, shape);
  rows.filled_by_part.resize(data.parts().size());
  auto order = order_of(data, seed);
  for (auto r = begin; r < end; ++r) {
    auto place = *order.at(step * batch + r);
    auto part = static_cast<std::size_t>(place.part), i = static_cast<std::size_t>(r - begin);
    data.parts()[part].rows->at(place, rows.row(r));
    rows.parts[i] = static_cast<std::int32_t>(part);
    rows.filled_by_part[part] += rows.filled[i];
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
