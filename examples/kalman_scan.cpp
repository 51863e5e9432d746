// A Kalman filter in log2(n) rounds by associative_scan, against the filter that goes one step after the other.
// Sarkka & Garcia-Fernandez 2021, "Temporal Parallelization of Bayesian Smoothers".
#include <bora/bora.h>
#include <bora/ops/linalg.h>
#include <iostream>
using namespace bora;

constexpr int kSteps = 200;
// A car: position and speed; x' = F x + noise of covariance Q; its position is seen with noise of variance R.
const Array F = array({{1., 0.1}, {0., 1.}}, f64), Q = array({{1e-4, 1e-3}, {1e-3, 2e-2}}, f64);
const Array H = array({{1., 0.}}, f64), R = array({{0.25}}, f64), P0 = eye(2, f64);

struct Belief {
  Array mean, cov;  // [2], [2, 2]
};

Belief filter(const Array& seen) {
  auto step = [](const Belief& b, const Array& y) {
    auto mean = matmul(F, b.mean), cov = matmul(matmul(F, b.cov), transpose(F)) + Q;
    auto gain = matmul(cov, transpose(H)) / (matmul(matmul(H, cov), transpose(H)) + R);
    Belief next{mean + squeeze(gain, 1) * (y - squeeze(matmul(H, mean))), cov - matmul(gain, matmul(H, cov))};
    return std::pair{next, next};
  };
  return scan(step, Belief{zeros({2}, f64), P0}, seen).second;
}

// A stretch of observations as a map: x_after | x_before is N(A x_before + b, C), and the observations' likelihood in
// x_before is proportional to N^-1(eta, J). Stretches combine associatively.
struct Stretch {
  Array a, b, c, eta, j;
};
Stretch of_observation(const Array& y, const Array& first) {
  auto s = matmul(matmul(H, Q), transpose(H)) + R;
  auto gain = matmul(Q, transpose(H)) / s, rest = eye(2, f64) - matmul(gain, H);
  auto hf = matmul(H, F);
  // The first stretch begins with the prior, whatever came before it.
  auto p = matmul(matmul(F, P0), transpose(F)) + Q;
  auto k = matmul(p, transpose(H)) / (matmul(matmul(H, p), transpose(H)) + R);
  return {where(first, 0., matmul(rest, F)), where(first, k, gain) * y,
          where(first, p - matmul(matmul(k, H), p), matmul(rest, Q)), transpose(hf) / s * y,
          matmul(transpose(hf), hf) / s};
}
Stretch combine(const Stretch& x, const Stretch& y) {  // x before y, one of each
  auto i = eye(2, f64), m = matmul(y.a, linalg::inv(i + matmul(x.c, y.j)));
  auto n = matmul(transpose(x.a), linalg::inv(i + matmul(y.j, x.c)));
  return {matmul(m, x.a), matmul(m, x.b + matmul(x.c, y.eta)) + y.b, matmul(matmul(m, x.c), transpose(y.a)) + y.c,
          matmul(n, y.eta - matmul(y.j, x.b)) + x.eta, matmul(matmul(n, y.j), x.a) + x.j};
}

int main() {
  auto noise = random::normal(random::key(0), {kSteps}, f64);
  auto seen = sin(arange(0, kSteps).astype(f64) * 0.05) * 3 + noise * 0.5;
  auto want = jit(filter)(seen);
  auto got = jit([](const Array& y) {
    auto stretches = vmap(of_observation)(y, arange(0, kSteps) == 0);
    return associative_scan(vmap(combine), stretches);
  })(seen);
  auto off_mean = amax(abs(squeeze(got.b, -1) - want.mean)).item<double>();
  auto off_cov = amax(abs(got.c - want.cov)).item<double>();
  std::cout << "200 steps in 8 rounds; largest differences: means " << off_mean << ", covariances " << off_cov << "\n";
  return off_mean < 1e-10 && off_cov < 1e-10 ? 0 : 1;
}
