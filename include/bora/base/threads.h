// threads.h -- threads beside those of kernels: to make one may fail, and says so.
#pragma once
#include <latch>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include "bora/base/error.h"

namespace bora {
/// A thread that runs f. `what` says for what, for the Error where the system gives none.
template <class F> std::thread start_thread(const char* what, F&& f) {
  try {
    return std::thread(std::forward<F>(f));
  } catch (const std::system_error& e) {
    fail<Error>("cannot start a thread for ", what, ": ", e.code().message(), "; allow more processes (ulimit -u, a container's pids limit) or memory (ulimit -v)");
  }
}
/// Error unless n more threads can be made at once: asked before a library makes them that ends the process where it cannot.
inline void check_threads(int n, const char* what) {
  std::latch asked(1);
  std::vector<std::thread> threads;
  auto end = [&] {
    asked.count_down();
    for (auto& t : threads) t.join();
  };
  try {
    for (int i = 0; i < n; ++i) threads.push_back(start_thread(what, [&] { asked.wait(); }));
  } catch (...) {
    end();
    throw;
  }
  end();
}
}  // namespace bora
