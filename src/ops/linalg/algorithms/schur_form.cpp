// QR iterations with many shifts.
#include "ops/linalg/algorithms/schur_form.h"
#include <algorithm>
#include <cmath>
#include "ops/linalg/algorithms/hessenberg.h"

namespace bora::linalg {
namespace {
constexpr Index kAtOnce = 64;    // blocks up to this size are solved at once
constexpr Index kDeflated = 25;  // percent of a window: with more, another window comes before a sweep

/// Shifts of a sweep over a block of n rows, and rows of a window of deflation.
Index shifts_for(Index n) { return n < 150 ? 16 : n < 400 ? 24 : n < 1200 ? 40 : 64; }
Index window_for(Index n) { return std::min(n, 2 * shifts_for(n)); }

template <class T> Owned<T> unit_matrix(Index n) {
  Owned<T> r(n, n);
  for (Index i = 0; i < n; ++i) r.block(i, i) = 1;
  return r;
}
template <class T> Owned<T> copied(Reads<T> from) {
  Owned<T> r(from.rows, from.columns, Fill::none);
  copy<T>(from, r.block);
  return r;
}

template <class T> struct Iteration {
  Block<T> h, z;

  bool run() {
    Index idle = 0, tries = kIterations * std::max<Index>(10, h.rows);
    for (auto last = h.rows - 1; last >= 0;) {
      auto first = begin_of_block(h, last);
      if (last - first < kAtOnce) {
        auto rows = last - first + 1;
        auto small = copied<T>(h.part(first, first, rows, rows)), u = unit_matrix<T>(rows);
        if (!iterate(small.block, u.block)) return false;
        put_back(small.block, u.block, first);
        last = first - 1;
        continue;
      }
      if (--tries < 0) return false;
      const auto rows = last - first + 1, window = window_for(rows);
      auto [count, shifts] = deflate(first, last, window);
      last -= count;
      idle = count > 0 ? 0 : idle + 1;
      if (count * 100 > kDeflated * window || last - first < kAtOnce) continue;
      first = begin_of_block(h, last);
      if (last - first < kAtOnce) continue;
      sweep(first, last, pairs_of(std::move(shifts), first, last, idle));
    }
    return true;
  }
  /// The block from `begin` on has become `small` = u^H (what it was) u: what is above it, to its right, and z.
  void put_back(Reads<T> small, Reads<T> u, Index begin) {
    copy<T>(small, h.part(begin, begin, small.rows, small.rows));
    turn_around(u, begin);
  }
  void turn_around(Reads<T> u, Index begin) {
    const auto n = h.rows, w = u.rows, end = begin + w;
    auto from_right = [&](Block<T> x) {
      if (x.rows == 0) return;
      auto old = copied<T>(x);
      multiply<T>(old.block, u, x);
    };
    from_right(h.part(0, begin, begin, w));
    from_right(z.part(0, begin, n, w));
    if (end == n) return;
    auto right = h.part(begin, end, w, n - end);
    auto old = copied<T>(right);
    multiply_adjoint<T>(u, old.block, right);
  }
  struct Deflated {
    Index count;
    std::vector<Complex> shifts;  // eigenvalues of the rest of the window
  };
  /// K. Braman, R. Byers, R. Mathias, part II: "Aggressive early deflation".
  Deflated deflate(Index first, Index last, Index window) {
    const auto begin = last - window + 1;
    const T coupling = begin > first ? h(begin, begin - 1) : T(0);
    auto own = copied<T>(h.part(begin, begin, window, window)), turns = unit_matrix<T>(window);
    auto t = own.block, u = turns.block;
    if (!iterate(t, u)) return {0, {}};
    const auto least = kLeast * (static_cast<double>(h.rows) / kEps);
    auto left = window;  // rows that are not deflated; of them those above `moved` cannot be
    for (Index moved = 0; moved < left;) {
      const Index rows = !kComplex<T> && left - moved > 1 && t(left - 1, left - 2) != T(0) ? 2 : 1;
      double spike = 0, value = std::abs(t(left - 1, left - 1));
      for (auto i = left - rows; i < left; ++i) spike = std::max(spike, std::abs(coupling * u(0, i)));
      if (rows == 2) value += std::sqrt(std::abs(t(left - 1, left - 2))) * std::sqrt(std::abs(t(left - 2, left - 1)));
      if (value == 0) value = std::abs(coupling);
      if (spike <= std::max(least, kEps * value)) left -= rows;
      else if (move_up(t, u, left - rows, moved, rows)) moved += rows;
      else break;
    }
    auto shifts = eigenvalues_of<T>(t, left);
    if (left == window) return {0, std::move(shifts)};
    if (left > 1) restore(t, u, left);
    if (left > 0 && begin > first) h(begin, begin - 1) = coupling * conjugated(u(0, 0));
    put_back(t, u, begin);
    return {window - left, std::move(shifts)};
  }
  /// The first rows of a window become Hessenberg's form again, with the column before them.
  static void restore(Block<T> t, Block<T> u, Index rows) {
    std::vector<T> x(size(rows));
    for (Index i = 0; i < rows; ++i) x[size(i)] = conjugated(u(0, i));
    auto turn = [&](Index first, Index from) {
      const auto count = rows - first;
      const auto factor = reflect(x.data(), count), length = x[0];
      x[0] = 1;
      reflect_both(t, u, x.data(), factor, first, count, from);
      return length;
    };
    turn(0, 0);
    for (Index c = 0; c + 2 < rows; ++c) {
      std::copy_n(&t(c + 1, c), rows - c - 1, x.data());
      t(c + 1, c) = turn(c + 1, c + 1);
      std::fill_n(&t(c + 1, c) + 1, rows - c - 2, T(0));
    }
  }
  /// Shifts two by two: conjugates, and of a real matrix real ones together.
  std::vector<Shifts> pairs_of(std::vector<Complex> shifts, Index first, Index last, Index idle) {
    std::vector<Shifts> pairs;
    const auto most = std::min(shifts_for(last - first + 1) / 2, (last - first + 1) / 6);
    if (idle > 0 && idle % 6 == 0) {
      for (auto i = last; i > first + 1 && static_cast<Index>(pairs.size()) < most; i -= 2) {
        const auto side = std::abs(h(i, i - 1)) + std::abs(h(i - 1, i - 2));
        const Complex middle = Complex(h(i, i)) + 0.75 * side, turn(0, side * std::sqrt(0.4375));
        pairs.push_back({middle + turn, middle - turn});
      }
      return pairs;
    }
    if (static_cast<Index>(shifts.size()) < most) {
      const auto rows = std::min(2 * most, last - first + 1);
      auto own = copied<T>(h.part(last - rows + 1, last - rows + 1, rows, rows)), u = unit_matrix<T>(rows);
      if (iterate(own.block, u.block)) shifts = eigenvalues_of<T>(own.block, rows);
    }
    if (shifts.size() < 2) return {eigenvalues_of_pair<T>(h, last - 1)};
    const Complex* single = nullptr;
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      if (!kComplex<T> && shifts[i].imag() != 0) {
        pairs.push_back({shifts[i], shifts[i + 1]});
        ++i;
      } else if (single != nullptr) pairs.push_back({*std::exchange(single, nullptr), shifts[i]});
      else single = &shifts[i];
    }
    if (pairs.empty()) pairs.push_back({*single, *single});
    auto magnitude = [](const Shifts& s) { return std::abs(s.first) + std::abs(s.second); };
    std::stable_sort(pairs.begin(), pairs.end(), [&](auto& a, auto& b) { return magnitude(a) < magnitude(b); });
    if (static_cast<Index>(pairs.size()) > most) pairs.resize(size(most));
    return pairs;
  }
  /// A chain of bulges, each with two shifts and three rows apart, goes through the block from window to window.
  void sweep(Index first, Index last, const std::vector<Shifts>& shifts) {
    const auto count = static_cast<Index>(shifts.size()), rows = 6 * count + 16;
    std::vector<Index> at(size(count), first);  // where the next reflection of each bulge begins
    while (at.back() < last) {
      const auto begin = std::max(first, at.back() - 1), end = std::min(begin + rows, last + 1), w = end - begin;
      auto own = copied<T>(h.part(begin, begin, w, w)), u = unit_matrix<T>(w);
      for (Index b = 0; b < count; ++b) {
        auto& k = at[size(b)];
        auto free = b == 0 || at[size(b - 1)] >= last ? last + 4 : at[size(b - 1)];
        for (; k < last && k + 4 <= free && (end == last + 1 || k + 3 < end); ++k)
          chase(own.block, u.block, k - begin, first - begin, w - 1, shifts[size(b)]);
      }
      put_back(own.block, u.block, begin);
    }
  }
};
}  // namespace

template <class T> SchurForm<T> schur_form(Owned<T> a) {
  const auto largest = largest_part<T>(a.numbers());
  const auto exponent = largest > 0 ? std::ilogb(largest) : 0;
  auto scale = [&](Owned<T>& m, int by) {
    for (auto& x : m.numbers())
      if constexpr (kComplex<T>) x = {std::ldexp(x.real(), by), std::ldexp(x.imag(), by)};
      else x = std::ldexp(x, by);
  };
  if (exponent != 0) scale(a, -exponent);
  const auto n = a.block.rows;
  auto form = hessenberg_form(std::move(a));
  Owned<T> z(n, n, Fill::none);
  form.q.matrix(z.block);
  const auto found = Iteration<T>{form.h.block, z.block}.run();
  if (exponent != 0) scale(form.h, exponent);
  return {std::move(form.h), std::move(z), found};
}
template SchurForm<double> schur_form(Owned<double>);
template SchurForm<Complex> schur_form(Owned<Complex>);
}  // namespace bora::linalg
