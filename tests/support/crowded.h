// crowded.h -- how much longer everything takes than on a quiet machine, for limits of time.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <thread>

namespace bora::test {
/// Under this machine's other load, and in an instrumented program, whose processes start and end later.
inline double crowded() {
  double load = 0;
  getloadavg(&load, 1);
  double factor = std::max(1.0, load / std::max(1u, std::thread::hardware_concurrency()));
#if defined(__SANITIZE_THREAD__)
  factor *= 4;
#elif defined(__SANITIZE_ADDRESS__)
  factor *= 3;
#endif
  return factor;
}
}  // namespace bora::test
