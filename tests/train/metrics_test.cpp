#include "bora/train/metrics.h"
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include "bora/base/error.h"
#include "bora/compile/program.h"

namespace fs = std::filesystem;
using namespace bora;
namespace {
struct MetricsTest : testing::Test {
  std::string folder = (fs::temp_directory_path() / ("bora_metrics_" + std::to_string(::getpid()))).string();
  MetricsTest() { fs::create_directories(folder); }
  ~MetricsTest() override { fs::remove_all(folder); }
  std::string path() const { return folder + "/metrics.jsonl"; }
  static std::string slurp(const std::string& p) {
    std::stringstream s;
    s << std::ifstream(p).rdbuf();
    return s.str();
  }
};
}  // namespace

TEST_F(MetricsTest, LinesAreJsonAndOnDiskAtOnce) {
  Metrics m(path(), -1);
  m.write(12, {{"train/loss", 2.3125}, {"optim/learning_rate", 0.0003F}, {"throughput/tokens_per_second", 51234}});
  EXPECT_EQ(slurp(path()),
            "{\"step\": 12, \"train/loss\": 2.3125, \"optim/learning_rate\": 3e-04, \"throughput/tokens_per_second\": "
            "51234}\n");
  m.write(13, {{"train/loss", std::nan("")}});
  EXPECT_NE(slurp(path()).find("\"train/loss\": null}"), std::string::npos);
}
TEST_F(MetricsTest, AFileThatIsRemovedMeanwhileIsBegunAnew) {
  Metrics m(path(), -1);
  m.write(1, {{"train/loss", 1}});
  fs::remove(path());
  m.write(2, {{"train/loss", 2}});
  m.write(3, {{"train/loss", 3}});
  EXPECT_EQ(slurp(path()), "{\"step\": 2, \"train/loss\": 2}\n{\"step\": 3, \"train/loss\": 3}\n");
  fs::remove_all(folder);
  EXPECT_NO_THROW(m.write(4, {{"train/loss", 4}}));
}
TEST_F(MetricsTest, EveryF32ComesBack) {
  std::uint32_t bits = 12345;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float x;
    std::memcpy(&x, &bits, 4);
    if (!std::isfinite(x)) continue;
    double y = 0;
    ASSERT_TRUE(metric_of("{\"a\": " + number_text(static_cast<double>(x)) + "}", "a", y));
    ASSERT_EQ(static_cast<float>(y), x);
  }
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(std::stod(number_text(1.0 / 3)), 1.0 / 3);
}
TEST_F(MetricsTest, ContinuingDropsLaterAndBrokenLines) {
  {
    Metrics m(path(), -1);
    for (int step = 0; step < 6; ++step) m.write(step, {{"train/loss", step}});
  }
  std::ofstream(path(), std::ios::app) << "{\"step\": 2, \"train/lo";
  {
    Metrics m(path(), 3);
    m.write(4, {{"train/loss", 40}});
  }
  EXPECT_EQ(slurp(path()),
            "{\"step\": 0, \"train/loss\": 0}\n{\"step\": 1, \"train/loss\": 1}\n{\"step\": 2, \"train/loss\": 2}\n"
            "{\"step\": 3, \"train/loss\": 3}\n{\"step\": 4, \"train/loss\": 40}\n");
  Metrics fresh(path(), -1);
  EXPECT_EQ(slurp(path()), "");
  EXPECT_THROW(Metrics("/no/such/folder/m", -1), IoError);
  fs::create_symlink("/dev/full", folder + "/m.new");  // a full disk leaves what is there
  std::ofstream(folder + "/m") << "{\"step\": 1, \"eval/loss\": 2}\n";
  EXPECT_THROW(Metrics(folder + "/m", 1), IoError);
  EXPECT_EQ(slurp(folder + "/m"), "{\"step\": 1, \"eval/loss\": 2}\n");
  EXPECT_FALSE(fs::is_symlink(folder + "/m.new"));
  EXPECT_EQ(Metrics(folder + "/m", 1).evaluated(), 1);
}
TEST_F(MetricsTest, LossPlotShowsBothCurves) {
  Metrics m(path(), -1);
  for (int step = 0; step <= 2000; ++step) {
    if (step % 500 == 0) m.write(step, {{"eval/loss", 5.0 - step * 0.001}});
    if (step > 0) m.write(step, {{"train/loss", 5.0 - step * 0.001}});
  }
  write_loss_plot(path(), folder + "/loss.svg");
  auto svg = slurp(folder + "/loss.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  std::size_t curves = 0, points = 0;
  for (auto at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++points;
  EXPECT_EQ(curves, 2U);
  EXPECT_EQ(points, 5U);
  EXPECT_LT(svg.size(), 30000U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  std::ofstream(path()) << "";
  write_loss_plot(path(), folder + "/loss.svg");  // nothing to show is no error
  EXPECT_EQ(slurp(folder + "/loss.svg").find("polyline"), std::string::npos);
}
TEST_F(MetricsTest, PlainLinesWithoutATerminal) {
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
TEST_F(MetricsTest, ABarOnATerminal) {
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
TEST_F(MetricsTest, SignalsAskOnly) {
  {
    StopSignals s;
    EXPECT_FALSE(StopSignals::requested());
    ::raise(SIGTERM);
    EXPECT_TRUE(StopSignals::requested());
  }
  EXPECT_FALSE(StopSignals::requested());
}
TEST_F(MetricsTest, PeakRssSeesTouchedMemory) {
  auto before = peak_rss();
  std::vector<char> block(64 << 20, 1);
  EXPECT_GT(peak_rss(), before + (32 << 20) * static_cast<std::int64_t>(block[123]));
}
