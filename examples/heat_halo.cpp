// The heat equation on a square, split over ranks by rows: each step the neighbours exchange one row. The field is that
// of one rank, bit for bit, and after a while the exact one.
//   ./heat_halo                         one rank
//   bora launch -n 4 -- ./heat_halo     four
#include <bora/bora.h>
#include <iostream>
#include <numbers>
using namespace bora;

constexpr std::int64_t kSize = 64, kSteps = 500;
const double kPace = 0.2, kPi = std::numbers::pi;

/// One step inside of a field that has a row more above and below; the left and right edges stay 0.
Array diffused(const Array& f) {
  auto inner = view(f, range(1, -1), all()), wide = pad(inner, {0, 1}, {0, 1});
  auto across = view(wide, all(), range(0, -2)) + view(wide, all(), range(2, none));
  auto along = view(f, range(0, -2), all()) + view(f, range(2, none), all());
  return inner + kPace * ((along + across) - 4 * inner);
}
/// All steps of this rank's rows. The neighbours' rows come by ppermute; beyond the edges it gives zeros.
Array simulate(const Array& rows, int ranks) {
  std::vector<std::pair<int, int>> down, up;
  for (int r = 0; r + 1 < ranks; ++r) down.push_back({r, r + 1}), up.push_back({r + 1, r});
  auto step = [&](const Array&, const Array& f) {
    auto above = ppermute(view(f, range(-1, none), all()), "rows", down);
    auto below = ppermute(view(f, range(0, 1), all()), "rows", up);
    return diffused(concatenate({above, f, below}));
  };
  return fori_loop(0, kSteps, step, rows);
}

int main() {
  auto mesh = Mesh::from_environment({{"rows", -1}});
  UseMesh scope(mesh);
  auto x = sin(arange(1, kSize + 1).astype(f64) * (kPi / (kSize + 1)));
  auto start = expand_dims(x, 1) * x + random::uniform(random::key(0), {kSize, kSize}, f64) * 0.01;

  Spec by_rows{"rows"};
  auto run = shard_map([&](const Array& rows) { return simulate(rows, mesh.size()); }, mesh, {by_rows}, by_rows);
  auto field = gather(jit(run)(shard(start, by_rows)));

  auto whole = jit([](const Array& f) {
    return fori_loop(0, kSteps, [](const Array&, const Array& g) { return diffused(pad(g, {1, 0}, {1, 0})); }, f);
  })(start);
  auto same = all(field == whole).item<bool>();
  // The slowest wave is an eigenvector of a step; by now the noise, made of faster ones, has gone.
  auto factor = 1 - 4 * kPace * (1 - std::cos(kPi / (kSize + 1)));
  auto amplitude = sum(field * expand_dims(x, 1) * x) / sum(start * expand_dims(x, 1) * x);
  auto off = std::abs(amplitude.item<double>() / std::pow(factor, kSteps) - 1);
  if (mesh.rank() == 0)
    std::cout << mesh.size() << " ranks: " << (same ? "the field of one rank" : "ANOTHER FIELD")
              << ", decay of the slowest wave off by " << off << "\n";
  return same && off < 1e-10 ? 0 : 1;
}
