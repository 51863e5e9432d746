#include <bora/bora.h>
#include <iostream>
using namespace bora;

struct Line {
  Array slope, offset;
};
int main() {
  auto loss = [](const Line& l, const Array& x, const Array& y) { return mean(square(l.slope * x + l.offset - y)); };
  auto x = arange(4, f32);
  auto g = grad(loss)(Line{array(1.), array(0.)}, x, 3 * x);
  std::cout << g.slope.item<float>() << "\n";
  return g.slope.item<float>() == -14.f ? 0 : 1;
}
