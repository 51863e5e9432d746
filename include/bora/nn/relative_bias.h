// relative_bias.h -- numbers that attention adds to its scores, by the distance from the query to the key.
#pragma once
#include "bora/named/array.h"
#include "bora/nn/axes.h"

namespace bora::nn {
inline constexpr const char* kDistance = "distance";  // the axis of how many positions a key is before a query
struct RelativeBiasOptions {                          // of RelativeBias::init
  std::int64_t buckets = 32, max_distance = 128;  // numbers of each head, and the distance from which on there is one
  bool bidirectional = true;  // keys behind the query have buckets of their own; else they share the one of distance 0
};
/// The relative position bias of T5 (Raffel et al. 2020): a number for each head and bucket of distances. Short
/// distances have a bucket each, longer ones share buckets that widen with the logarithm; from max_distance on there is
/// one.
struct RelativeBias {
  NamedArray weight;  // [heads, relative_bucket]
  std::int64_t max_distance = 128;
  bool bidirectional = true;
  /// Uniform with the variance 1 / average of the sizes, as T5X draws it. Throws ValueError unless there are 2 buckets
  /// or more (4 if bidirectional, and an even number) and max_distance is above the number of short distances.
  static RelativeBias init(const Axis& heads, const Array& key, const RelativeBiasOptions& options = {});
  /// Positions of queries and of keys, i32 with one axis each -> [heads, of the queries, of the keys]; f32 (f64 for an
  /// f64 table).
  NamedArray operator()(const NamedArray& queries, const NamedArray& keys) const;
  /// [heads, distance] for the keys 0, 1, .. max_distance positions before a query, the last one for all farther ones:
  /// the bias of attention in pages.
  NamedArray before() const;
};
/// The bucket of a key at query + distance.
std::int64_t relative_bucket(std::int64_t distance, const RelativeBiasOptions& options);
}  // namespace bora::nn
