// A loop that runs its rows and what lies between them as one row gives the same elements, and touches nothing else.
#include <gtest/gtest.h>
#include <map>
#include <random>
#include "bora/base/parallel.h"
#include "kernels/api/loop_gaps.h"
#include "kernels/loop_build.h"

namespace bora::kernels::test::loop_gaps_test {
namespace {
using I = std::int64_t;
struct Case {
  Loop loop;
  LoopArgs args;                         // of pointers to `memory`
  std::vector<std::vector<char>> memory;  // of each operand
  std::vector<I> first;                   // where each begins, in elements
  LoopArgs at(LoopArgs a, std::vector<std::vector<char>>& m) const {
    for (std::size_t k = 0; k < m.size(); ++k)
      a.pointer[k] = m[k].data() + first[k] * static_cast<I>(dtype_size(loop.operands[k].dtype));
    return a;
  }
};
/// (x * s + y) -> z and max(x, y) -> u over `planes` x `rows` rows of `n` elements, `pitch` elements apart; s is one
/// number, and a linear form is added to integers.
enum class Second { equal, further, repeated };
Case make(std::mt19937& random, Dtype d, I planes, I rows, I n, I pitch, Second second) {
  const auto below = [&](I k) { return static_cast<I>(random() % static_cast<std::uint64_t>(k)); };
  Builder b;
  const int x = b.load(d, true), y = b.load(d, true), s = b.load(d, false);
  int z = b.op("add", {b.op("mul", {x, s}), y});
  const bool form = d == i32 && second == Second::equal;
  if (form) {
    b.loop.linear_forms = 1;
    z = b.op("add", {z, b.add({.kind = K::linear, .dtype = i32})});
  }
  b.store(z, true);
  b.store(b.op("max", {x, y}), true);
  Case c{b.loop, {}, {}, {}};
  c.args.ndim = 3;
  const I extent[] = {planes, rows, n};
  std::copy(extent, extent + 3, c.args.extent);
  for (std::size_t k = 0; k < c.loop.operands.size(); ++k) {
    const bool columns = c.loop.operands[k].columns;
    const I own = k != 1 || second == Second::equal ? pitch : second == Second::further ? pitch + 1 : 0;
    const I plane = own * (rows + below(3));
    c.first.push_back(columns ? below(pitch - n + 1) : 0);
    const I stride[] = {columns ? plane : 0, columns ? own : 0, columns ? 1 : 0};
    std::copy(stride, stride + 3, c.args.stride[k]);
    c.memory.emplace_back(static_cast<std::size_t>(plane * planes + pitch) * dtype_size(d));
    auto& m = c.memory.back();
    for (std::size_t e = 0; e < m.size() / dtype_size(d); ++e) {
      const auto v = static_cast<float>(below(200)) * 0.25f - (d == u8 ? 0 : 25);
      const auto one = [&](auto t) { std::memcpy(m.data() + e * sizeof t, &t, sizeof t); };
      if (d == f32) one(v);
      else if (d == f64) one(static_cast<double>(v));
      else if (d == bf16) one(bfloat16(v));
      else if (d == i32) one(static_cast<std::int32_t>(v));
      else one(static_cast<std::uint8_t>(v));
    }
  }
  if (form) {
    c.args.linear[0].base = below(100);
    const I step = 1 + below(3), stride[] = {below(50), pitch * step, step};
    std::copy(stride, stride + 3, c.args.linear[0].stride);
  }
  return c;
}
void compare(const Case& c, Isa which, Code code, int threads, int& joined) {
  const auto kernel = compile_for(c.loop, which, code);
  auto plain = c.memory, got = c.memory;
  const LoopArgs args = c.at(c.args, plain);
  run(*kernel, args);
  const auto gaps = with_gaps(*kernel, args);
  if (!gaps) return;
  ++joined;
  const LoopArgs a = c.at(*gaps, got), whole = c.at(c.args, got);
  set_thread_count(threads);
  run(*kernel, a);
  set_thread_count(0);
  for (std::size_t k = 0; k < got.size(); ++k) {
    const auto size = static_cast<I>(dtype_size(c.loop.operands[k].dtype));
    const auto part = memory_of(*kernel, whole, static_cast<int>(k));
    const bool stored = k > 2;
    std::vector<char> inside(got[k].size());
    for (I p = 0; p < c.args.extent[0] && stored; ++p)
      for (I r = 0; r < c.args.extent[1]; ++r) {
        const I at = (c.first[k] + p * c.args.stride[k][0] + r * c.args.stride[k][1]) * size;
        const auto bytes = static_cast<std::size_t>(c.args.extent[2] * size);
        ASSERT_EQ(std::memcmp(got[k].data() + at, plain[k].data() + at, bytes), 0)
            << "operand " << k << ", row " << p << " " << r;
        const bool goes_on = c.args.stride[k][0] == c.args.stride[k][1] * c.args.extent[1] && p + 1 < c.args.extent[0];
        const I end = r + 1 < c.args.extent[1] || goes_on ? c.args.stride[k][1] : c.args.extent[2];
        std::fill_n(inside.begin() + at, end * size, 1);
      }
    for (std::size_t e = 0; e < inside.size(); ++e)
      ASSERT_TRUE(inside[e] || got[k][e] == c.memory[k][e]) << "operand " << k << " changed at byte " << e;
    EXPECT_GE(part.data(), got[k].data());
    EXPECT_LE(part.data() + part.size(), got[k].data() + got[k].size());
  }
}
TEST(LoopGaps, SameElementsAndNothingElse) {
  std::mt19937 random(3);
  std::map<Dtype, int> joined;
  const auto below = [&](I k) { return static_cast<I>(random() % static_cast<std::uint64_t>(k)); };
  for (int seed = 0; seed < 200; ++seed)
    for (Dtype d : {f32, f64, bf16, i32, u8}) {
      const I n = 1 + below(40), pitch = n + 1 + below(std::max<I>(1, seed % 2 ? n / 4 : n));
      const Case c = make(random, d, 1 + below(3), 2 + below(200), n, pitch, Second::equal);
      for (Isa which : {Isa::v3, Isa::v4})
        for (Code code : {Code::interpreted, Code::generated})
          if (which == Isa::v3 || has_v4()) compare(c, which, code, 1 + seed % 2, joined[d]);
      if (HasFatalFailure()) FAIL() << d << " rows of " << n << ", pitch " << pitch;
    }
  for (auto [d, n] : joined) EXPECT_GE(n, 200) << d;
}
TEST(LoopGaps, NotWhereRowsLieOtherwise) {
  std::mt19937 random(4);
  const auto gaps = [&](I n, I pitch, Second equal) {
    Case c = make(random, f32, 1, 100, n, pitch, equal);
    return with_gaps(*compile_for(c.loop, Isa::v3), c.args);
  };
  EXPECT_TRUE(gaps(6, 8, Second::equal));
  EXPECT_TRUE(gaps(6, 12, Second::equal));
  EXPECT_FALSE(gaps(6, 8, Second::further)) << "one operand has its rows further apart";
  EXPECT_FALSE(gaps(6, 8, Second::repeated)) << "one operand has one row";
  EXPECT_FALSE(gaps(6, 13, Second::equal)) << "most of it would be computed in vain";
  EXPECT_TRUE(gaps(40, 50, Second::equal));
  EXPECT_FALSE(gaps(40, 51, Second::equal));
}
}  // namespace
}  // namespace bora::kernels::test::loop_gaps_test
