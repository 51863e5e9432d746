// unfolded.cpp -- products with a matrix of patches that is made first.
#include "kernels/gemm/unfolded.h"
#include <algorithm>
#include <cstring>
#include "bora/base/parallel.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kByte = 0.1;       // ns
constexpr std::size_t kMostSpatial = 8;  // of windows.h
/// The matrix of patches [windows, elements], row-major.
void unfold(char* to, const char* image, const Patches& p, I size) {
  const I elements = p.elements(), taps = elements / p.channels, bytes = p.channels * size;
  parallel_for(p.windows(), grain_for(kByte * static_cast<double>(elements * size)), [&](I begin, I end) {
    for (I w = begin; w < end; ++w)
      for (I q = 0; q < taps; ++q) {
        I window = w, tap = q, offset = 0;
        bool inside = true;
        for (auto d = p.dims.rbegin(); d != p.dims.rend(); ++d) {
          const I pixel = window % d->windows * d->step + tap % d->taps * d->reach + d->origin;
          inside = inside && pixel >= 0 && pixel < d->size;
          offset += pixel * d->stride;
          window /= d->windows, tap /= d->taps;
        }
        char* at = to + (w * taps + q) * bytes;
        if (inside) std::memcpy(at, image + (window * p.image_stride + offset) * size, static_cast<std::size_t>(bytes));
        else std::memset(at, 0, static_cast<std::size_t>(bytes));
      }
  });
}
}  // namespace

bool patches_in_place(const Gemm& g, const Patches& p) {
  const bool kernel = g.dtype == Dtype::f32 || g.dtype == Dtype::f64 || (g.dtype == Dtype::bf16 && !has_bf16_unit());
  return kernel && p.dims.size() <= kMostSpatial;
}
void gemm_unfolded(const Gemm& g, const Patches& p, const I* b_parts, I part) {
  const I size = static_cast<I>(dtype_size(g.dtype)), elements = p.elements();
  auto patches = allocate(static_cast<std::size_t>(p.windows() * elements * size));
  unfold(static_cast<char*>(patches.get()), static_cast<const char*>(g.a), p, size);
  auto h = g;
  h.a = patches.get();
  h.a_row = p.turned ? 1 : elements, h.a_col = p.turned ? elements : 1;
  std::shared_ptr<void> rows;
  if (b_parts) {
    rows = allocate(static_cast<std::size_t>(g.k * g.n * size));
    for (I k = 0; k < g.k; k += part)
      copy(static_cast<char*>(rows.get()) + k * g.n * size, {g.n, 1},
           static_cast<const char*>(g.b) + b_parts[k / part] * size, {g.b_row, g.b_col}, {part, g.n},
           static_cast<std::size_t>(size));
    h.b = rows.get(), h.b_row = g.n, h.b_col = 1;
  }
  gemm(h);
}
}  // namespace bora::kernels
