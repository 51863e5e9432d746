// checkpoint_names.h -- the names that layers give their values for checkpoint policies: remat::names({"attn"}),
// remat::everything_except({"mlp"}), model.checkpoint=names(qkv, mlp_out). A value may have several.
#pragma once
#include <initializer_list>
#include <string_view>
#include "bora/named/array.h"

namespace bora::nn::checkpoint_names {
inline constexpr std::string_view
    kAttn = "attn",         // all of attention: queries, keys, values, weighted values with their norms, the result
    kQkv = "qkv",           // queries, keys and values as attention reads them: normed, turned
    kAttnOut = "attn_out",  // the result of attention's output layer
    kMlp = "mlp",           // all of a feed-forward layer or of experts: rows, hidden units on both sides of the
                            // activation, the result
    kMlpOut = "mlp_out";    // the result
}  // namespace bora::nn::checkpoint_names

namespace bora::nn {
/// x under these names: its numbers, Spec and derivative are unchanged.
NamedArray marked(const NamedArray& x, std::initializer_list<std::string_view> names);
}  // namespace bora::nn
