// histograms.h -- how large the numbers of each parameter are.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "bora/track/tracker.h"

namespace bora {
class Mesh;
class Trainable;
namespace training {
/// Of each trained parameter, by its path, in 64 intervals between powers of two: 2^-24 to 2^7 of either sign. Numbers
/// that are not finite are left out. Each rank counts the blocks that it has first; all ranks call it.
std::vector<std::pair<std::string, track::Histogram>> leaf_histograms(Trainable&, const Mesh&);
}  // namespace training
}  // namespace bora
