// parameter.h -- a leaf of a model, as rules over axes see it.
#pragma once
#include "bora/named/axis.h"

namespace bora::models {
/// Its path and the axes of its array.
struct Parameter {
  std::string path;
  std::vector<Axis> axes;
};
}  // namespace bora::models
