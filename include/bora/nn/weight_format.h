// weight_format.h -- weights of 8 and 4 bits, for models that generate and are scored, and for the base of adapters:
// the numbers of a layer's weight become integers that share scales, and its product takes them as they are. They are
// not trained; derivatives pass through them to what is.
//   each_linear(model, [](const std::string&, nn::Linear& l) { pack(l, nn::WeightFormat::parse("int4")); });
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include "bora/named/array.h"

namespace bora::nn {
struct Linear;
struct Embedding;
/// Integers of 8 or 4 bits times a scale (f16) for each `group` inputs of an output: of least squared error.
struct WeightFormat {
  int bits = 8;             // 8 or 4
  std::int64_t group = 32;  // 32; of 4 bits also 128
  /// "int8", "int4", "int4:128"; none: the text is no format.
  static std::optional<WeightFormat> find(std::string_view text);
  /// The same. Throws ConfigError for no format.
  static WeightFormat parse(std::string_view text);
  bool operator==(const WeightFormat&) const = default;
};
std::string to_string(const WeightFormat&);  // as parse reads it
/// The axis of bytes of a weight that is packed.
inline constexpr const char* kPacked = "packed";
/// A packed weight, without its integers: [stacked.., units of out, units of in, packed], u8. The units, 16 outputs and
/// a group of inputs, have the name of the first axis of `out` and `in`, so that mappings split them as they split the
/// numbers; where a rank's numbers are no whole units under the current mapping, they have names that no rule splits.
struct PackedWeight {
  WeightFormat format;
  std::vector<Axis> out, in;
  /// The axes of the array of integers.
  std::vector<Axis> axes(const std::vector<Axis>& stacked = {}) const;
  /// weight [stacked.., in.., out..] or [stacked.., out.., in..] in any float dtype -> axes(stacked). Numbers are
  /// rounded (kernels/api/lowbit.h); no derivative.
  NamedArray pack(const NamedArray& weight) const;
  /// The numbers [stacked.., out.., in..], f32.
  NamedArray unpack(const NamedArray& packed) const;
  /// x [rows.., in..] -> [rows.., out..] in x's dtype. x is rounded to 8 bits in groups of 32, sums are exact within a
  /// group and f32 between groups. Its derivative is that of the product of x, not rounded, and unpack(packed)
  /// (Dettmers et al. 2023, QLoRA); the integers have none.
  NamedArray dot(const NamedArray& x, const NamedArray& packed) const;
  /// The vectors of a table with one axis `out`: indices [..] -> [.., in..], f32; NaN for an index outside.
  NamedArray rows(const NamedArray& packed, const NamedArray& indices) const;
};
/// Replaces the weight by its integers. ValueError if the layer has an adapter, which is merged before (adapters.h), or
/// a product of its own (dot_general.h), or is packed already.
void pack(Linear&, const WeightFormat&);
void pack(Embedding&, const WeightFormat&);
}  // namespace bora::nn
