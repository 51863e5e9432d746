#include "kernels/loop/narrow.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
#include "bora/base/parallel.h"
#include "bora/kernels/memory.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr I kVectorBytes = 32, kLeastRows = 32, kBlock = 2048;  // elements of a block
constexpr double kSpread = 0.5;                                // ns an element

/// to[r * n + c] = from[r * row + c * column]; back: the other way round.
template <int N, class T> void spread(T* from, I row, I column, T* to, I rows, I n, bool back) {
  const I width = N > 0 ? N : n;
  for (I r = 0; r < rows; ++r, from += row, to += width)
    for (I c = 0; c < width; ++c) back ? void(from[c * column] = to[c]) : void(to[c] = from[c * column]);
}
template <class T> void spread(void* from, I row, I column, void* to, I rows, I n, bool back) {
  auto f = [&]<int N>() { spread<N>(static_cast<T*>(from), row, column, static_cast<T*>(to), rows, n, back); };
  if (n == 1) f.template operator()<1>();
  else if (n == 2) f.template operator()<2>();
  else if (n == 3) f.template operator()<3>();
  else if (n == 4) f.template operator()<4>();
  else f.template operator()<0>();
}

/// The blocks of one thread.
class Blocks {
 public:
  Blocks(const LoopKernel& k, const LoopArgs& a, const Grid& g, I rows) : k_(k), a_(a), g_(g) {
    std::uint32_t loaded = 0, stored = 0;
    for (const Instr& i : k.loop.code) {
      if (i.kind == Instr::Kind::load) loaded |= 1u << i.imm;
      if (i.kind == Instr::Kind::store) stored |= 1u << i.imm;
    }
    args_.ndim = 1;
    std::size_t bytes = 0;
    for (int o = 0; o < g.operands; ++o) {
      args_.stride[o][0] = 1;
      const Operand& operand = k.loop.operands[static_cast<std::size_t>(o)];
      const I column = operand.columns ? g.stride[o][g.ndim - 1] : 0, row = g.stride[o][g.ndim - 2];
      if (row == g.columns && (column == 1 || g.columns == 1)) continue;
      spreads_.push_back({o, (loaded >> o & 1u) != 0, (stored >> o & 1u) != 0, dtype_size(operand.dtype), row, column,
                          nullptr});
      bytes += block_bytes(spreads_.back(), rows);
    }
    memory_ = allocate(bytes);
    auto* at = static_cast<char*>(memory_.get());
    for (auto& s : spreads_) s.block = std::exchange(at, at + block_bytes(s, rows));
  }
  /// `rows` rows from this one on, neighbours in the dimension of rows; at most those of the constructor.
  void run(I row, I rows) {
    I at[kMaxDims];
    g_.coordinates(row, at);
    for (int o = 0; o < g_.operands; ++o) {
      I offset = 0;
      for (int d = 0; d + 1 < g_.ndim; ++d) offset += at[d] * g_.stride[o][d];
      const auto size = static_cast<I>(dtype_size(k_.loop.operands[static_cast<std::size_t>(o)].dtype));
      args_.pointer[o] = static_cast<char*>(a_.pointer[o]) + offset * size;
    }
    for (auto& s : spreads_) {
      auto* memory = static_cast<char*>(args_.pointer[s.operand]);
      const bool same = std::exchange(s.memory, memory) == memory && s.row == 0;
      if (s.loaded && !(same && rows <= s.filled)) {
        move(s, rows, false);
        s.filled = rows;
      }
      args_.pointer[s.operand] = s.block;
    }
    args_.extent[0] = rows * g_.columns;
    kernels::run(k_.joined(), args_);
    for (auto& s : spreads_)
      if (s.stored) move(s, rows, true);
  }

 private:
  struct Spread {
    int operand;
    bool loaded, stored;
    std::size_t size;  // of an element
    I row, column;     // strides
    char *block, *memory = nullptr;
    I filled = 0;  // rows of the block that hold what is at `memory`: the same in all rows if `row` is 0
  };
  std::size_t block_bytes(const Spread& s, I rows) const {
    return (static_cast<std::size_t>(rows * g_.columns) * s.size + 63) / 64 * 64;
  }
  void move(const Spread& s, I rows, bool back) const {
    const I n = g_.columns;
    switch (s.size) {
      case 1: return spread<std::uint8_t>(s.memory, s.row, s.column, s.block, rows, n, back);
      case 2: return spread<std::uint16_t>(s.memory, s.row, s.column, s.block, rows, n, back);
      case 4: return spread<std::uint32_t>(s.memory, s.row, s.column, s.block, rows, n, back);
      default: return spread<std::uint64_t>(s.memory, s.row, s.column, s.block, rows, n, back);
    }
  }
  const LoopKernel& k_;
  const LoopArgs& a_;
  const Grid& g_;
  LoopArgs args_ = {};
  std::vector<Spread> spreads_;
  std::shared_ptr<void> memory_;
};
}  // namespace

bool is_narrow(const LoopKernel& k, const Grid& g) {
  return !k.has_reduction && !k.has_row_store && k.loop.linear_forms == 0 && g.ndim > 1 &&
         g.columns * k.element_bytes < kVectorBytes && g.columns > 0 && g.inner() >= kLeastRows;
}
void run_narrow(const LoopKernel& k, const LoopArgs& a, const Grid& g) {
  const I inner = g.inner(), most = std::min(inner, kBlock / g.columns), groups = (inner + most - 1) / most;
  const auto grain = grain_for(static_cast<double>(most * g.columns) * (k.cost * kNanosecondsPerCost / 2 + kSpread));
  parallel_for(g.rows / inner * groups, grain, [&](I begin, I end) {
    Blocks blocks(k, a, g, most);
    for (I u = begin; u < end; ++u) {
      const I first = u % groups * most;
      blocks.run(u / groups * inner + first, std::min(most, inner - first));
    }
  });
}
}  // namespace bora::kernels
