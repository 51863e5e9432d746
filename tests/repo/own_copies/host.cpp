// host.cpp PLUGIN FOLDER: a program with copies of its own of libraries that Bora is built with, made with other
// switches, as another version would be, opens a plugin that uses Bora. Its symbols come first in the loader's order.
#define JSON_NOEXCEPTION                // a mistake in a text ends the process
#define EIGEN_MAX_ALIGN_BYTES 0         // other allocation functions under the same names
#define EIGEN_DONT_VECTORIZE
#define XBYAK_NO_EXCEPTION              // other classes under the same names
#include <dlfcn.h>
#include <Eigen/Dense>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <xbyak/xbyak.h>

namespace {
struct Seven : Xbyak::CodeGenerator {
  Seven() { mov(eax, 7), ret(); }
};
bool mine_work() {
  Eigen::MatrixXd m = Eigen::MatrixXd::Identity(5, 5) * 2;
  m(0, 4) = m(4, 0) = 1;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(m);
  Seven seven;
  auto json = nlohmann::json::parse(R"({"a": [1, 2, {"b": "c"}]})");
  return std::abs(solver.eigenvalues()[4] - 3) < 1e-12 && seven.getCode<int (*)()>()() == 7 &&
         json["a"][2]["b"] == "c" && json.dump().size() > 10;
}
}  // namespace

int main(int, char** argv) {
  if (!mine_work()) return std::puts("the program's own copies fail before"), 1;
  auto* plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto* run = plugin ? reinterpret_cast<int (*)(const char*)>(::dlsym(plugin, "run")) : nullptr;
  if (!run) return std::puts(::dlerror()), 1;
  if (int failed = run(argv[2])) return std::printf("part %d of the plugin fails\n", failed), 1;
  return mine_work() ? 0 : (std::puts("the program's own copies fail after"), 1);
}
