// Every collective over threads and over ZeroMQ: all sizes around a chunk, dtypes, reductions, ragged parts; bit for
// bit the sum in rank order.
#include <atomic>
#include "checks.h"
#include "jobs.h"
#include "schedule/schedule.h"
#include "wire/link.h"

namespace bora::transport::collective_test {
namespace {
struct Setting {
  Carrier carrier;
  int ranks;
};
class Collectives : public testing::TestWithParam<Setting> {
 protected:
  void job(const std::function<void(Context&, const Group&, int)>& body) {
    auto [carrier, n] = GetParam();
    Bytes::registered = carrier == Carrier::registered;
    expect_no_errors(run_ranks(carrier, n, [&, n = n](Context& c) { body(c, everybody(n), n); }));
  }
};
INSTANTIATE_TEST_SUITE_P(Local, Collectives,
                         testing::Values(Setting{Carrier::local, 1}, Setting{Carrier::local, 2},
                                         Setting{Carrier::local, 3}, Setting{Carrier::local, 4},
                                         Setting{Carrier::local, 5}));
INSTANTIATE_TEST_SUITE_P(Tcp, Collectives,
                         testing::Values(Setting{Carrier::tcp, 1}, Setting{Carrier::tcp, 2}, Setting{Carrier::tcp, 3},
                                         Setting{Carrier::tcp, 4}, Setting{Carrier::tcp, 5}));
INSTANTIATE_TEST_SUITE_P(Zmq, Collectives, testing::Values(Setting{Carrier::zmq, 2}, Setting{Carrier::zmq, 4}));
INSTANTIATE_TEST_SUITE_P(Shm, Collectives,
                         testing::Values(Setting{Carrier::shm, 2}, Setting{Carrier::shm, 3}, Setting{Carrier::shm, 4},
                                         Setting{Carrier::shm, 5}));
INSTANTIATE_TEST_SUITE_P(Registered, Collectives,
                         testing::Values(Setting{Carrier::registered, 2}, Setting{Carrier::registered, 5}));
constexpr std::int64_t kChunk = kMaxChunkBytes / 4;
const std::vector<std::int64_t> kSizes = {0, 1, 15, 16, 17, 4095, 4097, kChunk - 1, kChunk, kChunk + 1, 400001};

TEST_P(Collectives, AllReduceOfEverySizeIsTheSumInRankOrder) {
  job([&](Context& c, const Group& g, int) {
    for (auto n : kSizes)
      for (bool in_place : {false, true}) check_all_reduce(c, g, Reduction::sum, f32, n, 1, in_place);
  });
}
TEST_P(Collectives, AllReduceOfEveryDtypeAndReduction) {
  job([&](Context& c, const Group& g, int) {
    for (auto d : {boolean, u8, i32, i64, u32, bf16, f32, f64})
      for (auto r : {Reduction::sum, Reduction::max, Reduction::min, Reduction::mean})
        for (std::int64_t n : {33, 9000})
          if (r != Reduction::mean || is_float(d)) check_all_reduce(c, g, r, d, n, 2, false);
  });
}
TEST_P(Collectives, GatherAndScatterOfRaggedParts) {
  job([&](Context& c, const Group& g, int P) {
    int salt = 0;
    for (auto scale : kSizes)
      for (auto d : {f32, bf16, u8}) ++salt, check_ragged_parts(c, g, d, scale, salt % P, salt);
  });
}
TEST_P(Collectives, BroadcastPermuteAllToAll) {
  job([&](Context& c, const Group& g, int P) {
    for (auto n : kSizes) {
      for (int root = 0; root < P; ++root) check_broadcast(c, g, n, root);
      auto in = made(f32, c.rank(), n, 6);
      Bytes out(in.size(), std::byte{1});
      int source = c.rank() > 0 ? c.rank() - 1 : -1, target = c.rank() + 1 < P ? c.rank() + 1 : -1;
      c.run(g, {.kind = CollectiveKind::permute,
                .in = in.data(),
                .out = out.data(),
                .send_counts = {n},
                .source = source,
                .target = target});
      EXPECT_TRUE(out == (source < 0 ? Bytes(in.size()) : made(f32, source, n, 6))) << "permute " << n;
      Counts send, receive;
      for (int p = 0; p < P; ++p)
        send.push_back(n * (c.rank() + 2 * p) % (n + 1)), receive.push_back(n * (p + 2 * c.rank()) % (n + 1));
      auto total = [](const Counts& k) { return std::accumulate(k.begin(), k.end(), std::int64_t{0}); };
      auto mine = made(i32, c.rank(), total(send), 7);
      Bytes expected;
      for (int p = 0; p < P; ++p) {
        std::int64_t begin = 0, all = 0;
        for (int k = 0; k < P; ++k) (k < c.rank() ? begin : all) += n * (p + 2 * k) % (n + 1);
        auto b = part(made(i32, p, begin + all, 7), begin, receive[at(p)], i32);
        expected.append(b);
      }
      for (bool sparse : {false, true}) {
        Bytes got(at(total(receive)) * 4);
        c.run(g, {.kind = CollectiveKind::all_to_all,
                  .dtype = i32,
                  .in = mine.data(),
                  .out = got.data(),
                  .send_counts = send,
                  .recv_counts = receive,
                  .sparse = sparse});
        EXPECT_TRUE(got == expected) << "all_to_all " << n << (sparse ? " sparse" : "");
      }
    }
    c.barrier(g);
  });
}
TEST_P(Collectives, SendAndReceiveBetweenEveryPair) {
  job([&](Context& c, const Group& g, int P) {
    for (auto n : kSizes)
      for (int a = 0; a < P; ++a)
        for (int b = 0; b < P; ++b) {
          if (a == b) continue;
          if (c.rank() == a) c.send(b, made(f64, a, n, b).data(), n, f64);
          if (c.rank() != b) continue;
          Bytes got(at(n) * 8, std::byte{3});
          c.receive(a, got.data(), n, f64);
          EXPECT_TRUE(got == made(f64, a, n, b)) << n << " from " << a;
        }
    EXPECT_THROW(c.send(c.rank(), nullptr, 0), ValueError);
    c.barrier(g);
  });
}
TEST_P(Collectives, ManyAtOnceInAnyOrderOfWaiting) {
  job([&](Context& c, const Group& g, int P) {
    constexpr int kWorks = 80;  // more than may be under way
    std::vector<Bytes> in, out;
    std::vector<WorkPtr> works;
    std::vector<std::int64_t> sizes;
    for (int i = 0; i < kWorks; ++i)
      sizes.push_back(i % 5 == 0 ? 90000 : 100 * i), in.push_back(made(f32, c.rank(), sizes.back(), i)),
          out.emplace_back(in.back().size());
    for (int i = 0; i < kWorks; ++i) {
      auto k = at(i);
      works.push_back(c.start(
          g,
          {.kind = CollectiveKind::all_reduce, .in = in[k].data(), .out = out[k].data(), .send_counts = {sizes[k]}}));
      if (c.rank() == i % P && i % 9 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (int i = kWorks - 1; i >= 0; i -= 2) works[at(i)]->wait();
    for (auto& w : works)
      while (!w->test()) std::this_thread::yield();
    for (int i = 0; i < kWorks; ++i) EXPECT_TRUE(out[at(i)] == reduced(Reduction::sum, f32, P, sizes[at(i)], i)) << i;
    EXPECT_EQ(c.traffic().collectives, static_cast<std::uint64_t>(kWorks));
    if (P > 1) { EXPECT_GT(c.traffic().bytes_sent, 0u); }
  });
}
/// A group's collective starts early on one rank and late on another, and sends more than a carrier keeps: it must not
/// block other groups.
TEST_P(Collectives, GroupsStartInAnotherOrderOnEveryRank) {
  job([&](Context& c, const Group& g, int P) {
    constexpr std::int64_t n = 1 << 20;
    Group other{.ranks = {g.ranks.rbegin(), g.ranks.rend()}, .name = "reversed"};
    for (int round = 0; round < 2; ++round)
      for (auto op : {CollectiveKind::broadcast, CollectiveKind::all_reduce}) {
        auto a = made(f32, c.rank(), n, 1), b = made(f32, c.rank(), n, 2), want = reduced(Reduction::sum, f32, P, n, 1);
        Bytes sum(a.size());
        CollectiveCall first{.kind = CollectiveKind::all_reduce, .in = a.data(), .out = sum.data(), .send_counts = {n}},
            second{.kind = op, .in = b.data(), .out = b.data(), .send_counts = {n}};
        bool early = c.rank() % 2 == round % 2;
        auto w = early ? c.start(other, second) : nullptr;
        c.run(g, first);
        if (w) w->wait();
        else c.run(other, second);
        EXPECT_TRUE(sum == want);
        if (op == CollectiveKind::broadcast) { EXPECT_TRUE(b == made(f32, P - 1, n, 2)); }
      }
  });
}
TEST_P(Collectives, ProgressWithoutWaiting) {
  job([&](Context& c, const Group& g, int P) {
    auto in = made(f32, c.rank(), 600000, 3);
    Bytes out(in.size());
    auto w =
        c.start(g, {.kind = CollectiveKind::all_reduce, .in = in.data(), .out = out.data(), .send_counts = {600000}});
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!w->test() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(out == reduced(Reduction::sum, f32, P, 600000, 3));
  });
}
TEST_P(Collectives, SubgroupsInterleaveAndTextsAreExchanged) {
  job([&](Context& c, const Group& g, int P) {
    for (int round = 0; round < 3; ++round) {
      auto texts = c.exchange("rank " + std::to_string(c.rank()) + std::string(at(round * 1000), 'x'), "names");
      ASSERT_EQ(texts.size(), at(P));
      for (int p = 0; p < P; ++p)
        EXPECT_EQ(texts[at(p)], "rank " + std::to_string(p) + std::string(at(round * 1000), 'x'));
      Group mine{.ranks = {},
                 .name = c.rank() % 2 ? "odd" : "even"};  // in descending order: sums start with the last rank
      for (int p = P - 1; p >= 0; --p)
        if (p % 2 == c.rank() % 2) mine.ranks.push_back(p);
      std::vector<float> in = {c.rank() == 0 ? 1e8f : 1.0f}, out(1);
      c.run(mine, {.kind = CollectiveKind::all_reduce, .in = in.data(), .out = out.data(), .send_counts = {1}});
      float expected = 0;
      for (std::size_t k = 0; k < mine.ranks.size(); ++k) {
        float x = mine.ranks[k] == 0 ? 1e8f : 1.0f;
        expected = k == 0 ? x : expected + x;
      }
      EXPECT_EQ(out[0], expected);
      c.barrier(g);
    }
  });
}
TEST(CollectiveArguments, AreCheckedAtTheCall) {
  auto c = local(2).front();
  float x = 0;
  auto g = everybody(2);
  EXPECT_THROW(c->run(g, {.kind = CollectiveKind::all_reduce, .in = &x, .out = &x}), ValueError);
  EXPECT_THROW(c->run(g, {.kind = CollectiveKind::all_gather, .in = &x, .out = &x, .recv_counts = {1}}), ValueError);
  EXPECT_THROW(c->run(g, {.kind = CollectiveKind::broadcast, .in = &x, .out = &x, .send_counts = {1}, .root = 2}),
               ValueError);
  EXPECT_THROW(
      c->run(g, {.kind = CollectiveKind::all_reduce, .dtype = Dtype::key, .in = &x, .out = &x, .send_counts = {1}}),
      DtypeError);
  EXPECT_THROW(c->run(g, {.kind = CollectiveKind::all_reduce, .in = &x, .out = &x, .send_counts = {-1}}), ValueError);
  EXPECT_THROW(c->run({.ranks = {1}}, {}), ValueError);
  EXPECT_THROW(local(0), ValueError);
}
}  // namespace
}  // namespace bora::transport::collective_test
