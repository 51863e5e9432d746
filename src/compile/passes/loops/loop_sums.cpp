#include "compile/passes/loops/loop_sums.h"
#include <algorithm>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/api/reduce.h"

namespace bora::exec {
namespace {
using I = std::int64_t;
constexpr I kRowsBytes = 128 * 1024;  // of values stored for sums only: they stay in the second-level cache
constexpr I kChunk = 2048;            // columns processed separately, where rows need not be whole
constexpr double kElement = 0.3;       // ns

struct SumShape {
  I rows, columns;    // of the loop
  I each, of, count;  // rows of a sum; blocks of one; sums
  I blocks;           // of all sums
  SumShape(const kernels::LoopArgs& a, const Fused& f) : rows(1), columns(a.extent[a.ndim - 1]), each(f.sum_rows) {
    for (int d = 0; d + 1 < a.ndim; ++d) rows *= a.extent[d];
    of = (each + kernels::kBlockRows - 1) / kernels::kBlockRows;
    count = (rows + each - 1) / each;  // a part of the loop that is timed may end within a sum
    blocks = count * of;
  }
  I begin(I block) const { return std::min(rows, block / of * each + block % of * kernels::kBlockRows); }
  I end(I block) const { return std::min({rows, begin(block) + kernels::kBlockRows, (block / of + 1) * each}); }
};
Dtype operand_dtype(const Fused& f, std::size_t operand) { return f.loop.operands[operand].dtype; }
/// Bytes of the partial results of a sum, [blocks, columns].
std::size_t sum_bytes(const Fused& f, const Fused::Sum& s, const SumShape& shape) {
  auto each = kernels::partial_bytes(operand_dtype(f, s.operand));
  auto bytes = static_cast<std::size_t>(shape.blocks * shape.columns) * each;
  return (bytes + 63) / 64 * 64;  // the next sum's partial results start at a cache line
}

/// Part of the loop: rows [begin, end) of columns [c0, c0 + width).
class LoopPart {
 public:
  LoopPart(const kernels::LoopKernel& k, const kernels::LoopArgs& a, const Fused& f, I c0, I width)
      : kernel_(k), all_(a), f_(f), c0_(c0) {
    args_.ndim = 2;
    args_.extent[1] = width;
    for (std::size_t o = 0; o < f.operands.size(); ++o) {
      args_.stride[o][0] = stride(o);
      args_.stride[o][1] = a.stride[o][a.ndim - 1];
      if (o >= f.kept()) args_.stride[o][0] = width;
    }
    for (int l = 0; l < f.loop.linear_forms; ++l) {
      args_.linear[l].stride[0] = a.linear[l].stride[a.ndim - 2];
      args_.linear[l].stride[1] = a.linear[l].stride[a.ndim - 1];
    }
    I row_bytes = 0;
    for (auto o = f.kept(); o < f.operands.size(); ++o) row_bytes += width * size(o);
    portion_ = std::clamp<I>(row_bytes ? kRowsBytes / row_bytes : kernels::kBlockRows, 1, kernels::kBlockRows);
    if (row_bytes) unkept_ = kernels::allocate(static_cast<std::size_t>(portion_ * row_bytes));
  }
  /// One block of rows; partial[s]: of sum s, these columns.
  void block(I begin, I end, char* const* partial) {
    auto width = args_.extent[1];
    for (std::size_t s = 0; s < f_.sums.size(); ++s)
      kernels::begin_block(f_.sums[s].kind, operand_dtype(f_, f_.sums[s].operand), partial[s], width);
    auto inner = all_.extent[all_.ndim - 2];
    for (I r = begin, n; r < end; r += n) {
      n = std::min({portion_, end - r, inner - r % inner});
      go_to(r, n);
      add(false, n, partial);  // loaded operands first: the loop may overwrite them
      kernels::run(kernel_, args_);
      add(true, n, partial);
    }
  }

 private:
  I size(std::size_t o) const { return static_cast<I>(dtype_size(operand_dtype(f_, o))); }
  I stride(std::size_t o) const { return all_.stride[o][all_.ndim - 2]; }
  void go_to(I row, I rows) {
    args_.extent[0] = rows;
    I at[kernels::kMaxDims];
    for (int d = all_.ndim - 2; d >= 0; --d) {
      at[d] = d == 0 ? row : row % all_.extent[d];
      row /= all_.extent[d];
    }
    auto offset = [&](const I* strides) {
      I n = c0_ * strides[all_.ndim - 1];
      for (int d = 0; d + 1 < all_.ndim; ++d) n += at[d] * strides[d];
      return n;
    };
    for (std::size_t o = 0; o < f_.kept(); ++o)
      args_.pointer[o] = static_cast<char*>(all_.pointer[o]) + offset(all_.stride[o]) * size(o);
    auto* rest = static_cast<char*>(unkept_.get());
    for (auto o = f_.kept(); o < f_.operands.size(); ++o) {
      args_.pointer[o] = rest;
      rest += portion_ * args_.extent[1] * size(o);
    }
    for (int l = 0; l < f_.loop.linear_forms; ++l)
      args_.linear[l].base = all_.linear[l].base + offset(all_.linear[l].stride);
  }
  void add(bool stored, I rows, char* const* partial) const {
    for (std::size_t s = 0; s < f_.sums.size(); ++s)
      if (auto& sum = f_.sums[s]; f_.stored[sum.operand] == stored)
        kernels::add_rows(sum.kind, operand_dtype(f_, sum.operand), args_.pointer[sum.operand], partial[s], rows,
                          args_.extent[1], args_.stride[sum.operand][0]);
  }
  const kernels::LoopKernel& kernel_;
  const kernels::LoopArgs& all_;
  const Fused& f_;
  I c0_, portion_;
  kernels::LoopArgs args_;
  std::shared_ptr<void> unkept_;
};
}  // namespace

std::int64_t sum_elements(const Fused& f, const kernels::LoopArgs& a) {
  SumShape shape(a, f);
  return shape.count * shape.columns;
}
std::size_t partial_bytes(const Fused& f) {
  SumShape shape(f.args, f);
  std::size_t bytes = 0;
  for (auto& s : f.sums) bytes += sum_bytes(f, s, shape);
  return bytes;
}
void run_with_sums(const kernels::LoopKernel& k, const kernels::LoopArgs& a, const Fused& f, void* const* sums,
                   void* partials) {
  SumShape shape(a, f);
  std::vector<char*> first;  // of each sum: its partial results, [blocks, columns]
  auto* memory = static_cast<char*>(partials);
  for (auto& s : f.sums) {
    first.push_back(memory);
    memory += sum_bytes(f, s, shape);
  }
  auto chunk = f.whole_rows ? shape.columns : std::min(kChunk, shape.columns);
  auto chunks = (shape.columns + chunk - 1) / chunk;
  auto grain = grain_for(kElement * static_cast<double>(kernels::kBlockRows * chunk));
  parallel_for(shape.blocks * chunks, grain, [&](I begin, I end) {
    std::vector<char*> partial(f.sums.size());
    for (I c = 0; c < chunks; ++c) {
      // Units are ordered by chunk, then block, so that a thread stays in its columns.
      I from = std::max(begin, c * shape.blocks), to = std::min(end, (c + 1) * shape.blocks);
      if (from >= to) continue;
      I c0 = c * chunk;
      LoopPart part(k, a, f, c0, std::min(chunk, shape.columns - c0));
      for (I b = from - c * shape.blocks; b < to - c * shape.blocks; ++b) {
        for (std::size_t s = 0; s < f.sums.size(); ++s)
          partial[s] = first[s] + (b * shape.columns + c0) *
                                      static_cast<I>(kernels::partial_bytes(operand_dtype(f, f.sums[s].operand)));
        part.block(shape.begin(b), shape.end(b), partial.data());
      }
    }
  });
  auto combine = grain_for(kElement * static_cast<double>(shape.of * shape.columns));
  for (std::size_t s = 0; s < f.sums.size(); ++s) {
    auto dtype = operand_dtype(f, f.sums[s].operand);
    auto from = shape.of * shape.columns * static_cast<I>(kernels::partial_bytes(dtype)),
         to = shape.columns * static_cast<I>(dtype_size(dtype));
    parallel_for(shape.count, combine, [&](I begin, I end) {
      for (I k = begin; k < end; ++k)
        kernels::combine_blocks(f.sums[s].kind, dtype, first[s] + k * from, static_cast<char*>(sums[s]) + k * to,
                                shape.of, shape.columns);
    });
  }
}
}  // namespace bora::exec
