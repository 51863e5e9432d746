// same_everywhere.h -- values that every rank must give alike, compared by a digest of their bytes.
#pragma once
#include <cstdint>
#include <string_view>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/ops/sharding.h"

namespace bora::ops {
/// Equal for equal bytes, and for others in one case of 2^64. Words of 64 bits are mixed one after the other, in blocks
/// of 256 KiB whose order counts, so it does not depend on the number of threads.
std::uint64_t digest(const void* data, std::size_t bytes);
/// Whether x is an array of numbers that an operation outside of transforms takes on a mesh of several ranks: all must
/// have it alike.
bool is_placed_eagerly(const Array& x);
/// For such an x. Throws a ShardError, the same on every rank, that quotes which ranks differ, in types, in `spec`, or
/// in the first element that differs. Arrays of more than `up_to` bytes are compared by type only. Every rank must call
/// it.
void check_same_everywhere(std::string_view what, const Array& x, const Spec& spec, std::int64_t up_to);
/// with_sharding_constraint without a comparison between ranks: for values that the library itself makes alike.
Array constrained(const Array& x, const Spec& spec, const GradientWire& gradients = {});
/// The same after the comparison, if x is_placed_eagerly.
Array placed(std::string_view what, const Array& x, const Spec& spec, const GradientWire& gradients,
             std::int64_t compare_up_to);
}  // namespace bora::ops
