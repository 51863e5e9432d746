// ping.cpp -- the transport alone: every rank prints its name, sums a vector with the others, and times small and large
// sums.
//   BORA_ROOT=127.0.0.1:29650 BORA_SIZE=2 BORA_RANK=0 ./bora_ping &
//   BORA_ROOT=127.0.0.1:29650 BORA_SIZE=2 BORA_RANK=1 ./bora_ping
//   ./bora_ping --threads N      ranks as threads of this process
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>
#include "bora/transport/transport.h"

namespace bt = bora::transport;

/// Microseconds of f: the median of batches of ten calls back to back, so that ranks leaving a barrier at different
/// times do not matter.
template <class F> double median_us(bt::Context& c, const bt::Group& all, int batches, F f) {
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    c.barrier(all);
    auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < 10; ++k) f();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 10);
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[static_cast<std::size_t>(batches / 2)];
}
void ping(bt::Context& c) {
  bt::Group all{.ranks = std::vector<int>(static_cast<std::size_t>(c.size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  auto names = c.exchange("pid " + std::to_string(getpid()), "names");
  if (c.rank() == 0) {
    for (std::size_t r = 0; r < names.size(); ++r) std::printf("rank %zu: %s\n", r, names[r].c_str());
    std::printf("%10s %12s %12s %15s %12s\n", "bytes", "all_reduce", "all_gather", "reduce_scatter", "broadcast");
  }
  for (std::int64_t bytes = 4 << 10; bytes <= 16 << 20; bytes *= 4) {
    auto n = bytes / 4, P = std::int64_t{c.size()};
    std::vector<float> in(static_cast<std::size_t>(n), 1.0f), out(in.size());
    std::vector<std::int64_t> parts;
    for (std::int64_t p = 0; p < P; ++p) parts.push_back(n * (p + 1) / P - n * p / P);
    int batches = bytes > 1 << 20 ? 3 : 15;
    auto time = [&](bora::CollectiveCall k) {
      k.in = in.data();
      k.out = out.data();
      return median_us(c, all, batches, [&] { c.run(all, k); });
    };
    double sum = time({.kind = bora::CollectiveKind::all_reduce, .send_counts = {n}});
    if (out.front() != static_cast<float>(P) || out.back() != static_cast<float>(P))
      std::printf("rank %d: wrong sum %g\n", c.rank(), out.front());
    double gather = time({.kind = bora::CollectiveKind::all_gather, .recv_counts = parts});
    double scatter = time({.kind = bora::CollectiveKind::reduce_scatter, .recv_counts = parts});
    double cast = time({.kind = bora::CollectiveKind::broadcast, .send_counts = {n}});
    if (c.rank() == 0)
      std::printf("%10lld %9.0f us %9.0f us %12.0f us %9.0f us\n", static_cast<long long>(bytes), sum, gather, scatter,
                  cast);
  }
  c.leave();
}
int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) {
      auto contexts = bt::local(std::atoi(argv[2]));
      std::vector<std::thread> threads;
      for (auto& c : contexts) threads.emplace_back([&c] { ping(*c); });
      for (auto& t : threads) t.join();
    } else {
      ping(*bt::join(bt::config_from_environment()));
    }
  } catch (const bora::Error& e) {
    std::fprintf(stderr, "ping: %s\n", e.what());
    return 1;
  }
}
