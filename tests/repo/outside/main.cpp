#include <bora/bora.h>
#include <iostream>
#include <string>
using namespace bora;

struct Line {
  Array slope, offset;
};
/// A program's own function: no name of Bora's that `using namespace bora` brings meets it.
Line params() { return {array(1.), array(0.)}; }
/// The library is stripped; the line of this program is quoted all the same.
bool quotes_its_line() {
  const std::string path = __FILE__, file = path.substr(path.rfind('/') + 1);
  const int line = __LINE__ + 2;
  try {
    (void)matmul(zeros({4, 8}), zeros({7, 3}));
  } catch (const ShapeError& e) {
    std::cout << e.what() << "\n";
    return std::string(e.what()).find(file + ":" + std::to_string(line)) != std::string::npos;
  }
  return false;
}
int main() {
  auto loss = [](const Line& l, const Array& x, const Array& y) { return mean(square(l.slope * x + l.offset - y)); };
  auto x = arange(4, f32);
  auto g = grad(loss)(params(), x, 3 * x);
  std::cout << g.slope.item<float>() << "\n";
  return g.slope.item<float>() == -14.f && quotes_its_line() ? 0 : 1;
}
