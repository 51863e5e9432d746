// Denormal numbers: kept, or taken as zero by all threads of a kernel, as the program, the process or a scope asks.
#include "bora/base/denormals.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "bora/base/parallel.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::denormals_test {
namespace {
/// How many results are 0, where the operands are the smallest normal numbers: of their halves, and of the quarters.
struct Counts {
  std::int64_t first = 0, second = 0;
  bool operator==(const Counts&) const = default;
};
template <class T> Counts zeros_of(const FlatFn& f, std::int64_t n, Dtype d) {
  auto y = f({full({n}, std::numeric_limits<T>::min(), d)});
  Counts r;
  for (std::int64_t i = 0; i < n; ++i) {
    r.first += y[0].template data<T>()[i] == 0;
    r.second += y[1].template data<T>()[i] == 0;
  }
  return r;
}
Arrays halves(const Arrays& a) {
  auto half = a[0] * 0.5;
  return {half, half * 0.5 + sum(half, -1, {.keepdims = true}) * 0.0};
}
Arrays compiled(const Arrays& a, bool flush) {
  return executable(stage(halves, types_of(a), {}, {.flush_denormals = flush}).program)->run(a);
}
void check(const FlatFn& f, bool flushes) {
  for (int threads : {1, 3}) {
    set_thread_count(threads);
    for (std::int64_t n : {1, 7, 8, 1000, 1 << 20}) {
      auto all = flushes ? Counts{n, n} : Counts{};
      EXPECT_EQ(zeros_of<float>(f, n, f32), all) << n << " f32, threads " << threads;
      EXPECT_EQ(zeros_of<double>(f, n, f64), all) << n << " f64, threads " << threads;
    }
  }
  set_thread_count(0);
}
TEST(Denormals, AreKeptUnlessFlushed) {
  auto eager = [](const Arrays& a) { return halves(a); };
  check(eager, false);
  check([](const Arrays& a) { return compiled(a, false); }, false);
  check([](const Arrays& a) { return compiled(a, true); }, true);
  check([](const Arrays& a) { return compiled(a, false); }, false);  // nothing is left behind
  {
    FlushDenormals scope;
    check(eager, true);
    check([](const Arrays& a) { return compiled(a, false); }, true);
  }
  check(eager, false);
  flush_denormals(true);
  check(eager, true);
  check([](const Arrays& a) { return compiled(a, false); }, true);
  flush_denormals(false);
  check(eager, false);
}
}  // namespace
}  // namespace bora::denormals_test
