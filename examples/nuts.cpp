// Means and covariances by the No-U-Turn Sampler of nuts.h: 64 chains at once, by vmap over while_loops, each with
// paths of its own length.
#include "nuts.h"
#include <iostream>
using namespace bora;

int main() {
  constexpr int chains = 64, rounds = 400, warm_up = 50;
  auto chain = [&](const Array& key) {
    auto step = [](const Array& x, const Array& k) {
      auto [next, level] = nuts::drawn(x, k);
      return std::pair{next, std::pair{next, level}};
    };
    return scan(step, zeros({nuts::kSize}, f64), random::split(key, rounds)).second;
  };
  auto [draws, levels] = jit(vmap(chain))(random::split(random::key(0), chains));  // [chains, rounds, nuts::kSize]
  auto kept = reshape(view(draws, all(), range(warm_up, none)), {-1, nuts::kSize});
  auto mean = bora::mean(kept, 0), apart = kept - mean;
  auto cov = matmul(transpose(apart), apart) / static_cast<double>(kept.shape(0));
  auto off = amax(abs(mean - nuts::kMean)).item<double>(), off_cov = amax(abs(cov - nuts::kCov)).item<double>();
  std::cout << "mean " << mean << " covariance " << cov << "\noff by " << off << " and " << off_cov << ", "
            << bora::mean(levels.astype(f64)).item<double>() << " doublings on average\n";
  return off < 0.05 && off_cov < 0.1 ? 0 : 1;
}
