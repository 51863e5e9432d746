// quantised_save.h -- weights as compressed-tensors' pack-quantized layout has them. Private.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "bora/models/hugging_face.h"
#include "bora/nn/weight_format.h"
#include "io/api/safetensors_save.h"
#include "models/hf/quantised.h"

namespace bora::models {
/// The tensors that stand for X.weight [outputs, inputs], which `make` gives, on a mesh split in any way: integers i32,
/// scales bf16, the shape. ValueError unless the inputs are whole groups.
std::vector<io::TensorSource> packed_sources(const std::string& tensor, const Shape& shape, const nn::WeightFormat&,
                                             const std::function<Array()>& make);
/// quantization_config. ignored: names of layers that keep their numbers.
void write_quantization(HfConfig&, const nn::WeightFormat&, const std::vector<std::string>& ignored);
}  // namespace bora::models
