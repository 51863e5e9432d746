// passes.h -- Stockham's passes over vectors of lanes: decimation in frequency, natural order in and out. Stockham
// 1966, High-speed convolution and correlation; butterflies of 2, 3, 4, 5 as in Temperton 1983, others by definition.
#include "kernels/fft/lanes.h"

namespace bora::kernels::BORA_ISA {
namespace {
using fft_detail::I;
template <class T> struct alignas(64) Vector {
  typedef T V __attribute__((vector_size(64)));
};
template <class T> using V = typename Vector<T>::V;
/// A complex number in each lane.
template <class T> struct C {
  V<T> re, im;
};
template <class T> inline C<T> operator+(const C<T>& a, const C<T>& b) { return {a.re + b.re, a.im + b.im}; }
template <class T> inline C<T> operator-(const C<T>& a, const C<T>& b) { return {a.re - b.re, a.im - b.im}; }
template <class T> inline C<T> times(const C<T>& a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class T> inline C<T> scaled(const C<T>& a, T s) { return {a.re * s, a.im * s}; }
template <class T> inline C<T> minus_i(const C<T>& a) { return {a.im, -a.re}; }

template <int R, class T> inline void butterfly(C<T>* a) {
  if constexpr (R == 2) {
    auto x = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = x;
  } else if constexpr (R == 3) {
    constexpr T s = static_cast<T>(0.86602540378443864676L);
    auto sum = a[1] + a[2], difference = minus_i(scaled(a[1] - a[2], s));
    auto middle = a[0] - scaled(sum, static_cast<T>(0.5));
    a[0] = a[0] + sum;
    a[1] = middle + difference;
    a[2] = middle - difference;
  } else if constexpr (R == 4) {
    auto p = a[0] + a[2], q = a[0] - a[2], r = a[1] + a[3], s = minus_i(a[1] - a[3]);
    a[0] = p + r;
    a[1] = q + s;
    a[2] = p - r;
    a[3] = q - s;
  } else if constexpr (R == 5) {
    constexpr T c1 = static_cast<T>(0.30901699437494742410L), c2 = static_cast<T>(-0.80901699437494742410L),
                s1 = static_cast<T>(0.95105651629515357212L), s2 = static_cast<T>(0.58778525229247312917L);
    auto p1 = a[1] + a[4], m1 = a[1] - a[4], p2 = a[2] + a[3], m2 = a[2] - a[3];
    auto r1 = a[0] + scaled(p1, c1) + scaled(p2, c2), r2 = a[0] + scaled(p1, c2) + scaled(p2, c1);
    auto i1 = minus_i(scaled(m1, s1) + scaled(m2, s2)), i2 = minus_i(scaled(m1, s2) - scaled(m2, s1));
    a[0] = a[0] + p1 + p2;
    a[1] = r1 + i1;
    a[4] = r1 - i1;
    a[2] = r2 + i2;
    a[3] = r2 - i2;
  }
}
template <int R, class T> void pass(const fft_detail::Pass<T>& p, const C<T>* x, C<T>* y) {
  const I m = p.m, s = p.stride;
  for (I i = 0; i < m; ++i) {
    const T* w = p.twiddles + i * 2 * (R - 1);
    for (I q = 0; q < s; ++q) {
      C<T> a[R];
      for (I k = 0; k < R; ++k) a[k] = x[q + s * (i + m * k)];
      butterfly<R>(a);
      C<T>* to = y + q + s * R * i;
      to[0] = a[0];
      for (I k = 1; k < R; ++k) to[s * k] = i == 0 ? a[k] : times(a[k], w[2 * k - 2], w[2 * k - 1]);
    }
  }
}
/// roots: cos and sin of 2 pi k / radix for k < radix.
template <class T> void any_pass(const fft_detail::Pass<T>& p, const T* roots, const C<T>* x, C<T>* y) {
  const I m = p.m, s = p.stride, r = p.radix;
  for (I i = 0; i < m; ++i) {
    const T* w = p.twiddles + i * 2 * (r - 1);
    for (I q = 0; q < s; ++q) {
      const C<T>* from = x + q + s * i;
      C<T>* to = y + q + s * r * i;
      for (I k = 0; k <= r / 2; ++k) {  // r is odd: outputs k and r - k share their products
        C<T> even = from[0], odd = {};
        for (I j = 1; j <= r / 2; ++j) {
          auto a = from[s * m * j], b = from[s * m * (r - j)];
          auto at = 2 * (j * k % r);
          even = even + scaled(a + b, roots[at]);
          odd = odd + scaled(a - b, roots[at + 1]);
        }
        odd = minus_i(odd);
        to[s * k] = even + odd;
        if (k > 0) to[s * (r - k)] = even - odd;
      }
      if (i == 0) continue;
      for (I k = 1; k < r; ++k) to[s * k] = times(to[s * k], w[2 * k - 2], w[2 * k - 1]);
    }
  }
}
/// Elements of a lane that are moved together: a line of the cache, where they are neighbours in memory.
constexpr I kTile = 8;
template <class P> bool side_by_side(const P& p, I lanes) {
  if (p.lanes != lanes) return false;
  for (I l = 1; l < lanes; ++l)
    if (p.base[l] != p.base[0] + 2 * l) return false;
  return true;
}
/// Reads lanes into vectors; an inverse transform is a transform with the parts exchanged, before and after.
template <class T> void load(const fft_detail::Job<T>& job, C<T>* x) {
  constexpr I L = fft_detail::kLanes<T>;
  const I n = job.plan->n, step = 2 * job.in.step;
  if (side_by_side(job.in, L)) {
    const T* from = job.in.base[0];
    for (I j = 0; j < n; ++j) {
      T re[L], im[L];
      for (I l = 0; l < L; ++l) re[l] = from[j * step + 2 * l], im[l] = from[j * step + 2 * l + 1];
      T *a = reinterpret_cast<T*>(job.inverse ? &x[j].im : &x[j].re),
        *b = reinterpret_cast<T*>(job.inverse ? &x[j].re : &x[j].im);
      for (I l = 0; l < L; ++l) a[l] = re[l], b[l] = im[l];
    }
    return;
  }
  for (I j0 = 0; j0 < n; j0 += kTile)
    for (I l = 0; l < L; ++l) {
      const T* from = job.in.base[l < job.in.lanes ? l : 0];
      T *a = reinterpret_cast<T*>(job.inverse ? &x[0].im : &x[0].re) + l,
        *b = reinterpret_cast<T*>(job.inverse ? &x[0].re : &x[0].im) + l;
      for (I j = j0; j < n && j < j0 + kTile; ++j) a[2 * L * j] = from[j * step], b[2 * L * j] = from[j * step + 1];
    }
}
template <class T> void store(const fft_detail::Job<T>& job, const C<T>* x) {
  constexpr I L = fft_detail::kLanes<T>;
  const I n = job.plan->n, step = 2 * job.out.step, lanes = job.out.lanes;
  const bool dense = side_by_side(job.out, L);
  alignas(64) T re[kTile][L], im[kTile][L];
  for (I j0 = 0; j0 < n; j0 += kTile) {
    const I count = n - j0 < kTile ? n - j0 : kTile;
    for (I j = 0; j < count; ++j) {
      const T *a = reinterpret_cast<const T*>(&x[j0 + j].re), *b = reinterpret_cast<const T*>(&x[j0 + j].im);
      for (I l = 0; l < L; ++l) re[j][l] = a[l] * job.scale, im[j][l] = b[l] * job.scale;
      if (!job.factors) continue;
      const T* w = job.factors + 2 * (j0 + j) * job.pitch;
      T c[L] = {}, s[L] = {};
      for (I l = 0; l < lanes; ++l) c[l] = w[2 * l], s[l] = w[2 * l + 1];
      for (I l = 0; l < L; ++l) {
        T p = re[j][l] * c[l] - im[j][l] * s[l], q = re[j][l] * s[l] + im[j][l] * c[l];
        re[j][l] = p, im[j][l] = q;
      }
    }
    const auto &first = job.inverse ? im : re, &second = job.inverse ? re : im;
    if (dense) {
      for (I j = 0; j < count; ++j) {
        T* to = job.out.base[0] + (j0 + j) * step;
        for (I l = 0; l < L; ++l) to[2 * l] = first[j][l], to[2 * l + 1] = second[j][l];
      }
      continue;
    }
    for (I l = 0; l < lanes; ++l) {
      T* to = job.out.base[l] + j0 * step;
      for (I j = 0; j < count; ++j) to[j * step] = first[j][l], to[j * step + 1] = second[j][l];
    }
  }
}
template <class T> void run_lanes(const fft_detail::Job<T>& job) {
  auto& plan = *job.plan;
  auto *x = reinterpret_cast<C<T>*>(job.room), *y = x + plan.n;
  load(job, x);
  for (int k = 0; k < plan.count; ++k) {
    auto& p = plan.passes[k];
    if (p.radix == 4) pass<4>(p, x, y);
    else if (p.radix == 2) pass<2>(p, x, y);
    else if (p.radix == 3) pass<3>(p, x, y);
    else if (p.radix == 5) pass<5>(p, x, y);
    else any_pass(p, plan.roots[k], x, y);
    auto* t = x;
    x = y;
    y = t;
  }
  store(job, x);
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
