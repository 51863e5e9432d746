// The adjoint equation of an ordinary differential equation.
#include "fx/solvers/adjoint.h"
#include "bora/fx/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ravel.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
Array Equation::operator()(const Array& y, const Array& t, const Arrays& parameters) const {
  Arrays in{y, t};
  in.insert(in.end(), parameters.begin(), parameters.end());
  return run_jit(program, in)[0];
}
Arrays adjoint(const Equation& f, const Array& y, const Array& t, const Arrays& parameters, const Array& ct,
               const Integrate& integrate) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (is_float(parameters[i].dtype())) wanted.push_back(i);
  auto pick = [&](const Arrays& all) {
    Arrays r;
    for (auto i : wanted) r.push_back(all[i]);
    return r;
  };
  auto chosen = pick(parameters);
  // The vector that goes backwards in time: y, its cotangent, that of t, those of the parameters.
  Arrays like{index_in_dim(y, 0, 0), index_in_dim(y, 0, 0), index_in_dim(t, 0, 0).astype(y.dtype())};
  like.insert(like.end(), chosen.begin(), chosen.end());
  auto types = types_of(like);
  auto flat = [&](const Arrays& a) { return tree::ravel_leaves(a).flat; };
  Mask wrt(2 + parameters.size(), false);
  wrt[0] = wrt[1] = true;
  for (auto i : wanted) wrt[2 + i] = true;
  Dynamics backwards = [&](const Array& state, const Array& minus_t) {
    auto v = tree::unravel_leaves(state, types);
    Arrays in{v[0], -minus_t};
    in.insert(in.end(), parameters.begin(), parameters.end());
    auto r = vjp_flat([&](const Arrays& a) { return run_jit(f.program, a); }, in, wrt);
    auto g = r.pullback({v[1]});
    auto or_zeros = [](const Array& x, const Array& like) { return x.defined() ? x : zeros_like(like); };
    Arrays next{-r.out[0], or_zeros(g[0], v[0]), or_zeros(g[1], t).astype(v[2].dtype())};
    next[2] = reshape(sum(next[2]), {});
    for (auto i : wanted) next.push_back(or_zeros(g[2 + i], parameters[i]));
    return flat(next);
  };
  auto n = t.shape(0);
  Arrays zero{index_in_dim(ct, 0, n - 1), constant(0., y.dtype())};
  for (auto& p : chosen) zero.push_back(zeros_like(p));
  if (n == 1) {
    Arrays r{zero[0], zeros_like(t)};
    for (std::size_t i = 0; i < parameters.size(); ++i)
      r.push_back(is_float(parameters[i].dtype()) ? zeros_like(parameters[i]) : Array());
    return r;
  }
  auto rows = [&](const Array& x, std::int64_t from) { return slice_in_dim(x, 0, from, from + n - 1); };
  auto body = [&](const Arrays& carry, const Arrays& x) {  // x: y[i], t[i], t[i - 1], ct[i], ct[i - 1]
    auto moved = dot(f(x[0], x[1], parameters), x[3]);
    Arrays state{x[0]};
    state.insert(state.end(), carry.begin(), carry.end());
    state[2] = state[2] - moved;
    auto end = integrate(backwards, flat(state), stack({-x[1], -x[2]}));
    auto v = tree::unravel_leaves(index_in_dim(end, 0, 1), types);
    Arrays next(v.begin() + 1, v.end());
    next[0] = next[0] + x[4];
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = next[i].astype(zero[i].dtype());
    return std::pair{next, moved};
  };
  auto [last, moved] = scan(body, zero, Arrays{rows(y, 1), rows(t, 1), rows(t, 0), rows(ct, 1), rows(ct, 0)},
                            {.reverse = true});
  Arrays r{last[0], concatenate({expand_dims(last[1], 0), moved}).astype(t.dtype())};
  std::size_t k = 2;
  for (auto& p : parameters) r.push_back(is_float(p.dtype()) ? last[k++] : Array());
  return r;
}
}  // namespace bora::fx
