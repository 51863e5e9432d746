// The line on a terminal, signals that ask to stop, and the peak of memory.
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <fstream>
#include "bora/base/error.h"

namespace progress_test {
using namespace bora;

TEST(ProgressLine, PlainLinesWithoutATerminal) {
  testing::internal::CaptureStdout();
  Progress p({.first = 10, .total = 40, .every = 10});
  for (int step = 11; step <= 40; ++step) p.step(step, 2.5, 51234);
  auto text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(text.starts_with("step 11/40  loss 2.5000  51.2k tokens/s  ETA 0:0")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_NE(text.find("step 40/40  loss 2.5000  51.2k tokens/s  in 0:0"), std::string::npos);
  testing::internal::CaptureStdout();
  Progress quiet({.total = 3, .quiet = true});
  quiet.step(3, 1, 1);
  quiet.line("x");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}
TEST(ProgressLine, ABarOnATerminal) {
  testing::internal::CaptureStderr();
  Progress p({.total = 10, .columns = 100});
  p.step(5, 2.5, 900);
  p.end();
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("[####################....................] step 5/10  loss 2.5000  900 tokens/s  ETA"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\r\033[K"));
  testing::internal::CaptureStderr();
  try {
    Progress q({.total = 10, .columns = 100});
    q.step(5, 2.5, 900);
    throw IoError("an error ends it too");
  } catch (const IoError&) { EXPECT_TRUE(testing::internal::GetCapturedStderr().ends_with("\r\033[K")); }
}
TEST(Process, SignalsAskOnly) {
  {
    StopSignals s;
    EXPECT_FALSE(StopSignals::requested());
    ::raise(SIGTERM);
    EXPECT_TRUE(StopSignals::requested());
  }
  EXPECT_FALSE(StopSignals::requested());
}
TEST(Process, PeakRssSeesTouchedMemory) {
  auto before = peak_rss();
  std::int64_t size = 0, resident = 0;  // pages: other tests may have had more than there is now
  std::ifstream("/proc/self/statm") >> size >> resident;
  auto more = before - resident * ::sysconf(_SC_PAGESIZE) + (64 << 20);
  std::vector<char> block(static_cast<std::size_t>(more), 1);
  EXPECT_GT(peak_rss(), before + (32 << 20) * static_cast<std::int64_t>(block[123]));
}
}  // namespace progress_test
