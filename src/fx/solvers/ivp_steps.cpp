// The steps of an initial value problem, chosen by the error, and the same steps again for derivatives.
#include "fx/solvers/ivp_steps.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
Array flags(const Ivp& p, const std::function<bool(const IvpEvent&)>& f) {
  std::vector<bool> r;
  for (auto& e : p.events) r.push_back(f(e));
  return asarray(r);
}
namespace {
Array rms(const Array& x) { return sqrt(mean(square(x))); }
/// Hairer, Norsett & Wanner 1993, II.4, in the mean square.
Array start_step(const Ivp& p, const Array& y, const Array& f0, const Array& t) {
  auto scale = p.o.atol + p.o.rtol * abs(y);
  auto d0 = rms(y / scale), d1 = rms(f0 / scale);
  auto small = d0 < 1e-5 || d1 < 1e-5;
  auto h0 = where(small, 1e-6, 0.01 * d0 / where(small, 1., d1));
  auto d2 = rms((p.f(y + h0 * f0, t + h0.astype(t.dtype())) - f0) / scale) / h0;
  auto most = maximum(d1, d2);
  auto flat = most <= 1e-15;
  auto h1 = where(flat, maximum(h0 * 1e-3, 1e-6), power(0.01 / where(flat, 1., most), 1 / p.method().table.order));
  return minimum(100 * h0, h1).astype(t.dtype());
}
/// ys with the values at those times that lie in (from, to].
Array written(const Array& ys, const Ivp& p, const Arrays& powers, const Array& from, const Array& to,
              const Array& kept) {
  auto here = kept && p.times > from && p.times <= to;
  auto u = where(here, (p.times - from) / where(to == from, 1., to - from), 0.).astype(ys.dtype());
  return where(expand_dims(here, 1), polynomial_at(powers, u), ys);
}
Array first_rows(const Array& y0, std::int64_t times) {
  auto rest = full_of({{times - 1, y0.size()}, y0.dtype()}, kNan);
  return times == 1 ? expand_dims(y0, 0) : concatenate({expand_dims(y0, 0), rest});
}
Crossings no_crossings(const Ivp& p, const Array& y, const Array& t) {
  auto e = p.count();
  return {zeros({e}, t.dtype()), zeros({e}, t.dtype()), zeros({e, p.powers(), y.size()}, y.dtype()),
          full({e}, -1, i32)};
}
IvpState tried_step(const Ivp& p, const IvpState& s) {
  auto end = index_in_dim(p.times, 0, p.times.size() - 1);
  auto wanted = minimum(s.dt, p.o.max_step);
  auto is_last = wanted >= end - s.t;
  auto dt = where(is_last, end - s.t, wanted);
  auto to = where(is_last, end, s.t + dt);
  auto method = p.method();
  auto step = method(p.f, s.y, s.f, s.t, dt);
  auto scaled = step.error / (p.o.atol + p.o.rtol * maximum(abs(s.y), abs(step.y)));
  auto size = stop_gradient(rms(scaled)).astype(s.dt.dtype());
  size = where(step.solved && isfinite(size), size, HUGE_VAL);
  auto kept = size < 1;
  auto factor = 0.9 * power(size, -1 / method.table.order);
  factor = minimum(maximum(factor, where(kept, constant(1., factor.dtype()), 0.2)),
                   where(kept, constant(10., factor.dtype()), 0.9));
  auto next = s;
  next.t = where(kept, to, s.t);
  next.y = where(kept, step.y, s.y);
  next.f = where(kept, step.f, s.f);
  next.dt = stop_gradient(dt) * factor;
  next.tried = s.tried + 1;
  next.kept = s.kept + kept.astype(i32);
  next.ys = written(s.ys, p, step.powers, s.t, to, kept);
  if (s.ts.size() > 0) next.ts = at(s.ts, s.kept + 1).set(stop_gradient(to));  // the next try overwrites a rejected one
  if (p.count() > 0) {
    auto g = stop_gradient(p.g(step.y, to));
    auto rises = flags(p, [](const IvpEvent& e) { return e.direction >= 0; });
    auto falls = flags(p, [](const IvpEvent& e) { return e.direction <= 0; });
    auto crossed = (rises && s.g < 0 && g >= 0) || (falls && s.g > 0 && g <= 0);
    auto& c = s.crossings;
    auto now = kept && crossed && c.step < 0;
    next.crossings = {where(now, s.t, c.from), where(now, to, c.to),
                      where(expand_dims(now, {1, 2}), expand_dims(stack(step.powers), 0), c.c),
                      where(now, s.kept, c.step)};
    next.g = where(kept, g, s.g);
    next.stopped = any(next.crossings.step >= 0 && flags(p, [](const IvpEvent& e) { return e.terminal; }));
  }
  return next;
}
}  // namespace

IvpState all_steps(const Ivp& p, const Array& y0, bool record) {
  auto t = index_in_dim(p.times, 0, 0);
  auto f0 = p.f(y0, t);
  auto dt = p.o.first_step ? constant(*p.o.first_step, t.dtype()) : stop_gradient(start_step(p, y0, f0, t));
  auto n = record ? p.o.max_steps + 1 : 0;
  IvpState s{t, y0, f0, dt, array(0), array(0), first_rows(y0, p.times.size()),
             full({n}, stop_gradient(t)), p.count() > 0 ? stop_gradient(p.g(y0, t)) : zeros({0}, y0.dtype()),
             no_crossings(p, y0, t), array(false)};
  auto end = index_in_dim(p.times, 0, p.times.size() - 1);
  s = while_loop(
      [&](const IvpState& s) {
        auto moves = s.t + s.dt > s.t;
        return s.t < end && moves && s.tried < static_cast<int>(p.o.max_steps) && !s.stopped;
      },
      [&](const IvpState& s) { return tried_step(p, s); }, s);
  if (record) s.ts = where(arange(n) > s.kept, stop_gradient(s.t), s.ts);
  return s;
}
Repeated repeated(const Ivp& p, const Array& y0, const Array& ts, const Array& kept, const Array& steps) {
  auto n = p.o.max_steps, powers = p.powers();
  auto t = slice_in_dim(p.times, 0, 0, 1);
  auto times = concatenate({t, stop_gradient(slice_in_dim(ts, 0, 1, n + 1))});
  auto method = p.method();
  auto body = [&](const Arrays& s, const Arrays& x) {  // x: number, from, to
    auto again = [&](const Arrays& in) -> Arrays {
      auto step = method(p.f, in[0], in[1], in[4], in[5] - in[4]);
      auto c = stack(step.powers);
      auto now = expand_dims(steps == in[6], {1, 2});
      return {step.y, step.f, written(in[2], p, step.powers, in[4], in[5], array(true)),
              where(now, expand_dims(c, 0), in[3]), c};
    };
    auto skipped = [&](const Arrays& in) -> Arrays {
      return {in[0], in[1], in[2], in[3], zeros({powers, y0.size()}, y0.dtype())};
    };
    auto r = cond_flat(x[0] < kept, again, skipped, {s[0], s[1], s[2], s[3], x[1], x[2], x[0]});
    return std::pair{Arrays(r.begin(), r.begin() + 4), p.o.dense ? r[4] : zeros({0}, y0.dtype())};
  };
  auto none_yet = no_crossings(p, y0, index_in_dim(p.times, 0, 0));
  Arrays start{y0, p.f(y0, index_in_dim(p.times, 0, 0)), first_rows(y0, p.times.size()), none_yet.c};
  auto every = std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(n))));
  auto [end, c] = scan(body, start,
                       Arrays{arange(n), slice_in_dim(times, 0, 0, n), slice_in_dim(times, 0, 1, n + 1)},
                       {.checkpoint_every = static_cast<int>(every)});
  auto at_step = [&](const Array& a) { return take(a, maximum(steps, 0), 0); };
  auto later = slice_in_dim(times, 0, 1, n + 1);
  return {end[2], {at_step(slice_in_dim(times, 0, 0, n)), at_step(later), end[3], steps}, c};
}
}  // namespace bora::fx
