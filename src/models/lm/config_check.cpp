#include "models/lm/config_check.h"
#include "bora/config/config.h"
#include "bora/fx/checkpoint.h"
#include "bora/nn/axes.h"

namespace bora::models {
void check_sizes(NamedValues<std::int64_t> sizes) {
  for (auto& [name, size] : sizes) {
    config::domain(size >= 1, name, size, "1 or more");
    check<ConfigError>(size <= 1 << 30, name, ": ", size, " is more than 2^30");
  }
}
void check_optional_sizes(NamedValues<std::int64_t> sizes) {
  for (auto& [name, size] : sizes)
    config::domain(size >= 0 && size <= 1 << 30, name, size, "from 1 to 2^30 (or 0)");
}
void check_rates(NamedValues<double> rates) {
  for (auto& [name, rate] : rates) config::domain(rate >= 0 && rate < 1, name, rate, "at least 0 and below 1");
}
void check_eps(float eps) { config::domain(config::finite(eps) && eps > 0, "eps", eps, "above 0"); }
void check_checkpoint(const std::string& policy) {
  try {
    (void)remat::parse(policy);
  } catch (const ConfigError& e) { fail<ConfigError>("checkpoint: ", e.text()); }
}
void check_heads(std::int64_t embed, std::int64_t heads, bool pairs) {
  check<ConfigError>(embed % heads == 0 && (!pairs || embed / heads % 2 == 0), "heads: model.embed ", embed,
                     " cannot be cut into ", heads, " equal heads", pairs ? " of an even size" : "");
}
void check_key_heads(std::int64_t heads, std::int64_t kv_heads) {
  check<ConfigError>(kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0), "kv_heads: model.heads ", heads,
                     " cannot be cut into ", kv_heads, " equal groups");
}
void check_rotary(std::int64_t rotary, std::int64_t head_size) {
  check<ConfigError>(rotary >= 0 && rotary <= head_size && rotary % 2 == 0, "rotary: ", rotary,
                     " numbers of a head cannot be turned in pairs; a head has ", head_size);
}
std::vector<AxisSize> block_axes(std::int64_t heads, std::int64_t hidden, std::int64_t embed,
                                 std::string_view hidden_key) {
  return {{nn::kHeads, "model.heads", heads, "head"},
          {nn::kMlp, hidden_key, hidden, "hidden unit"},
          {nn::kEmbed, "model.embed", embed, "number", " of a vector"}};
}
}  // namespace bora::models
