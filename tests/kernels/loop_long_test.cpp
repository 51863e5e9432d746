// Rows longer than a segment: generated code adds up their segments, the interpreter combines them.
#include <gtest/gtest.h>
#include <random>
#include "bora/base/parallel.h"
#include "loop_build.h"

namespace bora::kernels::test::loop_long_test {
namespace {
/// Numbers small enough for sums and products, some of them special.
std::vector<unsigned char> some(Dtype d, std::int64_t n, std::mt19937_64& g) {
  const auto size = dtype_size(d);
  std::vector<unsigned char> r(static_cast<std::size_t>(n) * size);
  for (std::size_t i = 0; i < r.size(); i += size) {
    const float x = static_cast<float>(g() % 2000) / 999 - 1;
    std::uint64_t v = g();
    if (d == boolean) v &= 1;
    if (d == f32) v = std::bit_cast<std::uint32_t>(v % 9973 == 0 ? -INFINITY : x);
    if (d == bf16) v = bfloat16(x).bits;
    if (d == f64) v = std::bit_cast<std::uint64_t>(static_cast<double>(x) * (1 + 1e-12));
    std::memcpy(r.data() + i, &v, size);
  }
  return r;
}
/// Segments by generated code, combined as the interpreter's: several reductions of computed values in one pass.
TEST(LoopLong, RowsGenerateAsTheyInterpret) {
  const std::int64_t rows = 2, columns = 2 * kSegment + 45;
  std::mt19937_64 g(12);
  for (Dtype d : {f32, bf16, f64, i32, i64, u8, boolean})
    for (int several : {1, 3}) {
      Builder b;
      const int x = b.load(d, true), y = b.load(d, false);
      const std::vector<Reduction> kinds =
          d == boolean ? std::vector{Reduction::all, Reduction::any, Reduction::max}
                       : std::vector{Reduction::sum, Reduction::max, Reduction::min, Reduction::prod};
      const int z = b.op(d == boolean ? "or" : "mul", {x, y});
      const auto in = some(d, rows * columns, g), row = some(d, rows, g);
      for (std::size_t k = 0; k < kinds.size(); k += static_cast<std::size_t>(several == 1 ? 4 : 1))
        b.store(b.reduce(kinds[k], z), false);
      const int mean = b.reduce(kinds[0], x);  // read again: a second pass
      if (several > 1) b.store(b.reduce(kinds[1], b.op(d == boolean ? "and" : "sub", {x, mean})), false);
      const auto results = b.loop.operands.size() - 2;
      const auto run_as = [&](Isa which, Code code, int threads) {
        std::vector<std::vector<std::uint64_t>> out(results, std::vector<std::uint64_t>(rows));
        std::vector<void*> all{const_cast<unsigned char*>(in.data()), const_cast<unsigned char*>(row.data())};
        for (auto& o : out) all.push_back(o.data());
        ThreadScope scope(threads);
        run(*compile_for(b.loop, which, code), dense(b.loop, rows, columns, all));
        std::vector<std::uint64_t> bits;
        for (auto& o : out)
          for (std::int64_t i = 0; i < rows; ++i) bits.push_back(read(d, o.data(), i));
        return bits;
      };
      const auto want = run_as(Isa::v3, Code::interpreted, 1);
      for (Isa which : {Isa::v3, Isa::v4}) {
        if (which == Isa::v4 && !has_v4()) continue;
        for (int threads : {1, 2}) {
          const auto got = run_as(which, Code::generated, threads);
          for (std::size_t k = 0; k < got.size(); ++k) EXPECT_TRUE(same(d, got[k], want[k])) << d << " " << k;
        }
      }
    }
}
}  // namespace
}  // namespace bora::kernels::test::loop_long_test
