// Stochastic differential equations.
#include "bora/science/sde.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ravel.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::fx {
namespace {
using Field = std::function<Array(const Array& t, const Array& y)>;
struct Noise {
  Array w, z;  // independent, [n], of variance dt
};
Array heun_step(const Field& f, const Field& g, const Array& t, const Array& y, const Array& dt, const Noise& n) {
  auto first = g(t, y) * n.w;
  return y + f(t, y) * dt + 0.5 * (first + g(t, y + first) * n.w);
}
/// Rossler 2010: Runge-Kutta methods for the strong approximation of solutions of stochastic differential equations,
/// table of SRI1W1. The first stages of both kinds are y itself.
Array srk_step(const Field& f, const Field& g, const Array& t, const Array& y, const Array& dt, const Noise& n) {
  auto root = sqrt(dt);
  auto twice = (square(n.w) - dt) / (2 * root);             // of dW dW, by root dt
  auto with_time = 0.5 * (n.w + n.z / std::sqrt(3.));       // of dW dt, by dt
  auto thrice = (n.w * n.w * n.w - 3 * dt * n.w) / (6 * dt);  // of dW dW dW, by dt
  auto f1 = f(t, y), g1 = g(t, y);
  auto f2 = f(t + 0.75 * dt, y + 0.75 * dt * f1 + 1.5 * with_time * g1);
  auto g2 = g(t + 0.25 * dt, y + 0.25 * dt * f1 + 0.5 * root * g1);
  auto g3 = g(t + dt, y + dt * f1 - root * g1);
  auto g4 = g(t + 0.25 * dt, y + 0.25 * dt * f1 + root * (-5 * g1 + 3 * g2 + 0.5 * g3));
  auto noise = g1 * (-n.w - twice + 2 * with_time - 2 * thrice) +
               g2 * (4. / 3 * n.w + 4. / 3 * twice - 4. / 3 * with_time + 5. / 3 * thrice) +
               g3 * (2. / 3 * n.w - 1. / 3 * twice - 2. / 3 * with_time - 2. / 3 * thrice) + g4 * thrice;
  return y + dt * (1. / 3 * f1 + 2. / 3 * f2) + noise;
}
}  // namespace

Arrays solve_sde_flat(const FlatFn& f, const FlatFn& g, const Array& t0, const Array& t1, const Arrays& y0,
                      const Array& key, const integrate::SdeOptions& o) {
  check<ShapeError>(t0.ndim() == 0 && t1.ndim() == 0, "solve_sde: t0 and t1 are scalars, got ", t0.type(), " and ",
                    t1.type());
  check<DtypeError>(t0.dtype() == t1.dtype() && (t0.dtype() == f32 || t0.dtype() == f64),
                    "solve_sde: t0 and t1 must both be f32 or f64, got ", t0.type(), " and ", t1.type());
  check<DtypeError>(key.dtype() == Dtype::key && key.ndim() == 0, "solve_sde: needs one key, got ", key.type(),
                    "; random::key(seed) makes one");
  check<ShapeError>(!y0.empty(), "solve_sde: y0 has no leaves");
  for (auto& y : y0)
    check<DtypeError>(y.dtype() == f32 || y.dtype() == f64, "solve_sde: y0 must be f32 or f64, got ", y.type());
  check<ValueError>(o.steps >= 1 && o.save_every >= 1 && o.steps % o.save_every == 0 && o.first >= 0 &&
                        o.first + o.steps < 1LL << 31,
                    "solve_sde: steps = ", o.steps, " and first = ", o.first, " must be positive, and save_every = ",
                    o.save_every, " must divide steps");
  auto types = types_of(y0);
  auto start = tree::ravel_leaves(y0).flat;
  auto d = start.dtype();
  auto on_vector = [&](const FlatFn& field, const char* name) -> Field {
    return [&types, field, name, d](const Array& t, const Array& y) {
      Arrays in{t};
      for (auto& leaf : tree::unravel_leaves(y, types)) in.push_back(leaf);
      auto r = field(in);
      for (std::size_t i = 0; i < types.size(); ++i)
        check<ShapeError>(r.size() == types.size() && r[i].shape() == types[i].shape, "solve_sde: ", name, " gives ",
                          i < r.size() ? r[i].type() : Type{}, " for ", types[i], "; they must have one shape");
      return tree::ravel_leaves(r).flat.astype(d);
    };
  };
  auto drift = on_vector(f, "f"), diffusion = on_vector(g, "g");
  auto length = (t1 - t0) / static_cast<double>(o.steps);
  auto dt = length.astype(d);
  auto keys = random::split<2>(key);
  auto step = [&](const Array& i, const Array& y) {
    auto number = i + static_cast<int>(o.first);
    auto draw = [&](const Array& k) {
      return sqrt(dt) * random::normal(random::fold_in(k, number), y.shape(), d);
    };
    auto t = t0 + i.astype(t0.dtype()) * length;
    if (o.method == integrate::SdeMethod::srk)
      return srk_step(drift, diffusion, t, y, dt, {draw(keys[0]), draw(keys[1])});
    return heun_step(drift, diffusion, t, y, dt, {draw(keys[0]), {}});
  };
  auto saves = o.steps / o.save_every;
  auto some_steps = [&](const Array& y, const Array& save) {
    auto first = save * static_cast<int>(o.save_every);
    auto next = o.save_every == 1
                    ? step(first, y)
                    : fori_loop(0, o.save_every, [&](const Array& i, const Array& s) { return step(first + i, s); }, y);
    return std::pair{next, next};
  };
  auto later = scan(some_steps, start, arange(saves)).second;
  auto y = concatenate({expand_dims(start, 0), later});
  Arrays r{t0 + arange(saves + 1, t0.dtype()) * (static_cast<double>(o.save_every) * length)};
  std::int64_t from = 0;
  for (auto& type : types) {
    auto shape = type.shape;
    shape.insert(0, saves + 1);
    r.push_back(reshape(slice_in_dim(y, 1, from, from + type.size()), shape).astype(type.dtype));
    from += type.size();
  }
  return r;
}
}  // namespace bora::fx
