// small.h -- small models, and rows to try them with.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "bora/config/choice.h"
#include "bora/data/dataset.h"
#include "bora/models/lm.h"

namespace bora::test {
inline constexpr std::int64_t kVocabulary = 13;
/// The model of this type with these settings.
inline config::Choice<models::Model> model_of(std::string_view type, const std::vector<std::string>& settings) {
  auto d = config::parse_items(settings);
  d.at("type") = config::scalar(std::string(type));
  config::Choice<models::Model> model;
  model.read(d, "model", {});
  model.check("model");
  return model;
}
/// Rows [begin, end) of one sequence of tokens; a fifth of the targets do not count. Other columns are zeros.
inline data::Rows rows_of_tokens(std::int64_t begin, std::int64_t end, const data::RowShape& shape) {
  auto r = data::Rows::zeros(begin, end, shape);
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    auto at = begin * shape.positions + static_cast<std::int64_t>(i);
    r.tokens[i] = static_cast<std::int32_t>(at * 7 % kVocabulary);
    r.targets[i] = static_cast<std::int32_t>((at + 1) * 7 % kVocabulary);
    r.weights[i] = at % 5 == 4 ? 0 : 1;
  }
  return r;
}
}  // namespace bora::test
