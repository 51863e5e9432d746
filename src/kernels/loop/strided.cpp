#include "kernels/loop/strided.h"
#include <immintrin.h>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/loop/grid.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr I kPiece = 2048;         // elements of each gathered operand: in the first-level cache with the others
constexpr double kGathered = 0.5;  // ns an element

/// out[i] = in[i * stride], i < n. Vectors of 32 and 64 bits for strides -1 and 2.
template <class T> void gather(const T* in, T* out, I n, I stride) {
  I i = 0;
  if constexpr (sizeof(T) == 4) {
    const auto at = [](const T* p) { return reinterpret_cast<const __m256i*>(p); };
    const auto to = [&](__m256i x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), x); };
    const auto back = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    if (stride == -1)
      for (; i + 8 <= n; i += 8) to(_mm256_permutevar8x32_epi32(_mm256_loadu_si256(at(in - i - 7)), back));
    if (stride == 2)  // the last vector would read one element too many
      for (; i + 9 <= n; i += 8) {
        const auto a = _mm256_castsi256_ps(_mm256_loadu_si256(at(in + 2 * i))),
                   b = _mm256_castsi256_ps(_mm256_loadu_si256(at(in + 2 * i + 8)));
        to(_mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
      }
  }
  if constexpr (sizeof(T) == 8) {
    const auto at = [](const T* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); };
    const auto to = [&](__m256d x) { _mm256_storeu_pd(reinterpret_cast<double*>(out + i), x); };
    if (stride == -1)
      for (; i + 4 <= n; i += 4) to(_mm256_permute4x64_pd(at(in - i - 3), 0x1b));
    if (stride == 2)
      for (; i + 5 <= n; i += 4)
        to(_mm256_permute4x64_pd(_mm256_unpacklo_pd(at(in + 2 * i), at(in + 2 * i + 4)), 0xd8));
  }
  for (; i < n; ++i) out[i] = in[i * stride];
}
/// out[i * stride] = in[i], i < n.
template <class T> void scatter(const T* in, T* out, I n, I stride) {
  for (I i = 0; i < n; ++i) out[i * stride] = in[i];
}
/// f(in, out) as numbers of this many bytes.
template <class F> void as_numbers(const void* in, void* out, std::size_t size, const F& f) {
  switch (size) {
    case 1: return f(static_cast<const std::uint8_t*>(in), static_cast<std::uint8_t*>(out));
    case 2: return f(static_cast<const std::uint16_t*>(in), static_cast<std::uint16_t*>(out));
    case 4: return f(static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out));
    default: return f(static_cast<const std::uint64_t*>(in), static_cast<std::uint64_t*>(out));
  }
}

/// Runs the loop over parts of some rows that are neighbours in the last dimension but one.
class Pieces {
 public:
  Pieces(const LoopKernel& k, const LoopArgs& a, std::uint32_t strided, I elements) : k_(k), a_(a) {
    args_.ndim = 2;
    std::uint32_t loaded = 0, stored = 0;
    for (const Instr& i : k.loop.code) {
      if (i.kind == Instr::Kind::load) loaded |= 1u << i.imm;
      if (i.kind == Instr::Kind::store) stored |= 1u << i.imm;
    }
    std::size_t bytes = 0;
    for (int o = 0; o < operands(); ++o) {
      args_.stride[o][0] = row_stride(o);
      args_.stride[o][1] = a.stride[o][last()];
      if ((strided >> o & 1u) == 0) continue;
      moved_.push_back({o, (loaded >> o & 1u) != 0, (stored >> o & 1u) != 0, nullptr, nullptr});
      bytes += piece_bytes(o, elements);
      args_.stride[o][1] = 1;
    }
    memory_ = allocate(bytes);
    auto* piece = static_cast<char*>(memory_.get());
    for (auto& m : moved_) m.piece = std::exchange(piece, piece + piece_bytes(m.operand, elements));
    for (int f = 0; f < k.loop.linear_forms; ++f) {
      args_.linear[f].stride[0] = last() > 0 ? a.linear[f].stride[last() - 1] : 0;
      args_.linear[f].stride[1] = a.linear[f].stride[last()];
    }
  }
  /// Columns [begin, end) of `rows` rows from this one on.
  void run(I row, I rows, I begin, I end) {
    const I n = end - begin;
    I at[kMaxDims] = {};
    for (int d = last() - 1; d >= 0; --d) {
      at[d] = row % a_.extent[d];
      row /= a_.extent[d];
    }
    at[last()] = begin;
    const auto offset = [&](const I* strides) {
      I r = 0;
      for (int d = 0; d < a_.ndim; ++d) r += at[d] * strides[d];
      return r;
    };
    args_.extent[0] = rows;
    args_.extent[1] = n;
    for (int o = 0; o < operands(); ++o)
      args_.pointer[o] = static_cast<char*>(a_.pointer[o]) + offset(a_.stride[o]) * static_cast<I>(size(o));
    for (int f = 0; f < k_.loop.linear_forms; ++f)
      args_.linear[f].base = a_.linear[f].base + offset(a_.linear[f].stride);
    for (auto& m : moved_) {
      m.memory = static_cast<char*>(args_.pointer[m.operand]);
      if (m.loaded) move(m, rows, n, false);
      args_.pointer[m.operand] = m.piece;
      args_.stride[m.operand][0] = n;
    }
    kernels::run(k_, args_);
    for (auto& m : moved_)
      if (m.stored) move(m, rows, n, true);
  }

 private:
  struct Moved {
    int operand;
    bool loaded, stored;
    char *piece, *memory;  // of its first element
  };
  /// `rows` rows of n elements from the memory of an operand to its piece, or back.
  void move(const Moved& m, I rows, I n, bool back) const {
    const I stride = a_.stride[m.operand][last()], bytes = static_cast<I>(size(m.operand));
    for (I r = 0; r < rows; ++r) {
      auto *there = m.memory + r * row_stride(m.operand) * bytes, *here = m.piece + r * n * bytes;
      if (back) as_numbers(here, there, size(m.operand), [&](auto* in, auto* out) { scatter(in, out, n, stride); });
      else as_numbers(there, here, size(m.operand), [&](auto* in, auto* out) { gather(in, out, n, stride); });
    }
  }
  std::size_t piece_bytes(int o, I elements) const {
    return (static_cast<std::size_t>(elements) * size(o) + 63) / 64 * 64;
  }
  int last() const { return a_.ndim - 1; }
  int operands() const { return static_cast<int>(k_.loop.operands.size()); }
  std::size_t size(int o) const { return dtype_size(k_.loop.operands[static_cast<std::size_t>(o)].dtype); }
  I row_stride(int o) const { return last() > 0 ? a_.stride[o][last() - 1] : 0; }

  const LoopKernel& k_;
  const LoopArgs& a_;
  LoopArgs args_;
  std::vector<Moved> moved_;
  std::shared_ptr<void> memory_;
};
}  // namespace

std::uint32_t strided_operands(const LoopKernel& k, const LoopArgs& a) {
  std::uint32_t r = 0;
  if (a.extent[a.ndim - 1] > 1)
    for (std::size_t o = 0; o < k.loop.operands.size(); ++o)
      if (k.loop.operands[o].columns && a.stride[o][a.ndim - 1] != 1) r |= 1u << o;
  if (r == 0) return 0;
  for (const Instr& i : k.loop.code)
    check<ValueError>(i.kind != Instr::Kind::store || (r >> i.imm & 1u) == 0 || a.stride[i.imm][a.ndim - 1] != 0,
                      "fused loop: operand ", i.imm, " is stored with a stride of 0 along the row: its elements would ",
                      "overwrite each other");
  return r;
}
void run_strided(const LoopKernel& k, const LoopArgs& a, std::uint32_t strided) {
  const int last = a.ndim - 1;
  const I columns = a.extent[last], inner = last > 0 ? a.extent[last - 1] : 1;
  I rows = 1;
  for (int d = 0; d < last; ++d) rows *= a.extent[d];
  const bool whole = k.has_reduction || k.has_row_store;
  const I width = whole ? columns : std::min(columns, kPiece), parts = (columns + width - 1) / width;
  const I group = std::clamp<I>(kPiece / width, 1, inner);  // rows of a piece
  const I groups = (inner + group - 1) / group, pieces = rows / inner * groups * parts;
  const auto grain = grain_for(static_cast<double>(group * width) * (k.cost * kNanosecondsPerCost + kGathered));
  const auto some = [&](I begin, I end) {
    Pieces p(k, a, strided, group * width);
    for (I u = begin; u < end; ++u) {
      const I first = u / parts % groups * group, row = u / parts / groups * inner + first, c = u % parts * width;
      p.run(row, std::min(group, inner - first), c, std::min(columns, c + width));
    }
  };
  if (pieces < thread_count()) some(0, pieces);  // few long rows: the loop itself splits them
  else parallel_for(pieces, grain, some);
}
}  // namespace bora::kernels
