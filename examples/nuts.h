// nuts.h -- the No-U-Turn Sampler (Hoffman, Gelman 2014, with Betancourt's multinomial choice), of one chain. A path
// doubles without recursion: turns inside of it are found by checkpoints, one for each level of the tree (Phan,
// Pradhan, Jankowiak 2019).
#pragma once
#include <bora/bora.h>
#include <bora/ops/linalg.h>
#include <utility>

namespace nuts {
using namespace bora;

inline constexpr std::int64_t kSize = 3, kDepth = 6;
inline constexpr double kPace = 0.3;
inline const Array kMean = array({1., -2., 0.5}, f64),
            kCov = array({{1., 0.8, 0.}, {0.8, 2., -0.4}, {0., -0.4, 0.5}}, f64), kPrecision = linalg::inv(kCov);

inline Array log_density(const Array& x) { return -0.5 * sum((x - kMean) * matmul(kPrecision, x - kMean)); }
struct Point {
  Array x, p;  // place and momentum
};
inline Point leap(const Point& m, const Array& pace) {
  auto force = grad(log_density);
  auto half = m.p + pace / 2 * force(m.x);
  auto x = m.x + pace * half;
  return {x, half + pace / 2 * force(x)};
}
inline Array energy(const Point& m) { return 0.5 * sum(square(m.p)) - log_density(m.x); }
/// Whether a path with these ends [.., kSize] and this sum of its momenta turns back.
inline Array turns(const Array& left, const Array& right, const Array& sums) {
  auto inside = sums - (left + right) / 2;
  return sum(left * inside, -1) <= 0 || sum(right * inside, -1) <= 0;
}
inline Point chosen(const Array& c, const Point& a, const Point& b) { return {where(c, a.x, b.x), where(c, a.p, b.p)}; }

/// A part of a path: its outer end, the sum of its momenta, the place drawn from it, its weight's logarithm.
struct Part {
  Point end;
  Array sums, place, weight, turned;
};
/// 2^level steps from an end of the path, or fewer if they turn back.
inline Part grown(const Point& from, const Array& pace, const Array& level, const Array& start, const Array& key) {
  struct State {
    Part part;
    Array leaf, momenta, sums;  // checkpoints [kDepth, kSize]
  };
  auto size = left_shift(constant(1, i32), level), levels = arange(kDepth);
  auto open = [&](const State& s) { return s.leaf < size && !s.part.turned; };
  auto step = [&](const State& s) {
    auto end = leap(s.part.end, pace);
    auto weight = start - energy(end), all = logaddexp(s.part.weight, weight), sums = s.part.sums + end.p;
    auto taken = log(random::uniform(random::fold_in(key, s.leaf), {}, f64)) < weight - all;
    auto bits = bitwise_and(right_shift(s.leaf, levels), 1);
    auto last = sum(view(bits, range(1, none))), ending = sum(cumprod(bits)), odd = view(bits, 0) == 1;
    auto here = expand_dims(!odd && levels == last, 1);
    auto momenta = where(here, end.p, s.momenta), before = where(here, sums, s.sums);
    auto checked = odd && levels <= last && levels > last - ending;
    auto turned = any(checked && turns(momenta, end.p, sums - before + momenta)) || weight < -1000.0;
    return State{{end, sums, where(taken, end.x, s.part.place), all, turned}, s.leaf + 1, momenta, before};
  };
  auto zero = zeros({kDepth, kSize}, f64);
  Part empty{from, zeros({kSize}, f64), from.x, constant(-INFINITY, f64), constant(false, boolean)};
  return while_loop(open, step, State{empty, constant(0, i32), zero, zero}).part;
}
/// The next place of a chain at x [kSize], and the number of doublings.
inline std::pair<Array, Array> drawn(const Array& x, const Array& key) {
  struct State {
    Point left, right;
    Part all;
    Array level;
  };
  auto [k1, k2, k3, k4] = random::split<4>(key);
  Point here{x, random::normal(k1, {kSize}, f64)};
  auto start = energy(here);
  auto open = [&](const State& s) { return s.level < kDepth && !s.all.turned; };
  auto doubled = [&](const State& s) {
    auto rightward = random::bernoulli(random::fold_in(k2, s.level), 0.5);
    auto from = chosen(rightward, s.right, s.left);
    auto pace = where(rightward, constant(kPace, f64), -kPace);
    auto more = grown(from, pace, s.level, start, random::fold_in(k3, s.level));
    auto taken = !more.turned &&
                 log(random::uniform(random::fold_in(k4, s.level), {}, f64)) < more.weight - s.all.weight;
    auto left = chosen(rightward, s.left, more.end), right = chosen(rightward, more.end, s.right);
    auto sums = s.all.sums + more.sums;
    return State{left, right,
                 {here, sums, where(taken, more.place, s.all.place), logaddexp(s.all.weight, more.weight),
                  more.turned || turns(left.p, right.p, sums)},
                 s.level + 1};
  };
  auto zero = constant(0, i32);
  auto end = while_loop(open, doubled, State{here, here, {here, here.p, x, zeros({}, f64), zero == 1}, zero});
  return {end.all.place, end.level};
}
}  // namespace nuts
