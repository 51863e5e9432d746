// bf16.cpp -- tiles of M and N fixed by the shape, each one single-threaded call of oneDNN's matmul, which sums in f32
// and rounds once, or for products in slabs one call for each slab, which adds to f32 sums. Primitives are cached by
// shape: the first creation costs a millisecond.
#include "kernels/gemm/bf16.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <mutex>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "base/api/cache_counts.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/amx.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/gemm/block.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
// Tile size; multiply-adds below which our own kernel is as fast.
constexpr I kRows = 512, kColumns = 1024, kLeast = 1 << 15;
constexpr std::size_t kKept = 512;
constexpr double kMultiplyAdd = 0.01;  // ns

/// oneDNN splits work over the threads that OpenMP offers to the calling thread: here one.
class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : saved_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(saved_); }
 private:
  int saved_;
#endif
};

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
struct Kernel {
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, c, scratch;
};
/// Rows, columns, k; strides of a, b; leading dimension of c; what happens to c (To).
using KernelKey = std::array<I, 9>;
enum To : I { kRounded, kSums, kAddedToSums };  // c is bf16, else f32

Kernel make(const KernelKey& key) {
  using Desc = dnnl::memory::desc;
  const auto type = dnnl::memory::data_type::bf16;
  Kernel k;
  k.a = Desc({key[0], key[2]}, type, dnnl::memory::dims{key[3], key[4]});
  k.b = Desc({key[2], key[1]}, type, dnnl::memory::dims{key[5], key[6]});
  k.c = Desc({key[0], key[1]}, key[8] == kRounded ? type : dnnl::memory::data_type::f32, dnnl::memory::dims{key[7], 1});
  dnnl::primitive_attr attr;
  if (key[8] == kAddedToSums) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attr.set_post_ops(sum);
  }
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc pd({k.a, k.b, k.c}, attr, engine());
  k.scratch = pd.scratchpad_desc();
  k.primitive = dnnl::matmul(pd);
  return k;
}
/// Bytes of scratch memory, enough for any kernel made so far.
std::atomic<std::size_t> most_scratch{0};

/// Kernels by shape; evicts the least recently used.
class Kernels {
 public:
  std::shared_ptr<const Kernel> get(const KernelKey& key) {
    std::lock_guard lock(mutex_);
    auto it = at_.find(key);
    counts_->found_locked(it != at_.end());
    if (it != at_.end()) {
      used_.splice(used_.begin(), used_, it->second);
      return it->second->second;
    }
    used_.emplace_front(key, std::make_shared<const Kernel>(make(key)));
    at_[key] = used_.begin();
    counts_->added();
    if (auto need = used_.front().second->scratch.get_size(); need > most_scratch) most_scratch = need;
    if (used_.size() > kKept) {
      at_.erase(used_.back().first);
      used_.pop_back();
      counts_->evicted();
    }
    return used_.front().second;
  }
 private:
  using List = std::list<std::pair<KernelKey, std::shared_ptr<const Kernel>>>;
  std::shared_ptr<bora::detail::CacheCounts> counts_ = bora::detail::listed_cache("bf16 products", kKept);
  std::mutex mutex_;
  List used_;
  std::map<KernelKey, List::iterator> at_;
};
Kernels& kernels() {
  static Kernels k;
  return k;
}

void run(const KernelKey& key, const void* a, const void* b, void* c) {
  static thread_local std::shared_ptr<const Kernel> last;
  static thread_local KernelKey last_key{};
  static thread_local std::shared_ptr<void> scratch;
  static thread_local std::size_t size = 0;
  static thread_local dnnl::stream stream(engine());
  OneThread one;
  if (!last || last_key != key) last = kernels().get(key), last_key = key;
  if (last->scratch.get_size() > size) {  // one block for all kernels, where they were prepared
    scratch = nullptr, size = 0;  // so it stays if there is no memory
    auto most = most_scratch.load();
    scratch = allocate(most), size = most;
  }
  auto see = [](const dnnl::memory::desc& d, const void* p) { return dnnl::memory(d, engine(), const_cast<void*>(p)); };
  last->primitive.execute(stream, {{DNNL_ARG_SRC, see(last->a, a)},
                                   {DNNL_ARG_WEIGHTS, see(last->b, b)},
                                   {DNNL_ARG_DST, see(last->c, c)},
                                   {DNNL_ARG_SCRATCHPAD, see(last->scratch, scratch.get())}});
  stream.wait();
}

/// Whether products with b go to the unit, up to kSameBitsRows rows: b's shape alone decides.
bool large(const Gemm& g) { return g.n >= 8 && 4 * g.n * g.k >= kLeast; }
bool has_same_bits(const Gemm& g) {
  return g.m <= kSameBitsRows && (has_bf16_dot() || (has_bf16_tiles() && (g.a_col == 1 || g.k == 1)));
}
bool in_tiles(const Gemm& g) { return has_bf16_tiles() && has_same_bits(g) && large(g); }
bool in_slabs(const Gemm& g) { return has_bf16_dot() && has_same_bits(g) && large(g); }
bool too_small(const Gemm& g) {
  if (has_same_bits(g)) return !large(g);
  return g.m * g.n * g.k < kLeast || g.m < 4 || g.n < 8;
}
/// A product's tiles of rows and columns.
struct Tiles {
  const Gemm& g;
  bool slabs = in_slabs(g);
  I rows = (g.m + kRows - 1) / kRows, columns = slabs ? slab_columns() : (g.n + kColumns - 1) / kColumns,
    all = rows * columns;
  /// As many for every thread, with sums that stay in the cache.
  I slab_columns() const {
    I most = std::max<I>(1, g.n / 64), threads = std::max<I>(1, std::min<I>(most, thread_count()));
    I each = (g.n + threads - 1) / threads, width = std::clamp<I>((1 << 17) / g.m, 128, kColumns);
    return std::min(most, threads * ((each + width - 1) / width));
  }
  // Edges at multiples of 32 keep the number of tile shapes small.
  static I edge(I n, I tiles, I i) { return i == tiles ? n : std::min(n, (n / tiles + 31) / 32 * 32 * i); }
  /// f(key, first row, first column) of tile t, unless it is empty.
  template <class F> void tile(I t, const F& f) const {
    I i = t / columns, j = t % columns;
    I i0 = edge(g.m, rows, i), i1 = edge(g.m, rows, i + 1), j0 = edge(g.n, columns, j), j1 = edge(g.n, columns, j + 1);
    if (i0 >= i1 || j0 >= j1) return;
    // Strides of a dimension of size 1 are arbitrary in a Gemm; oneDNN wants plausible ones.
    I a_row = g.a_col == 1 ? std::max(g.a_row, g.k) : g.a_row, b_row = g.b_col == 1 ? std::max(g.b_row, g.n) : g.b_row;
    f(KernelKey{i1 - i0, j1 - j0, g.k, a_row, g.a_col, b_row, g.b_col, g.ldc, kRounded}, i0, j0);
  }
  /// f(key, first k) of each slab of a tile.
  template <class F> void each_slab(const KernelKey& tile, const F& f) const {
    const I n = slab_count(Dtype::f32, g.k);
    for (I s = 0; s < n; ++s) {
      auto key = tile;
      const I k0 = g.k * s / n;
      key[2] = g.k * (s + 1) / n - k0, key[7] = key[1], key[8] = s == 0 ? kSums : kAddedToSums;
      f(key, k0);
    }
  }
};
/// A tile's sums, slab by slab.
void run_slabs(const Tiles& tiles, const KernelKey& tile, const bfloat16* a, const bfloat16* b, bfloat16* c) {
  auto sums = allocate(static_cast<std::size_t>(tile[0] * tile[1]) * sizeof(float));
  auto* to = static_cast<float*>(sums.get());
  const auto& g = tiles.g;
  tiles.each_slab(tile, [&](const KernelKey& key, I k0) { run(key, a + k0 * g.a_col, b + k0 * g.b_row, to); });
  for (I i = 0; i < tile[0]; ++i) narrow_bf16(c + i * g.ldc, to + i * tile[1], tile[1]);
}
}  // namespace

bool gemm_bf16_unit(const Gemm& g) {
  if (too_small(g)) return false;
  if (in_tiles(g)) return gemm_bf16_tiles(g), true;
  if (in_slabs(g) && g.m <= kFewRows) return gemm_bf16_few(g), true;
  Tiles tiles{g};
  parallel_for(g.batch * tiles.all, grain_for(kMultiplyAdd * static_cast<double>(g.m * g.n * g.k / tiles.all)),
               [&](I begin, I end) {
                 for (I u = begin; u < end; ++u) {
                   I batch = u / tiles.all;
                   tiles.tile(u % tiles.all, [&](const KernelKey& key, I i0, I j0) {
                     const auto* a = static_cast<const bfloat16*>(g.a) + batch * g.a_batch + i0 * g.a_row;
                     const auto* b = static_cast<const bfloat16*>(g.b) + batch * g.b_batch + j0 * g.b_col;
                     auto* c = static_cast<bfloat16*>(g.c) + batch * g.c_batch + i0 * g.ldc + j0;
                     if (tiles.slabs) run_slabs(tiles, key, a, b, c);
                     else run(key, a, b, c);
                   });
                 }
               });
  return true;
}
void prepare_bf16_unit(const Gemm& g) {
  if (too_small(g) || in_tiles(g) || (in_slabs(g) && g.m <= kFewRows)) return;
  OneThread one;  // a kernel is made for the threads that there are now
  Tiles tiles{g};
  for (I t = 0; t < tiles.all; ++t)
    tiles.tile(t, [&](const KernelKey& key, I, I) {
      if (!tiles.slabs) return (void)kernels().get(key);
      tiles.each_slab(key, [](const KernelKey& slab, I) { kernels().get(slab); });
    });
}
std::int64_t bf16_unit_scratch_bytes() {
  auto most = most_scratch.load();
  return most == 0 ? 0 : static_cast<std::int64_t>(block_footprint(most));
}
}  // namespace bora::kernels
