// rounded.h -- layers in the registry that round as they compute: they are constant between steps, so that gradients,
// which pass the rounding, are no differences. Private.
#pragma once
#include <string>
#include <vector>

namespace bora::nn {
std::vector<std::string>& rounded_layers();
}  // namespace bora::nn
