// Loops generated at run time: which there are, and that they give the interpreter's bits (loop_test.cpp runs
// everything both ways).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <cstdlib>
#include <fstream>
#include "bora/base/error.h"
#include "kernels/jit/code_memory.h"
#include "loop_build.h"

namespace bora::kernels::test::loop_code_test {
namespace {
TEST(LoopCode, EveryOperationIsGenerated) {
  for (OpId id : all_ops())
    for (Dtype d : {f32, bf16, i32, u32, u8, boolean, f64, i64}) {
      const ElementOp& op = element_op(id);
      Builder b;
      Dtype types[kMaxInputs];
      Instr i{.kind = K::op, .dtype = d, .op = id};
      for (int j = 0; j < op.arity; ++j) {
        types[j] = op.name == "select" && j == 0 ? boolean : d;
        i.in[static_cast<std::size_t>(j)] = static_cast<std::int16_t>(b.load(types[j], true));
      }
      try {
        i.dtype = op.result(types);
      } catch (const DtypeError&) { continue; }
      b.store(b.add(i), true);
      for (Isa which : has_v4() ? std::vector{Isa::v3, Isa::v4} : std::vector{Isa::v3})
        EXPECT_EQ(code_report(*compile_for(b.loop, which, Code::generated)).substr(0, 9), "generated")
            << op.name << " " << dtype_name(d) << ": " << code_report(*compile_for(b.loop, which, Code::generated));
    }
}
TEST(LoopCode, LargeResultsPastTheCaches) {
  Builder b;
  const int x = b.load(f32, true);
  b.store(b.op("add", {b.op("mul", {x, x}), b.load(f32, false)}), true);
  constexpr std::int64_t n = (8 << 20) + 5;
  std::vector<float> in(n), padded(n + 32), want(n);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1013) * 0.37f - 100;
  float s = 3;
  auto* aligned = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(padded.data()) + 63) / 64 * 64);
  run(*compile_for(b.loop, isa()), dense(b.loop, 1, n, {in.data(), &s, want.data()}));
  for (Isa which : {Isa::v3, Isa::v4}) {
    if (which == Isa::v4 && !has_v4()) continue;
    const auto kernel = compile_for(b.loop, which, Code::generated);
    run(*kernel, dense(b.loop, 1, 8, {in.data(), &s, aligned}));  // makes the code for what is small
    for (std::int64_t shift : {1, 0}) {  // only what is aligned goes past the caches, by code of its own
      std::fill(padded.begin(), padded.end(), 0.f);
      const auto before = jit::CodeMemory::total();
      run(*kernel, dense(b.loop, 1, n, {in.data(), &s, aligned + shift}));
      ASSERT_EQ(jit::CodeMemory::total() > before, shift == 0);
      ASSERT_EQ(std::memcmp(aligned + shift, want.data(), n * sizeof(float)), 0);
    }
  }
}
TEST(LoopCode, OfAllNaNsAnExtremeIsOne) {
  constexpr std::int64_t rows = 3, n = 100;
  std::vector<float> in(rows * n, 1.f);
  in[7] = std::bit_cast<float>(0xffc00001u), in[n + 99] = std::bit_cast<float>(0x7fc12345u), in[n + 3] = -in[7];
  std::vector<double> wide(in.begin(), in.end());
  wide[7] = std::bit_cast<double>(0xfff8000000000001u);
  for (bool both : {false, true})  // one reduction of a pass keeps NaNs aside
    for (Dtype d : {f32, f64}) {
      Builder b;
      const int x = b.load(d, true);
      b.store(b.reduce(Reduction::max, x), false);
      if (both) b.store(b.reduce(Reduction::min, x), false);
      for (Isa which : {Isa::v3, Isa::v4}) {
        if (which == Isa::v4 && !has_v4()) continue;
        for (Code code : {Code::interpreted, Code::generated}) {
          std::uint64_t most[rows] = {}, least[rows] = {};
          std::vector<void*> p{d == f32 ? static_cast<void*>(in.data()) : wide.data(), most};
          if (both) p.push_back(least);
          run(*compile_for(b.loop, which, code), dense(b.loop, rows, n, p));
          const std::uint64_t nan = d == f32 ? 0x7fc00000u : 0x7ff8000000000000u,
                              one = d == f32 ? 0x3f800000u : 0x3ff0000000000000u;
          for (int r = 0; r < rows; ++r) {
            EXPECT_EQ(read(d, most, r), r < 2 ? nan : one);
            EXPECT_EQ(read(d, least, r), !both ? 0 : r < 2 ? nan : one);
          }
        }
      }
    }
}
/// A carry in place, a scalar carry, an operand and a result that advance (the result backwards): the same as separate
/// runs, interpreted.
TEST(LoopCode, InTurnIsOneAfterTheOther) {
  Builder b;
  const int x = b.load(f32, true), carry = b.load(f32, true), total = b.load(f32, false);
  const int next = b.op("tanh", {b.op("fma", {x, carry, total})});
  const int moves = b.store(carry, true), stays = b.store(next, true),
            sum = b.store(b.reduce(Reduction::sum, next), false);
  constexpr std::int64_t times = 9;
  for (std::int64_t n : {0, 1, 3, 4, 7, 8, 9, 16, 20, 31, 64, 130, 5000}) {
    std::vector<float> in(static_cast<std::size_t>(n * times + 1)), want, got;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>((i * 37 + 11) % 101) * 0.02f - 1;
    const auto runs = [&](Isa which, Code code, bool at_once) {
      std::vector<float> c(static_cast<std::size_t>(n + 1), 0.25f), out(in.size()), s{0.5f};
      std::vector<std::int64_t> step(6, 0);
      step[0] = n * 4;
      step[static_cast<std::size_t>(moves)] = -n * 4;
      auto a = dense(b.loop, 1, n, {in.data(), c.data(), s.data(), out.data() + n * (times - 1), nullptr, nullptr});
      a.pointer[stays] = c.data();
      a.pointer[sum] = s.data();
      const auto kernel = compile_for(b.loop, which, code);
      if (at_once) run_in_turn(*kernel, a, times, step);
      for (std::int64_t t = 0; t < (at_once ? 0 : times); ++t) {
        run(*kernel, a);
        for (std::size_t k = 0; k < step.size(); ++k) a.pointer[k] = static_cast<char*>(a.pointer[k]) + step[k];
      }
      out.insert(out.end(), c.begin(), c.end());
      out.push_back(s[0]);
      return out;
    };
    want = runs(Isa::v3, Code::interpreted, false);
    for (Isa which : {Isa::v3, Isa::v4})
      for (Code code : {Code::interpreted, Code::generated}) {
        if (which == Isa::v4 && !has_v4()) continue;
        got = runs(which, code, true);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0) << n;
      }
  }
}
TEST(LoopCode, WhatIsNotCoveredIsInterpretedAndSaysWhy) {
  Builder b;  // an index of 64 bits in a loop whose reduction makes it one of 32-bit lanes
  b.store(b.reduce(Reduction::sum, b.cast(f32, b.load(i64, true))), false);
  EXPECT_EQ(code_report(*compile_for(b.loop, isa(), Code::generated)),
            "interpreted: 64-bit values in a loop of 32-bit lanes");
  EXPECT_EQ(code_report(*compile_for(b.loop, isa())), "interpreted: BORA_JIT=off");
}
TEST(LoopCode, ArgumentsThatAreForTheInterpreter) {
  Builder far;  // numbers beyond 32 bits as f32; a sum over more columns than a segment has
  far.loop.linear_forms = 1;
  far.store(far.add({.kind = K::linear, .dtype = f32}), true);
  Builder sum;
  sum.store(sum.reduce(Reduction::sum, sum.load(f32, true)), false);
  const std::int64_t n = kSegment + 77;
  std::vector<float> in(static_cast<std::size_t>(n), 0.3f), got(in), want(in);
  for (Loop loop : {far.loop, sum.loop}) {
    auto args = [&](std::vector<float>& out) {
      LoopArgs a = loop.linear_forms > 0 ? dense(loop, 1, n, {out.data()}) : dense(loop, 1, n, {in.data(), out.data()});
      a.linear[0].base = std::int64_t{1} << 40;
      return a;
    };
    run(*compile_for(loop, isa()), args(want));
    run(*compile_for(loop, isa(), Code::generated), args(got));
    EXPECT_EQ(got, want);
  }
}
/// Operands that end where memory ends: tails touch nothing beyond.
TEST(LoopCode, TailsEndWhereMemoryEnds) {
  struct Edge {
    unsigned char* pages = static_cast<unsigned char*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    Edge() { mprotect(pages + 4096, 4096, PROT_NONE); }
    ~Edge() { munmap(pages, 8192); }
    void* last(std::size_t bytes) const { return pages + 4096 - bytes; }
  } in, out;
  std::memset(in.pages, 1, 4096);
  for (Dtype d : {f32, bf16, i32, u8, boolean, f64, i64})
    for (Isa which : {Isa::v3, Isa::v4}) {
      if (which == Isa::v4 && !has_v4()) continue;
      Builder b;
      const int x = b.load(d, true);
      b.store(b.op("max", {x, b.constant(d, 0)}), true);
      const auto kernel = compile_for(b.loop, which, Code::generated);
      ASSERT_EQ(code_report(*kernel).substr(0, 9), "generated");
      for (std::int64_t n = 1; n <= 130; ++n) {
        const auto bytes = static_cast<std::size_t>(n) * dtype_size(d);
        run(*kernel, dense(b.loop, 1, n, {in.last(bytes), out.last(bytes)}));
        ASSERT_EQ(std::memcmp(in.last(bytes), out.last(bytes), bytes), 0) << d << " " << n;
      }
    }
}
/// Bytes of this process that are executable, or writable as well. Other libraries generate code too: oneDNN into pages
/// of both kinds.
std::uint64_t executable_bytes(bool writable) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t n = 0;
  for (std::string line; std::getline(maps, line);) {  // begin-end rights ...
    const auto rights = line.substr(line.find(' ') + 1, 4);
    if (rights[2] == 'x' && (!writable || rights[1] == 'w'))
      n += std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return n;
}
TEST(LoopCode, NoPageIsWritableAndExecutable) {
  Builder b;
  b.store(b.op("tanh", {b.load(f32, true)}), true);
  const auto both = executable_bytes(true), executable = executable_bytes(false);
  const auto kernel = compile_for(b.loop, isa(), Code::generated);
  ASSERT_EQ(code_report(*kernel).substr(0, 9), "generated");
  EXPECT_EQ(executable_bytes(true), both);
  EXPECT_GT(executable_bytes(false), executable);
}
/// If a policy refuses to make written pages executable, a file in memory is mapped instead.
TEST(LoopCodeDeathTest, PoliciesAgainstNewExecutablePages) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // the policy is for good
  constexpr int set_mdwe = 65, get_mdwe = 66;  // PR_SET_MDWE of Linux 6.3, with PR_MDWE_REFUSE_EXEC_GAIN
  if (prctl(get_mdwe, 0, 0, 0, 0) < 0) GTEST_SKIP() << "this Linux has no PR_SET_MDWE";
  const auto start = [] {
    if (prctl(set_mdwe, 1, 0, 0, 0) != 0) std::_Exit(6);
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) std::_Exit(8);
    Builder b;
    b.store(b.op("neg", {b.load(f32, true)}), true);
    const auto kernel = compile_for(b.loop, isa(), Code::generated);
    float x[] = {1, 2, 3}, y[3] = {};
    run(*kernel, dense(b.loop, 1, 3, {x, y}));
    std::_Exit(code_report(*kernel).substr(0, 9) == "generated" && y[2] == -3 ? 7 : 9);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(7), "");
}
TEST(LoopCodeDeathTest, AWrongValueOfBoraJitSaysWhatIsAllowed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a process of its own: the variable is read once
  const auto start = [] {
    setenv("BORA_JIT", "yes", 1);
    Builder b;
    b.store(b.op("neg", {b.load(f32, true)}), true);
    try {
      compile(b.loop);
    } catch (const ValueError& e) {
      std::fputs(e.what(), stderr);
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(3), "BORA_JIT: 'yes' is neither on .* nor off");
}
}  // namespace
}  // namespace bora::kernels::test::loop_code_test
