// threads.h -- threads other than those of kernels: a clear Error where one cannot be made.
#pragma once
#include <cstdlib>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include "bora/base/error.h"

namespace bora {
/// Starts a thread that runs f. Throws Error if the system makes none; `what` names the thread's purpose in its text.
template <class F> std::thread start_thread(const char* what, F&& f) {
  try {
    return std::thread(std::forward<F>(f));
  } catch (const std::system_error& e) {
    fail<Error>("cannot start a thread for ", what, ": ", e.code().message(),
                "; allow more processes (ulimit -u, a container's pids limit) or memory (ulimit -v)");
  }
}
/// Throws Error unless n more threads can exist at once. Called before a library that would end the process on failure
/// makes them. Those of the test allocate, as the later ones will: glibc then has taken the address space of n threads
/// (ulimit -v), and gives it to the next ones.
inline void check_threads(int n, const char* what) {
  std::latch asked(1);
  std::vector<std::thread> threads;
  auto end = [&] {
    asked.count_down();
    for (auto& t : threads) t.join();
  };
  try {
    for (int i = 0; i < n; ++i) threads.push_back(start_thread(what, [&] {
      asked.wait();
      void* volatile some = std::malloc(1);
      std::free(some);
    }));
  } catch (...) {
    end();
    throw;
  }
  end();
}
/// Threads of each process that OMP_NUM_THREADS asks for, on its outermost level; 0 if it says nothing.
int threads_by_variable();
/// Asks the scheduler for turns of 0.1 ms (usually 3) for this thread and those that it starts from now on: on crowded
/// cores a thread for whose range others wait runs again sooner. The pool's own threads do it. Without effect before
/// Linux 6.12.
void take_short_turns();
}  // namespace bora
