// One rank of a heat equation by roll: heat ROWS STEPS. Rank 0 prints the milliseconds of a step of f32[ROWS, 2048].
// perf/stencil/measure runs it.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include "bora/bora.h"
using namespace bora;

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "heat ROWS STEPS\n", 2;
  const std::int64_t rows = std::atoll(argv[1]), steps = std::atoll(argv[2]);
  auto mesh = Mesh::from_environment({{"rows", -1}});
  UseMesh scope(mesh);
  auto f = random::normal(random::key(0), {rows, 2048}, f32, {.spec = Spec{"rows"}});
  auto step = jit([](const Array& x) {
    return x + 0.1F * ((roll(x, 1, 0) + roll(x, -1, 0)) + (roll(x, 1, 1) + roll(x, -1, 1)) - 4 * x);
  });
  for (int k = 0; k < 3; ++k) f = step(f);
  mesh.exchange("", "start");
  auto begin = std::chrono::steady_clock::now();
  for (std::int64_t k = 0; k < steps; ++k) f = step(f);
  mesh.exchange("", "end");
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (mesh.rank() == 0) std::cout << seconds * 1e3 / static_cast<double>(steps) << "\n";
}
