// gemm.cpp -- partition of a product over threads. The bits of an element of c depend on the shape of the product only
// (block.h), so any partition will do: whole products of a batch, strips of rows, panels of columns, or slabs of k.
#include "kernels/api/gemm.h"
#include "kernels/api/complex.h"
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/gemm/bf16.h"
#include "kernels/gemm/block.h"
#include "kernels/gemm/tiny.h"
#include "kernels/gemm/unfolded.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kMultiplyAdd = 0.02, kAdd = 0.2, kInteger = 0.1;  // ns
constexpr I kStrip = 14, kPanel = 32;  // units in which rows and columns are handed to threads

/// Scratch of this thread, kept between calls; packed b takes half of the second-level cache.
const GemmScratch& scratch() {
  static const I cache = std::max<I>(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10);
  // 4 MiB and more: huge pages.
  static thread_local auto memory = allocate(std::max<std::size_t>(kScratchBytes, 4 << 20));
  static thread_local const GemmScratch s{memory.get(), std::min(kMostPacked, cache / 2)};
  return s;
}

const void* at(Dtype d, const void* p, I elements) {
  return static_cast<const char*>(p) + elements * static_cast<I>(dtype_size(d));
}
void* at(Dtype d, void* p, I elements) { return static_cast<char*>(p) + elements * static_cast<I>(dtype_size(d)); }

/// A product of plain operands, or one whose first operand is a matrix of patches.
struct Product : Gemm {
  GemmWindows windows = {};
};
/// Rows [i0, i1) and columns [j0, j1) of product `batch`.
GemmBlock part(const Product& g, I batch, I i0, I i1, I j0, I j1) {
  auto windows = g.windows;
  windows.i0 = i0;
  return {g.dtype,
          i1 - i0,
          j1 - j0,
          g.k,
          windows.patches ? g.a : at(g.dtype, g.a, batch * g.a_batch + i0 * g.a_row),
          g.a_row,
          g.a_col,
          at(g.dtype, g.b, batch * g.b_batch + j0 * g.b_col),
          g.b_row,
          g.b_col,
          at(g.dtype, g.c, batch * g.c_batch + i0 * g.ldc + j0),
          g.ldc,
          false,
          g.into,
          windows};
}
void run(const GemmBlock& b) {
  static const bool wide = isa() == Isa::v4;
  const auto& s = scratch();
  if (!b.windows.patches && (wide ? v4::gemm_thin : v3::gemm_thin)(b, s)) return;
  (wide ? v4::gemm_block : v3::gemm_block)(b, s);
}

/// Small c, long k: slabs of k are computed by different threads, a round of them at a time, and added to c in order.
void run_over_slabs(const Product& g) {
  bool f64 = g.dtype == Dtype::f64;
  Dtype acc = f64 ? Dtype::f64 : Dtype::f32;
  I slabs = slab_count(acc, g.k), size = g.m * g.n, round = std::min(slabs, std::max<I>(16, (1 << 20) / size));
  auto parts = allocate(static_cast<std::size_t>((round + 1) * size) * dtype_size(acc));
  for (I batch = 0; batch < g.batch; ++batch) {
    auto whole = part(g, batch, 0, g.m, 0, g.n);
    auto add_up = [&](auto t, auto o, I s0, I s1) {
      using T = decltype(t);
      using Out = decltype(o);
      auto* sum = static_cast<T*>(parts.get());
      auto* c = static_cast<Out*>(whole.c);
      parallel_for(size, grain_for(kAdd * static_cast<double>(s1 - s0)), [&](I begin, I end) {
        for (I x = begin; x < end; ++x) {
          auto& to = c[x / g.n * g.ldc + x % g.n];
          T v = s0 > 0 ? sum[x] : g.into == Into::set ? T(0) : static_cast<T>(to);
          for (I s = s0; s < s1; ++s) {
            T y = sum[(s - s0 + 1) * size + x];
            v = g.into == Into::subtract ? v - y : s == 0 && g.into == Into::set ? y : v + y;
          }
          if (s1 == slabs) to = static_cast<Out>(v);
          else sum[x] = v;
        }
      });
    };
    for (I s0 = 0; s0 < slabs; s0 += round) {
      I s1 = std::min(slabs, s0 + round);
      parallel_for(s1 - s0, grain_for(kMultiplyAdd * static_cast<double>(size * (g.k / slabs))), [&](I begin, I end) {
        for (I s = s0 + begin; s < s0 + end; ++s) {
          I k0 = g.k * s / slabs;
          auto b = whole;
          b.k = g.k * (s + 1) / slabs - k0;
          if (b.windows.patches) b.windows.k0 = k0;
          else b.a = at(g.dtype, b.a, k0 * g.a_col);
          if (!b.windows.b_parts) b.b = at(g.dtype, b.b, k0 * g.b_row);
          b.c = at(acc, parts.get(), (s - s0 + 1) * size);
          b.ldc = g.n;
          b.wide = true;
          b.into = Into::set;
          run(b);
        }
      });
      if (f64) add_up(double{}, double{}, s0, s1);
      else if (g.dtype == Dtype::f32) add_up(float{}, float{}, s0, s1);
      else add_up(float{}, bfloat16{}, s0, s1);
    }
  }
}

void run_float(const Product& g) {
  const I threads = thread_count();
  const double work = kMultiplyAdd * static_cast<double>(g.batch * g.m * g.n * g.k);
  if (threads == 1 || grain_for(work) > 1) {
    for (I b = 0; b < g.batch; ++b) run(part(g, b, 0, g.m, 0, g.n));
    return;
  }
  I strips = (g.m + kStrip - 1) / kStrip, panels = (g.n + kPanel - 1) / kPanel;
  if (g.batch * std::max(strips, panels) < 2 * threads && g.m * g.n <= 16384 && g.k >= 4096) return run_over_slabs(g);
  // Work of the slowest thread, in multiply-adds per k. Threads that share columns pack the same b; threads that share
  // rows pack the same a, which costs more: a is packed once per block of columns.
  auto share = [&](I size, I units) { return size * ((g.batch * units + threads - 1) / threads) / units; };
  bool by_rows = g.batch >= threads || (share(g.m, strips) + 2) * g.n < (share(panels * kPanel, panels) + 6) * g.m;
  I units = by_rows ? strips : panels;
  parallel_for(g.batch * units, grain_for(work / static_cast<double>(g.batch * units)), [&](I begin, I end) {
    while (begin < end) {
      I batch = begin / units, u0 = begin % units, u1 = std::min(units, u0 + end - begin);
      if (by_rows) run(part(g, batch, g.m * u0 / units, g.m * u1 / units, 0, g.n));
      else run(part(g, batch, 0, g.m, std::min(g.n, u0 * kPanel), std::min(g.n, u1 * kPanel)));
      begin += u1 - u0;
    }
  });
}

template <class T> void run_integer(const Gemm& g) {
  const auto *a = static_cast<const T*>(g.a), *b = static_cast<const T*>(g.b);
  auto* c = static_cast<T*>(g.c);
  parallel_for(g.batch * g.m, grain_for(kInteger * static_cast<double>(g.n * g.k)), [&](I begin, I end) {
    for (I u = begin; u < end; ++u) {
      I batch = u / g.m, i = u % g.m;
      T* row = c + batch * g.c_batch + i * g.ldc;
      std::fill_n(row, g.n, T(0));
      for (I p = 0; p < g.k; ++p) {
        T x = a[batch * g.a_batch + i * g.a_row + p * g.a_col];
        const T* from = b + batch * g.b_batch + p * g.b_row;
        for (I j = 0; j < g.n; ++j) row[j] = static_cast<T>(row[j] + x * from[j * g.b_col]);
      }
    }
  });
}

void check_strides(const char* which, I rows, I cols, I row, I col) {
  check<ValueError>(row == 1 || col == 1 || rows <= 1 || cols <= 1, "gemm: operand ", which, " [", rows, ", ", cols,
                    "] has strides ", row, ", ", col, "; one of them must be 1: copy it first");
}
/// Refuses what has no kernel; false where the result is empty, or zero and written.
bool any_work(const Gemm& g) {
  check<DtypeError>(g.dtype != Dtype::boolean && g.dtype != Dtype::key, "gemm: not defined on ", g.dtype,
                    "; cast to i32 or f32 first");
  check<DtypeError>(g.into == Into::set || g.dtype == Dtype::f32 || g.dtype == Dtype::f64 || is_complex(g.dtype),
                    "gemm: adds to f32, f64 and complex numbers only, got ", g.dtype);
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return false;
  if (g.k > 0) return true;
  if (g.into == Into::set)
    for (I b = 0; b < g.batch; ++b)
      for (I i = 0; i < g.m; ++i)
        std::memset(at(g.dtype, g.c, b * g.c_batch + i * g.ldc), 0,
                    static_cast<std::size_t>(g.n) * dtype_size(g.dtype));
  return false;
}
}  // namespace

void gemm(const Gemm& g) {
  if (!any_work(g)) return;
  check_strides("a", g.m, g.k, g.a_row, g.a_col);
  check_strides("b", g.k, g.n, g.b_row, g.b_col);
  switch (g.dtype) {
    case Dtype::complex64:
    case Dtype::complex128: return gemm_complex(g);
    case Dtype::u8: return run_integer<std::uint8_t>(g);
    case Dtype::i32:
    case Dtype::u32: return run_integer<std::uint32_t>(g);
    case Dtype::i64: return run_integer<std::uint64_t>(g);
    case Dtype::bf16:
      if (has_bf16_unit() && gemm_bf16_unit(g)) return;
      [[fallthrough]];
    default:
      if (!gemm_tiny(g)) run_float({g, {}});
  }
}
void prepare_gemm(const Gemm& g) {
  if (g.dtype == Dtype::bf16 && has_bf16_unit()) prepare_bf16_unit(g);
}
std::int64_t gemm_scratch_bytes() { return kScratchBytes + bf16_unit_scratch_bytes(); }
void gemm_patches(const Gemm& g, const Patches& patches, const I* b_parts, I part) {
  const auto rows = patches.turned ? patches.elements() : patches.windows(),
             columns = patches.turned ? patches.windows() : patches.elements();
  check<ValueError>(g.batch == 1 && g.m == rows && g.k == columns, "gemm_patches: patches [", rows, ", ", columns,
                    "] do not fit a product of [", g.m, ", ", g.k, "] and batch ", g.batch);
  if (!any_work(g)) return;
  if (!patches_in_place(g, patches)) return gemm_unfolded(g, patches, b_parts, part);
  check_strides("b", g.k, g.n, g.b_row, g.b_col);
  Product p{g, {&patches, 0, 0, b_parts, part}};
  p.a_row = 0, p.a_col = patches.turned ? 0 : 1;  // the order in which its strips are packed
  run_float(p);
}
}  // namespace bora::kernels
