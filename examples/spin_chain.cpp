// Variational Monte Carlo (NetKet's first example): the ground state of the transverse-field Ising chain as a
// restricted Boltzmann machine (Carleo & Troyer 2017), with the chains of samples split over ranks. Its energy is
// compared with that of the exact diagonalisation.
//   ./spin_chain                         one rank
//   bora launch -n 4 -- ./spin_chain     four
#include <bora/bora.h>
#include <bora/ops/linalg.h>
#include <iostream>
using namespace bora;

constexpr std::int64_t kSpins = 8, kChains = 512;
constexpr double kField = 1;
const Array kFlips = 1 - 2 * eye(kSpins, f64);  // row i times a state: spin i turned

struct Rbm {
  Array w, b;
  Array operator()(const Array& s) const {  // log psi of states [.., spins] of -1 and 1 -> [..]
    auto x = abs(matmul(s, w) + b);
    return sum(x + log1p(exp(-2 * x)), -1);  // log(2 cosh(x))
  }
};
/// H psi / psi of states [chains, spins].
Array local_energy(const Rbm& psi, const Array& s) {
  auto turned = psi(expand_dims(s, 1) * kFlips);  // [chains, spins]
  return -sum(s * roll(s, 1, 1), 1) - kField * sum(exp(turned - expand_dims(psi(s), 1)), 1);
}
/// Some rounds of Metropolis' algorithm; each tries to turn one spin of each state.
Array sampled(const Rbm& psi, const Array& states, const Array& key) {
  auto round = [&](const Array& s, const Array& k) {
    auto [k1, k2] = random::split<2>(k);
    auto turned = s * take(kFlips, random::randint(k1, {kChains}, 0, kSpins));
    auto accepted = log(random::uniform(k2, {kChains}, f64)) < 2 * (psi(turned) - psi(s));
    return std::pair{where(expand_dims(accepted, 1), turned, s), none};
  };
  return scan(round, states, random::split(key, 3 * kSpins)).first;
}
/// The least eigenvalue of the whole matrix.
double exact_energy() {
  constexpr std::int64_t n = 1 << kSpins;
  std::vector<double> h(n * n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < kSpins; ++k) {
      bool equal = (i >> k & 1) == (i >> (k + 1) % kSpins & 1);
      h[static_cast<std::size_t>(i * n + i)] -= equal ? 1 : -1;
      h[static_cast<std::size_t>(i * n + (i ^ 1 << k))] -= kField;
    }
  return view(linalg::eigvalsh(reshape(asarray(h), {n, n})), 0).item<double>();
}

int main() {
  auto mesh = Mesh::from_environment({{"chains", -1}});
  UseMesh scope(mesh);
  auto [k1, k2] = random::split<2>(random::key(0));
  Rbm psi{random::normal(k1, {kSpins, 2 * kSpins}, f64) * 0.1, zeros({2 * kSpins}, f64)};
  auto states = shard(random::rademacher(k2, {kChains, kSpins}, f64), Spec{"chains"});

  auto optimizer = optim::adam({.learning_rate = 0.02});
  auto state = optimizer.init(psi);
  auto step = jit([&](const Rbm& p, const optim::State& o, const Array& s, const Array& key) {
    auto next = sampled(p, s, key);
    auto local = local_energy(p, next), energy = mean(local);
    // d<H> = 2 <(E_local - <H>) d log psi>: the samples' distribution depends on psi too.
    auto slope = grad([&](const Rbm& q) { return 2 * mean((local - energy) * q(next)); })(p);
    auto [updates, after] = optimizer.update(slope, o, p);
    return std::tuple{optim::apply_updates(p, updates), after, next, energy};
  });
  double last = 0;
  constexpr int steps = 400, averaged = 50;
  for (int i = 0; i < steps; ++i) {
    auto [p, o, s, energy] = step(psi, state, states, random::key(i + 1));
    psi = p, state = o, states = s;
    if (i >= steps - averaged) last += energy.item<double>() / averaged;
  }
  auto exact = exact_energy(), off = std::abs(last / exact - 1);
  if (mesh.rank() == 0)
    std::cout << mesh.size() << " ranks: energy " << last << ", exactly " << exact << ", off by " << off << "\n";
  return off < 2e-3 ? 0 : 1;
}
