// Codecs of sums on one core: f32 bytes a second, for each class of instructions; in the cache, and in memory.
#include <benchmark/benchmark.h>
#include <random>
#include <string>
#include "schedule/codec.h"

namespace bora::transport {
namespace {
std::vector<float> numbers(std::int64_t n) {
  std::mt19937 g(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = normal(g);
  return x;
}
void rate(benchmark::State& s, std::int64_t n) { s.SetBytesProcessed(s.iterations() * n * 4); }

void encoding(benchmark::State& s, const CodecKernels& k, const Wire& w, std::int64_t n) {
  auto x = numbers(n);
  std::vector<std::byte> out(static_cast<std::size_t>(encoded_bytes(w, n)));
  for (auto _ : s) {
    k.encode(x.data(), n, w.block, out.data());
    benchmark::ClobberMemory();
  }
  rate(s, n);
}
void decoding(benchmark::State& s, const CodecKernels& k, const Wire& w, std::int64_t n) {
  auto x = numbers(n);
  std::vector<std::byte> in(static_cast<std::size_t>(encoded_bytes(w, n)));
  encode(w, x.data(), n, in.data());
  for (auto _ : s) {
    k.decode(in.data(), n, w.block, x.data());
    benchmark::ClobberMemory();
  }
  rate(s, n);
}
/// Sums n numbers of each rank, which differ: every part is read from its own place.
void summing(benchmark::State& s, const Wire& w, std::int64_t n, std::size_t ranks) {
  auto x = numbers(n);
  std::vector<std::byte> one(static_cast<std::size_t>(encoded_bytes(w, n))), out(one.size());
  encode(w, x.data(), n, one.data());
  std::vector<std::vector<std::byte>> each(ranks, one);
  std::vector<const std::byte*> parts;
  for (auto& part : each) parts.push_back(part.data());
  for (auto _ : s) {
    sum_encoded(w, Reduction::sum, parts, n, nullptr, out.data());
    benchmark::ClobberMemory();
  }
  rate(s, n);
}
[[maybe_unused]] const bool added = [] {
  for (auto& row : codecs()) {
    Wire w{row.codec};
    for (auto [where, n] : {std::pair{"cache", std::int64_t{16} << 10}, {"memory", std::int64_t{16} << 20}}) {
      auto add = [&, place = std::string(where)](std::string what, auto f) {
        benchmark::RegisterBenchmark((what + "/" + word(w) + "/" + place).c_str(), f);
      };
      for (auto& k : row.kernels) {
        auto kind = "/" + std::string(k.name);
        add("encode" + kind, [=](benchmark::State& s) { encoding(s, k, w, n); });
        add("decode" + kind, [=](benchmark::State& s) { decoding(s, k, w, n); });
      }
      add("sum of 4", [=](benchmark::State& s) { summing(s, w, n, 4); });
    }
  }
  return true;
}();
}  // namespace
}  // namespace bora::transport
BENCHMARK_MAIN();
