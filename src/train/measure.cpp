#include "train/measure.h"
#include <sched.h>
#include <time.h>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <latch>
#include <set>
#include <thread>
#include "base/api/cores.h"
#include "bora/base/parallel.h"
#include "kernels/api/gemm.h"
#include "bora/train/plan.h"
#include "base/api/threads.h"

namespace bora {
namespace {
constexpr std::size_t kMostThreads = 16, kMostOfACore = 4;   // more tell little more, and each needs memory
constexpr std::size_t kMemory = 48 << 20, kLeast = 4 << 20;  // bytes of all that are timed together; of one

/// To the i-th core, if all are in use: else the scheduler knows better which are free.
void bind_thread(std::size_t i, std::size_t used) {
  auto cores = cores_of(allowed_cpus());
  if (cores.size() != used) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[i].cpus[0], &set);
  sched_setaffinity(0, sizeof set, &set);  // what cannot be bound is timed where it runs
}
auto key_of(const Work::Kernel& k) { return std::pair(k.what, std::pair(k.flops, k.bytes)); }
}  // namespace

KernelTimes::KernelTimes(double share)
    : cores_(std::min(kMostThreads, static_cast<std::size_t>(thread_count()))), threads_(cores_) {
  auto most = static_cast<double>(std::min(kMostOfACore, kMostThreads / cores_));
  threads_ *= static_cast<std::size_t>(std::clamp(std::round(1 / share), 1.0, most));
}
std::vector<double> KernelTimes::of(const Work& work, const Mesh& rank) {
  std::vector<const Work::Kernel*> unknown;
  std::set<Key> seen;
  for (auto& k : work.kernels)
    if (!seconds_.contains(key_of(k)) && seen.insert(key_of(k)).second) unknown.push_back(&k);
  if (!unknown.empty()) measure(unknown, rank);
  std::vector<const std::vector<double>*> known;
  for (auto& k : work.kernels) known.push_back(&seconds_.at(key_of(k)));
  std::vector<double> all(threads_);
  for (auto& e : work.events)
    for (std::size_t c = 0; e.kind == Work::Event::Kind::kernel && c < threads_; ++c)
      all[c] += static_cast<double>(e.times) * (*known[e.which])[c];
  auto slowest = static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
  std::vector<double> r;
  for (auto* k : known) r.push_back((*k)[slowest]);
  return r;
}
void KernelTimes::measure(const std::vector<const Work::Kernel*>& kernels, const Mesh& rank) {
  std::vector<std::vector<double>> seconds(threads_, std::vector<double>(kernels.size()));
  std::vector<std::exception_ptr> failed(threads_);
  std::barrier together(static_cast<std::ptrdiff_t>(threads_));
  std::latch decided(1);
  bool all_started = false;
  auto run = [&](std::size_t c) {
    decided.wait();
    if (!all_started) return;
    bind_thread(c % cores_, cores_);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      together.arrive_and_wait();  // the same kernel on all threads at the same time
      if (!failed[c]) try {
          UseMesh scope(rank);  // some kernels ask for their rank
          seconds[c][k] = kernels[k]->seconds(std::max(kLeast, kMemory / threads_));
        } catch (...) { failed[c] = std::current_exception(); }
    }
  };
  std::vector<std::thread> threads;
  auto end = [&] {
    decided.count_down();
    for (auto& t : threads) t.join();
  };
  try {
    for (std::size_t c = 0; c < threads_; ++c) threads.push_back(start_thread("timing kernels", [&run, c] { run(c); }));
    all_started = true;
  } catch (...) {
    end();
    throw;
  }
  end();
  for (auto& e : failed)
    if (e) std::rethrow_exception(e);
  for (std::size_t k = 0; k < kernels.size(); ++k)
    for (std::size_t c = 0; c < threads_; ++c) seconds_[key_of(*kernels[k])].push_back(seconds[c][k]);
}
double kernel_seconds(const Work& work, const Mesh& rank) {
  KernelTimes measured(1);
  auto each = measured.of(work, rank);
  double all = 0;
  for (auto& e : work.events)
    if (e.kind == Work::Event::Kind::kernel) all += static_cast<double>(e.times) * each[e.which];
  return all / thread_count();
}
double product_rate() {
  using Seconds = std::chrono::duration<double>;
  constexpr std::int64_t n = 384;
  constexpr int least = 3;
  constexpr Seconds enough{0.01};
  std::vector<float> a(n * n, 0.5F), b(n * n, 0.25F), c(n * n);
  kernels::Gemm product{
      .dtype = f32, .m = n, .n = n, .k = n, .a = a.data(), .a_row = n, .b = b.data(), .b_row = n, .c = c.data(),
      .ldc = n};
  auto begin = std::chrono::steady_clock::now();
  double best = 0;
  for (int k = 0; k < least || std::chrono::steady_clock::now() - begin < enough; ++k) {
    auto from = std::chrono::steady_clock::now();
    kernels::gemm(product);
    Seconds took = std::chrono::steady_clock::now() - from;
    best = std::max(best, 2.0 * n * n * n / std::max(took.count(), 1e-9));
  }
  return best;
}
double core_share(double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> had(static_cast<std::size_t>(thread_count()));
  auto begin = Clock::now();
  auto over = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<std::thread> threads;
  auto busy = [&](double& processor) {
    while (over() < seconds) {}
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    processor = static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  auto end = [&] {
    for (auto& t : threads) t.join();
  };
  try {
    for (auto& h : had) threads.push_back(start_thread("timing cores", [&busy, &h] { busy(h); }));
  } catch (...) {
    end();
    throw;
  }
  end();
  double all = 0;
  for (auto h : had) all += h;
  return std::clamp(all / (seconds * thread_count()), 0.01, 1.0);
}
}  // namespace bora
