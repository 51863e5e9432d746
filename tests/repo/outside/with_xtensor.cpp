#include <bora/bora.h>
#include <bora/xtensor.h>

int main() {
  xt::xtensor<float, 2> t = {{1.f, 2.f}, {3.f, 4.f}};
  return bora::sum(bora::asarray(t * 2.f)).item<float>() == 20.f ? 0 : 1;
}
