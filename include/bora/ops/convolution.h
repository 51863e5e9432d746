// convolution.h -- convolutions (products of patches read in place; their derivatives are convolutions) and pooling
// (sums of strided slices, which fuse) over any number of spatial dimensions, channels last.
#pragma once
#include <utility>
#include <vector>
#include "bora/array/array.h"

namespace bora {
template <auto... P> struct MemberList;  // base/fields.h
/// Zeros around the spatial dimensions: none; as many as make size / stride (rounded up) windows, the odd one behind;
/// or (before, behind) for each dimension, negative ones cut.
struct Padding {
  enum Rule : std::uint8_t { valid, same, pairs };
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Padding(Rule r = valid) : rule(r) {}
  Padding(Pairs p) : rule(pairs), given(std::move(p)) {}
  Rule rule;
  Pairs given = {};
  using members = MemberList<&Padding::rule, &Padding::given>;
};
/// One number for each spatial dimension; {}: 1 for all.
struct ConvOptions {
  Dims stride = {};                  // between windows
  Padding padding = Padding::valid;  // around x
  Dims dilation = {};                // between the elements of a window
  Dims input_dilation = {};          // between the elements of x, zeros are put between them
  std::int64_t groups = 1;           // of input channels, each with its own part of the output channels
};
/// y[.., p, o] = sum over q and i of x[.., stride p + dilation q, i] w[q, i, o] (not mirrored, as all libraries of
/// networks do): x [batch.., spatial.., in], w [window.., in / groups, out] give [batch.., positions.., out]. Throws
/// ShapeError, ValueError.
Array conv(const Array& x, const Array& w, const ConvOptions& options = {});
/// The convolution whose windows are `stride` apart in the result: of sizes size * stride (same) or
/// (size - 1) * stride + window (valid, or more). jax.lax.conv_transpose.
Array conv_transpose(const Array& x, const Array& w, const ConvOptions& options = {});

struct PoolOptions {                 // of pools over windows
  Dims window;                       // for each spatial dimension
  Dims stride = {};                  // default: as the window, so that windows do not overlap
  Padding padding = Padding::valid;  // around x
};
// The largest and the smallest element and the sum of each window of x [batch.., spatial.., channels]. Padding counts
// as nothing.
Array max_pool(const Array& x, const PoolOptions& options);
Array min_pool(const Array& x, const PoolOptions& options);
Array sum_pool(const Array& x, const PoolOptions& options);
/// The mean; padded elements are counted as zeros, or not at all.
Array avg_pool(const Array& x, const PoolOptions& options, bool count_padding = true);
}  // namespace bora
