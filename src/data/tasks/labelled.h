// labelled.h -- rows for an encoder whose targets are classes or numbers, not tokens. Private.
#pragma once
#include <algorithm>
#include <bit>
#include "bora/base/text.h"
#include "bora/data/around.h"
#include "data/tasks/task.h"

namespace bora::data {
/// The number of a class: that of the label with this word, or the word as such a number, where `labels` may be empty.
inline std::int32_t class_of(const std::string& word, const std::vector<std::string>& labels, const Record& r) {
  auto found = std::find(labels.begin(), labels.end(), word);
  if (found != labels.end()) return static_cast<std::int32_t>(found - labels.begin());
  auto number = parse_as<std::int64_t>(word);
  auto n = static_cast<std::int64_t>(labels.size());
  if (number && *number >= 0 && *number < n) return static_cast<std::int32_t>(*number);
  std::string all;
  for (auto& label : labels) all += (all.empty() ? "" : ", ") + label;
  r.failed("'" + word + "' is no label of the model (model.labels), which tells " + std::to_string(n) +
           " apart: " + all);
}
/// A number as two numbers of a document's field, the upper half of its bits first, and back.
inline void put_number(std::vector<std::int32_t>& field, double x) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  field.push_back(static_cast<std::int32_t>(bits >> 16));
  field.push_back(static_cast<std::int32_t>(bits & 0xffff));
}
inline float number_of(const std::vector<std::int32_t>& field) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(field.at(0)) << 16 | static_cast<std::uint32_t>(field.at(1)));
}
/// Puts tokens in a row from `at` on, with their type; returns the place behind them.
inline std::int64_t put_tokens(const Row& row, std::int64_t at, std::span<const std::int32_t> ids, int type) {
  for (auto id : ids) {
    row.tokens[at] = id;
    if (row.token_types) row.token_types[at] = type;
    if (row.positions) row.positions[at] = static_cast<std::int32_t>(at);
    ++at;
  }
  *row.filled = static_cast<std::int32_t>(at);
  return at;
}
}  // namespace bora::data
