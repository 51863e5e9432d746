#include "bora/models/tuning.h"
#include <algorithm>
#include "bora/nn/weight_format.h"

namespace bora::models {
void LoraSettings::check() const {
  using config::domain;
  domain(rank >= 0 && rank <= 1 << 20, "rank", rank, "from 1 to 2^20 (or 0 for no adapters)");
  domain(config::finite(alpha) && alpha > 0, "alpha", alpha, "above 0");
  domain(dropout >= 0 && dropout < 1, "dropout", dropout, "at least 0 and below 1");
  bora::check<ConfigError>(rank > 0 || layers.empty(), "layers: there are no adapters; set lora.rank");
  bora::check<ConfigError>(rank > 0 || from.empty(), "from: there are no adapters; set lora.rank");
  bora::check<ConfigError>(rank > 0 || base.empty(), "base: there are no adapters; set lora.rank");
  bora::check<ConfigError>(base.empty() || nn::WeightFormat::find(base), "base: '", base, "' is no form of integers; "
                           "there are int8, int4 and int4:128");
}
namespace detail {
Array noise_key(const Array& key) { return random::fold_in(key, 0x6e656674); }  // "neft"
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
void add_adapters(const std::function<void(const VisitLinear&)>& each, const LoraSettings& s, const Array& key) {
  std::vector<std::string> paths;
  std::vector<bool> output;
  each([&](const std::string& path, nn::Linear& l) {
    paths.push_back(path);
    output.push_back(find_axis(l.in, nn::kVocab) >= 0 || find_axis(l.out, nn::kVocab) >= 0);
  });
  auto chosen = adapted(s, paths, output);
  std::int64_t i = 0;
  each([&](const std::string&, nn::Linear& l) {
    if (chosen[static_cast<std::size_t>(i)]) nn::add_adapter(l, s.options(), random::fold_in(key, i));
    ++i;
  });
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
