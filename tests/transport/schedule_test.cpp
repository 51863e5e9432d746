// Every schedule, for 1 to 17 ranks and ragged counts, run in memory: right results in group order, nothing left over, known hops and bytes.
#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include "schedule.h"
#include "simulate.h"
#include "sum.h"

namespace bora::transport {
namespace {
using Counts = std::vector<std::int64_t>;
std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::int64_t value(int rank, std::int64_t i) { return (rank + 1) * 1000003 + i * 7; }
std::vector<std::int64_t> input(int rank, std::int64_t n) {
  std::vector<std::int64_t> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = value(rank, i);
  return v;
}
/// Parts of different lengths, some empty.
Counts ragged(int P) {
  Counts c;
  for (int p = 0; p < P; ++p) c.push_back((p * 37 + 11) % 5 * 9);
  return c;
}
std::int64_t total(const Counts& c) { return std::accumulate(c.begin(), c.end(), std::int64_t{0}); }
std::int64_t in_order(int P, std::int64_t i) {
  auto acc = value(0, i);
  for (int p = 1; p < P; ++p) acc = fold_in(acc, value(p, i));
  return acc;
}
struct Case {
  std::vector<Schedule> schedules;
  std::vector<std::vector<std::int64_t>> in;
  Counts out;
};
/// Makes one case; `problem` fills in a rank's problem, input and output length.
template <class F> Case build(int P, Algorithm a, F problem) {
  Case c;
  for (int r = 0; r < P; ++r) {
    Problem p{.rank = r, .size = P};
    std::int64_t in = 0, out = 0;
    problem(p, in, out);
    c.schedules.push_back(make_schedule(p, a));
    c.in.push_back(input(r, in));
    c.out.push_back(out);
  }
  return c;
}
Simulation run(const Case& c, unsigned seed) { return simulate(c.schedules, c.in, c.out, seed); }

class Schedules : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Schedules, testing::Range(1, 18));

TEST_P(Schedules, AllReduceSumsInGroupOrder) {
  int P = GetParam();
  for (auto a : algorithms_for(Op::all_reduce))
    for (std::int64_t n : {0, 1, 15, 16, 17, 1000})
      for (unsigned seed : {0u, 1u, 2u}) {
        auto s = run(
            build(P, a,
                  [&](Problem& p, auto& in, auto& out) { p.op = Op::all_reduce, p.send_counts = {n}, in = out = n; }),
            seed);
        for (auto& out : s.out)
          for (std::int64_t i = 0; i < n; ++i)
            ASSERT_EQ(out[static_cast<std::size_t>(i)], in_order(P, i)) << algorithm_name(a) << " n=" << n;
        if (P > 1) { EXPECT_EQ(s.hops, a == Algorithm::one_shot ? 1 : 2); }
        auto most = a == Algorithm::one_shot ? (P - 1) * n : 2 * (P - 1) * (n / P + 32);
        for (auto sent : s.sent) EXPECT_LE(sent, most);
      }
}
TEST_P(Schedules, AllGatherOfRaggedParts) {
  int P = GetParam();
  auto counts = ragged(P);
  for (auto a : algorithms_for(Op::all_gather))
    for (unsigned seed : {0u, 3u}) {
      auto s = run(build(P, a,
                         [&](Problem& p, auto& in, auto& out) {
                           p.op = Op::all_gather, p.recv_counts = counts, in = counts[at(p.rank)], out = total(counts);
                         }),
                   seed);
      std::vector<std::int64_t> expected;
      for (int r = 0; r < P; ++r) {
        auto part = input(r, counts[at(r)]);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      for (auto& out : s.out) ASSERT_EQ(out, expected) << algorithm_name(a);
      EXPECT_EQ(s.hops, P == 1 ? 0 : a == Algorithm::ring ? P - 1 : 1);
    }
}
TEST_P(Schedules, ReduceScatterOfRaggedParts) {
  int P = GetParam();
  auto counts = ragged(P);
  for (unsigned seed : {0u, 4u}) {
    auto s = run(build(P, Algorithm::direct,
                       [&](Problem& p, auto& in, auto& out) {
                         p.op = Op::reduce_scatter, p.recv_counts = counts, in = total(counts),
                         out = counts[at(p.rank)];
                       }),
                 seed);
    std::int64_t begin = 0;
    for (int r = 0; r < P; begin += counts[at(r)], ++r)
      for (std::int64_t i = 0; i < counts[at(r)]; ++i)
        ASSERT_EQ(s.out[at(r)][static_cast<std::size_t>(i)], in_order(P, begin + i));
    for (int r = 0; r < P; ++r) EXPECT_EQ(s.sent[at(r)], total(counts) - counts[at(r)]);
  }
}
TEST_P(Schedules, BroadcastFromEveryRoot) {
  int P = GetParam();
  for (auto a : algorithms_for(Op::broadcast))
    for (int root = 0; root < P; ++root) {
      auto s = run(build(P, a,
                         [&](Problem& p, auto& in, auto& out) {
                           p.op = Op::broadcast, p.send_counts = {21}, p.root = root, out = 21,
                           in = p.rank == root ? 21 : 0;
                         }),
                   static_cast<unsigned>(root));
      for (auto& out : s.out) ASSERT_EQ(out, input(root, 21)) << algorithm_name(a);
      EXPECT_EQ(std::accumulate(s.sent.begin(), s.sent.end(), std::int64_t{0}), 21 * (P - 1));
      if (a == Algorithm::binomial) { EXPECT_LE(s.hops, static_cast<int>(std::ceil(std::log2(P)))); }
    }
}
TEST_P(Schedules, GatherAndScatterWithEveryRoot) {
  int P = GetParam();
  auto counts = ragged(P);
  for (auto op : {Op::gather, Op::scatter})
    for (int root = 0; root < P; ++root) {
      auto s = run(build(P, Algorithm::direct,
                         [&](Problem& p, auto& in, auto& out) {
                           p.op = op, p.recv_counts = counts, p.root = root;
                           auto whole = p.rank == root ? total(counts) : 0, mine = counts[at(p.rank)];
                           in = op == Op::gather ? mine : whole, out = op == Op::gather ? whole : mine;
                         }),
                   static_cast<unsigned>(root + 1));
      std::vector<std::int64_t> parts;
      std::int64_t begin = 0;
      for (int r = 0; r < P; begin += counts[at(r)], ++r) {
        auto part = input(r, counts[at(r)]);
        parts.insert(parts.end(), part.begin(), part.end());
        if (op == Op::gather) continue;
        auto whole = input(root, total(counts));
        ASSERT_EQ(s.out[at(r)], std::vector<std::int64_t>(whole.begin() + begin, whole.begin() + begin + counts[at(r)]));
      }
      if (op == Op::gather) { ASSERT_EQ(s.out[at(root)], parts); }
      EXPECT_EQ(std::accumulate(s.sent.begin(), s.sent.end(), std::int64_t{0}), total(counts) - counts[at(root)]);
    }
}
TEST_P(Schedules, AllToAllPermuteAndBarrier) {
  int P = GetParam();
  auto part = [&](int from, int to) { return std::int64_t{(from * 3 + to * 5) % 4}; };
  auto s = run(build(P, Algorithm::direct,
                     [&](Problem& p, auto& in, auto& out) {
                       p.op = Op::all_to_all;
                       for (int k = 0; k < P; ++k)
                         p.send_counts.push_back(part(p.rank, k)), p.recv_counts.push_back(part(k, p.rank));
                       in = total(p.send_counts), out = total(p.recv_counts);
                     }),
               7);
  for (int r = 0; r < P; ++r) {
    std::vector<std::int64_t> expected;
    for (int k = 0; k < P; ++k) {
      std::int64_t begin = 0;
      for (int j = 0; j < r; ++j) begin += part(k, j);
      for (std::int64_t i = 0; i < part(k, r); ++i) expected.push_back(value(k, begin + i));
    }
    ASSERT_EQ(s.out[at(r)], expected);
  }
  // A shift by two that does not wrap: the first two get zeros, the last two send nothing.
  s = run(build(P, Algorithm::direct,
                [&](Problem& p, auto& in, auto& out) {
                  p.op = Op::permute, p.send_counts = {5}, in = out = 5;
                  p.target = p.rank + 2 < P ? p.rank + 2 : -1, p.source = p.rank >= 2 ? p.rank - 2 : -1;
                }),
          8);
  for (int r = 0; r < P; ++r) ASSERT_EQ(s.out[at(r)], r >= 2 ? input(r - 2, 5) : std::vector<std::int64_t>(5, 0));
  s = run(build(P, Algorithm::dissemination, [&](Problem& p, auto&, auto&) { p.op = Op::barrier; }), 9);
  EXPECT_EQ(s.hops, static_cast<int>(std::ceil(std::log2(P))));
}
TEST(ScheduleCost, MoreHopsOrBytesCostMore) {
  auto all_reduce = [](Algorithm a, int P, std::int64_t n) {
    return cost(
        run(build(P, a,
                  [&](Problem& p, auto& in, auto& out) { p.op = Op::all_reduce, p.send_counts = {n}, in = out = n; }),
            0),
        4);
  };
  EXPECT_LT(all_reduce(Algorithm::one_shot, 4, 256), all_reduce(Algorithm::two_shot, 4, 256));
  EXPECT_GT(all_reduce(Algorithm::one_shot, 4, 100000), all_reduce(Algorithm::two_shot, 4, 100000));
}
TEST(ScheduleSimulator, SeesBrokenSchedules) {
  auto make = [] {
    return build(3, Algorithm::direct, [](Problem& p, auto& in, auto& out) {
      p.op = Op::all_gather, p.recv_counts = {2, 3, 4}, in = p.recv_counts[at(p.rank)], out = 9;
    });
  };
  EXPECT_NO_THROW(run(make(), 0));
  auto lost = make();
  lost.schedules[1].steps.erase(lost.schedules[1].steps.begin());  // a send
  EXPECT_THROW(run(lost, 0), TransportError);
  auto extra = make();
  extra.schedules[2].steps.pop_back();  // a receive
  EXPECT_THROW(run(extra, 0), TransportError);
  auto wrong = make();
  wrong.schedules[0].steps[0].from.end -= 1;
  EXPECT_THROW(run(wrong, 0), TransportError);
}
TEST(Chunks, CoverEveryRangeWithinTheLimit) {
  for (std::size_t e : {1u, 2u, 4u, 8u})
    for (std::int64_t n : {1, 15, 1000, 65536, 1 << 20, 5000001}) {
      auto c = chunk_elements(n, e);
      EXPECT_GE(c, 1);
      EXPECT_LE(c * static_cast<std::int64_t>(e), kMaxChunkBytes);
    }
  for (int P = 1; P <= 17; ++P)
    for (std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
      std::int64_t end = 0;
      for (int p = 0; p < P; ++p) {
        EXPECT_EQ(part_of(n, p, P).begin, end);
        end = part_of(n, p, P).end;
      }
      EXPECT_EQ(end, n);
    }
}

template <class T> std::vector<T> reduced(Reduce r, Dtype d, const std::vector<std::vector<T>>& parts) {
  std::vector<const std::byte*> p;
  for (auto& v : parts) p.push_back(reinterpret_cast<const std::byte*>(v.data()));
  std::vector<T> out(parts[0].size());
  reduce_in_order(r, d, p, reinterpret_cast<std::byte*>(out.data()), out.size());
  return out;
}
TEST(Sum, IsMadeFromLeftToRight) {
  EXPECT_EQ(reduced<float>(Reduce::sum, f32, {{1e8f}, {1}, {-1e8f}, {1}}), std::vector<float>{((1e8f + 1) - 1e8f) + 1});
  EXPECT_EQ(reduced<float>(Reduce::sum, f32, {{1}, {1e8f}, {-1e8f}, {1}}), std::vector<float>{1});
  // bf16: 256 + 1 + 1 in bf16 steps would stay 256; in f32 with one rounding it is 258.
  EXPECT_EQ(static_cast<float>(reduced<bfloat16>(Reduce::sum, bf16, {{256.0f}, {1.0f}, {1.0f}})[0]), 258.0f);
  EXPECT_EQ(reduced<std::int32_t>(Reduce::sum, i32, {{2147483647}, {1}}), std::vector<std::int32_t>{-2147483647 - 1});
  EXPECT_EQ(reduced<std::int64_t>(Reduce::max, i64, {{-5, 3}, {2, -9}}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(std::isnan(reduced<float>(Reduce::max, f32, {{1}, {NAN}, {2}})[0]));
  EXPECT_TRUE(std::isnan(reduced<double>(Reduce::min, f64, {{NAN}, {2}})[0]));
  EXPECT_EQ(reduced<float>(Reduce::mean, f32, {{1, 6}, {2, 7}}), (std::vector<float>{1.5f, 6.5f}));
  EXPECT_EQ(static_cast<float>(reduced<bfloat16>(Reduce::mean, bf16, {{256.0f}, {1.0f}, {1.0f}})[0]), 86.0f);
  EXPECT_THROW(reduced<std::int32_t>(Reduce::mean, i32, {{1}, {2}}), DtypeError);
  EXPECT_THROW(reduce_in_order(Reduce::sum, Dtype::key, {nullptr}, nullptr, 1), DtypeError);
}
}  // namespace
}  // namespace bora::transport
