// loop.h -- the measurement of every program here: back to back between barriers, as in bora's measure().
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

/// The arguments from compare: PROGRAM OPS SIZES REPETITIONS, lists separated by commas.
struct Asked {
  std::vector<std::string> ops = {};
  std::vector<long> sizes = {};  // bytes
  int repetitions = 5;
  Asked(int argc, char** argv) {
    std::string item;
    for (std::istringstream s(argc > 1 ? argv[1] : "all_reduce,reduce_scatter,all_gather,broadcast");
         std::getline(s, item, ',');)
      ops.push_back(item);
    for (std::istringstream s(argc > 2 ? argv[2] : "4096,65536,1048576,16777216"); std::getline(s, item, ',');)
      sizes.push_back(std::atol(item.c_str()));
    if (argc > 3) repetitions = std::atoi(argv[3]);
  }
};
/// Seconds of one call: the median over the repetitions of the slowest rank's mean. `most`: a number's maximum over
/// the ranks.
template <class Once, class Barrier, class Most>
double seconds(int repetitions, Once once, Barrier barrier, Most most) {
  auto times = [&](int n) {
    barrier();
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) once();
    return most(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / n);
  };
  times(2);
  int n = std::clamp(static_cast<int>(0.05 / std::max(times(3), 1e-7)), 3, 5000);
  std::vector<double> rounds;
  for (int k = 0; k < repetitions; ++k) rounds.push_back(times(n));
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}
