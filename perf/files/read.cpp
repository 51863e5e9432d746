// perf_files FOLDER ARRAYS.npz ROUNDS -- reads and writes of files on one thread and on all, in turns: the CPU's
// share of a load whose files are in the page cache. Prints: what, MB, ms on one thread, ms on all, their ratio
// (medians).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
#include "bora/bora.h"
#include "bora/io/checkpoint.h"
#include "bora/io/npy.h"
#include "bora/io/safetensors.h"

namespace {
using namespace bora;
using Clock = std::chrono::steady_clock;
double ms(const std::function<void()>& f) {
  auto begin = Clock::now();
  f();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}
void compare(const char* what, double megabytes, int rounds, const std::function<void()>& f) {
  std::vector<double> one, all, ratio;
  f();
  for (int i = 0; i < rounds; ++i) {
    {
      ThreadScope alone(1);
      one.push_back(ms(f));
    }
    all.push_back(ms(f));
    ratio.push_back(one.back() / all.back());
  }
  auto median = [](std::vector<double>& x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
  };
  std::printf("%-40s | %5.0f | %6.0f | %6.0f | %.2f\n", what, megabytes, median(one), median(all), median(ratio));
  std::fflush(stdout);
}
/// The tensors of a small language model, of very different sizes.
std::map<std::string, Array> tensors(Dtype dtype) {
  std::map<std::string, Array> r;
  auto add = [&](const std::string& name, Shape shape) {
    auto n = volume(shape);
    r[name] = reshape(arange(static_cast<float>(n)) / static_cast<float>(n), shape).astype(dtype);
  };
  add("embed", {50257, 768});
  for (int i = 0; i < 12; ++i) {
    auto layer = "layer." + std::to_string(i) + ".";
    add(layer + "attention", {768, 2304});
    add(layer + "up", {3072, 768});
    add(layer + "down", {768, 3072});
    add(layer + "norm", {768});
  }
  return r;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "perf_files FOLDER ARRAYS.npz ROUNDS\n"), 2;
  std::string folder = argv[1], npz = argv[2];
  auto rounds = std::atoi(argv[3]);
  auto stored = tensors(bf16);
  save_safetensors(folder + "/model.safetensors", stored);
  auto files = Safetensors::open(folder + "/model.safetensors");
  double megabytes = 0;
  for (auto& [name, x] : stored) megabytes += static_cast<double>(x.nbytes()) / 1e6;
  auto wanted = tensors(f32), turned = wanted;
  for (auto& [name, x] : turned)
    if (x.ndim() == 2) x = zeros({x.shape(1), x.shape(0)});
  auto turn = [](const std::string& name, const Type& t) {
    TensorPart part{name};
    if (t.ndim() == 2) part.order = {1, 0};
    return std::vector{part};
  };
  compare("import: bf16 to f32", megabytes, rounds, [&] { wanted = load_safetensors(files, std::move(wanted)); });
  compare("import: bf16 to f32, transposed", megabytes, rounds,
          [&] { turned = load_safetensors(files, std::move(turned), {.from = turn}); });
  auto same = tensors(bf16);
  compare("import: bf16", megabytes, rounds, [&] { same = load_safetensors(files, std::move(same)); });
  Arrays keep;
  std::vector<io::Leaf> leaves;
  for (auto& [name, x] : wanted) {
    leaves.push_back({name, x.type(), {}, const_cast<void*>(x.bytes())});
    leaves.back().spec.resize(x.shape().size());
  }
  auto saved = io::save_checkpoint(folder + "/run", 0, leaves, {});
  auto again = [&, step = 1]() mutable { saved = io::save_checkpoint(folder + "/run", step++, leaves, {}, {}, 1); };
  compare("checkpoint: written", 2 * megabytes, rounds, again);
  compare("checkpoint: restored", 2 * megabytes, rounds, [&] { io::restore_checkpoint(saved, leaves, {}); });
  compare("checkpoint: verified", 2 * megabytes, rounds, [&] { (void)io::verify_checkpoint(saved); });
  double arrays = 0;
  for (auto& [name, x] : load_npz(npz)) arrays += static_cast<double>(x.nbytes()) / 1e6;
  compare("npz: deflated arrays", arrays, rounds, [&] { (void)load_npz(npz); });
}
