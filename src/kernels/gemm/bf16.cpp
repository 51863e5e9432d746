// bf16.cpp -- tiles of M and N fixed by the shape, each one single-threaded call of oneDNN's matmul, which sums in f32
// and rounds once. Primitives are cached by shape: the first creation costs a millisecond.
#include "kernels/gemm/bf16.h"
#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <mutex>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/kernels/memory.h"

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
/// Rows, columns, k; strides of a, b; leading dimension of c.
using KernelKey = std::array<I, 8>;

Kernel make(const KernelKey& key) {
  using Desc = dnnl::memory::desc;
  const auto type = dnnl::memory::data_type::bf16;
  Kernel k;
  k.a = Desc({key[0], key[2]}, type, dnnl::memory::dims{key[3], key[4]});
  k.b = Desc({key[2], key[1]}, type, dnnl::memory::dims{key[5], key[6]});
  k.c = Desc({key[0], key[1]}, type, dnnl::memory::dims{key[7], 1});
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc pd({k.a, k.b, k.c}, attr, engine());
  k.scratch = pd.scratchpad_desc();
  k.primitive = dnnl::matmul(pd);
  return k;
}
/// Kernels by shape; evicts the least recently used.
class Kernels {
 public:
  std::shared_ptr<const Kernel> get(const KernelKey& key) {
    std::lock_guard lock(mutex_);
    if (auto it = at_.find(key); it != at_.end()) {
      used_.splice(used_.begin(), used_, it->second);
      return it->second->second;
    }
    used_.emplace_front(key, std::make_shared<const Kernel>(make(key)));
    at_[key] = used_.begin();
    if (used_.size() > kKept) {
      at_.erase(used_.back().first);
      used_.pop_back();
    }
    return used_.front().second;
  }
 private:
  using List = std::list<std::pair<KernelKey, std::shared_ptr<const Kernel>>>;
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
  if (auto need = last->scratch.get_size(); need > size) scratch = allocate(need), size = need;
  auto see = [](const dnnl::memory::desc& d, const void* p) { return dnnl::memory(d, engine(), const_cast<void*>(p)); };
  last->primitive.execute(stream, {{DNNL_ARG_SRC, see(last->a, a)},
                                   {DNNL_ARG_WEIGHTS, see(last->b, b)},
                                   {DNNL_ARG_DST, see(last->c, c)},
                                   {DNNL_ARG_SCRATCHPAD, see(last->scratch, scratch.get())}});
  stream.wait();
}
}  // namespace

bool gemm_bf16_unit(const Gemm& g) {
  if (g.m * g.n * g.k < kLeast || g.m < 4 || g.n < 8) return false;
  I tiles_m = (g.m + kRows - 1) / kRows, tiles_n = (g.n + kColumns - 1) / kColumns, tiles = tiles_m * tiles_n;
  // Edges at multiples of 32 keep the number of tile shapes small.
  auto edge = [](I n, I tiles, I i) { return std::min(n, (n / tiles + 31) / 32 * 32 * i); };
  parallel_for(g.batch * tiles, grain_for(kMultiplyAdd * static_cast<double>(g.m * g.n * g.k / tiles)),
               [&](I begin, I end) {
                 for (I u = begin; u < end; ++u) {
                   I batch = u / tiles, i = u % tiles / tiles_n, j = u % tiles_n;
                   I i0 = edge(g.m, tiles_m, i), i1 = i + 1 == tiles_m ? g.m : edge(g.m, tiles_m, i + 1);
                   I j0 = edge(g.n, tiles_n, j), j1 = j + 1 == tiles_n ? g.n : edge(g.n, tiles_n, j + 1);
                   if (i0 >= i1 || j0 >= j1) continue;
                   // Strides of a dimension of size 1 are arbitrary in a Gemm; oneDNN wants plausible ones.
                   I a_row = g.a_col == 1 ? std::max(g.a_row, g.k) : g.a_row,
                     b_row = g.b_col == 1 ? std::max(g.b_row, g.n) : g.b_row;
                   run({i1 - i0, j1 - j0, g.k, a_row, g.a_col, b_row, g.b_col, g.ldc},
                       static_cast<const bfloat16*>(g.a) + batch * g.a_batch + i0 * g.a_row,
                       static_cast<const bfloat16*>(g.b) + batch * g.b_batch + j0 * g.b_col,
                       static_cast<bfloat16*>(g.c) + batch * g.c_batch + i0 * g.ldc + j0);
                 }
               });
  return true;
}
}  // namespace bora::kernels
