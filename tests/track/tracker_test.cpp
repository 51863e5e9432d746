// The laws of trackers, for every type in the registry. A new type needs a reader here: the way its readers see the
// files.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "bora/track/tracker.h"
#include "event_file.h"
#include "support/files.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace tracker_test {
using namespace bora;
using event_file::Row;
namespace {
using Rows = std::vector<Row>;
Rows lines(const std::string& path) {
  Rows rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !file.eof();) {  // a last line without an end is cut off
    auto object = nlohmann::ordered_json::parse(line);
    if (object.contains("event")) continue;
    Row row{object.at("step").get<std::int64_t>()};
    for (auto& [name, value] : object.items())
      if (name != "step" && name != "time")
        row.values.emplace_back(name, value.is_null() ? std::nan("") : value.get<double>());
    rows.push_back(row);
  }
  return rows;
}
const std::map<std::string, Rows (*)(const std::string& path)> readers = {{"jsonl", lines},
                                                                          {"tensorboard", event_file::scalars}};
std::vector<std::string> types() {
  std::vector<std::string> all;
  for (auto& row : config::rows<track::TrackerKind>()) all.emplace_back(row.type);
  return all;
}

struct Trackers : testing::TestWithParam<std::string> {
  test::TempFolder temp;
  std::string root = temp.path(), folder = root + "/run";
  config::Choice<track::TrackerKind> kind = std::string_view(GetParam());
  Trackers() { fs::create_directories(folder); }
  std::string path() const { return folder + "/" + std::string(kind->file()); }
  Rows read() const { return readers.at(GetParam())(path()); }
  /// One or two records of a step; `run` makes those of several runs differ.
  static Rows of_step(std::int64_t step, int run = 0) {
    auto x = static_cast<double>(step) + 0.25 * run;
    Rows r{{step, {{"train/loss", 1 / (x + 1)}, {"optim/learning_rate", 3e-4}, {"throughput/total_tokens", 8192 * x}}}};
    if (step % 3 == 0) r.push_back({step, {{"eval/loss", 7 - x}}});
    return r;
  }
  static Rows records(std::int64_t begin, std::int64_t end, int run = 0) {
    Rows r;
    for (auto step = begin; step < end; ++step)
      for (auto& row : of_step(step, run)) r.push_back(row);
    return r;
  }
  static void write(track::Tracker& t, const Rows& rows) {
    for (auto& row : rows) t.write(row.step, row.values);
  }
  void holds(Rows expected) const {
    auto found = read();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].step, expected[i].step) << i;
      ASSERT_EQ(found[i].values.size(), expected[i].values.size()) << i;
      for (std::size_t k = 0; k < found[i].values.size(); ++k) {
        ASSERT_EQ(found[i].values[k].first, expected[i].values[k].first);
        ASSERT_EQ(static_cast<float>(found[i].values[k].second), static_cast<float>(expected[i].values[k].second));
      }
    }
  }
  static Rows joined(Rows a, const Rows& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  /// The file that the last record went to.
  std::string last_file() const {
    if (!fs::is_directory(path())) return path();
    std::string last;
    for (auto& f : fs::directory_iterator(path())) last = std::max(last, f.path().string());
    return last;
  }
};
/// No file of this process grows beyond a size.
struct FullDisk {
  explicit FullDisk(std::uintmax_t size) : before_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    ::rlimit less{size, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    ::signal(SIGXFSZ, before_);
  }
  ::rlimit limit_{};
  void (*before_)(int);
};
}  // namespace

TEST_P(Trackers, RecordsAreInTheFileAtOnce) {
  auto t = kind->open(folder, -1);
  for (std::int64_t step = 0; step < 5; ++step) {
    write(*t, of_step(step));
    holds(records(0, step + 1));
  }
  t->write(std::int64_t{1} << 40, {{"throughput/total_tokens", 1e15}, {"odd \"name\"", -0.0}});
  holds(joined(records(0, 5), {{std::int64_t{1} << 40, {{"throughput/total_tokens", 1e15}, {"odd \"name\"", -0.0}}}}));
}
TEST_P(Trackers, GoesOnAfterEveryStep) {
  for (std::int64_t last = -1; last < 8; ++last) {
    SCOPED_TRACE(last);
    write(*kind->open(folder, -1), records(0, 7));
    holds(records(0, 7));
    for (int run : {1, 2, 3}) {  // each is stopped and goes on from the same step
      auto t = kind->open(folder, last);
      auto kept = records(0, std::min<std::int64_t>(last + 1, 7));
      holds(kept);
      write(*t, records(last + 1, last + 4, run));
      holds(joined(kept, records(last + 1, last + 4, run)));
    }
  }
}
TEST_P(Trackers, ARecordThatACrashCutOffIsLostAlone) {
  write(*kind->open(folder, -1), records(0, 3));
  auto file = last_file();
  auto size = fs::file_size(file);
  for (auto cut = size - 1; cut > size - 40 && cut > 0; --cut) {
    SCOPED_TRACE(cut);
    fs::resize_file(file, cut);
    auto t = kind->open(folder, 1);
    holds(records(0, 2));
    write(*t, records(2, 5, 1));
    holds(joined(records(0, 2), records(2, 5, 1)));
    t.reset();
    fs::remove_all(path());
    write(*kind->open(folder, -1), records(0, 3));
    file = last_file();
  }
}
TEST_P(Trackers, NumbersThatAreNotFinite) {
  auto inf = HUGE_VAL;
  auto t = kind->open(folder, -1);
  t->write(1, {{"a", std::nan("")}, {"b", inf}, {"c", -inf}, {"d", 2}});
  t->write(2, {{"a", 3}});
  auto rows = read();
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(rows[0].values.size(), 4U);
  for (int k : {0, 1, 2}) EXPECT_FALSE(std::isfinite(rows[0].values[static_cast<std::size_t>(k)].second));
  EXPECT_EQ(rows[0].values[3].second, 2);
  EXPECT_EQ(rows[1].values[0].second, 3);
}
/// They stand beside the numbers, which are as without them; a run that goes on loses those of later steps.
TEST_P(Trackers, EventsChangeNoNumber) {
  auto text = [&] {
    std::string all;
    for (auto& f : fs::recursive_directory_iterator(root))
      if (f.is_regular_file()) all += bora::test::slurp(f.path());
    return all;
  };
  auto t = kind->open(folder, -1);
  for (std::int64_t step = 0; step < 5; ++step) {
    write(*t, of_step(step));
    t->event(step, 1.7e9, "slow_rank", "rank " + std::to_string(step) + " is \"slow\" \xc3\xa9");
    EXPECT_NE(text().find("rank " + std::to_string(step) + " is "), std::string::npos);
  }
  holds(records(0, 5));
  t = kind->open(folder, 2);
  holds(records(0, 3));
  auto size = fs::file_size(last_file());
  {
    FullDisk full(size + 9);
    EXPECT_THROW(t->event(3, 1.7e9, "disk", "full"), IoError);
  }
  EXPECT_EQ(fs::file_size(last_file()), size);
}
TEST_P(Trackers, AFullDiskIsAnErrorAndLosesNothing) {
  auto t = kind->open(folder, -1);
  write(*t, records(0, 2));
  auto size = fs::file_size(last_file());
  for (auto room : {0U, 1U, 30U, 700U}) {
    SCOPED_TRACE(room);
    std::string error;
    auto expected = read();
    {
      FullDisk full(size + room);
      try {
        for (std::int64_t step = 2;; ++step)
          for (auto& row : of_step(step)) {
            t->write(row.step, row.values);
            expected.push_back(row);
          }
      } catch (const IoError& e) { error = e.what(); }
    }
    EXPECT_EQ(error.substr(0, 13 + folder.size()), "cannot write " + folder);
    EXPECT_NE(error.find("File too large"), std::string::npos) << error;
    t->write(100, {{"a", 1}});  // there is room again
    holds(joined(expected, {{100, {{"a", 1}}}}));
    size = fs::file_size(last_file());
  }
  auto before = read();
  {
    FullDisk full(1);
    EXPECT_THROW(kind->open(folder, 50), IoError);
  }
  holds(before);
}
TEST_P(Trackers, FilesThatAreRemovedMeanwhileAreBegunAnew) {
  auto t = kind->open(folder, -1);
  write(*t, records(0, 3));
  fs::remove_all(path());
  t->follow();
  write(*t, records(3, 5));
  holds(records(3, 5));
  fs::remove_all(folder);
  t->follow();
  EXPECT_NO_THROW(write(*t, records(5, 6)));
  EXPECT_FALSE(fs::exists(folder));
}
/// A tracker that has not followed writes into the old file, never into one that another tracker has begun since.
TEST_P(Trackers, WhatAnotherHasBegunAnewIsLeftAlone) {
  auto t = kind->open(folder, -1);
  write(*t, records(0, 6));
  t->follow();
  auto other = kind->open(folder, 2);
  write(*t, records(6, 7));
  if (GetParam() == "jsonl") holds(records(0, 3));
  write(*other, records(3, 5, 1));
  holds(joined(records(0, 3), records(3, 5, 1)));
}
TEST_P(Trackers, AFolderThatIsMissingIsAnError) {
  for (std::int64_t step : {-1, 3}) EXPECT_THROW(kind->open(folder + "/none", step), IoError);
  std::ofstream(folder + "/file") << "a file";
  EXPECT_THROW(kind->open(folder + "/file", -1), IoError);
}
INSTANTIATE_TEST_SUITE_P(Registry, Trackers, testing::ValuesIn(types()), [](auto& i) { return i.param; });

TEST(TrackerTypes, EveryOneHasAReader) {
  for (auto& type : types()) EXPECT_TRUE(readers.count(type)) << type;
  EXPECT_EQ(types().size(), readers.size());
  EXPECT_EQ(config::Choice<track::TrackerKind>()->type(), "jsonl");
}
}  // namespace tracker_test
