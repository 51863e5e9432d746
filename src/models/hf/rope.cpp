#include "models/hf/rope.h"
#include <algorithm>
#include "models/hf/fields.h"
#include "models/hf/long_rope.h"

namespace bora::models {
using Kind = nn::RotaryScaling::Kind;
namespace {
constexpr std::int64_t kNoWindow = 1 << 30;
constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";
/// The shortest beginning that repeated gives all of v.
std::vector<LayerType> period(const std::vector<LayerType>& v) {
  std::size_t n = 1;
  auto repeats = [&] {
    for (std::size_t i = n; i < v.size(); ++i)
      if (v[i] != v[i % n]) return false;
    return true;
  };
  while (!repeats()) ++n;
  return {v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n)};
}
}  // namespace

nn::RotaryScaling RopeScaling::options() const {
  return {kind, factor, low.value_or(1), high.value_or(kind == Kind::yarn ? 32 : 4), original_positions, amplitude,
          whole_pairs};
}
void RopeScaling::check() const {
  config::domain(std::isfinite(factor) && factor > 0, "factor", factor, "above 0");
  if (amplitude) config::domain(std::isfinite(*amplitude) && *amplitude >= 0, "amplitude", *amplitude, "0 or more");
  if (kind != Kind::llama3 && kind != Kind::yarn) return;
  config::domain(original_positions >= 1 && original_positions <= 1 << 30, "original_positions", original_positions,
                 "from 1 to 2^30");
  auto o = options();
  config::domain(std::isfinite(o.low) && o.low > 0, "low", o.low, "above 0");
  config::domain(std::isfinite(o.high) && o.high > o.low, "high", o.high, "above low");
}
void LongRope::check() const {
  if (!given()) return;
  config::domain(positions <= 1 << 30, "positions", positions, "at most 2^30 (or 0)");
  config::domain(pretrained_positions >= 2 && pretrained_positions <= positions, "pretrained_positions",
                 pretrained_positions, "from 2 to positions");
  for (auto [name, all] : {std::pair{"short_factors", &short_factors}, {"long_factors", &long_factors}})
    for (auto x : *all) config::domain(std::isfinite(x) && x > 0, name, x, "above 0");
  if (amplitude) config::domain(std::isfinite(*amplitude) && *amplitude >= 0, "amplitude", *amplitude, "0 or more");
}
double LongRope::amplitude_or_default() const {
  auto before = static_cast<double>(pretrained_positions), by = static_cast<double>(positions) / before;
  return amplitude.value_or(by <= 1 ? 1 : std::sqrt(1 + std::log(by) / std::log(before)));
}
namespace {
constexpr std::string_view kPart = "partial_rotary_factor";
void read_part(HfConfig& c, Rope& r, bool may_differ) {
  if (!may_differ) return c.expect(kPart, 1.0);
  r.part = c.number(kPart, r.part);
  if (c.has(kPart) && !(r.part > 0 && r.part <= 1)) c.refuse(kPart, "a part above 0 and up to 1 is");
}
/// The fields of a group into r. original: of the whole file; 0: it says none.
void read_group(HfConfig& g, Rope& r, std::int64_t positions, std::int64_t original, bool may_differ,
                LongRope* longer = nullptr) {
  r.theta = g.number("rope_theta", r.theta);
  read_part(g, r, may_differ);
  auto older = g.word("type", "default"), kind = g.word("rope_type", older);
  auto& s = r.scaling;
  auto optional = [&](std::string_view name) {
    return g.has(name) && g.number(name) != 0 ? std::optional(g.number(name)) : std::nullopt;
  };
  if (longer && (kind == "longrope" || kind == "su" || kind == "yarn")) {
    longer->positions = positions;
    longer->pretrained_positions = original;
    for (auto [name, to] :
         {std::pair{"short_factor", &longer->short_factors}, {"long_factor", &longer->long_factors}}) {
      *to = g.numbers(name);
      if (to->empty()) g.refuse(name, "longrope needs a number for each pair");
    }
    if (g.has("attention_factor")) longer->amplitude = g.number("attention_factor");
    else if (auto by = g.has("factor") ? g.number("factor") : 0; by > 0)
      longer->amplitude = by <= 1 ? 1 : std::sqrt(1 + std::log(by) / std::log(static_cast<double>(original)));
  } else if (kind == "linear") s.kind = Kind::linear;
  else if (kind == "llama3") s.kind = Kind::llama3;
  else if (kind == "yarn") s.kind = Kind::yarn;
  else if (kind != "default")
    g.refuse(g.has("rope_type") ? "rope_type" : "type", "default, linear, llama3 and yarn are");
  if (s.kind != Kind::none) s.factor = g.number("factor");
  if (s.kind == Kind::llama3 || s.kind == Kind::yarn) {
    s.original_positions = g.integer("original_max_position_embeddings", positions);
    if (original) s.original_positions = original;
  }
  if (s.kind == Kind::llama3) s.low = g.number("low_freq_factor"), s.high = g.number("high_freq_factor");
  if (s.kind == Kind::yarn) {
    s.low = optional("beta_slow"), s.high = optional("beta_fast");
    s.whole_pairs = g.flag("truncate", true);
    auto scale = optional("mscale"), all = optional("mscale_all_dim");
    auto amplitude = [&](double by) { return s.factor > 1 ? 0.1 * by * std::log(s.factor) + 1 : 1; };
    if (g.has("attention_factor")) s.amplitude = g.number("attention_factor");
    else if (scale && all) s.amplitude = amplitude(*scale) / amplitude(*all);
  }
  // The other kinds' fields, which transformers reads no more than this.
  g.ignore({"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor", "beta_slow",
            "beta_fast", "truncate", "mscale", "mscale_all_dim", "attention_factor", "finetuned"});
  if (longer) g.ignore({"short_factor", "long_factor"});
}
}  // namespace
Rope rope_from_hf(HfConfig& c, std::int64_t positions, double absent_theta, std::optional<double> absent_part,
                  LongRope* longer) {
  Rope r{.part = absent_part.value_or(1)};
  r.theta = c.number("rope_theta", absent_theta);
  read_part(c, r, absent_part.has_value());
  auto original = c.integer("original_max_position_embeddings", longer ? 4096 : 0);
  if (c.has("rope_scaling") && c.has("rope_parameters")) c.refuse("rope_scaling", "rope_parameters says the same");
  c.ignore({"rope_scaling", "rope_parameters"});
  auto field = c.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!c.has(field)) return r;
  auto g = c.group(field);
  read_group(g, r, positions, original, absent_part.has_value(), longer);
  return r;
}
Rope rope_from_group(HfConfig& group, std::int64_t positions, double absent_theta) {
  Rope r{.theta = absent_theta};
  read_group(group, r, positions, 0, false);
  return r;
}
std::int64_t rotary_of_part(const HfConfig& c, std::string_view field, double part, std::int64_t head_size) {
  if (part == 1) return 0;
  auto n = static_cast<std::int64_t>(static_cast<double>(head_size) * part);
  if (n == 0) c.refuse(field, "heads of " + std::to_string(head_size) + " numbers need a larger part");
  return n;
}
double part_of_rotary(std::int64_t rotary, std::int64_t head_size) {
  auto turned = rotary ? rotary : head_size;
  auto size = static_cast<double>(head_size), part = static_cast<double>(turned) / size;
  if (static_cast<std::int64_t>(size * part) < turned) part = std::nextafter(part, 1);  // readers round down
  return part;
}
void rope_to_hf(const Rope& r, HfConfig& c) {
  c.set("rope_theta", r.theta);
  auto& s = r.scaling;
  if (s.kind == Kind::none) return;
  auto g = c.group("rope_scaling");
  auto o = s.options();
  g.set("rope_type", s.kind == Kind::linear ? "linear" : s.kind == Kind::llama3 ? "llama3" : "yarn");
  g.set("factor", s.factor);
  if (s.kind == Kind::linear) return;
  g.set("original_max_position_embeddings", s.original_positions);
  if (s.kind == Kind::llama3) {
    g.set("low_freq_factor", o.low);
    g.set("high_freq_factor", o.high);
    return;
  }
  if (s.low) g.set("beta_slow", *s.low);
  if (s.high) g.set("beta_fast", *s.high);
  g.set("truncate", s.whole_pairs);
  if (s.amplitude) g.set("attention_factor", *s.amplitude);
}

void long_rope_to_hf(const LongRope& longer, HfConfig& c) {
  c.set("max_position_embeddings", longer.positions);
  c.set("original_max_position_embeddings", longer.pretrained_positions);
  auto g = c.group("rope_scaling");
  g.set("rope_type", "longrope");
  g.set("short_factor", longer.short_factors);
  g.set("long_factor", longer.long_factors);
  if (longer.amplitude) g.set("attention_factor", *longer.amplitude);
}

std::vector<std::int64_t> layer_windows(std::int64_t window, const std::vector<LayerType>& types, std::int64_t layers) {
  std::vector<std::int64_t> r;
  if (window == 0 || std::find(types.begin(), types.end(), LayerType::sliding) == types.end()) return r;
  for (std::int64_t i = 0; i < layers; ++i)
    r.push_back(types[static_cast<std::size_t>(i) % types.size()] == LayerType::sliding ? window : kNoWindow);
  return r;
}
void check_windows(std::int64_t window, const std::vector<LayerType>& types, std::int64_t layers) {
  config::domain(window >= 0 && window <= kNoWindow, "window", window, "from 1 to 2^30 (or 0)");
  auto n = static_cast<std::int64_t>(types.size());
  bora::check<ConfigError>(n >= 1 && n <= layers, "layer_types: ", n, " of them for ", layers, " layers");
}
std::int64_t layers_from_hf(HfConfig& c) {
  constexpr std::string_view field = "num_hidden_layers";
  auto layers = hf_size(c, field);
  if (layers > 1 << 20) c.refuse(field, "at most 2^20 are");
  return layers;
}
std::vector<LayerType> layer_types_from_hf(HfConfig& c, std::int64_t layers, std::vector<LayerType> absent) {
  auto words = c.words("layer_types");
  if (words.empty()) return period(absent);
  if (static_cast<std::int64_t>(words.size()) != layers) c.refuse("layer_types", "there must be one for each layer");
  std::vector<LayerType> types;
  for (auto& word : words) {
    if (word != kFull && word != kSliding) c.refuse("layer_types", "full_attention and sliding_attention are");
    types.push_back(word == kSliding ? LayerType::sliding : LayerType::full);
  }
  return period(types);
}
void expect_window(HfConfig& c, std::int64_t window, std::int64_t positions, std::int64_t layers) {
  if (window >= positions) return c.ignore({"layer_types", "use_sliding_window", "max_window_layers"});
  bool slides = window > 0;
  c.expect("use_sliding_window", slides);
  auto same = std::vector{slides ? LayerType::sliding : LayerType::full};
  if (layer_types_from_hf(c, layers, same) != same)
    c.refuse("layer_types", slides ? "all layers have the sliding_window" : "sliding layers need a sliding_window");
  if (!slides) c.ignore({"max_window_layers"});
}
void layer_types_to_hf(const std::vector<LayerType>& types, std::int64_t layers, HfConfig& c) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < layers; ++i)
    words.emplace_back(types[static_cast<std::size_t>(i) % types.size()] == LayerType::sliding ? kSliding : kFull);
  c.set("layer_types", words);
}
}  // namespace bora::models
