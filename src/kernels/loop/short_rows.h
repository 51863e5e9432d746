// short_rows.h -- loops that reduce rows of a few elements, many rows at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>
#include "bora/base/collective.h"
#include "kernels/loop/grid.h"

namespace bora::kernels {
/// A Loop over rows of n elements as loops over [n, rows]: a tile of rows is transposed in the first-level cache, so
/// that vectors run across rows. Loops without reductions compute the values between two reductions; the reductions
/// fold the n elements of each row in the order of a row's 32 partial sums. Same bits.
class ShortRows {
 public:
  /// Null: this Loop does not run so.
  static std::shared_ptr<const ShortRows> make(const LoopKernel&, Code);
  /// Does it pay for rows like these?
  static bool pays(const LoopKernel&, const Grid&);
  /// Are tiles of several rounds of the last outer dimension, which is short?
  static bool spans(const Grid&);
  void run(const LoopKernel&, const LoopArgs&, const Grid&) const;

 private:
  /// Memory of a tile: one element for each column and row, or for each row.
  struct Buffer {
    Dtype dtype;
    bool columns;
  };
  struct Fold {
    Reduction kind;
    int in, out;  // buffers
  };
  /// A loop without reductions over [n, rows], or over [rows] alone; then reductions.
  struct Stage {
    bool columns;
    LoopKernelPtr kernel = nullptr;  // null: there is nothing to compute
    std::vector<int> buffers = {};   // of each of its operands
    std::vector<Fold> folds = {};
  };
  class Maker;
  class Tile;
  std::vector<Buffer> buffers_;       // those of the operands first
  std::vector<char> read_, written_;  // of each operand
  std::vector<Stage> stages_;
};
}  // namespace bora::kernels
