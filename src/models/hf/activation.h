// activation.h -- the words of config.json for the functions of a feed-forward layer: those of the table in
// nn/activation.h that transformers has.
#pragma once
#include "bora/models/hugging_face.h"
#include "bora/nn/activation.h"

namespace bora::models {
/// None: transformers has no function of this word, or it is not supported.
inline std::optional<nn::Activation> hf_activation_of(std::string_view word) {
  for (auto& row : nn::words_of())
    if (row.hugging_face && row.word == word) return row.value;
  return none;
}
[[noreturn]] inline void refuse_activation(const HfConfig& c, std::string_view field, std::string_view more = {}) {
  std::string all, last;
  for (auto& row : nn::words_of())
    if (row.hugging_face) {
      if (!last.empty()) all += (all.empty() ? "" : ", ") + last;
      last = row.word;
    }
  c.refuse(field, all + " and " + last + " are" + std::string(more));
}
/// The function that a field of config.json names; refuses those that are not supported.
inline nn::Activation hf_activation(HfConfig& c, std::string_view field, std::string_view absent) {
  auto f = hf_activation_of(c.word(field, absent));
  if (!f) refuse_activation(c, field);
  return *f;
}
inline std::string hf_word(nn::Activation f) {
  for (auto& row : nn::words_of())
    if (row.hugging_face && row.value == f) return std::string(row.word);
  fail<ConfigError>("model.activation: transformers has no function ", nn::to_string(f));
}
}  // namespace bora::models
