// places.h -- the rows of a Dataset as a Sequence: of their places, for rows are written where their batch has them.
#pragma once
#include "bora/data/dataset.h"
#include "bora/data/sequence.h"

namespace bora::data {
/// The places of a dataset's rows; it is number `part` of several. Element i * size() + k: row k of pass i.
Sequence<Place> places_of(const Dataset&, std::int64_t part, std::int64_t seed);
}  // namespace bora::data
