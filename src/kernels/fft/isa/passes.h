// passes.h -- Stockham's passes over vectors of lanes: decimation in frequency, natural order in and out. Stockham
// 1966, High-speed convolution and correlation; butterflies of 2, 3, 4, 5 as in Temperton 1983, others by definition.
#include "kernels/fft/lanes.h"
#include "kernels/fft/isa/pairs.h"

namespace bora::kernels::BORA_ISA {
namespace {
template <class T> using V = typename Simd<T>::V;
template <class T> inline constexpr I kLanes = Simd<T>::width;
/// A complex number in each lane.
template <class T> struct C {
  V<T> re, im;
};
template <class T> inline C<T> operator+(const C<T>& a, const C<T>& b) { return {a.re + b.re, a.im + b.im}; }
template <class T> inline C<T> operator-(const C<T>& a, const C<T>& b) { return {a.re - b.re, a.im - b.im}; }
/// Both parts are a multiplication and a fused one, on every instruction set.
template <class T> inline C<T> times(const C<T>& a, V<T> re, V<T> im) {
  return {Simd<T>::fma(a.re, re, -(a.im * im)), Simd<T>::fma(a.re, im, a.im * re)};
}
template <class T> inline C<T> times(const C<T>& a, T re, T im) { return times(a, Simd<T>::all(re), Simd<T>::all(im)); }
template <class T> inline C<T> scaled(const C<T>& a, T s) {
  const auto v = Simd<T>::all(s);
  return {a.re * v, a.im * v};
}
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
/// Elements between the lanes' memory, where they are all in use and lie equally far apart; else 0.
template <class P> I gap(const P& p, I lanes) {
  const I d = p.base[1] - p.base[0];
  if (p.lanes != lanes) return 0;
  for (I l = 2; l < lanes; ++l)
    if (p.base[l] - p.base[l - 1] != d) return 0;
  return d;
}
/// Elements of a lane that are moved together: a line of the cache, where they are neighbours in memory.
constexpr I kTile = 8, kAhead = 16;
/// Reads lanes into vectors; an inverse transform is a transform with the parts exchanged, before and after.
template <class T> void load(const fft_detail::Job<T>& job, C<T>* x) {
  constexpr I L = kLanes<T>;
  const I n = job.plan->n, step = 2 * job.in.step, apart = gap(job.in, L);
  auto put = [&](I j, V<T> re, V<T> im) { x[j] = job.inverse ? C<T>{im, re} : C<T>{re, im}; };
  I done = 0;
  if (apart == 2)
    for (const T* from = job.in.base[0]; done < n; ++done, from += step) {
      V<T> re, im;
      _mm_prefetch(reinterpret_cast<const char*>(from + kAhead * step), _MM_HINT_T0);  // lines far apart, one at a time
      apart_pairs(from, re, im);
      put(done, re, im);
    }
  else if (apart != 0 && step == 2) {
    constexpr I turn = 16 / sizeof(T);
    for (const T* from = job.in.base[0]; done + turn / 2 <= n; done += turn / 2, from += turn) {
      V<T> part[turn];
      columns(from, apart, part);
      for (I i = 0; i < turn / 2; ++i) put(done + i, part[2 * i], part[2 * i + 1]);
    }
  }
  for (I j0 = done; j0 < n; j0 += kTile)
    for (I l = 0; l < L; ++l) {
      const T* from = job.in.base[l < job.in.lanes ? l : 0];
      T *a = reinterpret_cast<T*>(job.inverse ? &x[0].im : &x[0].re) + l,
        *b = reinterpret_cast<T*>(job.inverse ? &x[0].re : &x[0].im) + l;
      for (I j = j0; j < n && j < j0 + kTile; ++j) a[2 * L * j] = from[j * step], b[2 * L * j] = from[j * step + 1];
    }
}
template <class T> void store(const fft_detail::Job<T>& job, const C<T>* x) {
  constexpr I L = kLanes<T>, turn = 16 / sizeof(T);
  const I n = job.plan->n, step = 2 * job.out.step, lanes = job.out.lanes, apart = gap(job.out, L);
  const auto scale = Simd<T>::all(job.scale);
  for (I j0 = 0; j0 < n; j0 += kTile) {
    const I count = n - j0 < kTile ? n - j0 : kTile;
    C<T> y[kTile];
    for (I j = 0; j < count; ++j) {
      y[j] = {x[j0 + j].re * scale, x[j0 + j].im * scale};
      if (job.factors) {
        const T* w = job.factors + 2 * (j0 + j) * job.pitch;
        T some[2 * L] = {};
        if (lanes < L) {
          for (I i = 0; i < 2 * lanes; ++i) some[i] = w[i];
          w = some;
        }
        V<T> re, im;
        apart_pairs(w, re, im);
        y[j] = times(y[j], re, im);
      }
      if (job.inverse) y[j] = {y[j].im, y[j].re};
    }
    I done = 0;
    if (apart == 2)
      for (I j = 0; j < count; ++j)
        __builtin_prefetch(job.out.base[0] + (j0 + j + kAhead) * step, 1);
    if (apart == 2)
      for (; done < count; ++done) together_pairs(job.out.base[0] + (j0 + done) * step, y[done].re, y[done].im);
    else if (apart != 0 && step == 2)
      for (; done + turn / 2 <= count; done += turn / 2) {
        V<T> part[turn];
        for (I i = 0; i < turn / 2; ++i) part[2 * i] = y[done + i].re, part[2 * i + 1] = y[done + i].im;
        to_rows(job.out.base[0] + (j0 + done) * step, apart, part);
      }
    if (done == count) continue;
    for (I l = 0; l < lanes; ++l)
      for (I j = done; j < count; ++j) {
        T* to = job.out.base[l] + (j0 + j) * step;
        to[0] = reinterpret_cast<const T*>(&y[j].re)[l], to[1] = reinterpret_cast<const T*>(&y[j].im)[l];
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
