// sde.h -- stochastic differential equations with diagonal noise, by steps of one length.
#pragma once
#include <cstdint>
#include "bora/fx/tree_call.h"

namespace bora::integrate {
/// euler_heun: Stratonovich's solution, of strong order 1/2, and 1 where the noise commutes (diagonal noise does where
/// g reads its own element alone). srk: Ito's solution, of strong order 3/2 under the same condition (SRI1W1 of Rossler
/// 2010).
enum class SdeMethod : std::uint8_t { euler_heun, srk };
struct SdeOptions {                           // of solve_sde
  SdeMethod method = SdeMethod::euler_heun;   // also says which calculus is meant
  std::int64_t steps = 1000;                  // of equal length, from t0 to t1
  std::int64_t save_every = 1;                // steps between two results; it divides steps
  std::int64_t first = 0;                     // the number of the first step: a path is continued with the steps before
};
/// t: the times [steps / save_every + 1]; y: leaves [that many, ..].
template <class Y> struct SdePath {
  Array t;
  Y y;
};
}  // namespace bora::integrate

namespace bora::fx {
/// Times, then the leaves. f and g: (t, leaves of y) -> leaves.
Arrays solve_sde_flat(const FlatFn& f, const FlatFn& g, const Array& t0, const Array& t1, const Arrays& y0,
                      const Array& key, const integrate::SdeOptions& options);
}  // namespace bora::fx

namespace bora::integrate {
/// A path of dy = f(t, y) dt + g(t, y) dW, y(t0) = y0, where every element of y has a Brownian motion of its own and g
/// gives a value like y. y0 is any tree of f32 or f64. The noise of step i depends on (key, i) alone; vmap over keys
/// gives many paths. Derivatives, of any kind, are those of the steps. Throws ShapeError where f or g give other
/// shapes, DtypeError for other leaves or a key that is none, ValueError for options out of range.
template <class F, class G, class Y>
SdePath<Y> solve_sde(const F& f, const G& g, const Array& t0, const Array& t1, const Y& y0, const Array& key,
                     const SdeOptions& options = {}) {
  static_assert(fx::Callable<F, Array, Y> && std::is_same_v<fx::result_t<F, Array, Y>, Y> &&
                    fx::Callable<G, Array, Y> && std::is_same_v<fx::result_t<G, Array, Y>, Y>,
                "solve_sde: f and g are called with (t, y) and return a value like y0");
  std::optional<Y> drift, noise;
  Array time = fx::abstract_array({{}, t0.dtype()});
  auto checked = [&](const FlatFn& flat, const std::optional<Y>& out) {
    return [&, flat](const Arrays& in) {
      auto r = flat(in);
      fx::check_same("solve_sde: f and g must give a value like y0", tree::node(y0), tree::node(*out));
      return r;
    };
  };
  auto r = fx::solve_sde_flat(checked(fx::flat_fn<Y>(f, drift, time, y0), drift),
                              checked(fx::flat_fn<Y>(g, noise, time, y0), noise), t0, t1, fx::pack(y0), key, options);
  auto t = r.front();
  r.erase(r.begin());
  return {t, tree::unflatten(y0, r)};
}
}  // namespace bora::integrate
