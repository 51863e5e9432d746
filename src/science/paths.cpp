// Transitions of Hamiltonian Monte Carlo. A path of nuts doubles without recursion: turns inside of it are found by
// checkpoints, one for each level of the tree (Phan, Pradhan & Jankowiak 2019).
#include "science/paths.h"
#include "bora/fx/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::mcmc::core {
Array Scales::velocity(const Array& p) const {
  if (inverse.ndim() == 1) return inverse * p;
  return matmul(p, inverse);  // symmetric; p may be [.., n]
}
Array Scales::momentum(const Array& key, const Array& like) const {
  auto z = random::normal(key, like.shape(), like.dtype());
  if (inverse.ndim() == 1) return z / factor;
  return linalg::solve_triangular(factor, z, {.lower = true, .transposed = true});
}
namespace {
constexpr double kMostEnergy = 1000;
struct Point {
  Place at;
  Array p;
};
Point leap(const Density& f, const Scales& scales, const Point& m, const Array& pace) {
  auto half = m.p + pace * 0.5 * m.at.slope;
  auto at = f(m.at.x + pace * scales.velocity(half));
  return {at, half + pace * 0.5 * at.slope};
}
/// Minus the energy; -inf where it is no number.
Array gain(const Scales& scales, const Point& m) {
  auto g = m.at.density - 0.5 * sum(m.p * scales.velocity(m.p));
  return where(isnan(g), -HUGE_VAL, g);
}
Place chosen(const Array& c, const Place& a, const Place& b) {
  return {where(c, a.x, b.x), where(c, a.density, b.density), where(c, a.slope, b.slope)};
}
Point chosen(const Array& c, const Point& a, const Point& b) { return {chosen(c, a.at, b.at), where(c, a.p, b.p)}; }
/// Whether a path with these momenta [.., n] at its ends, and this sum of all, turns back.
Array turns(const Scales& scales, const Array& left, const Array& right, const Array& sums) {
  auto inside = sums - (left + right) * 0.5;
  return sum(scales.velocity(left) * inside, -1) <= 0 || sum(scales.velocity(right) * inside, -1) <= 0;
}
Array accepted(const Array& gained) { return exp(minimum(gained, 0.)); }
/// A part of a path: its outer end, the sum of its momenta, the place drawn from it, its weight's logarithm.
struct Part {
  Point end;
  Array sums;
  Place place;
  Array weight, turned, diverged, acceptance, steps;
};
struct Growth {
  Part part;
  Array leaf, momenta, sums;  // checkpoints [depth, n]
};
struct Tree {
  Point left, right;
  Part all;
  Array level;
};
Array log_uniform(const Array& key, const Array& number, const Array& like) {
  return log(random::uniform(random::fold_in(key, number), {}, like.dtype()));
}
/// 2^level steps from an end of the path, or fewer if they turn back.
Part grown(const Density& f, const Scales& scales, const Point& from, const Array& pace, const Array& level,
           const Array& start, const Array& key, std::int64_t depth) {
  auto d = from.p.dtype();
  auto size = left_shift(constant(1, i32), level), levels = arange(depth);
  auto step = [&](const Growth& s) {
    auto end = leap(f, scales, s.part.end, pace);
    auto weight = gain(scales, end) - start, all = logaddexp(s.part.weight, weight), sums = s.part.sums + end.p;
    auto taken = log_uniform(key, s.leaf, from.p) < weight - all;
    auto bits = bitwise_and(right_shift(s.leaf, levels), 1);
    auto last = sum(slice_in_dim(bits, 0, 1, depth)), ending = sum(cumprod(bits));
    auto odd = index_in_dim(bits, 0, 0) == 1;
    auto here = expand_dims(!odd && levels == last, 1);
    auto momenta = where(here, end.p, s.momenta), before = where(here, sums, s.sums);
    auto checked = odd && levels <= last && levels > last - ending;
    auto turned = any(checked && turns(scales, momenta, end.p, sums - before + momenta));
    auto diverged = weight < -kMostEnergy;
    return Growth{{end, sums, chosen(taken, end.at, s.part.place), all, turned || diverged, diverged,
                   s.part.acceptance + accepted(weight), s.part.steps + 1},
                  s.leaf + 1, momenta, before};
  };
  auto zero = zeros({depth, from.p.size()}, d);
  Part empty{from,       zeros_like(from.p), from.at,        constant(-HUGE_VAL, d), array(false),
             array(false), zeros({}, d),       constant(0, i32)};
  return while_loop([&](const Growth& s) { return s.leaf < size && !s.part.turned; }, step,
                    Growth{empty, constant(0, i32), zero, zero})
      .part;
}
}  // namespace

Move nuts(const Density& f, const Place& from, const Scales& scales, const Array& pace, const Array& key,
          std::int64_t depth) {
  auto keys = random::split<4>(key);
  Point here{from, scales.momentum(keys[0], from.x)};
  auto start = gain(scales, here);
  auto doubled = [&](const Tree& s) {
    auto rightward = random::bernoulli(random::fold_in(keys[1], s.level), 0.5);
    auto end = chosen(rightward, s.right, s.left);
    auto more = grown(f, scales, end, where(rightward, pace, -pace), s.level, start,
                      random::fold_in(keys[2], s.level), depth);
    auto taken = !more.turned && log_uniform(keys[3], s.level, from.x) < more.weight - s.all.weight;
    auto left = chosen(rightward, s.left, more.end), right = chosen(rightward, more.end, s.right);
    auto sums = s.all.sums + more.sums;
    return Tree{left, right,
                {here, sums, chosen(taken, more.place, s.all.place), logaddexp(s.all.weight, more.weight),
                 more.turned || turns(scales, left.p, right.p, sums), s.all.diverged || more.diverged,
                 s.all.acceptance + more.acceptance, s.all.steps + more.steps},
                s.level + 1};
  };
  auto d = from.x.dtype();
  auto zero = constant(0, i32);
  Part alone{here, here.p, from, zeros({}, d), array(false), array(false), zeros({}, d), zero};
  auto end = while_loop([&](const Tree& s) { return s.level < static_cast<int>(depth) && !s.all.turned; }, doubled,
                        Tree{here, here, alone, zero})
                 .all;
  return {end.place, end.acceptance / end.steps.astype(d), end.steps, end.diverged};
}
Move hmc(const Density& f, const Place& from, const Scales& scales, const Array& pace, const Array& key,
         std::int64_t leaps) {
  auto keys = random::split<2>(key);
  Point here{from, scales.momentum(keys[0], from.x)};
  auto end = fori_loop(0, leaps, [&](const Array&, const Point& m) { return leap(f, scales, m, pace); }, here);
  auto gained = gain(scales, end) - gain(scales, here);
  auto taken = log(random::uniform(keys[1], {}, from.x.dtype())) < gained;
  return {chosen(taken, end.at, from), accepted(gained), constant(static_cast<int>(leaps), i32),
          gained < -kMostEnergy};
}
Array first_pace(const Density& f, const Place& from, const Scales& scales, const Array& key) {
  struct Search {
    Array pace, rises, tries, open;
  };
  Point here{from, scales.momentum(key, from.x)};
  auto start = gain(scales, here);
  auto too_sure = [&](const Array& pace) { return gain(scales, leap(f, scales, here, pace)) - start > std::log(0.8); };
  auto one = ones({}, from.x.dtype());
  auto s = while_loop([](const Search& s) { return s.open && s.tries < 60; },
                      [&](const Search& s) {
                        auto next = where(s.rises, s.pace * 2, s.pace * 0.5);
                        return Search{next, s.rises, s.tries + 1, too_sure(next) == s.rises};
                      },
                      Search{one, too_sure(one), array(0), array(true)});
  return s.pace;
}
}  // namespace bora::mcmc::core
