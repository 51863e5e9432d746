// Spans of all ranks in one file on one clock, and their totals.
#include "bora/transport/trace.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include "jobs.h"
#include "support/temp_folder.h"

namespace bora::transport::trace_test {
namespace {
using tracing::Kind;
tracing::Span span(Kind kind, std::int64_t begin, std::int64_t end) {
  return {kind, 0, 0, tracing::label("x"), begin, end};
}
constexpr std::int64_t ms = 1000000;

TEST(Trace, TotalsCountWhatOverlapsOnceAndOnlyWithinSteps) {
  auto t = tracing::totals({span(Kind::step, 0, 10 * ms), span(Kind::step, 20 * ms, 30 * ms),
                          span(Kind::kernel, 1 * ms, 3 * ms), span(Kind::kernel, 2 * ms, 5 * ms),
                          span(Kind::kernel, 12 * ms, 15 * ms), span(Kind::collective, 8 * ms, 22 * ms),
                          span(Kind::collective, 9 * ms, 21 * ms), span(Kind::wait, 29 * ms, 40 * ms)});
  EXPECT_EQ(t.steps, 2);
  EXPECT_DOUBLE_EQ(t.step, 0.020);
  EXPECT_DOUBLE_EQ(t.kernel, 0.004);
  EXPECT_DOUBLE_EQ(t.collective, 0.004);
  EXPECT_DOUBLE_EQ(t.wait, 0.001);
  EXPECT_DOUBLE_EQ(tracing::totals({span(Kind::kernel, 5 * ms, 6 * ms), span(Kind::wait, 6 * ms, 8 * ms)}).step, 0.003);
  EXPECT_EQ(tracing::totals({}).step, 0);
}
TEST(Trace, NothingIsKeptWhileNobodyAsks) {
  { tracing::Scope s(Kind::step, 0, "step"); }
  std::uint64_t dropped = 0;
  EXPECT_TRUE(tracing::take(0, dropped).empty());
}
TEST(Trace, OneFileForAllRanks) {
  test::TempFolder temp;
  auto path = temp / "trace";
  for (auto carrier : {Carrier::local, Carrier::zmq}) {
    tracing::start();
    auto errors = run_ranks(carrier, 3, [&](Context& c) {
      std::vector<float> x(5000, 1), y(5000);
      {
        tracing::Scope step(Kind::step, c.rank(), "step \"1\"");
        c.run(everybody(3),
              {.kind = CollectiveKind::all_reduce, .in = x.data(), .out = y.data(), .send_counts = {5000}});
      }
      auto totals = write_trace(c, path);
      EXPECT_EQ(totals.size(), 3u);
      for (auto& t : totals) {
        EXPECT_EQ(t.steps, 1);
        EXPECT_GT(t.collective, 0);
        EXPECT_LE(t.collective, t.step);
      }
      c.barrier(everybody(3));
    });
    expect_no_errors(errors);
    EXPECT_FALSE(tracing::on());
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    auto s = text.str();
    EXPECT_TRUE(nlohmann::json::accept(s)) << s;
    EXPECT_EQ(s.find("{\"displayTimeUnit\""), 0u);
    for (int r = 0; r < 3; ++r) {
      auto pid = "{\"pid\":" + std::to_string(r);
      EXPECT_NE(s.find(pid + ",\"ph\":\"M\""), std::string::npos) << s;
      EXPECT_NE(
          s.find("\"cat\":\"collective\",\"name\":\"all_reduce sum f32[5000] seq 0 axis data\",\"ph\":\"b\",\"id\":\"" +
                 std::to_string(r) + ".0\""),
          std::string::npos)
          << s;
    }
    EXPECT_NE(s.find("\"name\":\"step \\\"1\\\"\",\"ph\":\"X\""), std::string::npos) << s;
  }
  for (auto& e : run_ranks(Carrier::local, 2, [&](Context& c) { write_trace(c, "/no/such/folder/trace"); }))
    EXPECT_NE(e.find("cannot write the trace to /no/such/folder/trace"), std::string::npos) << e;
}
}  // namespace
}  // namespace bora::transport::trace_test
