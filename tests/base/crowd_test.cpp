// Loops stay with their threads where waits for these are rare.
#include <gtest/gtest.h>
#include "base/crowd.h"

namespace bora::detail::crowd_test {
namespace {
using namespace std::chrono_literals;
TEST(Crowd, AWaitNowAndThenIsNone) {
  crowd_is_over();
  for (int i = 0; i < 5; ++i) {
    waited_for_threads(1ms, 1e3);
    EXPECT_FALSE(alone_in_crowd(1e4, kShortRegion)) << i;
  }
  crowd_is_over();
}
TEST(Crowd, LongLoopsAreNeverAlone) {
  for (int i = 0; i < 20; ++i) waited_for_threads(20ms, 1e3);
  EXPECT_FALSE(alone_in_crowd(2 * kShortRegion, kShortRegion));
  crowd_is_over();
  EXPECT_FALSE(alone_in_crowd(1, kShortRegion));
}
}  // namespace
}  // namespace bora::detail::crowd_test
