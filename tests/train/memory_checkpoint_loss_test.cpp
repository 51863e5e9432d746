// A rank is lost while a snapshot is taken, read or handed over: whichever, and before whichever of its messages, the
// others have a whole one, unless both copies of a part are lost with it; then they are told so.
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include "bora/bora.h"
#include "bora/train/trainer.h"
#include "bora/transport/transport.h"
#include "train/memory_checkpoint_state.h"
#include "train/api/memory_checkpoint.h"

namespace memory_checkpoint_loss_test {
using namespace bora;
using bora::training::MemoryCheckpoint;

namespace {
/// Ends, with the job, before its n-th collective or exchange from its arming on.
class Mortal final : public transport::Context {
 public:
  Mortal(transport::ContextPtr of, int n) : of_(std::move(of)), calls_(n) {}
  void arm() { armed_ = true; }
  bool dead() const { return dead_; }
  const std::string& last() const { return last_; }  // what it waited for
  int rank() const override { return of_->rank(); }
  int size() const override { return of_->size(); }
  int ranks_on_host() const override { return of_->ranks_on_host(); }
  transport::WorkPtr start(const transport::Group& g, const CollectiveCall& c) override {
    age();
    return of_->start(g, c);
  }
  void run(const transport::Group& g, const CollectiveCall& c) override {
    age();
    last_ = "a collective";
    of_->run(g, c);
  }
  std::shared_ptr<void> allocate(std::size_t n) override { return of_->allocate(n); }
  std::vector<std::string> exchange(const std::string& mine, std::string_view what) override {
    age();
    last_ = what;
    return of_->exchange(mine, what);
  }
  void dump(const std::string& why) override { of_->dump(why); }
  void abort(const std::string& reason) noexcept override { of_->abort(reason); }
  void leave() override { of_->leave(); }
  transport::Traffic traffic() const override { return of_->traffic(); }
  void tell(const std::string& status) override { of_->tell(status); }
  std::vector<transport::Told> told() const override { return of_->told(); }
  void on_lost(std::function<void(const transport::RankLost&)> f, double grace_s) override {
    of_->on_lost(std::move(f), grace_s);
  }

 private:
  void age() {
    if (!armed_ || calls_-- != 0) return;
    dead_ = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // what it has sent arrives
    of_->abort("it dies");
    throw transport::RankLost("it dies", rank());
  }
  transport::ContextPtr of_;
  int calls_;
  bool armed_ = false, dead_ = false;
  std::string last_ = {};
};
using test::kSplit;
using test::numbers;
constexpr std::int64_t kLong = 100'001;
test::State state(float base) { return test::state_of(base, kLong); }
/// f on each rank, of which `mortal` dies before its n-th message. Whether it did.
bool each_rank(const std::vector<MemoryCheckpoint*>& held, int mortal, int n,
               const std::function<void(const Mesh&, MemoryCheckpoint&)>& f) {
  auto size = static_cast<int>(held.size());
  auto contexts = transport::local(size);
  std::vector<std::thread> threads;
  std::atomic<bool> dead{false};
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      transport::ContextPtr context = std::move(contexts[static_cast<std::size_t>(r)]);
      std::shared_ptr<Mortal> one;
      if (r == mortal) context = one = std::make_shared<Mortal>(context, n);
      try {
        auto mesh = Mesh::over(context, {{"data", size}});
        UseMesh on(mesh);
        UseMapping split(kSplit);
        if (one) one->arm();
        f(mesh, *held[static_cast<std::size_t>(r)]);
        if (!one || !one->dead()) context->leave();
      } catch (const transport::RankLost&) { EXPECT_GE(mortal, 0); }
      if (one && one->dead()) dead = true;
    });
  for (auto& t : threads) t.join();
  return dead;
}
std::vector<MemoryCheckpoint*> all_of(std::vector<MemoryCheckpoint>& s) {
  std::vector<MemoryCheckpoint*> r;
  for (auto& one : s) r.push_back(&one);
  return r;
}
void take(const std::vector<MemoryCheckpoint*>& held, std::int64_t step, int mortal, int n, bool& died) {
  died = each_rank(held, mortal, n, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
    auto now = state(static_cast<float>(step));
    mine.take(mesh, step, tree::node(now), "note " + std::to_string(step));
  });
}
}  // namespace

TEST(MemoryCheckpoint, ALossWhileOneIsTakenLeavesAWholeOne) {
  std::map<std::int64_t, int> times;  // that the others went on from this step
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int mortal = 0; mortal < ranks; ++mortal)
      for (int n = 0;; ++n) {
        SCOPED_TRACE("rank " + std::to_string(mortal) + " of " + std::to_string(ranks) + " before message " +
                     std::to_string(n));
        std::vector<MemoryCheckpoint> before(static_cast<std::size_t>(ranks)), fresh(1);
        bool died = false;
        take(all_of(before), 10, -1, 0, died);
        take(all_of(before), 20, mortal, n, died);
        if (!died) {
          EXPECT_GE(n, 3);
          break;
        }
        auto next = all_of(before);
        next[static_cast<std::size_t>(mortal)] = fresh.data();
        std::mutex mutex;
        std::vector<std::int64_t> steps;
        each_rank(next, -1, 0, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
          auto found = mine.find(mesh);
          ASSERT_TRUE(found.whole());
          auto s = state(0);
          EXPECT_EQ(mine.restore(mesh, found, tree::node(s)), "note " + std::to_string(found.step));
          EXPECT_EQ(numbers(s), numbers(state(static_cast<float>(found.step))));
          std::lock_guard lock(mutex);
          steps.push_back(found.step);
        });
        ASSERT_EQ(steps, std::vector<std::int64_t>(static_cast<std::size_t>(ranks), steps.at(0)));
        ++times[steps[0]];
        // The next snapshot is as any other.
        take(next, 30, -1, 0, died);
        each_rank(next, -1, 0, [](const Mesh& mesh, MemoryCheckpoint& mine) { EXPECT_EQ(mine.find(mesh).step, 30); });
      }
  EXPECT_GT(times[10], 0);
  EXPECT_GT(times[20], 0);
  EXPECT_EQ(times.size(), 2U);
}
/// A second rank is lost while the blocks of the first are read again, into the process that replaces it.
TEST(MemoryCheckpoint, ALossWhileOneIsReadLeavesWhatIsNotLost) {
  int whole = 0, lost = 0;
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int first = 0; first < (ranks < 4 ? ranks : 1); ++first)
      for (int second = 0; second < ranks; ++second)
        for (int n = 0;; ++n) {
          SCOPED_TRACE("ranks " + std::to_string(first) + ", " + std::to_string(second) + " of " +
                       std::to_string(ranks) + ", before message " + std::to_string(n));
          std::vector<MemoryCheckpoint> before(static_cast<std::size_t>(ranks)), fresh(2);
          bool died = false;
          take(all_of(before), 10, -1, 0, died);
          auto next = all_of(before);
          next[static_cast<std::size_t>(first)] = fresh.data();
          died = each_rank(next, second, n, [](const Mesh& mesh, MemoryCheckpoint& mine) {
            auto s = state(0);
            mine.restore(mesh, mine.find(mesh), tree::node(s));
          });
          if (!died) break;
          next[static_cast<std::size_t>(second)] = &fresh[1];
          // The next rank has the copy of a part; a process in a lost one's place has neither.
          bool both = second == (first + 1) % ranks || first == (second + 1) % ranks;
          each_rank(next, -1, 0, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
            auto found = mine.find(mesh);
            ASSERT_EQ(found.whole(), second == first || !both);
            EXPECT_EQ(found.lost.empty(), found.whole() || ranks == 2);  // of two nothing is left that would tell
            if (!found.whole()) return;
            auto s = state(0);
            EXPECT_EQ(mine.restore(mesh, found, tree::node(s)), "note 10");
            EXPECT_EQ(numbers(s), numbers(state(10)));
          });
          ++(second == first || !both ? whole : lost);
        }
  EXPECT_GT(whole, 20);
  EXPECT_GT(lost, 20);
}
/// A rank is lost while those for which there will be no place give what they hold to the others: of heirs and others,
/// what is left has it all.
TEST(MemoryCheckpoint, ALossWhileOneIsHandedOverLeavesIt) {
  int times = 0;
  for (int mortal = 0; mortal < 4; ++mortal)
    for (auto& heirs : std::vector<std::vector<int>>{{0}, {1, 2}, {3}, {0, 1, 2}})
      for (int n = 0;; ++n) {
        SCOPED_TRACE("rank " + std::to_string(mortal) + " before message " + std::to_string(n) + ", " +
                     std::to_string(heirs.size()) + " heirs");
        std::vector<MemoryCheckpoint> before(4);
        bool died = false;
        take(all_of(before), 10, -1, 0, died);
        auto hand_over = [&](const Mesh& mesh, MemoryCheckpoint& mine) { mine.hand_over(mesh, heirs); };
        died = each_rank(all_of(before), mortal, n, hand_over);
        auto left = all_of(before);
        if (died) left.erase(left.begin() + mortal);
        else left.clear();
        for (int heir : heirs)
          if (!died) left.push_back(&before[static_cast<std::size_t>(heir)]);
        each_rank(left, -1, 0, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
          auto found = mine.find(mesh);
          ASSERT_TRUE(found.whole());
          auto s = state(0);
          EXPECT_EQ(mine.restore(mesh, found, tree::node(s)), "note 10");
          EXPECT_EQ(numbers(s), numbers(state(10)));
        });
        ++times;
        if (!died) break;
      }
  EXPECT_GT(times, 40);
}
/// A rank that gives and gets nothing more waits for the others: the launcher ends those that leave long after it.
TEST(MemoryCheckpoint, WhatIsHandedOverIsAwaitedByAll) {
  std::vector<MemoryCheckpoint> before(4);
  bool died = false;
  take(all_of(before), 10, -1, 0, died);
  for (int rank = 0; rank < 4; ++rank)
    each_rank(all_of(before), rank, 1000, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
      mine.hand_over(mesh, {0, 1});
      auto* one = dynamic_cast<Mortal*>(&mesh.context());
      if (one) { EXPECT_EQ(one->last(), "snapshot: handed over"); }
    });
}
/// Ranks that hold a part each, as before, need nothing of the others' but for the new one.
TEST(MemoryCheckpoint, RanksGetWhatTheyNeed) {
  std::vector<MemoryCheckpoint> before(4);
  bool died = false;
  take(all_of(before), 10, -1, 0, died);
  MemoryCheckpoint fresh;
  auto next = all_of(before);
  next[2] = &fresh;
  std::atomic<std::uint64_t> received{0};
  each_rank(next, -1, 0, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
    auto found = mine.find(mesh);
    auto s = state(0);
    auto already = mesh.context().traffic().bytes_received;
    mine.restore(mesh, found, tree::node(s));
    received += mesh.context().traffic().bytes_received - already;
    EXPECT_EQ(numbers(s), numbers(state(10)));
  });
  auto all = static_cast<std::uint64_t>(4 * (kLong + 13 * 7 + 1));
  EXPECT_GE(received, all / 4);
  EXPECT_LT(received, all / 2);  // what all get of all: 3 times as many as there are
}
}  // namespace memory_checkpoint_loss_test
