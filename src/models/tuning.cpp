#include "bora/models/tuning.h"
#include <algorithm>

namespace bora::models {
void LoraSettings::check() const {
  using config::domain;
  domain(rank >= 0 && rank <= 1 << 20, "rank", rank, "from 1 to 2^20 (or 0 for no adapters)");
  domain(config::finite(alpha) && alpha > 0, "alpha", alpha, "above 0");
  domain(dropout >= 0 && dropout < 1, "dropout", dropout, "at least 0 and below 1");
  bora::check<ConfigError>(rank > 0 || layers.empty(), "layers: there are no adapters; set lora.rank");
  bora::check<ConfigError>(rank > 0 || from.empty(), "from: there are no adapters; set lora.rank");
}
namespace detail {
Array adapter_key(const Array& key) { return random::fold_in(key, 0x6c6f7261); }  // "lora"
std::vector<bool> adapted(const LoraSettings& s, const std::vector<std::string>& paths,
                          const std::vector<bool>& output) {
  std::vector<std::string> can;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (!output[i]) can.push_back(paths[i]);
  bora::check<ConfigError>(!can.empty(), "lora: the model has no linear layers that adapters could stand beside");
  Selection layers("lora.layers", s.layers);
  for (std::size_t i = 0; i < paths.size(); ++i)
    for (auto& pattern : s.layers)
      bora::check<ConfigError>(!output[i] || pattern != paths[i], "lora.layers: ", pattern,
                               " gives the scores, which are made by blocks together with the loss; adapters are for "
                               "the layers before it");
  layers.check(can);
  std::vector<bool> r;
  for (std::size_t i = 0; i < paths.size(); ++i) r.push_back(!output[i] && (!layers || layers.has(paths[i])));
  return r;
}
Chosen chosen(const Tuning& how) {
  Chosen r;
  Selection frozen("freeze", how.freeze);
  if (how.lora) r.keeps = [](const std::string& path) { return nn::in_adapter(path); };
  if (how.lora || frozen)
    r.trains = [frozen, keeps = r.keeps](const std::string& path) {
      return (!keeps || keeps(path)) && !frozen.has(path);
    };
  return r;
}
void check_frozen(const Tuning& how, const std::vector<std::string>& paths) {
  Selection("freeze", how.freeze).check(paths);
  auto trains = chosen(how).trains;
  bora::check<ConfigError>(!trains || std::any_of(paths.begin(), paths.end(), trains),
                           "freeze: the patterns match every parameter, and nothing is left to train");
}
}  // namespace detail
}  // namespace bora::models
