// lax.h -- functions of jax.lax that have no shorter form under NumPy's names: windows of any kind taken and written at
// positions that are data, reductions with a function, sorting by several keys, convolutions with named dimensions.
// Composites, so that derivatives, vmap, jit and sharding follow.
#pragma once
#include <functional>
#include <string>
#include "bora/ops/convolution.h"
#include "bora/ops/indexing.h"
#include "bora/ops/sorting.h"

namespace bora::lax {
// ---- windows at positions that are data -----------------------------------------------------------------------------
/// The meaning of dimensions (GatherDimensionNumbers). The last dimension of the start indices [batch.., k] holds the
/// k positions of a window, along the dimensions start_index_map of x. The window's dimensions appear in the result at
/// offset_dims, but for the collapsed ones, of size 1; its other dimensions are those of the batch. Dimension
/// operand_batching_dims[i] of x goes with dimension start_indices_batching_dims[i] of the indices.
struct GatherDims {
  Dims offset_dims = {}, collapsed_slice_dims = {}, start_index_map = {};
  Dims operand_batching_dims = {}, start_indices_batching_dims = {};
};
struct GatherOptions {                // of gather
  IndexMode mode = IndexMode::fill;   // a window that does not lie inside is filled up as a whole, or moved inside
  std::optional<Scalar> fill = none;  // default: NaN, 0 for integers
};
/// The windows of `slice_sizes` (one size for each dimension of x). Uses one i32 position for each element. Throws
/// ShapeError, IndexError for dimensions that do not fit.
Array gather(const Array& x, const Array& start_indices, const GatherDims& dims, const Shape& slice_sizes,
             const GatherOptions& options = {});
/// The counterpart (ScatterDimensionNumbers): update_window_dims of the updates are the window's dimensions, but for
/// the inserted ones, of size 1; scatter_dims_to_operand_dims is GatherDims' start_index_map.
struct ScatterDims {
  Dims update_window_dims = {}, inserted_window_dims = {}, scatter_dims_to_operand_dims = {};
  Dims operand_batching_dims = {}, scatter_indices_batching_dims = {};
};
// x with updates written at the windows; with clamp windows are moved inside, with fill those outside are dropped.
// If windows overlap, scatter keeps the last update, scatter_apply applies f once, the others combine all.
Array scatter(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
              IndexMode mode = IndexMode::fill);
Array scatter_add(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                  IndexMode mode = IndexMode::fill);
Array scatter_sub(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                  IndexMode mode = IndexMode::fill);
Array scatter_mul(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                  IndexMode mode = IndexMode::fill);
Array scatter_min(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                  IndexMode mode = IndexMode::fill);
Array scatter_max(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                  IndexMode mode = IndexMode::fill);
Array scatter_apply(const Array& x, const Array& indices, const std::function<Array(const Array&)>& f,
                    const Shape& update_shape, const ScatterDims& dims, IndexMode mode = IndexMode::fill);
// One dimension of dynamic_slice and dynamic_update_slice. start: an integer scalar, from the end if negative, then
// clamped.
Array dynamic_slice_in_dim(const Array& x, const Array& start, std::int64_t size, std::int64_t axis = 0);
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start, std::int64_t axis);
/// x with x[.., i, ..] replaced; the update may lack the dimension.
Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& i, std::int64_t axis);
/// The rows x[indices[0][j], indices[1][j], ..] along the given axes: [j, other dimensions of x..].
Array index_take(const Array& x, const Arrays& indices, const Dims& axes);
/// Dimensions start .. stop - 1 as one.
Array collapse(const Array& x, std::int64_t start, std::optional<std::int64_t> stop = none);

// ---- reductions with a function -------------------------------------------------------------------------------------
using Combine = std::function<Array(const Array&, const Array&)>;  // f of reduce and reduce_window
/// x reduced over dims by f, which is associative and commutative, works on whole arrays, and does not change `init`'s
/// partner: f(init, v) = v. log2(n) calls of f.
Array reduce(const Array& x, Scalar init, const Combine& f, const Dims& dims);
struct WindowOptions {               // of reduce_window
  Dims window_strides = {};          // {}: 1 for each dimension, as for the dilations
  Padding padding = Padding::valid;  // around x, filled with init
  Dims base_dilation = {};           // init is put between the elements of x
  Dims window_dilation = {};         // between the elements of a window
};
/// Each window of x reduced by such an f; `window` has a size for each dimension of x. Padding holds init.
Array reduce_window(const Array& x, Scalar init, const Combine& f, const Dims& window,
                    const WindowOptions& options = {});
// Running sums, products, extremes, and logarithms of running sums of exponentials, along axis; reverse: from the end.
Array cumsum(const Array& x, std::int64_t axis = 0, bool reverse = false);
Array cumprod(const Array& x, std::int64_t axis = 0, bool reverse = false);
Array cummax(const Array& x, std::int64_t axis = 0, bool reverse = false);
Array cummin(const Array& x, std::int64_t axis = 0, bool reverse = false);
Array cumlogsumexp(const Array& x, std::int64_t axis = 0, bool reverse = false);

// ---- order ----------------------------------------------------------------------------------------------------------
/// The operands (of one shape), all in the order of the first num_keys of them: by the first, equal ones by the second,
/// ... Ascending, stable, NaN last.
Arrays sort(const Arrays& operands, std::int64_t dimension = -1, std::int64_t num_keys = 1);
// The k largest (smallest) along a dimension, in order, and their i32 positions. Exact: JAX's hints for the speed of
// an approximation have no use here.
TopKResult approx_max_k(const Array& x, std::int64_t k, std::int64_t reduction_dimension = -1);
TopKResult approx_min_k(const Array& x, std::int64_t k, std::int64_t reduction_dimension = -1);

// ---- products and convolutions --------------------------------------------------------------------------------------
/// a [b.., m, k] times b [b.., k, n], with equal batch dimensions.
Array batch_matmul(const Array& a, const Array& b);
/// The meaning of each dimension by a letter: N batch, C channels, O and I channels of the result and of each group of
/// x, any others spatial, as in "NCHW", "OIHW", "NHWC". Empty: batch and channels in front (NC.., OI.., NC..).
struct ConvDims {
  std::string x = {}, w = {}, out = {};
};
struct GeneralConvOptions {                   // of convolutions with named dimensions
  Padding padding = Padding::valid;           // around x
  Dims lhs_dilation = {}, rhs_dilation = {};  // {}: 1 for all
  ConvDims dimension_numbers = {};            // the letters of x, w and the result
  /// Groups of channels, or of the batch, with output channels of their own; one of the two is 1.
  std::int64_t feature_group_count = 1, batch_group_count = 1;
};
/// The convolution of x with w, not mirrored, as conv() computes it, with dimensions in the order that the options say.
/// Throws ShapeError, ValueError.
Array conv_general_dilated(const Array& x, const Array& w, const Dims& window_strides,
                           const GeneralConvOptions& options = {});
/// The elements under each window as channels, C windows of `filter_shape` one after the other: the C of the result is
/// C * volume(filter_shape).
Array conv_general_dilated_patches(const Array& x, const Dims& filter_shape, const Dims& window_strides,
                                   const GeneralConvOptions& options = {});
/// A convolution with weights of its own at each place of the result: w's spatial sizes are those of the result, its I
/// is C * volume(filter_shape), as conv_general_dilated_patches orders it.
Array conv_general_dilated_local(const Array& x, const Array& w, const Dims& window_strides, const Dims& filter_shape,
                                 const GeneralConvOptions& options = {});
}  // namespace bora::lax
