// The phases of a job: every event in every phase, against the table in the header.
#include "launch/membership/phase.h"
#include "support/places.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace phase_test {
using bora::launch::Event;
using bora::launch::is_over;
using bora::launch::next;
using bora::launch::Phase;

namespace {
constexpr std::array phases{"connecting",   "running", "draining", "regrouping", "recovering", "handing_over",
                            "failing",      "stopping", "ended",   "stopped",    "failed"};
constexpr std::array events{"ready",    "asked", "left",     "lost",     "fatal", "regrouped", "hand_over",
                            "hopeless", "stop",  "deadline", "finished"};
template <class E, std::size_t n>
E named(const std::array<const char*, n>& names, const std::string& word) {
  auto found = std::find(names.begin(), names.end(), word);
  EXPECT_NE(found, names.end()) << word;
  return static_cast<E>(found - names.begin());
}
/// The rows of the header's table.
std::map<std::pair<Phase, Event>, Phase> table() {
  std::ifstream header(bora::test::source_dir() + "/src/launch/membership/phase.h");
  std::map<std::pair<Phase, Event>, Phase> r;
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line.starts_with("///   ") ? line.substr(6) : "");
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (row.empty() || row[0] == "event") continue;
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      auto key = std::pair{named<Phase>(phases, row[i]), named<Event>(events, row[0])};
      EXPECT_TRUE(r.emplace(key, named<Phase>(phases, row.back())).second) << line;
    }
  }
  return r;
}
Phase after(Phase p, std::initializer_list<Event> some) {
  for (auto e : some) p = next(p, e);
  return p;
}
}  // namespace

TEST(Phases, EveryEventInEveryPhaseIsAsTheTableSays) {
  auto rows = table();
  EXPECT_EQ(rows.size(), 39U);
  for (std::size_t p = 0; p < phases.size(); ++p)
    for (std::size_t e = 0; e < events.size(); ++e) {
      auto from = static_cast<Phase>(p);
      auto row = rows.find({from, static_cast<Event>(e)});
      EXPECT_EQ(next(from, static_cast<Event>(e)), row == rows.end() ? from : row->second)
          << events[e] << " while " << phases[p];
    }
}
TEST(Phases, AJobThatIsOverStaysSo) {
  for (auto over : {Phase::ended, Phase::stopped, Phase::failed}) {
    EXPECT_TRUE(is_over(over));
    for (std::size_t e = 0; e < events.size(); ++e)
      EXPECT_TRUE(is_over(next(over, static_cast<Event>(e)))) << events[e];
  }
  for (std::size_t p = 0; p < phases.size(); ++p) {  // and every job comes to an end
    EXPECT_TRUE(is_over(static_cast<Phase>(p)) || static_cast<Phase>(p) == Phase::connecting ||
                is_over(next(static_cast<Phase>(p), Event::finished)))
        << phases[p];
    EXPECT_TRUE(is_over(after(static_cast<Phase>(p), {Event::stop, Event::stop}))) << phases[p];
  }
}
TEST(Phases, StoriesOfJobs) {
  using enum Event;
  EXPECT_EQ(after(Phase::connecting, {ready, finished}), Phase::ended);
  EXPECT_EQ(after(Phase::connecting, {ready, lost, left, left, regrouped}), Phase::running);
  EXPECT_EQ(after(Phase::connecting, {ready, asked, left, left, hand_over, left, left, regrouped}), Phase::running);
  EXPECT_EQ(after(Phase::connecting, {ready, lost, hand_over, lost, deadline, hand_over}), Phase::handing_over);
  EXPECT_EQ(after(Phase::connecting, {ready, lost, fatal, deadline}), Phase::ended);
  EXPECT_EQ(after(Phase::connecting, {ready, stop, lost, fatal, deadline}), Phase::stopped);
  EXPECT_EQ(after(Phase::connecting, {ready, lost, hopeless, stop, finished}), Phase::failed);
  EXPECT_EQ(after(Phase::connecting, {stop}), Phase::stopping);
}
}  // namespace phase_test
