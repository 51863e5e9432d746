// not_finite.h -- the parameter that makes a result NaN or infinite. Looking for it reads all of them, so it is for
// results that are not finite.
#pragma once
#include <optional>
#include <string>
#include "bora/base/shape.h"
#include "bora/tree/node.h"

namespace bora::training {
struct NotFinite {
  std::string path;  // of the leaf
  Dims place;        // the first such element
  float value;
};
/// The first leaf with such a number; none: all are finite. Every rank of a mesh calls it and gets the same.
std::optional<NotFinite> first_not_finite(tree::Node);
/// "'wte.weight' is nan at [3, 5]"
std::string to_string(const NotFinite&);
}  // namespace bora::training
