// Halting: from wherever the ranks are, all of them end at the same piece of work, with what it has made.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include "bora/transport/halting.h"
#include "jobs.h"

namespace halt_test {
using namespace bora;
using namespace bora::transport;
using namespace std::chrono_literals;
namespace {
using Seconds = std::chrono::duration<double>;
/// Computes for so long, and halts if that is in vain.
void compute(Context& c, Seconds time) {
  for (auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
    if (halts(c)->given_up()) halts(c)->halt_if_given_up();
    std::this_thread::sleep_for(200us);
  }
}
/// The numbers after a piece of work: all ranks add theirs and go on from the sum.
struct Chain {
  std::vector<float> numbers;
  std::int64_t done = 0;
  explicit Chain(std::size_t n) : numbers(n, 1) {}
  void next(Context& c, const Group& all, Seconds time) {
    auto mine = numbers, sum = numbers;
    for (auto& x : mine) x = x * 0.5F + static_cast<float>(c.rank());
    auto work = c.start(all, {.kind = CollectiveKind::all_reduce, .dtype = Dtype::f32, .in = mine.data(),
                              .out = sum.data(), .send_counts = {static_cast<std::int64_t>(mine.size())}});
    struct Settle {  // its buffers are used until it has ended, however it ends
      transport::Work& work;
      ~Settle() {
        try {
          work.wait();
        } catch (const Halted&) {}
      }
    } settle{*work};
    compute(c, time);
    work->wait();
    for (auto& x : sum) x /= static_cast<float>(c.size());
    c.barrier(all);
    compute(c, time);
    numbers = sum;
    ++done;
  }
};
/// What a job's ranks end with: the piece of work, and a number of it.
std::vector<std::pair<std::int64_t, float>> halted(Carrier carrier, int n, std::size_t numbers, unsigned seed) {
  std::vector<std::pair<std::int64_t, float>> ends(static_cast<std::size_t>(n));
  std::mt19937 random(seed);
  auto uniform = [&](double most) { return Seconds(std::uniform_real_distribution<>(0, most)(random)); };
  int asks = static_cast<int>(random() % static_cast<unsigned>(n));
  auto when = uniform(0.03);
  std::vector<Seconds> times;
  for (int r = 0; r < n; ++r) times.push_back(uniform(0.004));
  expect_no_errors(run_ranks(carrier, n, [&](Context& c) {
    auto all = everybody(n);
    Chain work(numbers), before = work;
    std::atomic<bool> over = false;
    std::thread asker;
    if (c.rank() == asks) asker = std::thread([&] {
      std::this_thread::sleep_for(when);
      for (; !over; std::this_thread::sleep_for(5ms)) halts(c)->ask_to_halt();  // until all have begun
    });
    struct Join {
      std::thread& t;
      std::atomic<bool>& over;
      ~Join() {
        over = true;
        if (t.joinable()) t.join();
      }
    } join{asker, over};
    try {
      for (;;) {
        before = work;
        halts(c)->begin_work(work.done, true);
        work.next(c, all, times[static_cast<std::size_t>(c.rank())]);
        halts(c)->end_work(work.done);
      }
    } catch (const Halted& e) {
      if (work.done != e.done) work = before;
      EXPECT_EQ(work.done, e.done);
    }
    EXPECT_THROW(c.barrier(all), Halted);
    auto& end = ends[static_cast<std::size_t>(c.rank())] = {work.done, work.numbers.back()};
    auto said = c.exchange(std::to_string(end.first) + " " + std::to_string(end.second), "ends");
    for (auto& text : said) EXPECT_EQ(text, said[0]);
    c.leave();
  }));
  return ends;
}
struct HaltTest : testing::TestWithParam<Carrier> {};
}  // namespace

TEST_P(HaltTest, AllEndAtTheSamePieceOfWork) {
  for (unsigned seed = 0; seed < 12; ++seed)
    for (int n : {1, 2, 3, 4}) {
      auto ends = halted(GetParam(), n, seed % 2 ? 10 : 300'000, seed);
      float x = 1;
      for (std::int64_t k = 0; k < ends[0].first; ++k) {
        float sum = 0;
        for (int r = 0; r < n; ++r) sum += x * 0.5F + static_cast<float>(r);
        x = sum / static_cast<float>(n);
      }
      for (auto& end : ends) {
        EXPECT_EQ(end.first, ends[0].first);
        EXPECT_NEAR(end.second, x, 1e-3) << "seed " << seed << " ranks " << n;
      }
    }
}
INSTANTIATE_TEST_SUITE_P(Carriers, HaltTest, testing::Values(Carrier::local, Carrier::tcp, Carrier::automatic),
                         [](auto& info) { return carrier_name(info.param); });

/// However long the running piece takes, and with a rank that is one piece behind.
TEST(Halt, DoesNotWaitForWorkThatIsGivenUp) {
  std::atomic<int> inside = 0;
  auto begin = std::chrono::steady_clock::now();
  expect_no_errors(run_ranks(Carrier::tcp, 3, [&](Context& c) {
    try {
      halts(c)->begin_work(0, true);
      c.barrier(everybody(3));
      if (c.rank() == 0) {
        halts(c)->end_work(1);
        halts(c)->begin_work(1, true);
        ++inside;
        compute(c, Seconds(60));
      }
      while (inside == 0) std::this_thread::sleep_for(1ms);
      if (c.rank() == 1) halts(c)->ask_to_halt();
      std::this_thread::sleep_for(200ms);
      halts(c)->end_work(1);
      halts(c)->begin_work(1, true);
      ADD_FAILURE() << "rank " << c.rank() << " goes on";
    } catch (const Halted& e) { EXPECT_EQ(e.done, 1); }
    c.exchange("", "after it");
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}
/// A rank that cannot go back is waited for, as long as it says so.
TEST(Halt, OnlyWhereAllCanReturn) {
  expect_no_errors(run_ranks(Carrier::local, 2, [&](Context& c) {
    auto all = everybody(2);
    std::int64_t done = 0;
    try {
      for (;; ++done) {
        halts(c)->begin_work(done, c.rank() == 0 || done >= 3);
        c.barrier(all);  // both are inside
        halts(c)->ask_to_halt();
        std::this_thread::sleep_for(20ms);
        c.barrier(all);
        halts(c)->end_work(done + 1);
      }
    } catch (const Halted& e) {
      EXPECT_GE(e.done, 3);
      EXPECT_EQ(e.done, done);
    }
  }));
}
TEST(Halt, ARankThatHasNotBegunIsNoPlaceToHalt) {
  expect_no_errors(run_ranks(Carrier::local, 2, [&](Context& c) {
    if (c.rank() == 0) halts(c)->begin_work(4, true);
    halts(c)->ask_to_halt();
    c.barrier(everybody(2));
    std::this_thread::sleep_for(50ms);
    c.barrier(everybody(2));
  }));
}
TEST(Halt, ALossInTheMiddleIsALoss) {
  for (int dies : {0, 1, 2}) {
    auto errors = run_ranks(Carrier::local, 3, [&](Context& c) {
      halts(c)->begin_work(0, true);
      halts(c)->ask_to_halt();
      if (c.rank() == dies) c.abort("it dies");
      try {
        for (;;) c.barrier(everybody(3));
      } catch (const Halted&) { c.exchange("", "after it"); }
    });
    int lost = 0;
    for (auto& error : errors) lost += error.find("it dies") != error.npos;
    EXPECT_TRUE(lost == 3 || lost == 0) << lost;  // none: all had halted and said so before
  }
}
}  // namespace halt_test
