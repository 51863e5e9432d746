// Collectives of a partitioned Program: small neighbours become one, starts and waits, errors while something is under
// way.
#include <gtest/gtest.h>
#include <condition_variable>
#include <deque>
#include <thread>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/contractions.h"
#include "bora/ops/indexing.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/collective_primitives.h"
#include "compile/testing.h"

namespace bora::coalesce_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;

/// f32 collectives between threads. A start publishes; the wait meets the others, in the order of starts, and computes.
class Meeting {
 public:
  explicit Meeting(int n) : n_(n), calls_(static_cast<std::size_t>(n)) {}
  struct Rank final : Communicator {
    Meeting& meeting;
    int rank;
    std::size_t started = 0;
    std::vector<std::string> log;
    Rank(Meeting& m, int r) : meeting(m), rank(r) {}
    struct Pending final : Handle {
      Rank& rank;
      std::size_t which;
      Pending(Rank& r, std::size_t w) : rank(r), which(w) {}
      void wait() override {
        rank.log.push_back("wait " + std::to_string(which));
        rank.meeting.finish(rank.rank, which);
      }
    };
    std::shared_ptr<Handle> start(const MeshAxes&, const CollectiveCall& c) override {
      log.push_back("start " + std::to_string(started) + " " + c.describe());
      meeting.publish(rank, c);
      return std::make_shared<Pending>(*this, started++);
    }
    std::vector<std::string> exchange(const std::string& mine, std::string_view) override { return {mine}; }
  };

 private:
  struct Posted {
    CollectiveCall call;
    std::vector<float> in;
  };
  void publish(int rank, const CollectiveCall& c) {
    std::lock_guard l(mutex_);
    auto sent = c.kind == CollectiveKind::all_reduce   ? c.send_counts[0]
                : c.kind == CollectiveKind::all_gather ? c.recv_counts[static_cast<std::size_t>(rank)]
                                                       : total(c.recv_counts);
    auto* x = static_cast<const float*>(c.in);
    calls_[static_cast<std::size_t>(rank)].push_back({c, std::vector<float>(x, x + sent)});
    changed_.notify_all();
  }
  static std::int64_t total(const std::vector<std::int64_t>& v) {
    std::int64_t n = 0;
    for (auto x : v) n += x;
    return n;
  }
  void finish(int rank, std::size_t which) {
    std::unique_lock l(mutex_);
    changed_.wait(l,
                  [&] { return std::all_of(calls_.begin(), calls_.end(), [&](auto& c) { return c.size() > which; }); });
    auto& c = calls_[static_cast<std::size_t>(rank)][which].call;
    auto* out = static_cast<float*>(c.out);
    for (auto& other : calls_) EXPECT_EQ(other[which].call.fingerprint, c.fingerprint);
    if (c.kind == CollectiveKind::all_gather) {
      for (auto& other : calls_) out = std::copy(other[which].in.begin(), other[which].in.end(), out);
      return;
    }
    std::int64_t begin = 0, n = c.kind == CollectiveKind::all_reduce ? c.send_counts[0]
                                                                     : c.recv_counts[static_cast<std::size_t>(rank)];
    if (c.kind == CollectiveKind::reduce_scatter)
      for (int r = 0; r < rank; ++r) begin += c.recv_counts[static_cast<std::size_t>(r)];
    for (std::int64_t i = 0; i < n; ++i) {
      float s = 0;
      for (auto& other : calls_) s += other[which].in[static_cast<std::size_t>(begin + i)];
      out[i] = s;
    }
  }
  int n_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Posted>> calls_;
};
/// f(rank, its communicator) on n ranks of axis "data".
template <class F> void on_ranks(int n, F&& f) {
  Meeting meeting(n);
  MeshShape mesh{{{AxisName("data"), n}}};
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      Meeting::Rank c(meeting, r);
      here() = {&mesh, r, &c};
      f(r, c);
      here() = {};
    });
  for (auto& t : threads) t.join();
}
ProgramPtr local(const FlatFn& f, const Types& in) {
  auto p = std::make_shared<Program>(*stage(f, in).program);
  p->local = true;
  return p;
}
const MeshAxes kData{"data"};

TEST(Coalesce, SmallNeighboursOfEveryKind) {
  on_ranks(3, [](int rank, Communicator&) {
    auto part = [&](std::int64_t n) { return equal_block(n, 3, rank).size(); };
    Dims seven{2, 2, 3}, five{1, 2, 2};
    auto f = [&](const Arrays& a) {
      auto s = ops::all_reduce(a[0] * 2.0, kData, Reduction::sum, {4, 3});
      auto early = exp(s);
      auto t = ops::all_reduce(sum(a[0], 0), kData, Reduction::sum, {3});
      auto g = ops::all_gather(a[1], kData, 1, seven, {2, 7}), h = ops::all_gather(a[2], kData, 0, five, {5, 3});
      auto r = ops::reduce_scatter(g, kData, 1, seven, {2, 7}), q = ops::reduce_scatter(h, kData, 0, five, {5, 3});
      return Arrays{early, t, g, h, r, q};
    };
    Types in{{{4, 3}, f32}, {{2, part(7)}, f32}, {{part(5), 3}, f32}};
    auto p = local(f, in);
    auto q = coalesce(p);
    EXPECT_EQ(fingerprint(*p).size(), 6u);
    EXPECT_EQ(fingerprint(*q).size(), 3u) << *q;
    auto seed = static_cast<std::uint64_t>(rank);
    Arrays x{numbers({4, 3}, seed), numbers({2, part(7)}, seed + 10), numbers({part(5), 3}, seed + 20)};
    auto e = executable(p);
    EXPECT_EQ(e->info().collectives, 3u);
    same_bits(e->run(x), interpret(*p, x), e->explain());
  });
}
/// A sum that is worth a message of its own does not wait for others.
TEST(Coalesce, SumsOfSomeBytesStandAlone) {
  for (auto [n, collectives] : {std::pair{256, 3U}, {16, 1U}})
    on_ranks(2, [n = std::int64_t{n}, count = collectives](int rank, Communicator&) {
      auto f = [&](const Arrays& a) {
        auto y = matmul(a[0], a[0]), z = matmul(y, a[0]);
        return Arrays{ops::all_reduce(y, kData, Reduction::sum, {n, n}),
                      ops::all_reduce(z, kData, Reduction::sum, {n, n}),
                      ops::all_reduce(sum(z, 0), kData, Reduction::sum, {n})};
      };
      auto p = local(f, {{{n, n}, f32}}), q = coalesce(p);
      EXPECT_EQ(fingerprint(*q).size(), count) << *q;
      Arrays x{numbers({n, n}, static_cast<std::uint64_t>(rank))};
      auto e = executable(p);
      auto text = e->explain();
      same_bits(e->run(x), interpret(*p, x), text);
      // In the schedule the first one starts in front of the second product.
      if (count > 1) { EXPECT_LT(text.find("start all_reduce"), text.rfind("dot_general")) << text; }
    });
}
TEST(Coalesce, DependentOnesAndLargeOnesStay) {
  on_ranks(2, [](int rank, Communicator&) {
    auto f = [&](const Arrays& a) {
      auto s = ops::all_reduce(a[0], kData, Reduction::sum, {4, 3});
      auto t = ops::all_reduce(tanh(s), kData, Reduction::sum, {4, 3});
      auto u = ops::all_reduce(a[0] * 3.0, kData, Reduction::sum, {1 << 20});
      return Arrays{t, u, ops::all_reduce(a[0] * 2.0, kData, Reduction::sum, {4, 3})};
    };
    auto p = local(f, {{{4, 3}, f32}});
    EXPECT_EQ(fingerprint(*coalesce(p)), fingerprint(*p));
    Arrays x{numbers({4, 3}, static_cast<std::uint64_t>(rank))};
    same_bits(executable(p)->run(x), interpret(*p, x));
  });
}
TEST(Coalesce, InsideOfLoops) {
  on_ranks(2, [](int rank, Communicator&) {
    auto body = local(
        [&](const Arrays& a) {
          auto s = ops::all_reduce(a[0] * 0.25, kData, Reduction::sum, {3});
          return Arrays{tanh(s), ops::all_reduce(exp(a[0]), kData, Reduction::sum, {3})};
        },
        {{{3}, f32}});
    auto p = local([&](const Arrays& a) { return call(ops::Scan{body, 0, 1, 4, false}, {a[0]}); }, {{{3}, f32}});
    auto e = executable(p);
    EXPECT_EQ(e->info().collectives, 1u);
    EXPECT_EQ(e->info().collective_uses[0].times, 4u);
    auto x = numbers({3}, static_cast<std::uint64_t>(rank)), carry = x;
    auto got = e->run({x});
    Arrays ys;
    for (int k = 0; k < 4; ++k) {
      auto r = interpret(*body, {carry});
      carry = r[0];
      ys.push_back(r[1]);
    }
    same_bits(got, {carry, stack(ys)}, e->explain());
  });
}
TEST(Schedule, StartsMoveUpAndWaitsMoveDown) {
  on_ranks(2, [](int rank, Communicator& c) {
    auto f = [&](const Arrays& a) {
      auto y = matmul(a[0], a[0]);
      auto s = ops::all_reduce(a[0], kData, Reduction::sum, {1 << 20});
      return Arrays{matmul(y, y), matmul(s, y)};
    };
    auto p = local(f, {{{4, 4}, f32}});
    Arrays x{numbers({4, 4}, static_cast<std::uint64_t>(rank))};
    auto e = executable(p);
    auto text = e->explain();
    auto start = text.find("start all_reduce"), wait = text.find("wait all_reduce"), first = text.find("dot_general");
    EXPECT_LT(start, first) << text;
    EXPECT_GT(wait, text.find("dot_general", first + 1)) << text;
    auto got = e->run(x);
    auto& log = static_cast<Meeting::Rank&>(c).log;
    ASSERT_EQ(log.size(), 2u);
    same_bits(got, interpret(*p, x), text);
  });
}
TEST(Schedule, OneResultFeedsTheNext) {
  on_ranks(2, [](int rank, Communicator&) {
    auto f = [&](const Arrays& a) {
      auto s = ops::all_reduce(a[0], kData, Reduction::sum, {1 << 20});
      auto t = ops::all_reduce(s, kData, Reduction::sum, {1 << 20});
      return Arrays{ops::all_reduce(t, kData, Reduction::sum, {1 << 20}), s};
    };
    auto p = local(f, {{{4, 4}, f32}});
    Arrays x{numbers({4, 4}, static_cast<std::uint64_t>(rank))};
    same_bits(executable(p)->run(x), interpret(*p, x));
  });
}
}  // namespace
}  // namespace bora::coalesce_test
