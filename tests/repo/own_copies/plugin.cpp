// plugin.cpp -- Bora behind a function of C: parts that use Xbyak, Eigen and nlohmann's JSON inside.
#include <bora/bora.h>
#include <filesystem>
#include <fstream>

extern "C" int run(const char* folder) {
  using namespace bora;
  auto f = jit([](const Array& x) { return sum(tanh(x) * 2 + x); });
  if (std::abs(f(full({1000}, 0.5)).item<float>() - 1424.2343F) > 0.01F) return 1;
  auto values = linalg::eigvalsh(array({{2., 0., 1.}, {0., 2., 0.}, {1., 0., 2.}}));
  if (std::abs(view(values, 2).item<float>() - 3) > 1e-5F) return 2;
  std::string at = std::string(folder) + "/tree";
  std::filesystem::remove_all(at);
  save_tree(at, arange(8));
  if (!array_equal(load_tree(at, zeros({8}, i32)), arange(8))) return 3;
  for (auto& file : std::filesystem::recursive_directory_iterator(at))
    if (file.path().filename() == "manifest") std::ofstream(file.path()) << R"({"leaves": [)";
  try {
    (void)load_tree(at, zeros({8}, i32));
  } catch (const Error&) { return 0; }
  return 4;
}
