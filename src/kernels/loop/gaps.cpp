#include "kernels/api/loop_gaps.h"
#include <algorithm>
#include "kernels/loop/grid.h"

namespace bora::kernels {
using I = std::int64_t;
namespace {
constexpr I kShortBytes = 64;  // rows below this may be half of what is computed, others four fifths of it
}  // namespace

std::optional<LoopArgs> with_gaps(const LoopKernel& k, const LoopArgs& a) {
  if (k.has_reduction || k.has_row_store) return std::nullopt;
  const Grid g(k, a);
  if (g.ndim < 2 || g.inner() < 2) return std::nullopt;
  const int last = g.ndim - 1, rows = last - 1;
  LoopArgs r;
  r.ndim = last;
  I pitch = 0;
  for (int o = 0; o < g.operands; ++o) {
    const I column = k.loop.operands[static_cast<std::size_t>(o)].columns ? g.stride[o][last] : 0;
    const I row = g.stride[o][rows];
    if (column == 0 && row == 0) continue;
    if (column != 1 || row <= g.columns || (pitch != 0 && row != pitch)) return std::nullopt;
    pitch = row;
  }
  const I most = g.columns * k.element_bytes < kShortBytes ? 2 * g.columns : g.columns + g.columns / 4;
  if (pitch == 0 || pitch > most) return std::nullopt;
  for (int f = 0; f < g.forms; ++f)
    if (g.linear[f].stride[rows] != pitch * g.linear[f].stride[last]) return std::nullopt;
  std::copy(g.extent, g.extent + rows, r.extent);
  r.extent[rows] = (g.inner() - 1) * pitch + g.columns;
  for (int o = 0; o < g.operands; ++o) {
    std::copy(g.stride[o], g.stride[o] + rows, r.stride[o]);
    r.stride[o][rows] = g.stride[o][last];
  }
  for (int f = 0; f < g.forms; ++f) {
    r.linear[f] = g.linear[f];
    r.linear[f].stride[rows] = g.linear[f].stride[last];
    r.linear[f].stride[last] = 0;
  }
  return r;
}
std::span<const char> memory_of(const LoopKernel& k, const LoopArgs& a, int operand) {
  const auto& what = k.loop.operands[static_cast<std::size_t>(operand)];
  const auto bytes = static_cast<I>(dtype_size(what.dtype));
  auto* low = static_cast<const char*>(a.pointer[operand]);
  auto* high = low + bytes;
  for (int d = 0; d < a.ndim; ++d) {
    const I step = d + 1 == a.ndim && !what.columns ? 0 : a.stride[operand][d];
    const I way = (a.extent[d] - 1) * step * bytes;
    (way < 0 ? low : high) += way;
  }
  return {low, high};
}
}  // namespace bora::kernels
