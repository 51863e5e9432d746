// The frames of an operation's place are those of the call stack, whatever was captured before.
#include "array/api/source.h"
#include <alloca.h>
#include <gtest/gtest.h>
#include <unwind.h>
#include <random>
#include <thread>
#include "bora/ops/ops.h"

namespace source_test {
namespace {
using namespace bora;
struct Capture {
  SourcePtr source;
  std::array<void*, 64> stack;
  int depth;
};
/// Sanitizers put a frame of their own around backtrace(), not around the unwinder.
_Unwind_Reason_Code on_call(_Unwind_Context* context, void* data) {
  auto& c = *static_cast<Capture*>(data);
  auto pc = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (!pc || static_cast<std::size_t>(c.depth) == c.stack.size()) return _URC_END_OF_STACK;
  c.stack[static_cast<std::size_t>(c.depth++)] = pc;
  return _URC_NO_REASON;
}
/// Both in one frame: only the return address of the innermost call differs.
__attribute__((noinline)) void compare() {
  Capture c{current_source(), {}, 0};
  ::_Unwind_Backtrace(on_call, &c);
  ASSERT_GE(c.source->count, 2);
  ASSERT_LE(c.source->count, c.depth);
  for (int i = 1; i < c.source->count; ++i)
    ASSERT_EQ(c.source->frames[static_cast<std::size_t>(i)], c.stack[static_cast<std::size_t>(i)]) << i;
  ASSERT_TRUE(c.source->count == 12 || c.source->count == c.depth);
}
using Random = std::mt19937;
void some(Random& draw, int depth);
/// Calls from several places, with frames of several sizes.
__attribute__((noinline)) void left(Random& draw, int depth) {
  some(draw, depth);
  if (draw() % 2) compare();
  some(draw, depth);
}
__attribute__((noinline)) void right(Random& draw, int depth) {
  auto* p = static_cast<volatile char*>(::alloca(16 + draw() % 200));
  p[0] = 1;
  some(draw, depth);
  p[1] = 2;
}
void some(Random& draw, int depth) {
  if (testing::Test::HasFatalFailure()) return;
  if (depth == 0 || draw() % 4 == 0) return compare();
  if (draw() % 2) left(draw, depth - 1);
  else right(draw, depth - 1);
  if (draw() % 8 == 0) compare();
}
TEST(Source, FramesAreThoseOfTheCallStack) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random draw(seed);
    some(draw, static_cast<int>(seed % 9));
  }
}
TEST(Source, AndInManyThreadsAndInDeepStacks) {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([seed] {
      Random draw(seed);
      for (int i = 0; i < 20; ++i) some(draw, 8);
    });
  for (auto& t : threads) t.join();
  std::function<void(int)> deep = [&](int n) {
    compare();
    if (n > 0) deep(n - 1);
    compare();
  };
  deep(120);
}
}  // namespace
}  // namespace source_test
