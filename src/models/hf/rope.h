// rope.h -- settings that models with rotary positions and sliding windows share, and their fields in config.json.
#pragma once
#include "bora/config/config.h"
#include "bora/models/hugging_face.h"
#include "bora/nn/rotary.h"

namespace bora::models {
/// nn::RotaryScaling in settings.
struct RopeScaling {
  nn::RotaryScaling::Kind kind = nn::RotaryScaling::Kind::none;
  double factor = 1;
  std::optional<double> low = {}, high = {};
  std::int64_t original_positions = 0;
  std::optional<double> amplitude = {};
  bool whole_pairs = true;
  static constexpr std::string_view named = "kind";
  static constexpr config::Meaning meanings[] = {
      {"kind", "of frequencies for more positions than pre-training had: none, linear, llama3, yarn"},
      {"factor", "by which low frequencies are divided; linear: all"},
      {"low", "llama3, yarn: fewer turns than this within original_positions are a low frequency; by default 1"},
      {"high", "llama3, yarn: more turns than this keep their frequency; by default 4 for llama3, 32 for yarn"},
      {"original_positions", "llama3, yarn: positions of pre-training"},
      {"amplitude", "yarn: of cosines and sines; by default 0.1 ln(factor) + 1"},
      {"whole_pairs", "yarn: the range between low and high begins and ends at whole pairs"}};
  nn::RotaryScaling options() const;
  void check() const;
};
struct LongRope;
struct Rope {
  double theta = 10000;
  RopeScaling scaling = {};
  double part = 1;  // of a head's numbers, those that turn
};
/// rope_theta with rope_scaling, or rope_parameters (since transformers 5). Refuses other kinds of scaling.
/// absent_part: `part` unless partial_rotary_factor says it; none: the model turns whole heads, and a part is refused.
/// longer: where the model has it, gets longrope's fields, which are also the kinds su and yarn then.
Rope rope_from_hf(HfConfig&, std::int64_t positions, double absent_theta, std::optional<double> absent_part = none,
                  LongRope* longer = nullptr);
/// The same of the fields in a group of their own: rope_parameters.full_attention, where layers differ.
Rope rope_from_group(HfConfig& group, std::int64_t positions, double absent_theta);
/// The numbers of a head that such a part of it is, as transformers rounds it; 0: all. Refuses a part without a number.
std::int64_t rotary_of_part(const HfConfig&, std::string_view field, double part, std::int64_t head_size);
/// And back: a part that readers round to these numbers.
double part_of_rotary(std::int64_t rotary, std::int64_t head_size);
/// In the form that every version of transformers reads.
void rope_to_hf(const Rope&, HfConfig&);

/// Positions that a layer's queries attend to: all before them, or the last of a window.
enum class LayerType : std::uint8_t { full, sliding };
inline constexpr std::string_view kLayerTypes =
    "attention of the layers in turn, repeated: full, or sliding, which sees a window";
/// The window of each layer, 2^30 if it has none; empty: no layer has one.
std::vector<std::int64_t> layer_windows(std::int64_t window, const std::vector<LayerType>& types, std::int64_t layers);
/// Throws ConfigError.
void check_windows(std::int64_t window, const std::vector<LayerType>& types, std::int64_t layers);
/// num_hidden_layers, for each of which a list may have an entry: from 1 to 2^20.
std::int64_t layers_from_hf(HfConfig&);
/// layer_types without its repetitions; `absent` if there is no such field. Refuses other words, and another number
/// than that of layers.
std::vector<LayerType> layer_types_from_hf(HfConfig&, std::int64_t layers, std::vector<LayerType> absent);
/// Refuses fields of models with other windows unless they say the same: that all layers have this window, or none if
/// it is 0.
void expect_window(HfConfig&, std::int64_t window, std::int64_t positions, std::int64_t layers);
void layer_types_to_hf(const std::vector<LayerType>&, std::int64_t layers, HfConfig&);
}  // namespace bora::models
