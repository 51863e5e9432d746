// fft.cpp -- plans of transforms, and how one is spread over lanes and threads:
//   many transforms of a moderate length: one in each lane;
//   a long one: n = n1 n2 as a matrix (Bailey 1990, FFTs in external or hierarchical memory): columns, factors, rows;
//   a length with a large prime factor: a convolution with a chirp, by transforms of a longer, smooth length.
#include "kernels/api/fft.h"
#include <cmath>
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <numbers>
#include <tuple>
#include <vector>
#include "base/api/cache_counts.h"
#include "base/api/complex.h"
#include "bora/base/parallel.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "kernels/fft/lanes.h"

namespace bora::kernels {
namespace {
using namespace fft_detail;
constexpr I kLargestRadix = 31;
std::size_t at(I i) { return static_cast<std::size_t>(i); }
constexpr double kPointPass = 0.25;  // ns per point and pass

/// exp(-2 pi i k / n), to the last bit of f64 or nearly: the argument is brought into the first octant in integers.
std::complex<double> root(I k, I n) {
  k %= n;
  I eighth = 8 * k / n;  // octant
  auto angle = [n](I numerator) {
    return 2 * std::numbers::pi * static_cast<double>(numerator) / (8 * static_cast<double>(n));
  };
  I rest = 8 * k - eighth * n;  // in eighths of a step, in [0, n)
  if (eighth % 2 == 1) rest = n - rest;
  double c = std::cos(angle(rest)), s = std::sin(angle(rest));
  if (eighth % 4 == 1 || eighth % 4 == 2) std::swap(c, s);
  if (eighth >= 2 && eighth < 6) c = -c;
  if (eighth >= 4) s = -s;
  return {c, -s};
}
I largest_factor(I n) {
  I largest = 1;
  for (I p = 2; p * p <= n; ++p)
    while (n % p == 0) n /= p, largest = p;
  return std::max(largest, n);
}
/// The smallest m >= n without prime factors above 5.
I smooth_length(I n) {
  I best = 1;
  while (best < n) best *= 2;
  for (I five = 1; five < best; five *= 5)
    for (I three = five; three < best; three *= 3) {
      I m = three;
      while (m < n) m *= 2;
      best = std::min(best, m);
    }
  return best;
}

template <class T> struct Tables {
  Plan<T> plan;                  // in lanes
  std::vector<T> numbers;        // twiddles and roots of the plan
  I n1 = 0, n2 = 0;              // a long transform as a matrix
  std::vector<T> factors;        // exp(-2 pi i k1 j2 / n), [n1, n2]
  I padded = 0;                  // Bluestein: the length of the convolution
  std::vector<T> chirp, filter;  // exp(-pi i j^2 / n), and the transform of its conjugate
};
template <class T> void put(std::vector<T>& to, std::complex<double> z) {
  to.push_back(static_cast<T>(z.real()));
  to.push_back(static_cast<T>(z.imag()));
}
template <class T> void plan_lanes(Tables<T>& t, I n) {
  std::vector<std::pair<std::size_t, std::size_t>> offsets;
  t.plan.n = n;
  I rest = n, stride = 1;
  while (rest > 1) {
    I r = rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : 3;
    while (rest % r != 0) r += 2;
    auto& p = t.plan.passes[t.plan.count++];
    p.radix = r, p.m = rest / r, p.stride = stride;
    offsets.push_back({t.numbers.size(), 0});
    for (I i = 0; i < p.m; ++i)
      for (I k = 1; k < r; ++k) put(t.numbers, root(i * k, rest));
    offsets.back().second = t.numbers.size();
    for (I k = 0; k < r; ++k) put(t.numbers, std::conj(root(k, r)));
    rest /= r, stride *= r;
  }
  for (int k = 0; k < t.plan.count; ++k) {
    t.plan.passes[k].twiddles = t.numbers.data() + offsets[static_cast<std::size_t>(k)].first;
    t.plan.roots[k] = t.numbers.data() + offsets[static_cast<std::size_t>(k)].second;
  }
}
template <class T> void transform(bool inverse, T scale, const T* in, T* out, I outer, I n, I inner);

/// `whole`: passes over whole transforms, one in each lane; else as a matrix.
template <class T> std::shared_ptr<const Tables<T>> make_tables(I n, bool whole) {
  auto t = std::make_shared<Tables<T>>();
  if (largest_factor(n) > kLargestRadix) {
    I m = t->padded = smooth_length(2 * n - 1);
    std::vector<T> filter(static_cast<std::size_t>(2 * m));
    t->filter.resize(filter.size());
    for (I j = 0; j < n; ++j) {
      // j^2 modulo 2 n, without overflow
      auto z = root(static_cast<I>(static_cast<unsigned __int128>(j) * static_cast<unsigned __int128>(j) %
                                   static_cast<unsigned __int128>(2 * n)),
                    2 * n);
      put(t->chirp, z);
      for (I at : {j, (m - j) % m}) {
        filter[static_cast<std::size_t>(2 * at)] = static_cast<T>(z.real());
        filter[static_cast<std::size_t>(2 * at + 1)] = static_cast<T>(-z.imag());
      }
    }
    transform<T>(false, T(1), filter.data(), t->filter.data(), 1, m, 1);
    return t;
  }
  if (!whole) {
    t->n1 = 1;
    std::vector<I> primes;
    for (I rest = n, p = 2; rest > 1; ++p)
      while (rest % p == 0) primes.push_back(p), rest /= p;
    std::sort(primes.rbegin(), primes.rend());
    // The divisor nearest to the square root, greedily.
    for (I p : primes)
      if (t->n1 * p * t->n1 * p <= 2 * n) t->n1 *= p;
    t->n2 = n / t->n1;
    t->factors.reserve(static_cast<std::size_t>(2 * n));
    for (I k = 0; k < t->n1; ++k)
      for (I j = 0; j < t->n2; ++j) put(t->factors, root(k * j, n));
  } else plan_lanes(*t, n);
  return t;
}
/// The tables of the lengths used last.
template <class T> std::shared_ptr<const Tables<T>> tables_of(I n, bool whole) {
  struct Kept {
    I n;
    bool whole;
    std::shared_ptr<const Tables<T>> tables;
  };
  static std::mutex m;
  static auto* kept = new std::list<Kept>;
  constexpr std::size_t kMost = 24;
  static auto& counts =
      *new auto(bora::detail::listed_cache(sizeof(T) == 4 ? "fft tables f32" : "fft tables f64", kMost));
  {
    std::lock_guard l(m);
    for (auto i = kept->begin(); i != kept->end(); ++i)
      if (i->n == n && i->whole == whole) {
        kept->splice(kept->begin(), *kept, i);
        counts->found(true);
        return i->tables;
      }
  }
  counts->found(false);
  auto t = make_tables<T>(n, whole);  // may need other tables
  std::lock_guard l(m);
  kept->push_front({n, whole, t});
  counts->added();
  if (kept->size() > kMost) {
    kept->pop_back();
    counts->evicted();
  }
  return t;
}

/// Transforms that run side by side; they do not touch each other, so their number changes no bit.
template <class T> I lanes_in_use() { return (isa() == Isa::v4 ? 64 : 32) / static_cast<I>(sizeof(T)); }
template <class T> void run(const Job<T>& job) { isa() == Isa::v4 ? v4::fft_lanes(job) : v3::fft_lanes(job); }
/// count transforms of the plan's length, lane t at place(t) of in and out.
template <class T, class In, class Out>
void in_lanes(const Plan<T>& plan, bool inverse, T scale, I count, I step_in, I step_out, In&& in, Out&& out,
              const T* factors = nullptr, I pitch = 0) {
  const I L = lanes_in_use<T>();
  I groups = (count + L - 1) / L;
  double cost = kPointPass * static_cast<double>(plan.n * L * (plan.count + 2));
  parallel_for(groups, grain_for(cost), [&](I begin, I end) {
    auto room = allocate(static_cast<std::size_t>(4 * plan.n * L) * sizeof(T));
    for (I g = begin; g < end; ++g) {
      auto* from = factors ? factors + 2 * g * L : nullptr;
      Job<T> job{&plan, {}, {}, inverse, scale, from, pitch, static_cast<T*>(room.get())};
      I lanes = std::min(L, count - g * L);
      job.in.step = step_in, job.out.step = step_out;
      job.in.lanes = job.out.lanes = lanes;
      for (I l = 0; l < lanes; ++l) job.in.base[l] = in(g * L + l), job.out.base[l] = out(g * L + l);
      run(job);
    }
  });
}
/// One transform over contiguous memory, of a length with small factors or by Bluestein's algorithm.
template <class T> void one(const Tables<T>& t, bool inverse, T scale, const T* in, T* out, I n) {
  if (t.padded) {
    I m = t.padded;
    auto memory = allocate(static_cast<std::size_t>(4 * m) * sizeof(T));
    auto *x = static_cast<T*>(memory.get()), *y = x + 2 * m;
    T sign = inverse ? T(-1) : T(1);  // the inverse is the conjugate of the transform of the conjugate
    auto multiply = [](T a, T b, T c, T d, T* to) { to[0] = a * c - b * d, to[1] = a * d + b * c; };
    parallel_for(m, grain_for(2), [&](I begin, I end) {
      for (I j = begin; j < end; ++j)
        if (j < n) multiply(in[2 * j], sign * in[2 * j + 1], t.chirp[at(2 * j)], t.chirp[at(2 * j + 1)], x + 2 * j);
        else x[2 * j] = x[2 * j + 1] = 0;
    });
    transform<T>(false, T(1), x, y, 1, m, 1);
    parallel_for(m, grain_for(2), [&](I begin, I end) {
      for (I j = begin; j < end; ++j)
        multiply(y[2 * j], y[2 * j + 1], t.filter[at(2 * j)], t.filter[at(2 * j + 1)], y + 2 * j);
    });
    transform<T>(true, static_cast<T>(1 / static_cast<double>(m)), y, x, 1, m, 1);
    parallel_for(n, grain_for(2), [&](I begin, I end) {
      for (I j = begin; j < end; ++j) {
        multiply(x[2 * j], x[2 * j + 1], t.chirp[at(2 * j)], t.chirp[at(2 * j + 1)], out + 2 * j);
        out[2 * j] *= scale, out[2 * j + 1] *= sign * scale;
      }
    });
    return;
  }
  I n1 = t.n1, n2 = t.n2;
  auto memory = allocate(static_cast<std::size_t>(2 * n) * sizeof(T));
  auto* x = static_cast<T*>(memory.get());
  auto columns = tables_of<T>(n1, true), rows = tables_of<T>(n2, true);
  in_lanes<T>(columns->plan, inverse, T(1), n2, n2, n2, [&](I j) { return in + 2 * j; }, [&](I j) { return x + 2 * j; },
              t.factors.data(), n2);
  in_lanes<T>(rows->plan, inverse, scale, n1, 1, n1, [&](I k) { return x + 2 * k * n2; },
              [&](I k) { return out + 2 * k; });
}
template <class T> void transform(bool inverse, T scale, const T* in, T* out, I outer, I n, I inner) {
  constexpr I kSmall = 64, kModerate = 4096, kMany = 64 / static_cast<I>(sizeof(T));
  I count = outer * inner;
  if (count == 0) return;
  bool whole = n <= kSmall || (n <= kModerate && count >= kMany);
  auto t = tables_of<T>(n, whole);
  if (whole && !t->padded) {
    auto place = [n, inner](I lane) { return 2 * (lane / inner * n * inner + lane % inner); };
    return in_lanes<T>(t->plan, inverse, scale, count, inner, inner, [&](I l) { return in + place(l); },
                       [&](I l) { return out + place(l); });
  }
  if (inner > 1) {  // [outer, n, inner] is brought to [outer, inner, n] and back
    auto memory = allocate(static_cast<std::size_t>(4 * count * n) * sizeof(T));
    auto *x = static_cast<T*>(memory.get()), *y = x + 2 * count * n;
    copy(x, {n * inner, n, 1}, in, {n * inner, 1, inner}, {outer, inner, n}, 2 * sizeof(T));
    transform(inverse, scale, x, y, count, n, 1);
    return copy(out, {n * inner, inner, 1}, y, {n * inner, 1, n}, {outer, n, inner}, 2 * sizeof(T));
  }
  auto each = [&](I begin, I end) {
    for (I i = begin; i < end; ++i) one(*t, inverse, scale, in + 2 * i * n, out + 2 * i * n, n);
  };
  if (count < thread_count()) each(0, count);  // threads share each transform
  else parallel_for(count, 1, each);
}
}  // namespace

void fft(Dtype d, bool inverse, double scale, const void* in, void* out, std::int64_t outer, std::int64_t n,
         std::int64_t inner) {
  dispatch_complex(d, "fft", [&](auto zero) {
    using T = typename decltype(zero)::value_type;
    transform<T>(inverse, static_cast<T>(scale), static_cast<const T*>(in), static_cast<T*>(out), outer, n, inner);
  });
}
}  // namespace bora::kernels
