// The exit code of a job and the rank that its line names, from how its ranks ended.
#include "launch/membership/exit_status.h"
#include <gtest/gtest.h>
#include <csignal>

namespace exit_status_test {
using bora::launch::Ending;
using bora::launch::Rank;
using bora::launch::exit_status_of;

namespace {
Rank with(int code) { return {.ending = Ending{.status = code < 0 ? -code : code << 8}}; }
}  // namespace

TEST(ExitStatus, TheCauseIsNamedNotWhoEndedBecauseOfIt) {
  for (int interrupted : {0, 1}) {
    auto v = exit_status_of({with(86), with(1), with(86)}, {0, 2, 1}, {{0, "bora: rank 1 lost: why"}}, interrupted);
    EXPECT_EQ(v.code, 86);
    EXPECT_EQ(v.line, "bora: rank 1 lost: " + with(1).ending->words());
    v = exit_status_of({with(86), with(2), with(86)}, {0, 2, 1}, {{1, "bora: bad"}, {0, "bora: rank 1 lost"}},
                       interrupted);
    EXPECT_EQ(v.code, 2);
    EXPECT_EQ(v.line, "bora: bad");
  }
}
TEST(ExitStatus, BadInputThatOneHostAloneFindsNamesTheHost) {
  auto on = [](int code, const std::string& host) {
    auto rank = with(code);
    rank.host = host;
    return rank;
  };
  std::vector<Rank> two = {on(86, "node-a"), on(2, "node-b")};
  EXPECT_EQ(exit_status_of(two, {1}, {{1, "bora: data: no file"}}, false).line,
            "bora: data: no file (rank 1, host node-b)");
  EXPECT_EQ(exit_status_of(two, {1}, {{1, "bora: data: no file"}, {0, "bora: data: no file"}}, false).line,
            "bora: data: no file");
  EXPECT_EQ(exit_status_of({on(2, "node-a"), on(2, "node-a")}, {1}, {{1, "bora: data: no file"}}, false).line,
            "bora: data: no file");
  EXPECT_EQ(exit_status_of({with(86), with(2)}, {1}, {{1, "bora: data: no file"}}, false).line, "bora: data: no file");
}
TEST(ExitStatus, SurvivorsOfARankThatTheUsersSignalEndedAreInterrupted) {
  for (int signal : {SIGINT, SIGTERM}) {
    auto v = exit_status_of({with(86), with(-signal), {}}, {0}, {{0, "bora: rank 1 lost: connection closed"}}, true);
    EXPECT_EQ(v.code, 130);
    EXPECT_EQ(v.line, "");
    v = exit_status_of({with(86), with(-signal)}, {0, 1}, {{0, "bora: rank 1 lost: connection closed"}}, false);
    EXPECT_EQ(v.code, 86);
  }
}
TEST(ExitStatus, ALossIsOneThoughTheUserInterruptedTheJobToo) {
  auto v = exit_status_of({with(86), with(0)}, {0}, {{0, "bora: rank 1 lost: no heartbeat"}}, true);
  EXPECT_EQ(v.code, 86);
  EXPECT_EQ(v.line, "bora: rank 1 lost: no heartbeat");
}
}  // namespace exit_status_test
