// The bytes of metrics.jsonl and of event files, the curves read back, and the plot of the loss.
#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include "bora/base/error.h"
#include "bora/track/chart.h"
#include "bora/track/metrics.h"
#include "bora/track/tracker.h"
#include "event_file.h"
#include "support/files.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "track/api/loss_plot.h"
#include "track/api/run_log.h"

namespace fs = std::filesystem;
namespace files_test {
using namespace bora;
namespace {
struct TrackFiles : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path();
  std::string metrics() const { return folder + "/metrics.jsonl"; }
  std::unique_ptr<track::Tracker> open(const char* type, std::int64_t step) const {
    return config::Choice<track::TrackerKind>(type)->open(folder, step);
  }
};
}  // namespace

TEST_F(TrackFiles, LinesAreJson) {
  auto m = open("jsonl", -1);
  m->write(12, {{"train/loss", 2.3125}, {"optim/learning_rate", 0.0003F}, {"throughput/tokens_per_second", 51234}});
  m->write(13, {{"train/loss", std::nan("")}});
  auto now = std::to_string(std::time(nullptr)).substr(0, 7);
  auto text = test::slurp(metrics());
  for (auto at = text.find(now); at != text.npos; at = text.find(now, at)) text.replace(at, 10, "T");
  EXPECT_EQ(text,
            "{\"step\": 12, \"time\": T, \"train/loss\": 2.3125, \"optim/learning_rate\": 3e-04, "
            "\"throughput/tokens_per_second\": 51234}\n{\"step\": 13, \"time\": T, \"train/loss\": null}\n");
}
TEST_F(TrackFiles, ContinuingKeepsTheBytesOfLines) {
  const std::string kept = "{\"step\": 1, \"eval/loss\":   2}\n{\"step\": 3, \"other\": [\"x}\"]}\n";
  std::ofstream(metrics()) << kept
                           << "{\"step\": 4, \"a\": 1}\n{\"a\": 1}\nwords\n{\"step\": 2, \"tr}\n{\"step\": 2, \"t";
  open("jsonl", 3);
  EXPECT_EQ(test::slurp(metrics()), kept);
  fs::create_symlink("/dev/full", metrics() + ".new");  // a full disk leaves what is there
  {
    std::ifstream reader(metrics());  // so that it is not cut where it is
    EXPECT_THROW(open("jsonl", 3), IoError);
  }
  EXPECT_EQ(test::slurp(metrics()), kept);
  EXPECT_FALSE(fs::is_symlink(metrics() + ".new"));
}
TEST_F(TrackFiles, ARenamedOrRemovedFileIsBegunAnewAndSaysSo) {
  for (auto lose : std::vector<std::function<void()>>{[&] { fs::rename(metrics(), folder + "/moved"); },
                                                      [&] { fs::remove(metrics()); }}) {
    auto m = open("jsonl", -1);
    m->write(1, {{"a", 1}});
    EXPECT_FALSE(m->follow());
    lose();
    EXPECT_TRUE(m->follow());
    EXPECT_FALSE(m->follow());
    m->write(2, {{"a", 2}});
    auto a = track::read_curve(metrics(), "a");
    ASSERT_EQ(a.size(), 1U);
    EXPECT_EQ(a[0].x, 2);
  }
}
/// Pieces of a long file end anywhere in a line.
TEST_F(TrackFiles, LongFilesAreReadInPieces) {
  {
    std::ofstream out(metrics());
    for (int step = 0; step < 60000; ++step)
      out << "{\"step\": " << step << ", \"a\": " << step % 977 << ", \""
          << std::string(static_cast<std::size_t>(step % 61), 'b') << "\": -1.5e-7}\n";
  }
  const auto text = test::slurp(metrics());
  ASSERT_GT(text.size(), 3U << 20);
  auto a = track::read_curve(metrics(), "a");
  ASSERT_EQ(a.size(), 60000U);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i].x == static_cast<double>(i) && a[i].y == static_cast<double>(i % 977)) << i;
  open("jsonl", 60000);
  EXPECT_EQ(test::slurp(metrics()), text);
  open("jsonl", 999);
  EXPECT_EQ(test::slurp(metrics()), text.substr(0, text.find("{\"step\": 1000,")));
}
/// tests/golden/make_events.py wrote the same events with TensorBoard's own library: all bytes but times are equal.
TEST_F(TrackFiles, EventsAreTensorBoards) {
  auto t = open("tensorboard", 3);
  t->write(4, {{"train/loss", 2.5}, {"eval/loss", 0.1}});
  t->write(300, {{"train/loss", 0}, {"optim/learning_rate", 3e-4}});
  t->settings("batch: 8\nsteps: 0.5\nlog:\n  digest: false\nmodel: {type: gpt2}\n");
  t->event(7, 1.7e9, "disk", "it is full");
  t->event(9, 1.7e9, "disk", "again");
  t->histogram(300, "params/w", {-1, 3, 6, 4.5, 20.25, {-0.5, 0, 4}, {1, 0, 5}});
  t->finish();
  auto golden = event_file::records(test::source_dir() + "/tests/golden/events.tfevents");
  auto file = fs::directory_iterator(folder + "/tensorboard")->path();
  EXPECT_TRUE(file.filename().string().starts_with("events.out.tfevents.")) << file;
  auto mine = event_file::records(file);
  for (auto all : {&golden, &mine})
    for (auto& r : *all) {
      r.replace(1, 8, 8, '\0');  // wall_time is the first field
      if (r.find("_hparams_") != r.npos) r.replace(r.size() - 8, 8, 8, '\0');  // their own time is the last one
      if (r.find("session_start_info") != r.npos) std::sort(r.begin(), r.end());  // a map has no order
    }
  EXPECT_EQ(golden.size(), 10U);
  EXPECT_EQ(mine, golden);
}
TEST_F(TrackFiles, CurvesAreReadBack) {
  auto m = open("jsonl", -1);
  for (int step = 0; step < 4; ++step) m->write(step, {{step % 2 == 0 ? "a" : "b", step * 0.5}});
  m->write(4, {{"a", std::nan("")}});
  std::ofstream(metrics(), std::ios::app) << "{\"step\": 5, \"a\": 1";
  auto a = track::read_curve(metrics(), "a");
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(a[1].x, 2);
  EXPECT_EQ(a[1].y, 1);
  EXPECT_THROW(track::read_curve(folder + "/none", "a"), IoError);
}
TEST_F(TrackFiles, EventsAreLinesOfTheirOwn) {
  auto m = open("jsonl", -1);
  m->write(1, {{"train/loss", 2}});
  m->event(1, 1790000000.7, "slow_rank", "rank 3 (host \"b\") is \"train/loss\": 7");
  m->write(2, {{"train/loss", 1}});
  m->event(5, 1790000001, "disk", "full");
  m.reset();
  EXPECT_NE(test::slurp(metrics()).find("{\"step\": 1, \"time\": 1790000000, \"event\": \"slow_rank\", "
                                        "\"text\": \"rank 3 (host \\\"b\\\") is \\\"train/loss\\\": 7\"}\n"),
            std::string::npos)
      << test::slurp(metrics());
  EXPECT_EQ(track::read_curve(metrics(), "train/loss").size(), 2U);
  open("jsonl", 2);  // a run that goes on drops later ones
  EXPECT_EQ(test::slurp(metrics()).find("full"), std::string::npos);
  EXPECT_NE(test::slurp(metrics()).find("slow_rank"), std::string::npos);
}
TEST_F(TrackFiles, ARunsLogHasTimesAndOneOlderFile) {
  auto path = folder + "/run.log";
  track::RunLog log(400);
  log.line("before there is a folder");
  EXPECT_FALSE(fs::exists(path));
  log.open(folder);
  log.line("two\nlines");
  std::istringstream lines(test::slurp(path));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_GT(line.size(), 21U) << line;
    EXPECT_TRUE(line.starts_with("20") && line[10] == 'T' && line[19] == 'Z' && line[20] == ' ') << line;
    words.push_back(line.substr(21));
  }
  EXPECT_EQ(words, (std::vector<std::string>{"before there is a folder", "two", "lines"}));
  track::RunLog(400).open(folder);  // the next process appends
  for (int k = 0; k < 40; ++k) log.line("line " + std::to_string(k));
  EXPECT_LE(fs::file_size(path), 400U);
  EXPECT_LE(fs::file_size(folder + "/run.log.1"), 400U);
  auto both = test::slurp(folder + "/run.log.1") + test::slurp(path);
  for (auto k : {30, 38, 39}) EXPECT_NE(both.find(" line " + std::to_string(k) + "\n"), std::string::npos) << both;
  fs::rename(path, folder + "/moved");
  log.line("anew");
  EXPECT_NE(test::slurp(path).find("anew"), std::string::npos);
}
TEST_F(TrackFiles, ARunsLogThatCannotBeWrittenEndsNothing) {
  testing::internal::CaptureStderr();
  track::RunLog log;
  std::ofstream(folder + "/none") << "no folder";
  log.open(folder + "/none");
  log.line("a");
  log.line("b");
  auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_TRUE(said.starts_with("warning: run.log lacks lines from here on: ")) << said;
  fs::remove(folder + "/none");
  log.line("later");  // without a folder it waits for another one
  fs::create_directories(folder + "/other");
  log.open(folder + "/other");
  EXPECT_NE(test::slurp(folder + "/other/run.log").find(" later\n"), std::string::npos);
  fs::create_directories(folder + "/none");
  log.open(folder + "/none");
  log.line("c");
  EXPECT_NE(test::slurp(folder + "/none/run.log").find(" c\n"), std::string::npos);
}
/// Its means are those of runs of equal length, whatever the number of points.
TEST(Sketch, AnyNumberOfPointsNeedsTheSameMemory) {
  for (int n : {0, 1, 7, 8, 9, 1000, 100000}) {
    track::Sketch s(8);
    for (int k = 0; k < n; ++k) s.add({static_cast<double>(k), 2.0 * k});
    auto points = s.points();
    EXPECT_LE(points.size(), 8U);
    EXPECT_GE(points.size(), std::min<std::size_t>(static_cast<std::size_t>(n), 4));
    for (std::size_t k = 0; k < points.size(); ++k) {
      EXPECT_DOUBLE_EQ(points[k].y, 2 * points[k].x);
      if (k > 0) { EXPECT_GT(points[k].x, points[k - 1].x); }
    }
    if (n == 7) { EXPECT_EQ(points[6].x, 6); }
  }
}
TEST(Chart, NamesInAPlotAreText) {
  track::Chart chart{.x = {0, 1}, .y = {0, 1}, .caption = "a < b & \"c\"", .level = std::pair{0.5, "</text><script>"}};
  chart.x.marks.emplace_back(0.5, "]]>");
  chart.curves.push_back({"<b>\x1b\xff\xef\xbf\xbf\xc3", "\" onload=\"x"});
  auto svg = track::svg(chart);
  for (auto text : {"a &lt; b &amp; &quot;c&quot;", "&lt;/text&gt;&lt;script&gt;", "]]&gt;",
                    "fill=\"&quot; onload=&quot;x\"", "&lt;b&gt;\\x1b\\xff\xef\xbf\xbd\\xc3"})
    EXPECT_NE(svg.find(text), svg.npos) << text << "\n" << svg;
  EXPECT_EQ(svg.find("script>"), svg.npos);
}
TEST_F(TrackFiles, LossPlotShowsBothCurves) {
  auto svg_path = folder + "/loss.svg";
  track::write_loss_plot(metrics(), svg_path);
  EXPECT_FALSE(fs::exists(svg_path));
  auto m = open("jsonl", -1);
  for (int step = 0; step <= 2000; ++step) {
    if (step % 500 == 0) m->write(step, {{"eval/loss", 5.0 - step * 0.001}});
    if (step > 0) m->write(step, {{"train/loss", 5.0 - step * 0.001}});
  }
  track::write_loss_plot(metrics(), svg_path);
  auto svg = test::slurp(svg_path);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  std::size_t curves = 0, points = 0;
  for (auto at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  for (auto at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++points;
  EXPECT_EQ(curves, 2U);
  EXPECT_EQ(points, 5U);
  for (auto mark : {">500<", ">2000<", ">3.5<", ">5<", ">train/loss<", ">eval/loss<", ">step<"})
    EXPECT_NE(svg.find(mark), std::string::npos) << mark;
  EXPECT_LT(svg.size(), 30000U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  std::ofstream(metrics()) << "";
  track::write_loss_plot(metrics(), svg_path);  // nothing to show is no error
  EXPECT_EQ(test::slurp(svg_path).find("polyline"), std::string::npos);
}
TEST(Chart, MarksAreRoundNumbers) {
  using V = std::vector<double>;
  EXPECT_EQ(track::round_marks(0, 2000), (V{0, 500, 1000, 1500, 2000}));
  EXPECT_EQ(track::round_marks(-1, 11), (V{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(track::round_marks(0, 1, 1), (V{0, 1}));
  EXPECT_EQ(track::logarithmic_marks(3, 60), (V{5, 10, 20, 50}));
}
}  // namespace files_test
