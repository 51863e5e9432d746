// weights.h -- which leaves of a model become integers (nn/weight_format.h), and how they are filled. Model::packed
// lists them.
#pragma once
#include <string>
#include <vector>
#include "bora/nn/weight_format.h"
#include "bora/tree/tree.h"

namespace bora::models {
/// Linear layers take the model's format, except routers, which stay as they are. Tables of tokens and the layer that
/// gives their scores take 8 bits.
struct PackedLeaf {
  std::string path;        // of the weight
  std::vector<Axis> axes;  // of its numbers, stacked ones first
  nn::PackedWeight weight;
  /// The axes of one layer.
  std::vector<Axis> of_layer() const;
};
/// Writes one layer's numbers [of_layer()], in any float dtype, into the packed leaf of the tree: layer `i` of those
/// that are stacked; the first one before others. On a mesh every rank calls it, with numbers split in any way.
void write_packed(tree::Node parameters, const PackedLeaf&, std::int64_t i, const NamedArray& numbers);
/// The same of an array that is packed already, [weight.axes()].
void write_packed_bytes(tree::Node parameters, const PackedLeaf&, std::int64_t i, const NamedArray& packed);
/// On one rank: outputs [first, first + numbers' own) of a leaf that is not stacked, a multiple of 16 of them unless
/// they are the last; the first ones before others. numbers: [of_layer()] with fewer outputs, of one axis.
void write_packed_outputs(tree::Node parameters, const PackedLeaf&, std::int64_t first, const NamedArray& numbers);
/// All layers' numbers: [axes].
void write_all_packed(tree::Node parameters, const PackedLeaf&, const NamedArray& numbers);
/// The form in which a folder keeps most of its numbers: "f32", "bf16", or of quantised weights the word of the nearest
/// nn::WeightFormat. f16 and f64 are f32.
std::string weights_of(const std::string& folder);
}  // namespace bora::models
