// A host function written with xtensor becomes an operation: it works under grad, vmap, jit and on a mesh.
#include <bora/bora.h>
#include <bora/xtensor.h>
#include <iostream>
#include <xtensor/xmath.hpp>
using namespace bora;

int main() {
  auto relu6 = custom_op("relu6", {.eval = [](const xt::xarray<float>& x) { return xt::clip(x, 0.f, 6.f); },
                                   .vjp = [](const Array& ct, const Array& x) { return where(x > 0 && x < 6, ct, 0); },
                                   .elementwise = true});
  xt::xtensor<float, 2> host = {{-1.f, 2.f}, {5.f, 9.f}};
  Array x = asarray(host);
  std::cout << "relu6 " << relu6(x) << "\n";
  auto g = grad([&](const Array& a) { return sum(relu6(a) * a); })(x);
  std::cout << "gradient of sum(relu6(x) * x) " << g << "\n";
  std::cout << "under vmap and jit " << jit(vmap([&](const Array& row) { return relu6(row) + 1; }))(x) << "\n";
  auto back = as_xtensor<float, 2>(g);  // a view of g's memory
  bool right = back(0, 0) == 0.f && back(0, 1) == 4.f && back(1, 0) == 10.f && back(1, 1) == 6.f;
  return right ? 0 : 1;
}
