// windows.h -- strips of a matrix of patches, packed from the image for the tiles of a product.
#pragma once
#include "kernels/api/patches.h"
#include "kernels/gemm/simd.h"

namespace bora::kernels::BORA_ISA {
namespace {
constexpr I kMostSpatial = 8;
using Along = Patches::Along;
constexpr I up(I a, I b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }
/// The first and last of n steps of size `by` from `start` that stay in [0, size).
struct Inside {
  I begin, end;
};
inline Inside inside(I start, I by, I n, I size) {
  if (by == 0) return start >= 0 && start < size ? Inside{0, n} : Inside{0, 0};
  const I begin = min(n, max(0, up(-start, by))), end = min(n, max(0, up(size - start, by)));
  return {begin, max(begin, end)};
}
/// Digits of i in the mixed base of the dimensions' windows or taps, last digit fastest; what is left is returned.
template <I Along::*base> inline I digits(const Patches& p, I i, I dims, I* to) {
  for (I d = dims; d-- > 0;) {
    const I n = p.dims[static_cast<std::size_t>(d)].*base;
    to[d] = i % n;
    i /= n;
  }
  return i;
}
/// Offset of the pixel of window t and tap u in all dimensions but the last; false outside of the image.
inline bool outer_offset(const Patches& p, const I* t, const I* u, I& offset) {
  for (std::size_t d = 0; d + 1 < p.dims.size(); ++d) {
    const auto& a = p.dims[d];
    const I at = t[d] * a.step + u[d] * a.reach + a.origin;
    if (at < 0 || at >= a.size) return false;
    offset += at * a.stride;
  }
  return true;
}
template <class T> inline void zeros(T* to, I n) {
  for (I i = 0; i < n; ++i) to[i] = T(0);
}
template <class T, class In> inline void copied(T* to, const In* from, I n) {
  using S = Simd<T>;
  I i = 0;
  for (; i + S::width <= n; i += S::width) S::store(to + i, load_wide(from + i));
  for (; i < n; ++i) to[i] = wide(from[i]);
}
/// Packs windows [i, i + rows) and columns [k0, k0 + k) as [rows][Slab].
template <class T, class In, I Slab>
void pack_windows(T* to, const In* image, const Patches& p, I i, I rows, I k0, I k) {
  const I n = static_cast<I>(p.dims.size()), channels = p.channels;
  const auto& last = p.dims.back();
  const I line = last.taps * channels;
  struct Line {  // the taps of one row of pixels
    I u[kMostSpatial], first, count;
  };
  Line lines[Slab + 1];
  I count = 0;
  for (I x = k0; x < k0 + k; ++count) {
    auto& l = lines[count];
    digits<&Along::taps>(p, x / line, n - 1, l.u);
    l.first = x % line;
    l.count = min(line - l.first, k0 + k - x);
    x += l.count;
  }
  const bool whole = last.stride == channels && last.reach == 1;
  for (I r = 0; r < rows; ++r) {
    I t[kMostSpatial];
    const I picture = digits<&Along::windows>(p, i + r, n, t);
    const I start = t[n - 1] * last.step + last.origin;
    const auto in = inside(start, last.reach, last.taps, last.size);
    T* row = to + r * Slab;
    for (I q = 0; q < count; ++q) {
      const auto& l = lines[q];
      T* out = row;
      row += l.count;
      I offset = picture * p.image_stride + start * last.stride;
      if (!outer_offset(p, t, l.u, offset)) {
        zeros(out, l.count);
        continue;
      }
      const I begin = max(l.first, in.begin * channels), end = min(l.first + l.count, in.end * channels);
      if (begin >= end) {
        zeros(out, l.count);
        continue;
      }
      zeros(out, begin - l.first);
      if (whole) copied(out + (begin - l.first), image + offset + begin, end - begin);
      else
        for (I x = begin; x < end;) {
          const I u = x / channels, c = x % channels, m = min(channels - c, end - x);
          copied(out + (x - l.first), image + offset + u * last.reach * last.stride + c, m);
          x += m;
        }
      zeros(out + (end - l.first), l.first + l.count - end);
    }
  }
}
/// n elements from channel c of tap u on, of windows [k0, k0 + k), as columns of `step` elements. They may go on into
/// the next taps of the same row of pixels. whole: there is room for two vectors in each column, and what is in them
/// behind the n elements has no meaning.
template <class T, class In>
void pack_tap(T* to, I step, const In* image, const Patches& p, const I* u, I c, I n, I k0, I k, bool whole) {
  using S = Simd<T>;
  const I dims = static_cast<I>(p.dims.size());
  const auto& last = p.dims.back();
  I t[kMostSpatial];
  I picture = digits<&Along::windows>(p, k0, dims, t);
  const I pixel = last.step * last.stride, more = (c + n - 1) / p.channels;  // taps behind the first
  const auto some = S::some(n), rest = S::some(n - S::width);
  while (k > 0) {
    const I count = min(k, last.windows - t[dims - 1]);  // windows of one row of pixels
    const I start = t[dims - 1] * last.step + u[dims - 1] * last.reach + last.origin;
    I offset = picture * p.image_stride + start * last.stride + c;
    const bool row = outer_offset(p, t, u, offset);
    auto in = row ? inside(start, last.step, count, last.size) : Inside{0, 0};
    if (row && more > 0) in.end = max(in.begin, inside(start + more * last.reach, last.step, count, last.size).end);
    auto edge = [&](I from, I end) {
      for (I x = from; x < end; ++x)
        for (I y = 0; y < n; ++y) {
          const I at = start + x * last.step + (c + y) / p.channels * last.reach;
          to[x * step + y] = row && at >= 0 && at < last.size ? wide(image[offset + x * pixel + y]) : T(0);
        }
    };
    edge(0, in.begin);
    const In* from = image + offset + in.begin * pixel;
    T *out = to + in.begin * step, *end = to + in.end * step;
    if (sizeof(In) == sizeof(T) && whole) {
      if constexpr (sizeof(In) == sizeof(T)) {
        if (n <= S::width)
          for (; out != end; from += pixel, out += step) S::store(out, S::load(from, some));
        else
          for (; out != end; from += pixel, out += step) {
            S::store(out, S::load(from));
            S::store(out + S::width, S::load(from + S::width, rest));
          }
      }
    } else {
      for (; out != end; from += pixel, out += step)
        for (I y = 0; y < n; ++y) out[y] = wide(from[y]);
    }
    edge(in.end, count);
    to += count * step;
    k -= count;
    t[dims - 1] = 0;
    I d = dims - 1;
    while (d > 0 && ++t[d - 1] == p.dims[static_cast<std::size_t>(d - 1)].windows) t[--d] = 0;
    if (d == 0) ++picture;
  }
}
/// Packs rows [i, i + rows), at most two vectors, of the transposed matrix and windows [k0, k0 + k) as [k][step].
template <class T, class In>
void pack_taps(T* to, I step, const In* image, const Patches& p, I i, I rows, I k0, I k) {
  for (I r = 0; r < rows;) {
    I u[kMostSpatial];
    const I c = (i + r) % p.channels;
    digits<&Along::taps>(p, (i + r) / p.channels, static_cast<I>(p.dims.size()), u);
    const auto& last = p.dims.back();
    const bool line = last.stride == p.channels && last.reach == 1;
    const I left = line ? (last.taps - u[p.dims.size() - 1]) * p.channels - c : p.channels - c, n = min(rows - r, left);
    pack_tap(to + r, step, image, p, u, c, n, k0, k, r == 0);
    r += n;
  }
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
