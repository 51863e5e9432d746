// The page's numbers: what is kept of a run of any length, the pieces in which a page gets it, the files of reports.
#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include "base/api/inline_hash.h"
#include "base/api/json.h"
#include "bora/base/error.h"
#include "bora/config/choice.h"
#include "bora/track/page.h"
#include "bora/track/tracker.h"
#include "support/files.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "track/api/run_page.h"
#include "track/page/document.h"

namespace page_test {
using namespace bora;
using namespace bora::track::page;
using nlohmann::json;
namespace {
constexpr std::size_t kAll = ~std::size_t(0);
/// What a page has after some answers: buckets by series and index.
struct Reader {
  struct Kept {
    std::int64_t width = 1;
    std::map<std::int64_t, json> buckets = {};
    bool operator==(const Kept&) const = default;
  };
  std::map<std::string, Kept> series = {};
  Kept time = {};
  json events = json::array();
  std::string next = {};
  bool more = false;
  void take(Kept& kept, const json& part) {
    std::int64_t width = part["width"];
    if (width != kept.width) kept = {.width = width};
    auto& p = part["points"];
    std::size_t stride = width > 1 ? 4 : 2;
    for (std::size_t k = 0; k < p.size(); k += stride)
      kept.buckets[p[k]] = json(std::vector<json>(p.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                                  p.begin() + static_cast<std::ptrdiff_t>(k + stride)));
  }
  void take(const std::string& text) {
    auto a = json::parse(text);
    if (a["reset"]) series.clear(), time = {}, events = json::array();
    for (auto& s : a["series"]) take(series[s["name"]], s);
    if (a.contains("marks")) {
      for (auto& e : a["marks"]["events"]) events.push_back(e);
      if (a["marks"].contains("time")) take(time, a["marks"]["time"]);
    }
    next = a["next"];
    more = a["more"];
  }
  bool operator==(const Reader& o) const { return series == o.series && time == o.time && events == o.events; }
};
std::string answer(const History& h, const std::string& since = "", std::size_t bytes = kAll) {
  JsonWriter w;
  w.object();
  h.write(w, since.empty() ? History::Cursor() : *History::Cursor::parse(since), bytes);
  return w.end().take();
}
Reader all_of(const History& h) {
  Reader r;
  r.take(answer(h));
  return r;
}
void read_all(History& h) {
  while (h.read(1 << 20)) {}
}
std::string line_of(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  JsonWriter w(JsonWriter::Style::spaced);
  w.object()("step", step)("time", 1790000000 + step);
  for (auto& [name, value] : values) w(name, value);
  return w.end().take();
}
}  // namespace

TEST(Page, ASeriesHasLeastGreatestAndMeanOfEachBucketWhateverItsLength) {
  std::mt19937_64 random(3);
  for (std::int64_t steps : {1, 2, 700, 1024, 1025, 5000, 70001}) {
    for (std::int64_t apart : {1, 7, 1000}) {
      Series s;
      std::map<std::int64_t, double> values;
      for (std::int64_t k = 0; k < steps; ++k) {
        auto x = std::uniform_real_distribution<>(-3, 3)(random);
        s.add(k * apart, x, static_cast<std::uint64_t>(k + 1));
        values[k * apart] = x;
      }
      ASSERT_LE(s.buckets().size(), Series::kBuckets);
      ASSERT_GE(s.buckets().size(), std::min<std::size_t>(static_cast<std::size_t>(steps), Series::kBuckets / 2));
      std::int64_t seen = 0;
      for (auto& b : s.buckets()) {
        auto from = values.lower_bound(b.index * s.width()), to = values.lower_bound((b.index + 1) * s.width());
        double least = 1e9, most = -1e9, sum = 0;
        std::int64_t count = 0;
        for (; from != to; ++from, ++count)
          least = std::min(least, from->second), most = std::max(most, from->second), sum += from->second;
        ASSERT_EQ(b.least, least);
        ASSERT_EQ(b.most, most);
        ASSERT_EQ(b.count, count);
        ASSERT_NEAR(b.sum, sum, 1e-9 * static_cast<double>(count));
        seen += count;
      }
      ASSERT_EQ(seen, steps);
    }
  }
}
/// However the file grows, and however the answers are cut, a page ends with what one answer of a whole file has.
TEST(Page, AnswersInPiecesSayTheSameAsOne) {
  test::TempFolder temp;
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    auto path = temp / (std::to_string(round) + ".jsonl");
    std::ofstream file(path);
    History h(path);
    Reader page;
    std::int64_t step = 0;
    auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    for (int turn = 0; turn < 40; ++turn) {
      std::string text;
      for (int n = below(120); n > 0; --n, ++step) {
        text += line_of(step, {{"a", below(1000) / 7.0}, {"b/" + std::to_string(below(30)), below(100)}});
        if (below(40) == 0)
          text += json{{"step", step}, {"event", "slow_rank"}, {"text", "rank " + std::to_string(below(9)) + " <is>"}}
                      .dump() +
                  "\n";
        if (below(60) == 0) text += "{\"step\": 4, \"a\": \n";         // a torn line
        if (below(60) == 0) text += line_of(step, {{"c", std::nan("")}});  // not finite: no point
      }
      file << text.substr(0, text.size() / 2) << std::flush;
      h.read(1 + below(3000));
      file << text.substr(text.size() / 2) << std::flush;
      if (below(3) > 0) h.read(1 + below(30000));
      do page.take(answer(h, page.next, static_cast<std::size_t>(below(4000))));
      while (page.more && below(4) > 0);
    }
    file.close();
    read_all(h);
    do page.take(answer(h, page.next, 1000));
    while (page.more);
    EXPECT_EQ(h.last_step(), step - 1);
    History once(path);
    read_all(once);
    Reader expected = all_of(once);
    EXPECT_EQ(page.series, expected.series) << round;
    EXPECT_EQ(page.time, expected.time);
    EXPECT_EQ(page.events, expected.events);
    EXPECT_FALSE(expected.series.contains("c"));
    // Nothing is new now.
    auto rest = json::parse(answer(h, page.next));
    EXPECT_TRUE(rest["series"].empty() && rest["marks"]["events"].empty() && !rest["reset"]);
  }
}
TEST(Page, AReplacedFileIsReadAnewAndOneThatIsGoneIsWaitedFor) {
  test::TempFolder temp;
  auto path = temp.write("m.jsonl", line_of(1, {{"a", 1}}) + line_of(2, {{"a", 2}}));
  History h(path);
  read_all(h);
  Reader page;
  page.take(answer(h));
  std::filesystem::remove(path);
  EXPECT_FALSE(h.read(1000));
  EXPECT_EQ(h.last_step(), 2);
  std::filesystem::rename(temp.write("new", line_of(1, {{"a", 5}})), path);
  read_all(h);
  auto next = page.next;
  EXPECT_TRUE(json::parse(answer(h, next))["reset"]);
  page.take(answer(h, next));
  EXPECT_EQ(page.series["a"].buckets, (std::map<std::int64_t, json>{{1, {5}}}));
  EXPECT_EQ(h.last_step(), 1);
  History none(temp / "none");
  EXPECT_FALSE(none.read(1000));
  EXPECT_EQ(all_of(none), Reader());
}
TEST(Page, AnAnswerIsBelow256KiBHoweverLongTheRun) {
  test::TempFolder temp;
  auto path = temp / "m.jsonl";
  std::mt19937_64 random(5);
  std::uniform_real_distribution<> value(-1e9, 1e9);
  {
    std::ofstream file(path);
    for (int k = 0; k < 3000; ++k) {  // far apart: the last step is ten million
      std::vector<std::pair<std::string, double>> values;
      for (int i = 0; i < 60; ++i) values.emplace_back("metric/" + std::to_string(i), value(random));
      file << line_of(k * 3334LL, values);
      auto text = std::string(1000, k % 2 ? '"' : '<');
      file << json{{"step", k * 3334}, {"time", 1790000000}, {"event", text}, {"text", text}}.dump() << "\n";
    }
  }
  History h(path);
  read_all(h);
  std::vector<double> seconds(1000);
  for (int t = 0; t < 1000; ++t) {
    for (auto& s : seconds) s = 1 + 0.1 * value(random) / 1e9;
    h.add_ranks(1790000000 + t, seconds);
  }
  Reader page;
  int answers = 0;
  do {
    auto text = data_json(h, {.name = "x", .settings = std::string(40000, '"')},
                          page.next.empty() ? History::Cursor() : *History::Cursor::parse(page.next), 120 << 10);
    EXPECT_LT(text.size(), 256U << 10);
    page.take(text);
    ++answers;
  } while (page.more);
  EXPECT_EQ(page.series.size(), 60U);
  EXPECT_GT(answers, 5);
  EXPECT_LT(answers, 100);
}
TEST(Page, TooManyNumbersAreCountedAndLeftOut) {
  test::TempFolder temp;
  std::vector<std::pair<std::string, double>> values;
  for (int i = 0; i < 600; ++i) values.emplace_back("n" + std::to_string(i), i);
  values.emplace_back(std::string(300, 'x'), 1);
  History h(temp.write("m.jsonl", line_of(1, values) + std::string(3 << 20, 'y') + "\n" + line_of(2, {{"n7", 1}})));
  read_all(h);
  auto a = json::parse(answer(h));
  EXPECT_EQ(a["series"].size(), History::kSeries);
  EXPECT_EQ(a["left_out"], 601 - static_cast<int>(History::kSeries));
  EXPECT_EQ(h.last_step(), 2);  // behind a line that is longer than any
}
TEST(Page, CursorsThatNobodyGaveAreRefused) {
  for (auto text : {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.x", "-1.0.0.0", "1.2.3.99999999999999999999", "1..2.3",
                    " 1.2.3.4"})
    EXPECT_FALSE(History::Cursor::parse(text)) << text;
  EXPECT_EQ(History::Cursor::parse("1.2.3.4")->text(), "1.2.3.4");
}
TEST(Page, RanksAreBytesOverTheMedian) {
  RankMap map;
  std::uint64_t now = 0;
  auto said = [&](std::uint64_t since = 0) {
    JsonWriter w;
    map.write(w, since);
    return json::parse(w.take());
  };
  map.add(100.4, std::vector<double>{1, 1, 2, std::nan("")}, ++now);
  auto a = said();
  EXPECT_EQ(a["ranks"], 4);
  EXPECT_EQ(a["rows"], 4);
  EXPECT_EQ(a["columns"][0], (json{100, 1, base64_of("\x40\x40\x80\xff")}));
  map.add(101.2, std::vector<double>{1, 1, 9, 1}, ++now);
  EXPECT_EQ(said(1)["columns"].size(), 1U);
  EXPECT_EQ(said(1)["columns"][0][2], base64_of("\x40\x40\xfe\x40"));
  for (int t = 102; t < 5000; ++t) map.add(t, std::vector<double>{1, 2, 1, 1}, ++now);
  a = said();
  EXPECT_LE(a["columns"].size(), RankMap::kColumns);
  EXPECT_GE(a["columns"].size(), RankMap::kColumns / 2);
  EXPECT_EQ(a["columns"].back()[2], base64_of("\x40\x80\x40\x40"));
  map.add(5000, std::vector<double>(1000, 0.5), ++now);  // the job has other ranks now
  a = said();
  EXPECT_EQ(a["columns"].size(), 1U);
  EXPECT_EQ(a["rows"], RankMap::kRows);
}
TEST(Page, NamesOfStrangersAreTextInEveryForm) {
  test::TempFolder temp;
  const std::string name = "</script><script>alert(1)</script>", run = temp / "<img src=x onerror=alert(1)>";
  temp.write("<img src=x onerror=alert(1)>/config.yaml", "# Bora\nsteps: 2\nout: \"</script>\"\n");
  auto path = temp.write("<img src=x onerror=alert(1)>/metrics.jsonl",
                         line_of(1, {{name, 1.5}, {"a/b", 2}, {"a_b", 3}, {"bad\n} x", 4}}));
  track::write_report(temp / "r.html", {run});
  auto html = test::slurp(temp / "r.html"), plain = html_with("null");
  auto count = [](const std::string& text, const std::string& word) {
    std::size_t n = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
    return n;
  };
  for (auto word : {"<script", "</script>", "<img", "alert("})
    EXPECT_EQ(count(html, word) - (word == std::string("alert(") ? 2 : 0), count(plain, word)) << word;  // in texts
  auto begin = html.find("id=\"data\">") + 10;
  auto data = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_EQ(data["runs"][0]["name"], "<img src=x onerror=alert(1)>");
  EXPECT_EQ(data["runs"][0]["series"][0]["name"], name);
  History h(path);
  read_all(h);
  EXPECT_EQ(prometheus(h),
            "# TYPE bora_last_step gauge\nbora_last_step 1\n"
            "# TYPE bora_last_step_timestamp_seconds gauge\nbora_last_step_timestamp_seconds 1790000001\n"
            "# TYPE bora___script__script_alert_1___script_ gauge\nbora___script__script_alert_1___script_ 1.5\n"
            "# TYPE bora_a_b gauge\nbora_a_b 2\n"
            "# TYPE bora_bad___x gauge\nbora_bad___x 4\n");
}
TEST(Page, TheFileIsSmallAndItsPolicyLetsOnlyItselfRun) {
  auto& html = live_html();
  EXPECT_LT(html.size(), 60000U);
  for (auto bad : {"http://", "https://", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(",
                   "onclick", "style=\"", "src=", "localStorage"})
    EXPECT_EQ(html.find(bad), html.npos) << bad;
  auto& policy = live_policy();
  EXPECT_EQ(policy.find("unsafe"), policy.npos);
  EXPECT_NE(policy.find(inline_hash(html, "<script>", "</script>")), policy.npos);
  EXPECT_NE(policy.find("default-src 'none'"), policy.npos);
  EXPECT_NE(policy.find("connect-src 'self'"), policy.npos);
  auto report = html_with("{\"runs\":[]}");  // reads nothing from anywhere
  EXPECT_EQ(report.find("connect-src"), report.npos);
  EXPECT_NE(report.find("script-src " + inline_hash(report, "<script>", "</script>")), report.npos);
}
TEST(Page, ARunsPageFollowsItsFileAndWritesItsReport) {
  test::TempFolder temp;
  std::filesystem::create_directories(temp / "run");
  auto jsonl = config::Choice<track::TrackerKind>(std::string_view("jsonl"))->open(temp / "run", -1);
  RunPage page(
      {.folder = temp / "run", .settings = "steps: 9\n", .ranks = [] { return std::vector<double>{1, 2, 1}; }});
  auto source = page.source();
  EXPECT_EQ(source.data("x"), std::nullopt);
  EXPECT_EQ(source.log("x"), std::nullopt);
  EXPECT_EQ(source.log("-1"), std::nullopt);
  EXPECT_EQ(json::parse(*source.log(""))["text"], "");
  page.watch();
  for (int step = 1; step <= 5; ++step) jsonl->write(step, {{"train/loss", 1.0 / step}});
  Reader reader;
  for (int i = 0; i < 1000 && reader.series["train/loss"].buckets.size() < 5; ++i, ::usleep(10000))
    reader.take(*source.data(reader.next));
  ASSERT_EQ(reader.series["train/loss"].buckets.size(), 5U);
  EXPECT_NE(source.metrics().find("bora_train_loss 0.2\n"), std::string::npos);
  temp.write("run/run.log", "one\ntwo\nthr");
  auto log = json::parse(*source.log(""));
  EXPECT_EQ(log["text"], "one\ntwo\n");
  EXPECT_EQ(log["next"], 8);
  temp.write("run/run.log", "one\ntwo\nthree\n");
  EXPECT_EQ(json::parse(*source.log("8"))["text"], "three\n");
  EXPECT_EQ(json::parse(*source.log("99"))["text"], "one\ntwo\nthree\n");  // another file: from its begin
  page.report();
  for (int i = 0; i < 1000 && test::slurp(temp / "run/report.html").empty(); ++i) ::usleep(10000);
  jsonl->write(6, {{"train/loss", 0.1}});
  page.finish();
  auto html = test::slurp(temp / "run/report.html");
  auto begin = html.find("id=\"data\">") + 10;
  auto data = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_EQ(data["runs"][0]["ended"], true);
  EXPECT_EQ(data["runs"][0]["settings"], "steps: 9\n");
  EXPECT_EQ(data["runs"][0]["series"][0]["points"].size(), 12U);
  EXPECT_EQ(data["runs"][0]["marks"]["ranks"]["ranks"], 3);
  EXPECT_EQ(data["log"]["text"], "one\ntwo\nthree\n");
  EXPECT_EQ(json::parse(*source.data(""))["ended"], true);  // a server may still ask
  // A report of the folder has the map of ranks from the run's own report.
  temp.write("run/config.yaml", "steps: 9\n");
  track::write_report(temp / "two.html", {temp / "run", temp / "run"});
  auto two = test::slurp(temp / "two.html");
  begin = two.find("id=\"data\">") + 10;
  data = json::parse(two.substr(begin, two.find("</script>", begin) - begin));
  EXPECT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(data["runs"][1]["marks"]["ranks"]["ranks"], 3);
  EXPECT_EQ(data["runs"][1]["name"], temp / "run");  // both have one name
  EXPECT_NE(test::error_of<IoError>([&] { track::write_report(temp / "x.html", {temp / "none"}); }).find("none"),
            std::string::npos);
}
}  // namespace page_test
