// A compiled Program gives the bits of interpret(): straight lines, loops, branches, donation, shared outputs, empty
// arrays.
#include "compile/api/executable.h"
#include <gtest/gtest.h>
#include <cmath>
#include <thread>
#include "bora/base/trace.h"
#include "compile/api/control.h"
#include "compile/api/program.h"
#include "bora/compile/work.h"
#include "kernels/api/memory.h"
#include "bora/ops/contractions.h"
#include "ops/api/collective_primitives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/transform.h"
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"
#include "compile/testing.h"
#include "support/throws.h"

namespace executable_test {
namespace {
/// Written by a user: not in the library's namespace.
bora::Arrays sums_over_ranks(const bora::Arrays& a) {
  return {bora::exp(bora::ops::all_reduce(a[0] * 2.0, {"data"}, bora::Reduction::sum, {3}))};
}
}  // namespace
}  // namespace executable_test

namespace bora::executable_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;

/// Runs f compiled, twice (the second run meets used memory), and eagerly.
void agrees(const FlatFn& f, const Arrays& in) {
  auto p = stage(f, types_of(in)).program;
  auto e = executable(p);
  auto want = f(in);
  for (int i = 0; i < 2; ++i) same_bits(e->run(in), want, e->explain());
  tracing::start();  // steps that are traced are run by other code
  same_bits(e->run(in), want, e->explain());
  tracing::stop();
  std::uint64_t dropped = 0;
  for (auto& s : tracing::take(0, dropped)) EXPECT_LE(s.begin, s.end) << s.label->name;
}
const void* memory(const Array& a) { return a.bytes(); }

TEST(Executable, StraightLine) {
  agrees(
      [](const Arrays& a) {
        return Arrays{exp(a[0]) * a[1] + 1.0, sum(a[0], 1), a[0] - a[1]};
      },
      {numbers({3, 5}, 1), numbers({5}, 2)});
}
TEST(Executable, EmptyArrays) {
  agrees([](const Arrays& a) { return Arrays{exp(a[0]) * a[0], sum(a[0], 0), sum(a[0], 1)}; }, {numbers({0, 5}, 1)});
}
TEST(Executable, ScalarsAndConstants) {
  agrees(
      [](const Arrays& a) {
        return Arrays{a[0] + 2.5, full_of({{3}, f32}, 4), constant(7, i32)};
      },
      {numbers({}, 1)});
}
TEST(Executable, OutputsMayBeInputsViewsAndEachOther) {
  auto p = stage(
               [](const Arrays& a) {
                 auto y = exp(a[0]);
                 return Arrays{a[0], y, reshape(y, {6}), reshape(a[0], {3, 2}), y};
               },
               {{{2, 3}, f32}})
               .program;
  Arrays in{numbers({2, 3}, 1)};
  auto out = executable(p)->run(in);
  same_bits(out, interpret(*p, in));
  EXPECT_EQ(memory(out[0]), memory(in[0]));
  EXPECT_EQ(memory(out[3]), memory(in[0]));
  EXPECT_EQ(memory(out[2]), memory(out[1]));
  EXPECT_EQ(memory(out[4]), memory(out[1]));
}

// ---- donation ------------------------------------------------------------------------------------------------------
Arrays update(const Arrays& a) {
  auto m = a[1] * 0.9 + a[2] * 0.1;
  return {a[0] - m * 0.01, m};
}
TEST(Donation, OutputsTakeTheMemoryOfDonatedInputs) {
  Type t{{4, 8}, f32};
  auto p = stage(update, {t, t, t}).program;
  Mask d{true, true, false};
  auto e = executable(p, d);
  Arrays in{numbers({4, 8}, 1), numbers({4, 8}, 2), numbers({4, 8}, 3)};
  auto want = update(in);
  auto grad = numbers({4, 8}, 3);
  Arrays given{numbers({4, 8}, 1), numbers({4, 8}, 2), grad};
  std::vector<const void*> before{memory(given[0]), memory(given[1])};
  auto out = e->run(std::move(given), d);
  same_bits(out, want, e->explain());
  EXPECT_TRUE((memory(out[0]) == before[0] && memory(out[1]) == before[1]) ||
              (memory(out[0]) == before[1] && memory(out[1]) == before[0]))
      << e->explain();
  EXPECT_EQ(e->info().donated_bytes, 2u * 4 * 8 * 4);
  same_bits({grad}, {numbers({4, 8}, 3)});
}
TEST(Donation, MemoryThatSomebodyHoldsIsNotTouched) {
  Type t{{4, 8}, f32};
  auto p = stage(update, {t, t, t}).program;
  Mask d{true, true, false};
  Arrays in{numbers({4, 8}, 1), numbers({4, 8}, 2), numbers({4, 8}, 3)};
  auto kept = in;
  auto out =
      executable(p, d)->run(std::move(in), {false, false, false});  // jit does not give up what somebody else holds
  same_bits(kept, {numbers({4, 8}, 1), numbers({4, 8}, 2), numbers({4, 8}, 3)});
  same_bits(out, update(kept));
  auto again = executable(p, d)->run(kept, {});  // compiled for donation, run without
  same_bits(again, out);
  same_bits(kept, {numbers({4, 8}, 1), numbers({4, 8}, 2), numbers({4, 8}, 3)});
}
TEST(Donation, AnInputReadLaterIsNotOverwritten) {
  auto f = [](const Arrays& a) {
    auto y = exp(a[0]);
    auto z = matmul(y, a[0]);
    return Arrays{y, z, matmul(z, a[0])};
  };
  Type t{{6, 6}, f32};
  auto p = stage(f, {t}).program;
  auto e = executable(p, {true});
  auto want = f({numbers({6, 6}, 1)});
  same_bits(e->run({numbers({6, 6}, 1)}, {true}), want, e->explain());
}
TEST(Donation, AnInputThatIsReturnedStays) {
  auto f = [](const Arrays& a) { return Arrays{a[0], exp(a[0])}; };
  auto p = stage(f, {{{6}, f32}}).program;
  auto want = f({numbers({6}, 1)});
  same_bits(executable(p, {true})->run({numbers({6}, 1)}, {true}), want);
}

// ---- loops ---------------------------------------------------------------------------------------------------------
/// body: (consts, carry, x) -> (carry, y).
Arrays scan_of(const FlatFn& body, const Arrays& consts, const Arrays& carry, const Arrays& xs, std::int64_t length,
               bool reverse = false) {
  Types t = types_of(consts);
  Arrays in = consts;
  for (auto& c : carry) {
    t.push_back(c.type());
    in.push_back(c);
  }
  for (auto& x : xs) {
    t.push_back(x.type());
    t.back().shape.erase(0);
    in.push_back(x);
  }
  auto p = stage(body, t).program;
  return call(
      ops::Scan{p, static_cast<std::int64_t>(consts.size()), static_cast<std::int64_t>(carry.size()), length, reverse},
      in);
}
/// The loop written out, one interpret() an iteration.
void scan_agrees(const FlatFn& body, const Arrays& consts, const Arrays& init, const Arrays& xs, std::int64_t length) {
  for (bool reverse : {false, true}) {
    Arrays carry = init;
    std::vector<Arrays> ys;
    for (std::int64_t k = 0; k < length; ++k) {
      auto t = reverse ? length - 1 - k : k;
      Arrays in = consts;
      in.insert(in.end(), carry.begin(), carry.end());
      for (auto& x : xs) in.push_back(index_in_dim(x, 0, t));
      auto out = body(in);
      carry.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(init.size()));
      Arrays y(out.begin() + static_cast<std::ptrdiff_t>(init.size()), out.end());
      if (ys.empty()) ys.resize(y.size());
      for (std::size_t j = 0; j < y.size(); ++j) ys[j].insert(reverse ? ys[j].begin() : ys[j].end(), y[j]);
    }
    Arrays want = carry;
    for (auto& y : ys) want.push_back(stack(y));
    auto kept = init;
    same_bits(scan_of(body, consts, init, xs, length, reverse), want, reverse ? "backwards" : "forwards");
    // The same inside of a larger Program, where the initial carry dies, and with everything donated.
    auto f = [&](const Arrays& a) {
      Arrays c(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(consts.size()));
      Arrays k, x(a.begin() + static_cast<std::ptrdiff_t>(consts.size() + init.size()), a.end());
      for (std::size_t i = 0; i < init.size(); ++i) k.push_back(a[consts.size() + i] + constant(0, init[i].dtype()));
      auto r = scan_of(body, c, k, x, length, reverse);
      r.push_back(r.front() * r.front());
      return r;
    };
    Arrays in = consts;
    in.insert(in.end(), init.begin(), init.end());
    in.insert(in.end(), xs.begin(), xs.end());
    auto p = stage(f, types_of(in)).program;
    want.push_back(want.front() * want.front());
    Mask all(in.size(), true);
    same_bits(executable(p)->run(in), want, executable(p)->explain());
    same_bits(executable(p, all)->run(compile_tests::copies(in), all), want, executable(p, all)->explain());
  }
}
TEST(Scan, CarryAndStack) {
  for (int length : {1, 2, 5})
    scan_agrees(
        [](const Arrays& a) {
          return Arrays{tanh(a[1] * a[0] + a[2]), a[1] * 2.0, exp(a[2])};
        },
        {numbers({4}, 1)}, {numbers({4}, 2)}, {numbers({length, 4}, 3)}, length);
}
TEST(Scan, ProductsNeedTwoBuffers) {
  for (int length : {1, 2, 3, 4})
    scan_agrees(
        [](const Arrays& a) {
          return Arrays{matmul(a[0], a[1]) * 0.5, sum(a[1], 0)};
        },
        {numbers({4, 4}, 1)}, {numbers({4, 4}, 2)}, {}, length);
}
TEST(Scan, CarriesThatTradePlaces) {
  for (int length : {1, 2, 3})
    scan_agrees(
        [](const Arrays& a) {
          return Arrays{a[1], a[0] + a[1], a[2], a[0]};
        },
        {}, {numbers({3}, 1), numbers({3}, 2), numbers({2}, 3)}, {}, length);
}
TEST(Scan, OutputsThatAreInputs) {
  scan_agrees(
      [](const Arrays& a) {
        return Arrays{a[2], a[0], a[2], reshape(a[1], {3, 1})};
      },
      {numbers({3}, 5)}, {numbers({3}, 1)}, {numbers({4, 3}, 2)}, 4);
}
/// Values that a gradient saves: the loop that has a carry stores it where it is stacked, and everything stays one
/// loop.
TEST(Scan, SavedCarriesAreStoredByTheLoopThatHasThem) {
  auto body = [](const Arrays& a) {
    auto next = tanh(a[1] * a[0] + a[2]);
    return Arrays{next, a[1], next, a[2]};
  };
  for (bool reverse : {false, true})
    for (int n : {1, 4, 8, 16, 37}) {
      Arrays in{numbers({n}, 1), numbers({n}, 2), numbers({5, n}, 3)};
      auto held = stage(body, {{{n}, f32}, {{n}, f32}, {{n}, f32}}).program;
      auto f = [&](const Arrays& a) { return call(ops::Scan{held, 1, 1, 5, reverse}, a); };
      agrees(f, in);
      auto r = f(in);
      Array c = in[1];
      for (std::int64_t t = 0; t < 5; ++t) {
        auto row = [&](const Array& stacked) {
          return reshape(slice(stacked, {reverse ? 4 - t : t, 0}, {reverse ? 5 - t : t + 1, n}), {n});
        };
        auto step = body({in[0], c, row(in[2])});
        same_bits({row(r[1]), row(r[2]), row(r[3])}, {step[1], step[2], step[3]});
        c = step[0];
      }
      same_bits({r[0]}, {c});
      auto text = executable(stage(f, types_of(in)).program)->explain();
      EXPECT_EQ(text.find("copy"), text.npos) << text;
    }
}
TEST(Scan, NoIterations) {
  auto r = scan_of(
      [](const Arrays& a) {
        return Arrays{a[0] + a[1], a[1]};
      },
      {}, {numbers({3}, 1)}, {numbers({0, 3}, 2)}, 0);
  same_bits({r[0]}, {numbers({3}, 1)});
  EXPECT_EQ(r[1].type(), (Type{{0, 3}, f32}));
}
TEST(Scan, Nested) {
  auto inner = [](const Arrays& a) { return Arrays{a[1] * a[0] + a[2], a[1]}; };
  scan_agrees(
      [&](const Arrays& a) {
        auto r = scan_of(inner, {a[0]}, {a[1]}, {a[2]}, 3);
        return Arrays{r[0], r[1]};
      },
      {numbers({2}, 1)}, {numbers({2}, 2)}, {numbers({4, 3, 2}, 3)}, 4);
}
TEST(Scan, WhatDoesNotChangeRunsOnce) {
  auto body = [](const Arrays& a) {
    auto w = matmul(a[0], a[0]);
    return Arrays{tanh(matmul(w, a[1])), sum(w, 0)};
  };
  scan_agrees(body, {numbers({4, 4}, 1)}, {numbers({4, 4}, 2)}, {}, 3);
  Type t{{4, 4}, f32};
  auto p = stage([&](const Arrays& a) { return scan_of(body, {a[0]}, {a[1]}, {}, 100); }, {t, t}).program;
  EXPECT_DOUBLE_EQ(count(*p, "dot_general"), 2);
  auto flops = executable(p)->info().flops;
  EXPECT_LT(flops, 102 * 2 * 64 + 100 * 100) << executable(p)->explain();
}
/// Bits are those of the unrolled loop, whichever side the matrix is on; the transpose is outside the loop.
TEST(Scan, MatricesMultipliedAlongRowsAreTurnedOnce) {
  auto body = [](const Arrays& a) {
    return Arrays{tanh(matmul(a[0], a[1])), matmul(a[1], transpose(a[0])), matmul(a[1], a[0])};
  };
  for (int n : {1, 5, 24, 40}) scan_agrees(body, {numbers({n, n}, 1)}, {numbers({n}, 2)}, {}, 9);
  auto few = [](const Arrays& a) { return Arrays{dot_general(a[1], a[0], {{}, {}, {1}, {1}})}; };
  scan_agrees(few, {numbers({24, 24}, 1)}, {numbers({3, 24}, 2)}, {}, 9);
  auto p = stage([&](const Arrays& a) { return scan_of(body, {a[0]}, {a[1]}, {}, 9); }, {{{24, 24}, f32}, {{24}, f32}})
               .program;
  auto told = executable(p)->explain();
  auto turned = told.find("transpose"), loop = told.find("scan");
  EXPECT_LT(turned, loop) << told;
  EXPECT_EQ(told.find("transpose", loop), std::string::npos) << told;
}
TEST(Scan, ABarrierKeepsItsWorkInTheLoop) {
  auto body = [](const Arrays& a) {
    auto w = optimization_barrier({a[0]})[0];
    return Arrays{tanh(matmul(matmul(w, w), a[1]))};
  };
  scan_agrees(body, {numbers({4, 4}, 1)}, {numbers({4, 4}, 2)}, {}, 3);
  Type t{{4, 4}, f32};
  auto p = stage([&](const Arrays& a) { return scan_of(body, {a[0]}, {a[1]}, {}, 100); }, {t, t}).program;
  EXPECT_GT(executable(p)->info().flops, 200 * 2 * 64) << executable(p)->explain();
}
TEST(Simplify, AProductThatIsReadTwiceIsMadeOnce) {
  Type t{{4, 4}, f32};
  auto products = [&](const FlatFn& f) { return count(*simplify(*stage(f, {t, t}).program), "dot_general"); };
  auto both = [](const Arrays& a) {
    auto y = matmul(a[0], a[1]);
    return Arrays{y, transpose(y)};
  };
  EXPECT_EQ(products(both), 1u);
  agrees(both, {numbers({4, 4}, 1), numbers({4, 4}, 2)});
  auto p = simplify(*stage([](const Arrays& a) { return Arrays{transpose(matmul(a[0], a[1]))}; }, {t, t}).program);
  EXPECT_EQ(p->code.size(), 1u) << print(*p);
}
TEST(Scan, NothingIsAllocatedInTheLoop) {
  Type t{{64}, f32};
  auto body = [](const Arrays& a) { return Arrays{tanh(matmul(a[0], a[1]))}; };
  auto program = [&](int n) {
    return stage([&](const Arrays& a) { return scan_of(body, {a[0]}, {a[1]}, {}, n); }, {{{64, 64}, f32}, t}).program;
  };
  EXPECT_EQ(executable(program(10))->info().slab_bytes, executable(program(1000))->info().slab_bytes);
}

TEST(Cond, TakesOneBranch) {
  Type t{{5}, f32};
  auto a = stage([](const Arrays& x) { return Arrays{exp(x[0]), x[0]}; }, {t}).program;
  auto b = stage([](const Arrays& x) { return Arrays{x[0] * x[0] + 1.0, x[0] - 1.0}; }, {t}).program;
  auto p = stage(
               [&](const Arrays& x) {
                 return call(ops::Cond{a, b}, {x[0], x[1] * 2.0});
               },
               {{{}, boolean}, t})
               .program;
  for (bool on : {true, false}) {
    Arrays in{from_bytes({{}, boolean}, &on), numbers({5}, 1)};
    auto x = numbers({5}, 1) * 2.0;
    auto want = on ? Arrays{exp(x), x} : Arrays{x * x + 1.0, x - 1.0};
    same_bits(executable(p)->run(in), want, executable(p)->explain());
  }
}
TEST(While, RunsUntilTheConditionFails) {
  Type n{{}, i32}, t{{3}, f32};
  auto cond = stage([](const Arrays& a) { return Arrays{a[1] < a[0]}; }, {n, n, t, t}).program;
  auto body = stage(
                  [](const Arrays& a) {
                    return Arrays{a[1] + constant(1, i32), a[3] * a[0], a[2] + a[3]};
                  },
                  {t, n, t, t})
                  .program;
  for (int limit = 0; limit < 5; ++limit) {
    auto f = [&](const Arrays& a) { return call(ops::While{cond, body, 1, 1}, a); };
    Arrays in{constant(limit, i32), numbers({3}, 1), constant(0, i32), numbers({3}, 2), numbers({3}, 3)};
    auto x = in[3], y = in[4];
    for (int k = 0; k < limit; ++k) {
      auto z = x + y;
      x = y * in[1];
      y = z;
    }
    auto p = stage(f, types_of(in)).program;
    same_bits(executable(p)->run(in), {constant(limit, i32), x, y}, executable(p)->explain());
  }
}
TEST(Held, EveryProgramOfAPrimitiveIsReplaced) {
  std::size_t holders = 0;
  for (auto& entry : registry())
    for (auto& sample : entry.samples()) {
      auto& p = sample.primitive;
      auto held = p->programs();
      std::vector<ProgramPtr> seen, made;
      auto q = with_programs(p, [&](const ProgramPtr& program) {
        seen.push_back(program);
        made.push_back(std::make_shared<const Program>(*program));
        return made.back();
      });
      EXPECT_EQ(seen, held) << entry.name;
      EXPECT_EQ(q->programs(), made) << entry.name;
      EXPECT_EQ(p->traits.holds, !held.empty()) << entry.name;
      EXPECT_EQ(q == p, held.empty()) << entry.name;
      std::size_t k = 0;
      EXPECT_TRUE(with_programs(q, [&](const ProgramPtr&) { return held[k++]; })->equals(*p)) << entry.name;
      holders += !held.empty();
    }
  EXPECT_GE(holders, 5u);
}
TEST(Prune, WhatNobodyReadsIsNotComputed) {
  Type t{{3}, f32}, n{{}, i32};
  auto pruned = [](const FlatFn& f, const Arrays& in, std::size_t inputs, std::size_t outputs) {
    auto p = stage(f, types_of(in)).program;
    auto q = exec::prune(p);
    auto& held = q->code.back();
    EXPECT_EQ(held.in.size(), inputs) << *q;
    EXPECT_EQ(held.out.size(), outputs) << *q;
    EXPECT_EQ(count(*q, "exp"), 0u) << *q;
    same_bits(executable(p)->run(in), interpret(*p, in), executable(p)->explain());
  };
  // Two carries need each other, and a third one needs one of them: only the two remain.
  auto body = stage(
                  [](const Arrays& a) {
                    return Arrays{a[3] + a[5], a[2] * a[0], exp(a[4]) + a[3], exp(a[5]), a[5] * a[1]};
                  },
                  {t, t, t, t, t, t})
                  .program;
  auto x = numbers({3}, 1), y = numbers({3}, 2), xs = numbers({4, 3}, 3);
  auto scan = [&](const Arrays& a) { return call(ops::Scan{body, 2, 3, 4, false}, a); };
  pruned([&](const Arrays& a) { return Arrays{scan(a)[0]}; }, {x, y, x, y, x, xs}, 4, 2);
  pruned([&](const Arrays& a) { auto r = scan(a); return Arrays{r[1], r[4]}; }, {x, y, x, y, x, xs}, 5, 3);
  auto one = stage([](const Arrays& a) { return Arrays{a[0] + 1.0, exp(a[1])}; }, {t, t, t}).program;
  auto two = stage([](const Arrays& a) { return Arrays{a[0] * a[2], a[1]}; }, {t, t, t}).program;
  for (bool on : {true, false})
    pruned([&](const Arrays& a) { return Arrays{call(ops::Cond{one, two}, a)[0]}; },
           {from_bytes({{}, boolean}, &on), x, y, x}, 3, 1);
  auto more = stage([](const Arrays& a) { return Arrays{a[1] < a[0]}; }, {n, n, t, t}).program;
  auto next = stage([](const Arrays& a) { return Arrays{a[1] + constant(1, i32), a[2] * a[2], exp(a[3]) + a[0]}; },
                    {t, n, t, t})
                  .program;
  pruned([&](const Arrays& a) { return Arrays{call(ops::While{more, next, 1, 1}, a)[1]}; },
         {constant(3, i32), x, constant(0, i32), y, x}, 3, 2);
}
// ---- memory, errors, threads ---------------------------------------------------------------------------------------
TEST(Plan, TemporariesShareTheSlab) {
  Type t{{32, 32}, f32};
  auto p = stage(
               [](const Arrays& a) {
                 auto x = a[0];
                 for (int k = 0; k < 10; ++k) x = matmul(x, a[0]);
                 return Arrays{x};
               },
               {t})
               .program;
  auto i = executable(p)->info();
  EXPECT_EQ(i.slab_bytes, 2 * t.nbytes());
  EXPECT_DOUBLE_EQ(i.flops, 10 * 2.0 * 32 * 32 * 32);
  EXPECT_EQ(i.input_bytes, t.nbytes());
  EXPECT_EQ(i.output_bytes, t.nbytes());
  using Arena = decltype(i.arena);
  EXPECT_EQ(i.arena, (Arena{{"products", i.slab_bytes}}));
}
TEST(Plan, OneSlabServesRunAfterRun) {
  auto program = [](std::int64_t n) {
    return stage([](const Arrays& a) { return Arrays{matmul(matmul(a[0], a[0]), a[0])}; }, {{{n, n}, f32}}).program;
  };
  auto large = executable(program(300)), small = executable(program(20));
  (void)large->run({numbers({300, 300}, 1)});
  auto peak = slab_peak_bytes();
  EXPECT_GE(peak, large->info().slab_bytes);
  for (int k = 0; k < 3; ++k) {
    (void)small->run({numbers({20, 20}, 1)});
    (void)large->run({numbers({300, 300}, 1)});
  }
  EXPECT_EQ(slab_peak_bytes(), peak);
}
TEST(Plan, AnOutgrownSlabGoesBackToTheSystem) {
  auto program = [](std::int64_t n) {
    return executable(stage([](const Arrays& a) { return Arrays{matmul(matmul(a[0], a[0]), a[0])}; },
                            {{{n, n}, f32}}).program);
  };
  auto n = 200 + static_cast<std::int64_t>(std::sqrt(slab_peak_bytes() / 4));  // no slab so far is large enough
  auto small = program(n), large = program(n + 200);
  auto x = numbers({n, n}, 1), y = numbers({n + 200, n + 200}, 1);
  auto of_small = small->run({x}), of_large = large->run({y});
  EXPECT_LT(kernels::pool_use().kept, small->info().slab_bytes);
}
TEST(Plan, FreeSlabsGoBackToTheSystemWhenAsked) {
  auto program = stage([](const Arrays& a) { return Arrays{matmul(matmul(a[0], a[0]), a[0])}; }, {{{600, 600}, f32}});
  auto e = executable(program.program);
  auto x = numbers({600, 600}, 1);
  (void)e->run({x});
  auto before = kernels::pool_use();
  release_slabs();
  auto after = kernels::pool_use();
  EXPECT_LE(after.used + e->info().slab_bytes, before.used);
  EXPECT_EQ(after.kept, 0U);
  EXPECT_GT(e->info().slab_bytes, 0U);
  same_bits(e->run({x}), e->run({x}));
}
TEST(Executable, RunsOnSeveralThreadsAtOnce) {
  auto p =
      stage([](const Arrays& a) { return Arrays{tanh(matmul(matmul(a[0], a[0]), a[0]))}; }, {{{24, 24}, f32}}).program;
  auto e = executable(p);
  std::vector<std::thread> threads;
  for (std::uint64_t k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      auto x = numbers({24, 24}, k);
      auto want = interpret(*p, {x});
      for (int i = 0; i < 20; ++i) same_bits(e->run({x}), want);
    });
  for (auto& t : threads) t.join();
}
TEST(Executable, ErrorsSayWhatAndWhere) {
  auto p = stage(::executable_test::sums_over_ranks, {{{3}, f32}}).program;
  auto e = executable(p);
  for (int k = 0; k < 2; ++k) {
    auto text = bora::test::error_and_line_of<ShardError>([&] { (void)e->run({numbers({3}, 1)}); });
    EXPECT_NE(text.find("in all_reduce, "), std::string::npos) << text;  // and the line that wrote it
  }
  EXPECT_THROW((void)e->run({}), ShapeError);
  EXPECT_THROW((void)e->run({numbers({4}, 1)}), ShapeError);
}
TEST(Flatten, InlinesCalls) {
  Type t{{5}, f32};
  auto inner = stage([](const Arrays& x) { return Arrays{exp(x[0]) + x[0]}; }, {t}).program;
  auto middle = stage([&](const Arrays& x) { return call(ops::Call{.program = inner}, {x[0] * 2.0}); }, {t}).program;
  auto p = stage([&](const Arrays& x) { return call(ops::Call{.program = middle, .protect = true}, x); }, {t}).program;
  auto q = flatten(p);
  EXPECT_EQ(count(*q, "call"), 0u);
  EXPECT_EQ(count(*q, "exp"), 1u);
  Arrays in{numbers({5}, 1)};
  same_bits(executable(p)->run(in), interpret(*q, in));
}
TEST(Executable, ATraceHasASpanForEveryKernelAndLoop) {
  auto p = stage(
               [](const Arrays& a) {
                 return Arrays{sum(exp(a[0]) * 2.0, 1)};
               },
               {{{3, 5}, f32}})
               .program;
  auto e = executable(p);
  tracing::start();
  e->run({numbers({3, 5}, 1)});
  tracing::stop();
  std::uint64_t dropped = 0;
  auto spans = tracing::take(0, dropped);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(spans.size(), e->info().kernels) << e->explain();
  for (auto& s : spans) {
    EXPECT_EQ(s.kind, tracing::Kind::kernel);
    EXPECT_FALSE(s.label->name.empty());
    if (s.label->place) {
      EXPECT_NE(s.label->place(s.label->subject.get()).find("executable_test.cpp"), std::string::npos);
    }
  }
  EXPECT_GT(tracing::totals(spans).kernel, 0);
}
// Times are measured on made-up numbers: these must not leave out rows of experts, or keys of a window or a mask.
TEST(Executable, TimesAreOfAllRowsAndKeys) {
  auto seconds = [](const FlatFn& f, const Types& in) {
    auto e = executable(stage(f, in).program);
    auto work = work_of(*e);
    double s = 0;
    for (auto& k : work.kernels) s += k.seconds(std::size_t{48} << 20);
    return s;
  };
  Type x{{512, 256}, f32}, w{{256, 256}, f32}, experts{{4, 256, 256}, f32}, sizes{{4}, i32};
  auto product = seconds([](const Arrays& a) { return Arrays{matmul(a[0], a[1])}; }, {x, w});
  auto grouped = [](const Arrays& a) { return Arrays{ragged_dot(a[0], a[1], a[2])}; };
  EXPECT_GT(seconds(grouped, {x, experts, sizes}), product / 3);
  // Two experts of four have half of the rows.
  auto e = executable(stage(grouped, {x, {{2, 256, 256}, f32}, sizes}).program);
  EXPECT_NEAR(e->info().flops, 512.0 * 256 * 256, 0.01 * 512 * 256 * 256);
  Type q{{512, 2, 64}, f32};
  auto causal = [](const Arrays& a) { return Arrays{attention(a[0], a[1], a[2], {.causal = true})}; };
  auto plain = seconds(causal, {q, q, q});
  auto windowed = [](const Arrays& a) {
    return Arrays{attention(a[0], a[1], a[2], {.causal = true, .window = a[3]})};
  };
  EXPECT_GT(seconds(windowed, {q, q, q, {{}, i32}}), plain / 3);
  auto masked = [](const Arrays& a) { return Arrays{attention(a[0], a[1], a[2], {.mask = a[3]})}; };
  EXPECT_GT(seconds(masked, {q, q, q, {{512, 512}, Dtype::boolean}}), plain / 3);
}
}  // namespace
}  // namespace bora::executable_test
