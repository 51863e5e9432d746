// Hamiltonian Monte Carlo (Neal 2011): 64 chains at once, by vmap, on a Gaussian whose moments are known.
#include <bora/bora.h>
#include <bora/ops/linalg.h>
#include <iostream>
using namespace bora;

const Array kMean = array({1., -2.}, f64), kCov = array({{1., 0.8}, {0.8, 2.}}, f64);

int main() {
  constexpr int chains = 64, rounds = 1000, warm_up = 100, leaps = 10;
  constexpr double pace = 0.25;
  auto precision = linalg::inv(kCov);
  auto log_density = [&](const Array& x) { return -0.5 * sum((x - kMean) * matmul(precision, x - kMean)); };
  auto force = grad(log_density);

  auto round = [&](const Array& x, const Array& key) {  // x [2]
    auto [k1, k2] = random::split<2>(key);
    auto p0 = random::normal(k1, {2}, f64);
    struct Motion {
      Array x, p;
    };
    auto leap = [&](const Array&, const Motion& m) {
      auto half = m.p + pace / 2 * force(m.x);
      auto next = m.x + pace * half;
      return Motion{next, half + pace / 2 * force(next)};
    };
    auto end = fori_loop(0, leaps, leap, Motion{x, p0});
    auto gain = log_density(end.x) - log_density(x) + 0.5 * (sum(square(p0)) - sum(square(end.p)));
    return where(log(random::uniform(k2, {}, f64)) < gain, end.x, x);
  };
  auto chain = [&](const Array& key) {
    auto step = [&](const Array& x, const Array& k) {
      auto next = round(x, k);
      return std::pair{next, next};
    };
    return scan(step, zeros({2}, f64), random::split(key, rounds)).second;
  };
  auto draws = jit(vmap(chain))(random::split(random::key(0), chains));  // [chains, rounds, 2]
  auto kept = reshape(view(draws, all(), range(warm_up, none)), {-1, 2});
  auto mean = bora::mean(kept, 0), apart = kept - mean;
  auto cov = matmul(transpose(apart), apart) / static_cast<double>(kept.shape(0));
  auto off = amax(abs(mean - kMean)).item<double>(), off_cov = amax(abs(cov - kCov)).item<double>();
  std::cout << "mean " << mean << " covariance " << cov << "\noff by " << off << " and " << off_cov << "\n";
  return off < 0.05 && off_cov < 0.1 ? 0 : 1;
}
