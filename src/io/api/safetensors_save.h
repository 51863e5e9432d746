// safetensors_save.h -- tensors that are made while they are written, so that no rank holds all of them.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "bora/io/safetensors.h"

namespace bora::io {
struct TensorSource {
  std::string name;
  Type type;
  std::function<Array()> make;  // of that type
};
/// As save_safetensors. Every rank makes all tensors, one after the other in one order, and drops each when its blocks
/// are written.
void save_tensors(const std::string& path, const std::vector<TensorSource>& tensors,
                  const SaveSafetensorsOptions& options);
}  // namespace bora::io
