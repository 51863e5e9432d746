// ragged.cpp -- one product for each group, over its rows from all batches of rows. Few large products are threaded
// inside, many small ones run beside each other: gemm has the same bits either way.
#include "kernels/api/ragged.h"
#include <algorithm>
#include <cstring>
#include <vector>
#include "bora/base/parallel.h"
#include "kernels/api/gemm.h"
#include "kernels/api/memory.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kMultiplyAdd = 0.02;  // ns
/// Rows [begin, end) of one batch of rows.
struct Run {
  I batch, begin, end;
  I size() const { return end - begin; }
};
/// The rows of a group, in parts that lie together in memory.
struct Group {
  I batch, matrix, size = 0;
  std::vector<Run> runs = {};
};
/// The groups that have matrices, and the rows of no such group.
struct Groups {
  std::vector<Group> all;
  std::vector<Run> others;
  explicit Groups(const Ragged& r) {
    for (I b = 0; b < r.batch; ++b) {
      auto base = all.size();
      for (I e = 0; e < r.groups; ++e) all.push_back({b, b * r.groups + e});
      for (I row = 0; row < r.rows; ++row) {
        auto place = b * r.rows + row;
        I end = 0;
        for (I g = 0; g < r.counted; ++g) {
          auto begin = end;
          end += std::min<I>(r.m - end, std::max<I>(0, r.sizes[place * r.counted + g]));
          if (end == begin) continue;
          auto e = g - r.first[b];
          Run run{place, begin, end};
          if (e < 0 || e >= r.groups) {
            others.push_back(run);
            continue;
          }
          auto& group = all[base + static_cast<std::size_t>(e)];
          group.size += run.size();
          group.runs.push_back(run);
        }
        if (end < r.m) others.push_back({place, end, r.m});
      }
    }
  }
  I largest() const {
    I n = 0;
    for (auto& g : all) n = std::max(n, g.size);
    return n;
  }
  /// f(group) for each: beside each other unless one of them is more than a thread's share.
  template <class F> void for_each(const Ragged& r, const F& f) const {
    auto work = kMultiplyAdd * static_cast<double>(r.k * r.n);
    I total = 0;
    for (auto& g : all) total += g.size;
    if (largest() * thread_count() > total + total / 2) {
      for (auto& g : all) f(g);
      return;
    }
    auto n = static_cast<I>(all.size());
    parallel_for(n, grain_for(work * static_cast<double>(total / std::max<I>(n, 1) + 1)), [&](I begin, I end) {
      for (I i = begin; i < end; ++i) f(all[static_cast<std::size_t>(i)]);
    });
  }
};
/// Rows of `row` bytes in an array of batches of m rows.
struct Rows {
  const Ragged& r;
  std::size_t row;
  std::size_t offset(const Run& run) const { return static_cast<std::size_t>(run.batch * r.m + run.begin) * row; }
  std::size_t bytes(const Run& run) const { return static_cast<std::size_t>(run.size()) * row; }
};
/// A group's rows as one matrix: where they are, or a copy, which `copy` owns.
const void* gathered(const Group& g, const Rows& rows, const void* from, std::shared_ptr<void>& copy) {
  auto* bytes = static_cast<const char*>(from);
  if (g.runs.size() == 1) return bytes + rows.offset(g.runs[0]);
  copy = allocate(static_cast<std::size_t>(g.size) * rows.row);
  auto* to = static_cast<char*>(copy.get());
  for (auto& run : g.runs) {
    std::memcpy(to, bytes + rows.offset(run), rows.bytes(run));
    to += rows.bytes(run);
  }
  return copy.get();
}
}  // namespace

void ragged_dot(const Ragged& r, const void* w, bool transposed, void* out) {
  auto size = dtype_size(r.dtype);
  Rows in{r, static_cast<std::size_t>(r.k) * size}, result{r, static_cast<std::size_t>(r.n) * size};
  Groups groups(r);
  auto* to = static_cast<char*>(out);
  for (auto& run : groups.others) std::memset(to + result.offset(run), 0, result.bytes(run));
  groups.for_each(r, [&](const Group& g) {
    if (g.size == 0) return;
    std::shared_ptr<void> copy, made;
    const auto* x = gathered(g, in, r.x, copy);
    bool direct = g.runs.size() == 1;
    if (!direct) made = allocate(static_cast<std::size_t>(g.size) * result.row);
    auto* c = direct ? to + result.offset(g.runs[0]) : static_cast<char*>(made.get());
    gemm({.dtype = r.dtype,
          .m = g.size,
          .n = r.n,
          .k = r.k,
          .a = x,
          .a_row = r.k,
          .b = static_cast<const char*>(w) + static_cast<std::size_t>(g.matrix * r.k * r.n) * size,
          .b_row = transposed ? 1 : r.n,
          .b_col = transposed ? r.k : 1,
          .c = c,
          .ldc = r.n});
    if (direct) return;
    for (auto& run : g.runs) {
      std::memcpy(to + result.offset(run), c, result.bytes(run));
      c += result.bytes(run);
    }
  });
}
void ragged_outer(const Ragged& r, const void* y, void* out) {
  auto size = dtype_size(r.dtype);
  Rows left{r, static_cast<std::size_t>(r.k) * size}, right{r, static_cast<std::size_t>(r.n) * size};
  Groups(r).for_each(r, [&](const Group& g) {
    auto* c = static_cast<char*>(out) + static_cast<std::size_t>(g.matrix * r.k * r.n) * size;
    if (g.size == 0) {
      std::memset(c, 0, static_cast<std::size_t>(r.k * r.n) * size);
      return;
    }
    std::shared_ptr<void> copy_x, copy_y;
    const auto* a = gathered(g, left, r.x, copy_x);
    const auto* b = gathered(g, right, y, copy_y);
    gemm({.dtype = r.dtype,
          .m = r.k,
          .n = r.n,
          .k = g.size,
          .a = a,
          .a_row = 1,
          .a_col = r.k,
          .b = b,
          .b_row = r.n,
          .b_col = 1,
          .c = c,
          .ldc = r.n});
  });
}
}  // namespace bora::kernels
