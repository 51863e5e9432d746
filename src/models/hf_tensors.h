// hf_tensors.h -- names of tensors in the table of a model.
#pragma once
#include "bora/models/hugging_face.h"

namespace bora::models {
inline bool is_stacked(const HfWeight& w) { return w.tensor.find("{}") != std::string::npos; }
inline std::string tensor_of_layer(const HfWeight& w, std::int64_t layer) {
  auto name = w.tensor;
  if (is_stacked(w)) name.replace(name.find("{}"), 2, std::to_string(layer));
  return name;
}
}  // namespace bora::models
