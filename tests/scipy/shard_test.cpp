// Sharded = local for the functions with SciPy's names: the first input split in every way, eager and staged.
#include "bora/fx/krylov.h"
#include "bora/fx/ode.h"
#include "bora/fx/optimize.h"
#include "bora/ops/fft.h"
#include "bora/ops/integrate.h"
#include "bora/ops/interpolate.h"
#include "bora/ops/ndimage.h"
#include "bora/ops/signal.h"
#include "laws/laws.h"

namespace bora::laws::shard_test {
namespace {
TEST(SciPySharded, IsLocal) {
  auto v = rnd({9}, 1), m = rnd({5, 4}, 2), at = rnd({2, 6}, 3) * 3. + 1.5;
  auto system = matmul(m, transpose(m)) + 3. * eye(5, f64);
  auto b = rnd({5}, 4);
  struct Row {
    std::string name;
    std::function<Array(const Array&)> f;
    Array x;
  };
  const std::vector<Row> rows = {
      {"convolve", [&](const Array& x) { return signal::convolve(x, v); }, rnd({7}, 5)},
      {"convolve2d", [&](const Array& x) { return signal::convolve2d(x, m); }, rnd({4, 5}, 5)},
      {"fftconvolve", [&](const Array& x) { return signal::fftconvolve(x, m); }, rnd({4, 5}, 5)},
      {"detrend", [](const Array& x) { return signal::detrend(x); }, m},
      {"welch", [](const Array& x) { return signal::welch(x, {.nperseg = 4}).values; }, rnd({3, 12}, 6)},
      {"stft", [](const Array& x) { return abs(signal::stft(x, {.nperseg = 4}).values); }, rnd({3, 12}, 6)},
      {"dctn", [](const Array& x) { return fft::dctn(x); }, m},
      {"map_coordinates", [&](const Array& x) { return ndimage::map_coordinates(x, at); }, m},
      {"simpson", [](const Array& x) { return integrate::simpson(x, 0.5, 0); }, m},
      {"CubicSpline", [&](const Array& y) { return interpolate::CubicSpline{arange(9).astype(f64), y}(at); }, v},
      {"cg", [&](const Array& a) { return sparse::linalg::cg(a, b, {.tol = 1e-13}).x; }, system},
      {"gmres", [&](const Array& a) { return sparse::linalg::gmres(a, b, {.tol = 1e-13}).x; }, system},
      {"minimize", [&](const Array& c) {
         return optimize::minimize([&](const Array& x) { return sum(square(square(x) + c)); }, ones({9}, f64)).x;
       }, v * 0. - 2.},
      {"odeint", [&](const Array& k) {
         return integrate::odeint([&](const Array& y, const Array&) { return -k * y; }, ones({9}, f64),
                                  array({0., 0.5, 1.}, f64), {.rtol = 1e-6, .atol = 1e-6});
       }, v}};
  for (auto& row : rows) {
    auto want = row.f(row.x);
    auto slope = grad([&](const Array& x) { return sum(square(row.f(x))); });
    bool smooth = row.name != "minimize";
    auto want_slope = smooth ? slope(row.x) : Array();
    for (auto axes : {std::vector<MeshAxis>{{"data", 2}}, std::vector<MeshAxis>{{"data", 3}}})
      local_mesh(axes, [&](const Mesh& mesh) {
        for (auto& spec : all_specs(mesh.shape(), static_cast<std::size_t>(row.x.ndim()))) {
          auto what = row.name + " " + name(axes) + to_string(spec);
          auto x = with_sharding_constraint(row.x, spec);
          close(gathered({row.f(x)}), {want}, 1e-10, what);
          close(gathered({jit(row.f)(x)}), {want}, 1e-10, "jit " + what);
          if (smooth) close(gathered({slope(x)}), {want_slope}, 1e-9, "grad " + what);
        }
      });
  }
}
}  // namespace
}  // namespace bora::laws::shard_test
