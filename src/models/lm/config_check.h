// config_check.h -- checks that the settings of all models share: sizes, rates, words. Each throws a ConfigError that
// begins with the field's name. And the axes of their blocks. Private.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include "bora/models/model.h"

namespace bora::models {
template <class T> using NamedValues = std::initializer_list<std::pair<std::string_view, T>>;
void check_sizes(NamedValues<std::int64_t>);           // from 1 to 2^30
void check_optional_sizes(NamedValues<std::int64_t>);  // or 0
void check_rates(NamedValues<double>);                 // at least 0 and below 1
void check_eps(float eps);
void check_checkpoint(const std::string& policy);
/// embed can be cut into equal heads; pairs: of an even size.
void check_heads(std::int64_t embed, std::int64_t heads, bool pairs = false);
void check_key_heads(std::int64_t heads, std::int64_t kv_heads);  // 0: as many
void check_rotary(std::int64_t rotary, std::int64_t head_size);  // numbers of a head that positions turn, in pairs
/// The axes of blocks that a layout may split. hidden_key: the setting that decides the number of hidden units.
std::vector<AxisSize> block_axes(std::int64_t heads, std::int64_t hidden, std::int64_t embed,
                                 std::string_view hidden_key = "model.hidden");
}  // namespace bora::models
