// paths.h -- transitions of Hamiltonian Monte Carlo, of one chain. Private.
#pragma once
#include <functional>
#include "bora/array/array.h"

namespace bora::mcmc::core {
struct Place {  // [n], the logarithm of the density there, its slope [n]
  Array x, density, slope;
};
using Density = std::function<Place(const Array& x)>;
/// The covariance that the metric stands for: variances [n] and their roots, or a matrix [n, n] and its lower factor.
struct Scales {
  Array inverse, factor;
  Array velocity(const Array& p) const;
  Array momentum(const Array& key, const Array& like) const;
};
struct Move {
  Place to;
  Array acceptance, steps, diverging;
};
Move nuts(const Density& f, const Place& from, const Scales& scales, const Array& pace, const Array& key,
          std::int64_t max_depth);
Move hmc(const Density& f, const Place& from, const Scales& scales, const Array& pace, const Array& key,
         std::int64_t leaps);
/// The power of two near which one step is accepted with probability 0.8 (Hoffman & Gelman 2014, algorithm 4).
Array first_pace(const Density& f, const Place& from, const Scales& scales, const Array& key);
}  // namespace bora::mcmc::core
