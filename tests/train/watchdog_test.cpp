#include "train/membership/watchdog.h"
#include <gtest/gtest.h>
#include <algorithm>

namespace bora::watchdog_test {
TEST(Watchdog, SaysWhereARunStandsWhenNothingHappens) {
  using namespace std::chrono_literals;
  testing::internal::CaptureStderr();
  {
    Watchdog w("rank 3", 5);
    w.at("step 7");
    for (int k = 0; k < 40; ++k) std::this_thread::sleep_for(5ms), w.at("step " + std::to_string(8 + k));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "it went on all the time";
  testing::internal::CaptureStderr();
  {
    Watchdog w("rank 3", 0.1);
    w.at("reading the text of step 7");
    std::this_thread::sleep_for(700ms);
  }
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("warning: rank 3 has made no progress for ")) << text;
  EXPECT_NE(text.find(" s: it is at reading the text of step 7\n"), std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 4) << text;  // at 0.1, 0.2, 0.4 ...
}
}  // namespace bora::watchdog_test
