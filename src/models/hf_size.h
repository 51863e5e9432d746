// hf_size.h -- a size in config.json. Private.
#pragma once
#include "bora/models/hugging_face.h"

namespace bora::models {
/// 1 or more, or `absent`; refuses 0, by which configurations of models here mean another number.
inline std::int64_t hf_size(HfConfig& c, std::string_view field, std::optional<std::int64_t> absent = std::nullopt) {
  auto n = absent ? c.integer(field, *absent) : c.integer(field);
  if (n < 1 && c.has(field)) c.refuse(field, "1 or more is");
  return n;
}
}  // namespace bora::models
