// Alarms over scripted runs: each thing that may be wrong is planted once, and none is found in a calm run.
#include "train/monitor/alarms.h"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <random>

namespace bora::alarms_test {
using training::Alarms;
using training::Alert;
using training::RankStatus;
namespace {
/// A run as its rank 0 sees it, in seconds of a clock of its own.
struct Script {
  std::size_t ranks = 4;
  double step_seconds = 0.5;
  double noise = 0.05;                             // of compute, loss and rate
  std::function<double(std::int64_t step)> loss = [](std::int64_t step) {
    return 2 + 4 * std::exp(-static_cast<double>(step) / 500);
  };
  std::function<double(std::size_t rank, std::int64_t step)> slower = [](auto, auto) { return 1.0; };
  std::function<double(std::size_t rank)> work = [](auto) { return 1.0; };
  std::function<void(RankStatus&, std::size_t rank, double now)> change = [](auto&, auto, auto) {};
  std::function<void(Alarms::Moment&)> moment = [](auto&) {};
  std::function<double(std::int64_t step)> pause = [](auto) { return 0.0; };  // between steps

  struct Found {
    Alert alert;
    std::int64_t step;
    double now;
  };
  std::vector<Found> run(double seconds) const {
    std::mt19937_64 bits(7);
    std::normal_distribution<double> normal;
    auto noisy = [&](double x) { return x * std::exp(noise * normal(bits)); };
    Alarms alarms;
    std::vector<RankStatus> now_of(ranks), told(ranks);
    std::vector<double> heard(ranks, 0.5);
    for (std::size_t r = 0; r < ranks; ++r) {
      std::strcpy(now_of[r].host, ("host" + std::to_string(r / 2)).c_str());
      now_of[r].step = 0, now_of[r].flops = work(r), now_of[r].mhz = 2600;
    }
    std::vector<Found> all;
    std::int64_t step = 0;
    auto keep = [&](const std::vector<Alert>& found, double now) {
      for (auto& a : found) all.push_back({a, step, now});
    };
    double now = 100, tick = now, begun = now;
    auto ticks_until = [&](double end, double step_begun) {
      for (; tick + 1 <= end; tick += 1) {
        for (std::size_t r = 0; r < ranks; ++r) change(now_of[r], r, tick + 1 - begun);
        Alarms::Moment m{.now = tick + 1,
                         .ranks = told,
                         .heard = heard,
                         .in_step = tick + 1 - step_begun,
                         .save_age = 30,
                         .save_limit = 7200,
                         .disk_free = std::int64_t{100} << 30,
                         .save_bytes = 1 << 30,
                         .seconds_left = 1e6};
        moment(m);
        keep(alarms.at(m), tick + 1 - begun);
        told = now_of;
      }
    };
    while (now - begun < seconds) {
      auto step_begun = now;
      std::vector<double> computes;
      for (std::size_t r = 0; r < ranks; ++r) computes.push_back(noisy(step_seconds * 0.8 * work(r) * slower(r, step)));
      auto longest = *std::max_element(computes.begin(), computes.end()) + 0.2 * step_seconds;
      ticks_until(now + longest, step_begun);
      now += longest;
      ++step;
      for (std::size_t r = 0; r < ranks; ++r) {
        auto& s = now_of[r];
        s.step = step, ++s.counted;
        s.compute_seconds += computes[r], s.wait_seconds += longest - computes[r];
        s.cpu_seconds += computes[r] / slower(r, step);
      }
      keep(alarms.after({.step = step,
                         .now = now,
                         .loss = loss(step) * (1 + 0.3 * noise * normal(bits)),
                         .tokens_per_second = 1000 / longest,
                         .seconds = longest}),
           now - begun);
      auto after = now + pause(step);
      ticks_until(after, after + 10);
      now = after;
    }
    return all;
  }
};
std::string texts(const std::vector<Script::Found>& all) {
  std::string r;
  for (auto& f : all) r += std::to_string(f.step) + " " + f.alert.kind + ": " + f.alert.text + "\n";
  return r;
}
std::int64_t steps_until(const std::vector<Script::Found>& all, const std::string& kind) {
  for (auto& f : all)
    if (f.alert.kind == kind) return f.step;
  return -1;
}
}  // namespace

TEST(Alarms, ACalmHourHasNone) {
  struct Case {
    std::size_t ranks;
    double step, seconds;
  };
  for (auto [ranks, step, seconds] : {Case{2, 0.1, 900}, Case{1, 0.5, 900}, Case{3, 0.5, 3600}, Case{64, 8, 3600}}) {
    Script s{.ranks = ranks, .step_seconds = step};
    EXPECT_EQ(texts(s.run(seconds)), "") << ranks << " ranks, " << step << " s";
  }
}
TEST(Alarms, PausesOfARunAreNoAlarm) {
  Script s{.step_seconds = 0.2};
  s.pause = [](std::int64_t step) { return step % 200 == 0 ? 45.0 : 0.0; };  // evaluations
  EXPECT_EQ(texts(s.run(1000)), "");
}
TEST(Alarms, ARankAtHalfSpeedIsNamedWithin60Steps) {
  for (std::size_t ranks : {2, 3, 64})
    for (double seconds : {0.5, 8.0})
      for (std::int64_t from : {0, 100}) {
        auto late = ranks - 1;
        Script s{.ranks = ranks, .step_seconds = seconds};
        s.slower = [&](std::size_t rank, std::int64_t step) { return rank == late && step >= from ? 2.0 : 1.0; };
        auto found = s.run(seconds * 2 * static_cast<double>(from + 70));
        auto step = steps_until(found, "slow_rank");
        EXPECT_TRUE(step >= from + 20 && step <= from + 60) << ranks << " " << seconds << " " << from << texts(found);
        for (auto& f : found)
          if (f.alert.kind == "slow_rank") {
            EXPECT_EQ(f.alert.rank, static_cast<int>(late)) << texts(found);
            auto name = "rank " + std::to_string(late) + " (host host" + std::to_string(late / 2) + ") computes ";
            EXPECT_TRUE(f.alert.text.starts_with(name)) << f.alert.text;
            EXPECT_NE(f.alert.text.find("s threads have a CPU for 0.5"), std::string::npos) << f.alert.text;
          }
      }
}
TEST(Alarms, OnePauseBlamesNoRank) {
  Script s{.step_seconds = 1};
  s.slower = [](std::size_t rank, std::int64_t step) { return rank == 1 && step % 40 == 0 ? 20.0 : 1.0; };
  EXPECT_EQ(steps_until(s.run(1500), "slow_rank"), -1);
}
/// 3 rows of 8 on some ranks, or stages of a pipeline: more time for more work.
TEST(Alarms, UnequalWorkBlamesNoRank) {
  Script s{.ranks = 3};
  s.work = [](std::size_t rank) { return rank == 0 ? 1.0 : 1.5; };
  EXPECT_EQ(texts(s.run(400)), "");
  s.slower = [](std::size_t rank, auto) { return rank == 2 ? 1.6 : 1.0; };
  EXPECT_GE(steps_until(s.run(100), "slow_rank"), 0);
}
TEST(Alarms, TheReasonIsWhatTheSystemCounts) {
  struct Case {
    std::function<void(RankStatus&, double)> change;
    const char* words;
  };
  for (auto& c : std::vector<Case>{
           {[](RankStatus& s, double now) { s.throttled_seconds = 0.4 * now; },
            "quota of its cgroup stopped it for 40 %"},
           {[](RankStatus& s, double now) { s.steal_seconds = 0.5 * now; }, "virtual machines took 0.5 CPUs"},
           {[](RankStatus& s, double now) { s.major_faults = std::llround(200 * now); }, "reads 200 pages a second"},
           {[](RankStatus& s, double) { s.mhz = 1200; }, "runs at 1200 MHz, the median one at 2600"}}) {
    Script s;
    s.slower = [](std::size_t rank, auto) { return rank == 1 ? 2.0 : 1.0; };
    s.change = [&](RankStatus& r, std::size_t rank, double now) {
      if (rank == 1) c.change(r, now);
    };
    auto found = texts(s.run(120));
    EXPECT_NE(found.find(c.words), std::string::npos) << c.words << "\n" << found;
    // All ranks have it, and one of them is slow: it is not for that.
    s.change = [&](RankStatus& r, std::size_t, double now) { c.change(r, now); };
    auto others = texts(s.run(120));
    EXPECT_NE(others.find("rank 1 "), std::string::npos) << others;
    EXPECT_EQ(others.find(c.words), std::string::npos) << others;
  }
}
TEST(Alarms, ALossFarAboveTheOthers) {
  Script s;
  auto usual = s.loss;
  s.loss = [&](std::int64_t step) { return step == 700 || step == 950 ? 6.0 : usual(step); };
  auto found = s.run(600);
  ASSERT_EQ(found.size(), 2U) << texts(found);
  EXPECT_EQ(found[0].alert.kind, "loss_spike");
  EXPECT_EQ(found[0].step, 700);
  EXPECT_EQ(found[1].step, 950);
  EXPECT_NE(found[0].alert.text.find("the loss of step 700 is "), std::string::npos) << found[0].alert.text;
}
TEST(Alarms, ALossThatStaysHighIsSaidOnce) {
  Script s;
  auto usual = s.loss;
  s.loss = [&](std::int64_t step) { return step < 700 ? usual(step) : 7.0; };
  EXPECT_EQ(s.run(600).size(), 1U);
}
TEST(Alarms, ARateThatFalls) {
  Script s;
  s.slower = [](std::size_t, std::int64_t step) { return step >= 1000 ? 1.5 : 1.0; };
  auto found = s.run(700);
  ASSERT_EQ(found.size(), 1U) << texts(found);
  EXPECT_EQ(found[0].alert.kind, "slow_rate");
  EXPECT_LE(found[0].now, 530 + 90);
}
TEST(Alarms, NoStepForTenTimesTheMedian) {
  Script s{.ranks = 3};
  s.slower = [](std::size_t rank, std::int64_t step) { return rank == 2 && step == 50 ? 200.0 : 1.0; };
  s.change = [](RankStatus& r, std::size_t rank, double) { r.blocked_seconds = rank == 2 ? 0 : 3; };
  auto found = s.run(100);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].alert.kind, "stalled");
  EXPECT_LE(found[0].now, 27 + 12);
  EXPECT_NE(found[0].alert.text.find("; rank 2 (host host1) computes, the others wait"), std::string::npos)
      << found[0].alert.text;
  s.moment = [](Alarms::Moment& m) { const_cast<double*>(m.heard.data())[2] = 9; };
  EXPECT_NE(texts(s.run(100)).find("; nothing is heard of rank 2 (host host1)"), std::string::npos);
}
TEST(Alarms, AnOldCheckpointAFullDiskAndFullMemory) {
  struct Case {
    const char *kind, *words;
    std::function<void(Alarms::Moment&)> moment;
    std::function<void(RankStatus&, std::size_t, double)> change = [](auto&, auto, auto) {};
  };
  for (auto& c : std::vector<Case>{
           {"save_old", "checkpoint is 2.2 hours old", [](auto& m) { m.save_age = 8000; }},
           {"disk", "has 512.0 MiB left, and the next checkpoint needs 1024.0 MiB",
            [](auto& m) { m.disk_free = 512 << 20; }},
           // Up and down by 2 GiB with each checkpoint, and down by 10 MiB a second: 100 GiB last for 2.8 hours.
           {"disk", "the disk is full in 2.",
            [](auto& m) {
              auto s = static_cast<std::int64_t>(m.now);
              m.disk_free = (std::int64_t{100} << 30) - (s % 300 < 100 ? std::int64_t{2} << 30 : 0) - s * (10 << 20);
            }},
           {"memory", "94 % of the 16.0 GiB of memory that rank 1 (host host0) may use", [](auto&) {},
            [](RankStatus& r, std::size_t rank, double) {
              r.memory_all = std::int64_t{16} << 30, r.memory_used = rank == 1 ? std::int64_t{15} << 30 : 0;
            }}}) {
    Script s{.step_seconds = 5};
    s.moment = c.moment;
    s.change = c.change;
    auto found = s.run(1700);
    ASSERT_EQ(found.size(), 1U) << c.kind << "\n" << texts(found);  // said once
    EXPECT_EQ(found[0].alert.kind, c.kind);
    EXPECT_NE(found[0].alert.text.find(c.words), std::string::npos) << found[0].alert.text;
  }
}
TEST(Alarms, ADiskThatOutlivesTheRunIsNoAlarm) {
  Script s;
  s.moment = [](auto& m) {
    m.disk_free = (std::int64_t{100} << 30) - static_cast<std::int64_t>(m.now) * (10 << 20);
    m.seconds_left = 3600;
  };
  EXPECT_EQ(texts(s.run(1700)), "");
}
TEST(Alarms, WhatHolds) {
  Alarms alarms;
  alarms.after({.step = 3, .now = 1, .loss = 1, .seconds = 1});
  EXPECT_EQ(alarms.event("save_failed", "no space", 1).step, 3);
  ASSERT_EQ(alarms.holding(100).size(), 1U);
  EXPECT_EQ(alarms.holding(100)[0].text, "no space");
  EXPECT_TRUE(alarms.holding(700).empty());
}
}  // namespace bora::alarms_test
