// index.cpp -- take and the scatters. Threads split columns where rows are long, target rows (or outer) where they are
// short; either way one thread owns each element of the result and combines its updates in order of m.
#include "kernels/api/index.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/cpu.h"
#include "kernels/api/move.h"
#include "kernels/array/short_copy.h"
#include "kernels/array/stream.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kElement = 0.3, kRead = 2;  // ns per element: within a row; at a random position
bool inside(std::int32_t i, I n) { return i >= 0 && i < n; }

template <class T>
void take_as(const T* in, const std::int32_t* indices, T* out, I outer, I n, I m, I inner, OutOfRange mode, T filler) {
  bool clamp = mode == OutOfRange::clamp;
  bool far = inner == 1 && static_cast<std::size_t>(outer * m) * sizeof(T) >= streaming_bytes();
  parallel_for(outer * m, grain_for(inner == 1 ? kRead : kElement * static_cast<double>(inner)), [&](I begin, I end) {
    for (I u = begin; u < end;) {
      const T* from = in + u / m * n * inner;
      const std::int32_t* at = indices + u % m;
      T* to = out + u * inner;
      I count = std::min(m - u % m, end - u);
      u += count;
      const auto last = static_cast<std::int32_t>(std::min<I>(n - 1, std::numeric_limits<std::int32_t>::max()));
      if (inner == 1) {
        auto one = [&](I i) {
          return clamp ? from[std::min(std::max(at[i], 0), last)] : inside(at[i], n) ? from[at[i]] : filler;
        };
        T part[256];
        for (I i = 0; far && i < count; i += std::ssize(part)) {
          auto some = std::min(std::ssize(part), count - i);
          for (I j = 0; j < some; ++j) part[j] = one(i + j);
          stream(to + i, part, static_cast<std::size_t>(some) * sizeof(T));
        }
        for (I i = 0; !far && i < count; ++i) to[i] = one(i);
        continue;
      }
      const auto bytes = inner * static_cast<I>(sizeof(T));
      if (bytes <= kShortBytes) {
        with_ends(bytes, [&](auto vector) {
          for (I i = 0; i < count; ++i)
            if (clamp || inside(at[i], n))
              copy_ends<decltype(vector)>(to + i * inner, from + std::min(std::max(at[i], 0), last) * inner, bytes);
            else std::fill_n(to + i * inner, inner, filler);
        });
        continue;
      }
      for (I i = 0; i < count; ++i) {
        if (clamp || inside(at[i], n))
          std::memcpy(to + i * inner, from + std::clamp<I>(at[i], 0, n - 1) * inner,
                      static_cast<std::size_t>(inner) * sizeof(T));
        else std::fill_n(to + i * inner, inner, filler);
      }
    }
    if (far) stream_end();
  });
}

/// A complex number as it is stored; <complex> is large.
template <class T> struct Complex {
  T re, im;
};
// Operators, on the accumulator type.
struct Add {
  template <class A> static A apply(A a, A x) { return static_cast<A>(a + x); }
};
struct Set {
  template <class A> static A apply(A, A x) { return x; }
};
struct Multiply {
  template <class A> static A apply(A a, A x) {
    if constexpr (requires { a.re; }) return {a.re * x.re - a.im * x.im, a.re * x.im + a.im * x.re};
    else return static_cast<A>(a * x);
  }
};
struct Min {
  template <class A> static A apply(A a, A x) { return bool(int{x < a} | int{x != x}) ? x : a; }
};
struct Max {
  template <class A> static A apply(A a, A x) { return bool(int{x > a} | int{x != x}) ? x : a; }
};

/// Positions m with a valid index, sorted by index, then by m (needed where a target row is rounded once).
std::vector<std::int32_t> by_target(const std::int32_t* indices, I m, I n) {
  std::vector<std::int32_t> at;
  at.reserve(static_cast<std::size_t>(m));
  for (I i = 0; i < m; ++i)
    if (inside(indices[i], n)) at.push_back(static_cast<std::int32_t>(i));
  std::stable_sort(at.begin(), at.end(), [&](std::int32_t a, std::int32_t b) { return indices[a] < indices[b]; });
  return at;
}

/// Many scalar updates: each thread scans all indices and collects, block by block, the updates of its own targets. So
/// it can prefetch the lines of the targets, and no branch depends on an index. One thread whose targets are near
/// enough updates them at once.
constexpr I kManyNumbers = 1 << 13;
constexpr std::size_t kNear = 1 << 18;  // bytes of targets that need no prefetching
template <class Op, class T> void scatter_numbers(const std::int32_t* indices, const T* updates, T* out, I n, I m) {
  constexpr I block = 512, ahead = 24;
  n = std::min(n, I{1} << 31);  // an index reaches no further; as unsigned numbers negative ones lie beyond
  parallel_for(n, grain_for(kRead * static_cast<double>(m) / static_cast<double>(n)), [&](I r0, I r1) {
    const auto first = static_cast<std::uint32_t>(r0), count = static_cast<std::uint32_t>(r1 - r0);
    T* to = out + r0;
    if (r1 - r0 == n && static_cast<std::size_t>(n) * sizeof(T) <= kNear) {
      for (I i = 0; i < m; ++i) {
        const auto k = static_cast<std::uint32_t>(indices[i]);
        if (k < count) to[k] = Op::template apply<T>(to[k], updates[i]);
      }
      return;
    }
    std::uint32_t at[block + ahead] = {};
    T x[block];
    for (I i = 0; i < m; i += block) {
      I kept = 0;
      for (I j = i; j < std::min(m, i + block); ++j) {
        at[kept] = static_cast<std::uint32_t>(indices[j]) - first;
        x[kept] = updates[j];
        kept += at[kept] < count;
      }
      std::fill_n(at + kept, ahead, 0);
      for (I j = 0; j < kept; ++j) {
        __builtin_prefetch(to + at[j + ahead], 1);
        to[at[j]] = Op::template apply<T>(to[at[j]], x[j]);
      }
    }
  });
}

template <class Op, class T>
void scatter_as(const T* in, const std::int32_t* indices, const T* updates, T* out, I outer, I n, I m, I inner) {
  copy_bytes(out, in, static_cast<std::size_t>(outer * n * inner) * sizeof(T));
  if (m == 0) return;
  constexpr bool rounds = std::is_same_v<T, bfloat16> && (std::is_same_v<Op, Add> || std::is_same_v<Op, Multiply>);
  if constexpr (!rounds)
    if (outer == 1 && inner == 1 && m >= kManyNumbers) return scatter_numbers<Op>(indices, updates, out, n, m);
  auto order = rounds ? by_target(indices, m, n) : std::vector<std::int32_t>();
  /// Applies the updates of one outer index to columns [c0, c1) of target rows [r0, r1).
  auto apply = [&](I o, I r0, I r1, I c0, I c1) {
    T* to = out + o * n * inner;
    const T* from = updates + o * m * inner;
    if constexpr (rounds) {
      constexpr I width = 512;
      float acc[width];
      auto first =
          std::lower_bound(order.begin(), order.end(), r0, [&](std::int32_t i, I row) { return indices[i] < row; });
      while (first != order.end() && indices[*first] < r1) {
        I row = indices[*first];
        auto last = first;
        while (last != order.end() && indices[*last] == row) ++last;
        for (I c = c0; c < c1; c += width) {
          I w = std::min(width, c1 - c);
          for (I j = 0; j < w; ++j) acc[j] = to[row * inner + c + j];
          for (auto i = first; i != last; ++i)
            for (I j = 0; j < w; ++j) acc[j] = Op::template apply<float>(acc[j], from[*i * inner + c + j]);
          for (I j = 0; j < w; ++j) to[row * inner + c + j] = acc[j];
        }
        first = last;
      }
    } else {
      for (I i = 0; i < m; ++i) {
        I row = indices[i];
        if (row < r0 || row >= r1) continue;
        T* a = to + row * inner;
        const T* x = from + i * inner;
        for (I j = c0; j < c1; ++j) a[j] = Op::template apply<T>(a[j], x[j]);
      }
    }
  };
  const double work = kElement * static_cast<double>(outer * m * inner);
  I lines = (inner * static_cast<I>(sizeof(T)) + 63) / 64,
    per_line = 64 / static_cast<I>(sizeof(T));
  if (outer >= thread_count()) {
    parallel_for(outer, grain_for(work / static_cast<double>(outer)), [&](I b, I e) {
      for (I o = b; o < e; ++o) apply(o, 0, n, 0, inner);
    });
  } else if (lines >= 4 * thread_count()) {
    parallel_for(lines, grain_for(work / static_cast<double>(lines)), [&](I b, I e) {
      for (I o = 0; o < outer; ++o) apply(o, 0, n, b * per_line, std::min(inner, e * per_line));
    });
  } else {
    parallel_for(n, grain_for(work / static_cast<double>(n)), [&](I b, I e) {
      for (I o = 0; o < outer; ++o) apply(o, b, e, 0, inner);
    });
  }
}
}  // namespace

void take(const void* in, const std::int32_t* indices, void* out, std::int64_t outer, std::int64_t n, std::int64_t m,
          std::int64_t inner, std::size_t size, OutOfRange mode, const void* filler) {
  if (outer == 0 || m == 0 || inner == 0) return;
  check<IndexError>(n > 0 || mode == OutOfRange::fill,
                    "take: the indexed dimension has size 0, so there is nothing to clamp to");
  auto run = [&](auto t) {
    using T = decltype(t);
    T x;
    std::memcpy(&x, filler, sizeof x);
    take_as(static_cast<const T*>(in), indices, static_cast<T*>(out), outer, n, m, inner, mode, x);
  };
  if (size == 1) run(std::uint8_t{});
  else if (size == 2) run(std::uint16_t{});
  else if (size == 4) run(std::uint32_t{});
  else if (size == 8) run(std::uint64_t{});
  else if (size == 16) run(Bytes16{});
  else fail<ValueError>("take: elements have 1, 2, 4, 8 or 16 bytes, got ", size);
}

void scatter(ScatterMode mode, Dtype d, const void* in, const std::int32_t* indices, const void* updates, void* out,
             std::int64_t outer, std::int64_t n, std::int64_t m, std::int64_t inner) {
  check<DtypeError>(mode != ScatterMode::add || d != boolean,
                    "scatter_add: sums of bool are not defined; cast to i32 first");
  if (outer == 0 || n == 0 || inner == 0) return;
  auto run = [&](auto op, auto t) {
    using T = decltype(t);
    scatter_as<decltype(op)>(static_cast<const T*>(in), indices, static_cast<const T*>(updates), static_cast<T*>(out),
                             outer, n, m, inner);
  };
  if (is_complex(d) && mode == ScatterMode::add)  // sums of the parts
    return scatter(mode, real_dtype(d), in, indices, updates, out, outer, n, m, 2 * inner);
  if (is_complex(d) && mode == ScatterMode::multiply)
    return d == complex64 ? run(Multiply{}, Complex<float>{}) : run(Multiply{}, Complex<double>{});
  if (mode == ScatterMode::set) return dispatch_size(d, [&](auto t) { run(Set{}, t); });
  dispatch(d, "scatter", [&](auto t) {
    using T = decltype(t);
    if (mode == ScatterMode::min) return run(Min{}, t);
    if (mode == ScatterMode::max) return run(Max{}, t);
    auto wrap_in = [&](auto u) { return mode == ScatterMode::add ? run(Add{}, u) : run(Multiply{}, u); };
    if constexpr (std::is_same_v<T, bool>) run(Min{}, t);  // the product of bools is `and`
    else if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) wrap_in(std::make_unsigned_t<T>{});
    else wrap_in(t);
  });
}
}  // namespace bora::kernels
