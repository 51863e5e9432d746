// compression.h -- sums of gradients that carry over what they lose: error feedback around the wire's codec, and
// PowerSGD. Every rank keeps a residual of its own for each gradient; it is part of the training state.
#pragma once
#include <map>
#include "bora/base/wire.h"
#include "bora/optim/transform.h"
#include "bora/tree/tree.h"

namespace bora::training {
/// The mesh axes in force over which gradients are summed: those that split the batch.
MeshAxes gradient_axes();
/// How gradients are summed beside what StepOptions::wire says. All ranks of the mesh must split the batch and nothing
/// else.
struct Compression {
  /// Error feedback (Seide et al. 2014; Karimireddy et al. 2019): a rank sends Q(g + e), g its gradient and Q the
  /// codec's rounding, and keeps e = g + e - Q(g + e) for the next step. Needs a wire that rounds.
  bool error_feedback = false;
  /// PowerSGD of this rank (Vogels et al. 2019), with error feedback; 0: off. The wire must be f32.
  std::int64_t rank = 0;
  bool on() const { return error_feedback || rank > 0; }
};
/// Throws ValueError for a compression that makes no sense beside this wire.
void check_compression(const Wire&, const Compression&);

/// The first state that is carried from step to step: entries "residual.<path>" [ranks, ..], split over the ranks, and
/// "q.<path>" [layers, columns, rank]: PowerSGD's right factors. Residuals are zeros at first, factors are drawn from
/// the key.
optim::State first_carried(const Wire&, const Compression&, tree::Node gradients, const Array& key);
/// Replaces gradients, sums that are pending over the ranks, by sums that are complete and equal on all of them, placed
/// like the leaves of `like`. Residuals are in units of gradients over `scale`, the loss's. Where a sum is not finite
/// nothing is carried: the result is `carried` as it was. Throws ShardError if the mesh splits anything but the batch.
optim::State sum_carried(tree::Node gradients, tree::Node like, const optim::State& carried, const Wire&,
                         const Compression&, const std::optional<Array>& scale);

/// Terms [parts, ..] as they arrive, each sent by itself over this wire: the numbers that the transport's codec gives
/// back, bit for bit. f32.
Array rounded_terms(const Array& terms, const Wire&);

// A gradient as a stack of matrices: its dimensions cut in two groups, rows and columns, where their sum is least; the
// axis of stacked layers stays apart.
struct MatrixView {
  std::int64_t layers = 1, rows = 1, columns = 1;
  /// Whether factors of this rank have fewer numbers than the matrices.
  bool gains(std::int64_t rank) const { return rank * (rows + columns) < rows * columns; }
};
MatrixView matrix_view(const Shape& shape, bool stacked);
// PowerSGD's sum of terms [parts, layers, rows, columns], pending or split over the first dimension, with right
// factors q [layers, columns, rank]: p = orthonormal(sum m q), q' = sum m^T p, the sum is p q'^T. residuals: what each
// term loses, m - p p^T m. All of f32; the sum and q' are equal on all ranks.
struct LowRankSum {
  Array sum, q, residuals;
};
std::vector<LowRankSum> low_rank_sums(const Arrays& terms, const Arrays& q);
/// Residuals of another number of ranks, [theirs, ..] split over this mesh's ranks in any way, as those of this one:
/// each rank takes over the sum of those in its part, so their sum stays.
Array regrouped_residuals(const Array& stored);
}  // namespace bora::training
