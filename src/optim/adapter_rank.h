// adapter_rank.h -- the axis of an adapter's inner dimension, nn::kRank, which a layer above this one defines. Private.
#pragma once

namespace bora::optim {
/// Without a rule of its own it is a row beside columns and a column beside rows.
inline constexpr const char* kAdapterRank = "lora_rank";
}  // namespace bora::optim
