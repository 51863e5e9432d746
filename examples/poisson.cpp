// Poisson's equation -(u_xx + u_yy + u_zz) = f in a periodic box, solved by Fourier transforms and split over ranks:
// each transforms its planes, the array is turned once on the mesh, and the columns follow.
//   ./poisson                         one rank
//   bora launch -n 4 -- ./poisson     four
#include <bora/bora.h>
#include <iostream>
#include <numbers>
using namespace bora;

constexpr std::int64_t kSize = 32;
const Spec kPlanes{"ranks"}, kColumns{none, "ranks"};

/// The squares of the wave numbers [x, y, z].
Array squared_waves() {
  auto k = square(fft::fftfreq(kSize, 1.0 / kSize, f64));
  return reshape(k, {kSize, 1, 1}) + reshape(k, {kSize, 1}) + k;
}
Array solve(const Array& f) {
  auto planes = fft::fft2(with_sharding_constraint(f, kPlanes), {.axes = {1, 2}});
  auto waves = fft::fft(with_sharding_constraint(planes, kColumns), {.axis = 0});
  auto squares = squared_waves();
  auto u = where(squares == 0, 0.0, waves / where(squares == 0, 1.0, squares));  // the mean of u is 0
  auto back = fft::ifft(with_sharding_constraint(u, kColumns), {.axis = 0});
  return real(fft::ifft2(with_sharding_constraint(back, kPlanes), {.axes = {1, 2}}));
}

int main() {
  auto mesh = Mesh::from_environment({{"ranks", -1}});
  UseMesh scope(mesh);
  auto x = arange(kSize).astype(f64) * (2 * std::numbers::pi / kSize);
  auto at_x = reshape(x, {kSize, 1, 1}), at_y = reshape(x, {kSize, 1});
  auto first = sin(3 * at_x) * cos(at_y) * sin(2 * x), second = cos(5 * at_x + 2 * at_y) + 0 * x;
  auto u = first + second, f = 14 * first + 29 * second;  // by the sums of the squares of their wave numbers

  auto found = gather(jit(solve)(shard(f, kPlanes)));
  auto off = amax(abs(found - u)).item<double>();
  // The force that moves the solution nearest to u: the solver is its own transpose.
  auto loss = [&](const Array& force) { return sum(square(solve(force) - u)); };
  auto slope = amax(abs(gather(jit(grad(loss))(shard(f * 2, kPlanes))) - 2 * solve(u))).item<double>();
  if (mesh.rank() == 0)
    std::cout << mesh.size() << " ranks: off by " << off << ", the gradient by " << slope << "\n";
  return off < 1e-12 && slope < 1e-12 ? 0 : 1;
}
