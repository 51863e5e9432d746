// A program with OpenMP loops, Eigen and xtensor of its own beside Bora has one pool of threads for each thread that
// calls, after a fork too, and Bora's results are the same bits whatever the variables of OpenMP and the executor say.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>
#include "bora/bora.h"
#include "bora/eigen.h"
#include "bora/xtensor.h"
#include "support/own_program.h"

#ifndef __SANITIZE_THREAD__  // which does not see how libgomp's threads wait for one another
namespace one_pool_test {
namespace {
using namespace bora;
using test::program, test::say, test::Variables;
int threads_now() {
  auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<int>(std::distance(tasks, {}));
}
/// Loops of the program's own: OpenMP's, Eigen's (which OpenMP runs) and xtensor's.
double own_work(int seed) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 10000; ++i) sum += 1. / (i + 1);
  Eigen::MatrixXf m = Eigen::MatrixXf::Constant(160, 160, static_cast<float>(seed));
  xt::xtensor<double, 2> x = xt::ones<double>({100, 100}) * seed;
  return sum + (m * m).sum() + xt::sum(xt::sin(x))();
}
/// Bora's answer to numbers that Eigen and xtensor made, as one number of its bits.
std::uint64_t work() {
  static const auto step = jit([](const Array& m, const Array& x) {
    auto y = tanh(matmul(m, x));
    return value_and_grad([&](const Array& w) { return mean(square(matmul(y, w) - x)); })(transpose(m)).second;
  });
  Eigen::MatrixXf m = Eigen::MatrixXf::Identity(96, 96) * 0.5F;
  xt::xtensor<float, 2> x = xt::reshape_view(xt::sin(xt::arange<float>(96 * 96)), {96, 96});
  auto g = step(asarray(m), asarray(x)) + random::normal(random::key(7), {96, 96});
  std::uint64_t bits = 0;
  for (float v : g.to_vector<float>()) bits = bits * 31 + std::bit_cast<std::uint32_t>(v);
  return bits;
}
/// The most threads of this process while four of its threads work.
int threads_of_four(bool bora) {
  std::atomic<int> most{0}, ready{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_GT(own_work(t), 0);
        if (bora) work();
      }
      for (++ready; ready < 4;) std::this_thread::yield();
      for (int now = threads_now(), m = most; now > m && !most.compare_exchange_weak(m, now);) {}
      for (++ready; ready < 8;) std::this_thread::yield();
    });
  for (auto& t : all) t.join();
  return most;
}
TEST(OnePool, DISABLED_Threads) {
  own_work(1);
  auto alone = threads_of_four(false);
  work();
  auto both = threads_of_four(true);
  say(both <= alone ? "no more" : std::to_string(both) + " instead of " + std::to_string(alone));
}
TEST(OnePool, ProgramsHaveNoMoreThreadsThanOpenMpMakesForThem) {
  for (auto& [threads, policy] : {std::pair{"2", "active"}, {"3", "passive"}, {"1", "passive"}})
    EXPECT_EQ(program("OnePool", "Threads", {{"OMP_NUM_THREADS", threads}, {"OMP_WAIT_POLICY", policy}}), "no more")
        << threads << " threads, " << policy;
}
TEST(OnePool, DISABLED_Bits) {
  auto bits = work();
  own_work(3);
  const auto child = ::fork();
  if (child == 0) ::_exit(work() == bits ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  say(std::to_string(bits) + (status == 0 && work() == bits ? "" : ", others after a fork"));
}
TEST(OnePool, BitsDependOnNoVariable) {
  const auto want = program("OnePool", "Bits", {});
  EXPECT_EQ(want, std::to_string(work()));
  for (auto& variables : std::vector<Variables>{{{"OMP_NUM_THREADS", "1"}},
                                                {{"OMP_NUM_THREADS", "5"}},
                                                {{"OMP_NUM_THREADS", "4"}, {"OMP_PROC_BIND", "true"}},
                                                {{"OMP_NUM_THREADS", "4"}, {"OMP_THREAD_LIMIT", "2"}},
                                                {{"OMP_NUM_THREADS", "2,2"}, {"OMP_MAX_ACTIVE_LEVELS", "2"}},
                                                {{"OMP_WAIT_POLICY", "passive"}},
                                                {{"BORA_EXECUTOR", "team"}, {"OMP_NUM_THREADS", "3"}}}) {
    std::string name;
    for (auto& [key, value] : variables) name += key + "=" + value + " ";
    EXPECT_EQ(program("OnePool", "Bits", variables), want) << name;
  }
}
}  // namespace
}  // namespace one_pool_test
#endif
