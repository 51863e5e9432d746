// How fast this process computes and copies: numbers to compare hosts by.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include "base/api/cores.h"
#include "bora/base/parallel.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "host.h"

namespace bora::app::doctor {
namespace {
using Clock = std::chrono::steady_clock;
constexpr double kSeconds = 0.2;  // of each measurement
constexpr std::int64_t kSide = 1024, kMostBytes = std::int64_t{64} << 20, kChunk = 1 << 20;

/// The least seconds of a call; the first one, which touches memory, does not count.
template <class F> double least_seconds(const F& f) {
  f();
  double least = 1e9, sum = 0;
  for (int i = 0; i < 3 || (sum < kSeconds && i < 200); ++i) {
    auto begin = Clock::now();
    f();
    auto took = std::chrono::duration<double>(Clock::now() - begin).count();
    least = std::min(least, took), sum += took;
  }
  return least;
}
}  // namespace

void measure_rates(HostReport& to) {
  auto a = ones({kSide, kSide}), b = full({kSide, kSide}, 0.5, f32);
  to.measured[kProducts] = 2e-9 * kSide * kSide * kSide / least_seconds([&] { (void)matmul(a, b); });
  const auto n = std::clamp(free_memory().bytes / 8 / kChunk, std::int64_t{4}, kMostBytes / kChunk);
  const std::unique_ptr<char[]> from(new char[static_cast<std::size_t>(n * kChunk)]),
      into(new char[static_cast<std::size_t>(n * kChunk)]);
  auto each_piece = [&](auto&& f) {
    parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) f(i * kChunk);
    });
  };
  each_piece([&](std::int64_t at) { std::memset(from.get() + at, 1, kChunk); });
  auto seconds = least_seconds([&] {
    each_piece([&](std::int64_t at) { std::memcpy(into.get() + at, from.get() + at, kChunk); });
  });
  to.measured[kCopies] = 2e-9 * static_cast<double>(n * kChunk) / seconds;  // what is read and what is written
}
}  // namespace bora::app::doctor
