#include "kernels/loop/row_batching.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/array/short_copy.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr I kVectorBytes = 32, kLeastRows = 32, kBlock = 2048;  // elements of a block
/// AVX-512 has masks for shorter rows than its vectors: copies into blocks pay from so many instructions an element on.
constexpr int kDear = 24;
constexpr double kSpread = 0.5;                                // ns an element

/// Rows of 9 to 15 bytes as whole vectors, whose ends the next rows overwrite: what lies between the rows changes.
void copy_loosely(const char* from, I from_step, char* to, I to_step, I rows, std::size_t bytes) {
  constexpr I kVector = 16;
  const I exact = (kVector - 1) / to_step;  // the last vectors would end behind the last row
  I r = 0;
  for (; r + exact < rows; ++r) {
    char piece[kVector];
    std::memcpy(piece, from + r * from_step, kVector);
    std::memcpy(to + r * to_step, piece, kVector);
  }
  for (; r < rows; ++r) std::memcpy(to + r * to_step, from + r * from_step, bytes);
}
/// Rows of 1 to 64 bytes. loosely: what lies between them in `to` may change.
void copy_rows(const char* from, I from_step, char* to, I to_step, I rows, I bytes, bool loosely) {
  if (loosely && from_step >= to_step && bytes > 8 && bytes < 16)
    return copy_loosely(from, from_step, to, to_step, rows, static_cast<std::size_t>(bytes));
  with_ends(bytes, [=](auto vector) {
    auto* x = from;
    auto* y = to;
    for (I r = 0; r < rows; ++r, x += from_step, y += to_step) copy_ends<decltype(vector)>(y, x, bytes);
  });
}
/// to[r * pitch + c] = from[r * row], c < n <= N; what lies between the rows changes.
template <I N, class T> void repeat(const T* from, I row, T* to, I pitch, I rows, I n) {
  const I exact = (N - 1) / pitch;  // as above
  I r = 0;
  for (; r + exact < rows; ++r) {
    T vector[N];
    for (T& x : vector) x = from[r * row];
    std::memcpy(to + r * pitch, vector, sizeof vector);
  }
  for (; r < rows; ++r) std::fill_n(to + r * pitch, n, from[r * row]);
}
template <class T> void repeat(const T* from, I row, T* to, I pitch, I rows, I n) {
  constexpr I kVector = 16 / sizeof(T);
  if (n <= kVector) return repeat<kVector>(from, row, to, pitch, rows, n);
  if (n <= 2 * kVector) return repeat<2 * kVector>(from, row, to, pitch, rows, n);
  repeat<4 * kVector>(from, row, to, pitch, rows, n);
}
/// to[r * pitch + c] = from[r * row + c * column]; back: the other way round.
template <int N, class T> void spread(T* from, I row, I column, T* to, I pitch, I rows, I n, bool back) {
  const I width = N > 0 ? N : n;
  for (I r = 0; r < rows; ++r, from += row, to += pitch)
    for (I c = 0; c < width; ++c) back ? void(from[c * column] = to[c]) : void(to[c] = from[c * column]);
}
template <class T> void spread(void* from, I row, I column, void* to, I pitch, I rows, I n, bool back) {
  if (column == 0 && !back) return repeat(static_cast<const T*>(from), row, static_cast<T*>(to), pitch, rows, n);
  auto f = [&]<int N>() { spread<N>(static_cast<T*>(from), row, column, static_cast<T*>(to), pitch, rows, n, back); };
  if (n == 1) f.template operator()<1>();
  else if (n == 2) f.template operator()<2>();
  else if (n == 3) f.template operator()<3>();
  else if (n == 4) f.template operator()<4>();
  else f.template operator()<0>();
}

/// Elements from one row to the next in a block: as in memory, if all rows that are read (two at least) are equally far
/// apart there and little lies between them, which is then computed too; else there are no gaps.
I pitch_of(const LoopKernel& k, const Grid& g) {
  I pitch = 0;
  int rows = 0;
  for (const Instr& i : k.loop.code) {
    if (i.kind != Instr::Kind::load) continue;
    const auto o = static_cast<std::size_t>(i.imm);
    const I column = k.loop.operands[o].columns ? g.stride[o][g.ndim - 1] : 0, row = g.stride[o][g.ndim - 2];
    if (column != 1 || row == 0) continue;
    if (row <= g.columns || row > 2 * g.columns || (pitch != 0 && row != pitch)) return g.columns;
    pitch = row;
    ++rows;
  }
  return rows > 1 ? pitch : g.columns;
}

/// Does joining rows of half a vector to one pay? Not where elements of a row lie apart: they are gathered better.
bool joins_long_rows(const LoopKernel& k, const Grid& g) {
  bool copies = false;  // of each block of rows
  for (int o = 0; o < g.operands; ++o) {
    const I column = k.loop.operands[static_cast<std::size_t>(o)].columns ? g.stride[o][g.ndim - 1] : 0;
    const I row = g.stride[o][g.ndim - 2];
    if (column != 0 && column != 1) return false;
    copies = copies || (row != 0 && (row != g.columns || column != 1));
  }
  return !copies || k.cost >= kDear || pitch_of(k, g) > g.columns;
}

/// The blocks of one thread.
class Blocks {
 public:
  Blocks(const LoopKernel& k, const LoopArgs& a, const Grid& g, I pitch, I rows) : k_(k), a_(a), g_(g), pitch_(pitch) {
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
      const bool gaps = pitch > g.columns && (stored >> o & 1u) != 0;  // they belong to others
      if (row == pitch && (column == 1 || g.columns == 1) && !gaps) continue;
      spreads_.push_back({o, (loaded >> o & 1u) != 0, (stored >> o & 1u) != 0, dtype_size(operand.dtype), row, column,
                          nullptr});
      bytes += block_bytes(spreads_.back(), rows);
    }
    memory_ = allocate(bytes);
    if (pitch > g.columns) std::memset(memory_.get(), 0, bytes);  // numbers between the rows
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
    args_.extent[0] = (rows - 1) * pitch_ + g_.columns;
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
    return (static_cast<std::size_t>(rows * pitch_) * s.size + 63) / 64 * 64;
  }
  void move(const Spread& s, I rows, bool back) const {
    const I n = g_.columns, size = static_cast<I>(s.size), row = s.row * size, pitch = pitch_ * size;
    if ((s.column == 1 || n == 1) && s.row != 0) {
      const I bytes = n * size;
      return back ? copy_rows(s.block, pitch, s.memory, row, rows, bytes, s.row == n)
                  : copy_rows(s.memory, row, s.block, pitch, rows, bytes, true);
    }
    switch (s.size) {
      case 1: return spread<std::uint8_t>(s.memory, s.row, s.column, s.block, pitch_, rows, n, back);
      case 2: return spread<std::uint16_t>(s.memory, s.row, s.column, s.block, pitch_, rows, n, back);
      case 4: return spread<std::uint32_t>(s.memory, s.row, s.column, s.block, pitch_, rows, n, back);
      default: return spread<std::uint64_t>(s.memory, s.row, s.column, s.block, pitch_, rows, n, back);
    }
  }
  const LoopKernel& k_;
  const LoopArgs& a_;
  const Grid& g_;
  const I pitch_;
  LoopArgs args_ = {};
  std::vector<Spread> spreads_;
  std::shared_ptr<void> memory_;
};
}  // namespace

bool has_short_rows(const LoopKernel& k, const Grid& g) {
  if (k.has_reduction || k.has_row_store || k.loop.linear_forms > 0 || g.ndim < 2 || g.columns == 0 ||
      g.inner() < kLeastRows)
    return false;
  const I bytes = g.columns * k.element_bytes;
  if (bytes < kVectorBytes || k.isa == Isa::v3) return bytes < kVectorBytes;
  return bytes < 2 * kVectorBytes && joins_long_rows(k, g);
}
void run_batched(const LoopKernel& k, const LoopArgs& a, const Grid& g) {
  const I pitch = pitch_of(k, g), inner = g.inner(), most = std::min(inner, kBlock / pitch);
  const I groups = (inner + most - 1) / most;
  const auto grain = grain_for(static_cast<double>(most * pitch) * (k.cost * kNanosecondsPerCost / 2 + kSpread));
  parallel_for(g.rows / inner * groups, grain, [&](I begin, I end) {
    Blocks blocks(k, a, g, pitch, most);
    for (I u = begin; u < end; ++u) {
      const I first = u % groups * most;
      blocks.run(u / groups * inner + first, std::min(most, inner - first));
    }
  });
}
}  // namespace bora::kernels
