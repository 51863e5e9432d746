// codec.h -- f32 numbers as fewer bytes on the wire: bf16, and blocks of integers with a scale each (base/wire.h). A
// unit is what cannot be cut: a number of bf16, a block of integers. The last unit of a range is padded with zeros.
#pragma once
#include <cstddef>
#include <span>
#include <vector>
#include "bora/transport/transport.h"

namespace bora::transport {
/// The encoded numbers of each rank: as many of each.
using EncodedParts = std::span<const std::byte* const>;
/// Kernels for one class of instructions; all classes give the same bits. n: numbers, of which the last ones may fill a
/// unit in part. Nothing needs to be aligned.
struct CodecKernels {
  std::string_view name;
  void (*encode)(const float* in, std::int64_t n, std::int64_t block, std::byte* out) = nullptr;
  void (*decode)(const std::byte* in, std::int64_t n, std::int64_t block, float* out) = nullptr;
  /// The f32 sum of n numbers of each part in the parts' order; their units begin at byte `at`.
  void (*sum)(EncodedParts, std::int64_t at, std::int64_t n, std::int64_t block, float* out) = nullptr;
};
/// A codec: one row of the table.
struct CodecRow {
  Codec codec;
  int gap;  // the widest between the integers of a block, which go to 127; 0: it has none
  std::int64_t (*unit)(std::int64_t block);        // numbers
  std::int64_t (*unit_bytes)(std::int64_t block);  // their bytes
  std::span<const CodecKernels> kernels;           // the plainest first
};
std::span<const CodecRow> codecs();
const CodecRow& codec(Codec);  // not f32

/// Throws ValueError for a block that its codec does not take. `what` begins the error.
void check_block(const Wire&, std::string_view what);
/// The units and the bytes of n numbers, encoded.
std::int64_t encoded_units(const Wire&, std::int64_t n);
std::int64_t encoded_bytes(const Wire&, std::int64_t n);
void encode(const Wire&, const float* in, std::int64_t n, std::byte* out);
void decode(const Wire&, const std::byte* in, std::int64_t n, float* out);
/// The parts of n numbers each, summed in f32 in their order, and divided by their number for a mean: as f32 (`sums`),
/// or encoded again.
void sum_encoded(const Wire&, Reduction, const std::vector<const std::byte*>& parts, std::int64_t n, float* sums,
                 std::byte* encoded);
}  // namespace bora::transport
