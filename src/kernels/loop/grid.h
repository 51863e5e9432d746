// grid.h -- the iteration space of one run of a loop.
#pragma once
#include "kernels/loop/plan.h"

namespace bora::kernels {
inline constexpr double kNanosecondsPerCost = 0.05;  // one instruction of the interpreter on one element, roughly

/// Scratch memory of this thread, kept between loops; 64-byte aligned.
char* loop_scratch(std::size_t bytes);

/// The iteration space with neighbouring dimensions merged where all operands allow it.
struct Grid {
  int ndim = 1, operands = 0, forms = 0;
  std::int64_t rows = 1, columns = 1;
  std::int64_t extent[kMaxDims];
  std::int64_t stride[kMaxOperands][kMaxDims];
  LinearForm linear[4];

  Grid(const LoopKernel& k, const LoopArgs& a)
      : operands(static_cast<int>(k.loop.operands.size())), forms(k.loop.linear_forms) {
    const bool flat = !k.has_reduction && !k.has_row_store;  // rows may be joined
    int d = 0;                                               // dimensions written so far
    for (int s = 0; s < a.ndim; ++s) {
      if (a.extent[s] == 1 && s + 1 < a.ndim) continue;
      if (d > 0 && (s + 1 < a.ndim || flat) && mergeable(a, s, d)) {
        extent[d - 1] *= a.extent[s];
        for (int o = 0; o < operands; ++o) stride[o][d - 1] = a.stride[o][s];
        for (int f = 0; f < forms; ++f) linear[f].stride[d - 1] = a.linear[f].stride[s];
        continue;
      }
      extent[d] = a.extent[s];
      for (int o = 0; o < operands; ++o) stride[o][d] = a.stride[o][s];
      for (int f = 0; f < forms; ++f) {
        linear[f].base = a.linear[f].base;
        linear[f].stride[d] = a.linear[f].stride[s];
      }
      ++d;
    }
    ndim = d;
    columns = extent[d - 1];
    for (int s = 0; s + 1 < d; ++s) rows *= extent[s];
  }
  /// Does dimension s of the arguments continue the last one written: is one step there a walk through all of s?
  bool mergeable(const LoopArgs& a, int s, int d) const {
    if (extent[d - 1] == 1) return true;
    for (int o = 0; o < operands; ++o)
      if (stride[o][d - 1] != a.stride[o][s] * a.extent[s]) return false;
    for (int f = 0; f < forms; ++f)
      if (linear[f].stride[d - 1] != a.linear[f].stride[s] * a.extent[s]) return false;
    return true;
  }
  std::int64_t inner() const { return ndim > 1 ? extent[ndim - 2] : 1; }
  /// Coordinates of a row in the outer dimensions.
  void coordinates(std::int64_t row, std::int64_t (&at)[kMaxDims]) const {
    for (int d = ndim - 2; d >= 0; --d) {
      at[d] = d == 0 ? row : row % extent[d];
      row /= extent[d];
    }
  }
};
}  // namespace bora::kernels
