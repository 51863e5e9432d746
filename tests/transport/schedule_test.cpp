// Every schedule, for 1 to 17 ranks and ragged counts, run in memory: right results in group order, nothing left over,
// known hops and bytes.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include "schedule/select.h"
#include "schedule/simulate.h"
#include "schedule/sum.h"

namespace bora::transport::schedule_test {
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
/// One member's call, with its place in the group.
struct Member : CollectiveCall {
  int rank = 0, size = 1;
  std::vector<int> blocks = {};
};
/// Makes one case; `fill` sets a member's call, the blocks, and the lengths of input and output.
template <class F> Case build(int P, std::string_view algorithm_name, F fill) {
  Case c;
  for (int r = 0; r < P; ++r) {
    Member p;
    p.rank = r, p.size = P;
    std::int64_t in = 0, out = 0;
    fill(p, in, out);
    c.schedules.push_back(make_schedule(algorithm(p.kind, algorithm_name), p, {.size = P, .blocks = p.blocks}, r));
    c.in.push_back(input(r, in));
    c.out.push_back(out);
  }
  return c;
}
Simulation run(const Case& c, unsigned seed) { return simulate(c.schedules, c.in, c.out, seed); }

class Schedules : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Schedules, testing::Range(1, 18));
INSTANTIATE_TEST_SUITE_P(ManyRanks, Schedules, testing::Values(31, 32, 33, 64));
std::int64_t log2_up(int P) {
  std::int64_t k = 0;
  while ((1 << k) < P) ++k;
  return k;
}
/// Groups over hosts: their members' numbers.
const std::vector<std::vector<int>> kHosts = {{2, 2}, {1, 2},       {3, 1, 2}, {4, 4},
                                              {1, 3}, {2, 2, 2, 2}, {4, 3, 4}, {5, 1, 1, 6, 2}};
std::vector<int> blocks_of(const std::vector<int>& members) {
  std::vector<int> blocks{0};
  for (int m : members) blocks.push_back(blocks.back() + m);
  return blocks;
}
/// Elements each host sends to others.
std::vector<std::int64_t> leaving(const Simulation& s, const std::vector<int>& blocks) {
  auto host = [&](int r) { return std::upper_bound(blocks.begin(), blocks.end(), r) - blocks.begin() - 1; };
  std::vector<std::int64_t> sent(blocks.size() - 1, 0);
  for (auto& [pair, n] : s.between)
    if (host(pair.first) != host(pair.second)) sent[static_cast<std::size_t>(host(pair.first))] += n;
  return sent;
}

TEST_P(Schedules, AllReduceSumsInGroupOrder) {
  int P = GetParam();
  for (auto* a : algorithms_for(CollectiveKind::all_reduce))
    for (std::int64_t n : {0, 1, 15, 16, 17, 1000})
      for (unsigned seed : P > 17 ? std::vector<unsigned>{5} : std::vector<unsigned>{0, 1, 2}) {
        auto s = run(build(P, a->name,
                           [&](Member& p, auto& in, auto& out) {
                             p.kind = CollectiveKind::all_reduce, p.send_counts = {n}, in = out = n;
                           }),
                     seed);
        for (auto& out : s.out)
          for (std::int64_t i = 0; i < n; ++i)
            ASSERT_EQ(out[static_cast<std::size_t>(i)], in_order(P, i)) << a->name << " n=" << n;
        std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> known = {
            // hops, most elements sent
            {"one_shot", {1, (P - 1) * n}},
            {"two_shot", {2, 2 * (P - 1) * (n / P + 32)}},
            {"bruck", {log2_up(P), (P - 1) * n}},
            {"chain", {2 * (P - 1), 2 * n}}};
        ASSERT_TRUE(known.count(a->name)) << a->name;
        EXPECT_EQ(s.hops, P == 1 ? 0 : known[a->name].first) << a->name;
        for (auto sent : s.sent) EXPECT_LE(sent, known[a->name].second) << a->name;
        if (a->name == "bruck") { EXPECT_EQ(s.messages[0], log2_up(P)); }
      }
}
TEST_P(Schedules, AllGatherOfRaggedParts) {
  int P = GetParam();
  auto counts = ragged(P);
  for (auto* a : algorithms_for(CollectiveKind::all_gather))
    for (unsigned seed : {0u, 3u}) {
      auto s = run(build(P, a->name,
                         [&](Member& p, auto& in, auto& out) {
                           p.kind = CollectiveKind::all_gather, p.recv_counts = counts, in = counts[at(p.rank)],
                           out = total(counts);
                         }),
                   seed);
      std::vector<std::int64_t> expected;
      for (int r = 0; r < P; ++r) {
        auto part = input(r, counts[at(r)]);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      for (auto& out : s.out) ASSERT_EQ(out, expected) << a->name;
      EXPECT_EQ(s.hops, P == 1 ? 0 : a->name == "ring" ? P - 1 : a->name == "bruck" ? log2_up(P) : 1);
    }
}
TEST_P(Schedules, ReduceScatterOfRaggedParts) {
  int P = GetParam();
  auto counts = ragged(P);
  for (auto* a : algorithms_for(CollectiveKind::reduce_scatter)) {
    auto s = run(build(P, a->name,
                       [&](Member& p, auto& in, auto& out) {
                         p.kind = CollectiveKind::reduce_scatter, p.recv_counts = counts, in = total(counts),
                         out = counts[at(p.rank)];
                       }),
                 static_cast<unsigned>(P));
    std::int64_t begin = 0;
    for (int r = 0; r < P; begin += counts[at(r)], ++r)
      for (std::int64_t i = 0; i < counts[at(r)]; ++i)
        ASSERT_EQ(s.out[at(r)][static_cast<std::size_t>(i)], in_order(P, begin + i));
    for (int r = 0; r < P; ++r)
      if (a->name == "direct") EXPECT_EQ(s.sent[at(r)], total(counts) - counts[at(r)]);
      else EXPECT_LE(s.sent[at(r)], total(counts));
    EXPECT_EQ(s.hops, P == 1 ? 0 : a->name == "direct" ? 1 : P == 2 && counts[0] == 0 ? 1 : P);
  }
}
TEST_P(Schedules, BroadcastFromEveryRoot) {
  int P = GetParam();
  for (auto* a : algorithms_for(CollectiveKind::broadcast))
    for (int root = 0; root < P; root += P > 17 ? 13 : 1) {
      std::int64_t n = 32 * P + 21;
      auto s = run(build(P, a->name,
                         [&](Member& p, auto& in, auto& out) {
                           p.kind = CollectiveKind::broadcast, p.send_counts = {n}, p.root = root, out = n,
                           in = p.rank == root ? n : 0;
                         }),
                   static_cast<unsigned>(root));
      for (auto& out : s.out) ASSERT_EQ(out, input(root, n)) << a->name;
      auto most = *std::max_element(s.sent.begin(), s.sent.end());
      EXPECT_EQ(std::accumulate(s.sent.begin(), s.sent.end(), std::int64_t{0}), n * (P - 1));
      if (a->name == "scatter_gather") { EXPECT_LE(most, 2 * n); }
      if (a->name == "binomial") { EXPECT_LE(s.hops, log2_up(P)); }
      if (a->name == "double_tree") {
        EXPECT_LE(s.hops, log2_up(P) + 2);
        EXPECT_LE(most, n + n / 2 + 16);
      }
    }
}
TEST_P(Schedules, GatherAndScatterWithEveryRoot) {
  int P = GetParam();
  auto counts = ragged(P);
  for (auto op : {CollectiveKind::gather, CollectiveKind::scatter})
    for (auto* a : algorithms_for(op))
      for (int root = 0; root < P; root += P > 17 ? 13 : 1) {
        auto s = run(build(P, a->name,
                           [&](Member& p, auto& in, auto& out) {
                             p.kind = op, p.recv_counts = counts, p.root = root;
                             auto whole = p.rank == root ? total(counts) : 0, mine = counts[at(p.rank)];
                             in = op == CollectiveKind::gather ? mine : whole,
                             out = op == CollectiveKind::gather ? whole : mine;
                           }),
                     static_cast<unsigned>(root + 1));
        std::vector<std::int64_t> parts;
        std::int64_t begin = 0;
        for (int r = 0; r < P; begin += counts[at(r)], ++r) {
          auto part = input(r, counts[at(r)]);
          parts.insert(parts.end(), part.begin(), part.end());
          if (op == CollectiveKind::gather) continue;
          auto whole = input(root, total(counts));
          ASSERT_EQ(s.out[at(r)],
                    std::vector<std::int64_t>(whole.begin() + begin, whole.begin() + begin + counts[at(r)]));
        }
        if (op == CollectiveKind::gather) { ASSERT_EQ(s.out[at(root)], parts); }
        if (a->name == "direct") {
          EXPECT_EQ(std::accumulate(s.sent.begin(), s.sent.end(), std::int64_t{0}), total(counts) - counts[at(root)]);
        } else {
          EXPECT_LE(s.hops, log2_up(P));
          EXPECT_EQ(std::accumulate(s.messages.begin(), s.messages.end(), std::int64_t{0}), P - 1);
        }
      }
}
TEST_P(Schedules, AllToAllPermuteAndBarrier) {
  int P = GetParam();
  auto part = [&](int from, int to) { return std::int64_t{(from * 3 + to * 5) % 4}; };
  for (bool sparse : {false, true}) {
    auto s = run(build(P, "direct",
                       [&](Member& p, auto& in, auto& out) {
                         p.kind = CollectiveKind::all_to_all, p.sparse = sparse;
                         for (int k = 0; k < P; ++k)
                           p.send_counts.push_back(part(p.rank, k)), p.recv_counts.push_back(part(k, p.rank));
                         in = total(p.send_counts), out = total(p.recv_counts);
                       }),
                 7);
    for (int r = 0; r < P; ++r) {
      std::vector<std::int64_t> expected;
      std::int64_t messages = 0;
      for (int k = 0; k < P; ++k) {
        std::int64_t begin = 0;
        for (int j = 0; j < r; ++j) begin += part(k, j);
        for (std::int64_t i = 0; i < part(k, r); ++i) expected.push_back(value(k, begin + i));
        messages += k != r && (!sparse || part(r, k) > 0);
      }
      ASSERT_EQ(s.out[at(r)], expected);
      ASSERT_EQ(s.messages[at(r)], messages);
    }
  }
  // Equal parts.
  auto s = run(build(P, "bruck",
                [&](Member& p, auto& in, auto& out) {
                  p.kind = CollectiveKind::all_to_all;
                  p.send_counts.assign(at(P), 3), p.recv_counts = p.send_counts;
                  in = out = 3 * P;
                }),
          3);
  for (int r = 0; r < P; ++r)
    for (int k = 0; k < P; ++k)
      for (int i = 0; i < 3; ++i) ASSERT_EQ(s.out[at(r)][at(3 * k + i)], value(k, 3 * r + i));
  EXPECT_EQ(s.messages[0], log2_up(P));
  // A shift by two that does not wrap: the first two get zeros, the last two send nothing.
  s = run(build(P, "direct",
                [&](Member& p, auto& in, auto& out) {
                  p.kind = CollectiveKind::permute, p.send_counts = {5}, in = out = 5;
                  p.target = p.rank + 2 < P ? p.rank + 2 : -1, p.source = p.rank >= 2 ? p.rank - 2 : -1;
                }),
          8);
  for (int r = 0; r < P; ++r) ASSERT_EQ(s.out[at(r)], r >= 2 ? input(r - 2, 5) : std::vector<std::int64_t>(5, 0));
  s = run(build(P, "dissemination", [&](Member& p, auto&, auto&) { p.kind = CollectiveKind::barrier; }), 9);
  EXPECT_EQ(s.hops, static_cast<int>(std::ceil(std::log2(P))));
}
TEST(SchedulesByHost, SumInGroupOrderAndCrossOnce) {
  for (auto& members : kHosts) {
    auto blocks = blocks_of(members);
    int P = blocks.back(), H = static_cast<int>(members.size());
    for (std::string_view a : {"hierarchical", "one_shot_hierarchical"})
      for (std::int64_t n : {0, 1, 17, 1000})
        for (unsigned seed : {0u, 1u}) {
          auto s = run(build(P, a,
                             [&](Member& p, auto& in, auto& out) {
                               p.kind = CollectiveKind::all_reduce, p.send_counts = {n}, p.blocks = blocks,
                               in = out = n;
                             }),
                       seed);
          for (auto& out : s.out)
            for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], in_order(P, i));
          auto wire = leaving(s, blocks);
          for (int h = 0; h < H; ++h)
            EXPECT_EQ(wire[at(h)],
                      a == "hierarchical" ? (h == 0 || h + 1 == H ? n : 2 * n) : n * members[at(h)] * (H - 1));
          EXPECT_LE(s.hops, a == "hierarchical" ? 2 * H : 2);
        }
    auto counts = ragged(P);
    auto s = run(build(P, "hierarchical",
                       [&](Member& p, auto& in, auto& out) {
                         p.kind = CollectiveKind::reduce_scatter, p.recv_counts = counts, p.blocks = blocks,
                         in = total(counts), out = counts[at(p.rank)];
                       }),
                 4);
    std::int64_t begin = 0;
    for (int r = 0; r < P; begin += counts[at(r)], ++r)
      for (std::int64_t i = 0; i < counts[at(r)]; ++i)
        ASSERT_EQ(s.out[at(r)][static_cast<std::size_t>(i)], in_order(P, begin + i));
    for (auto n : leaving(s, blocks)) EXPECT_LE(n, total(counts));
  }
}
TEST(SchedulesByHost, GatherAndBroadcastCrossOnce) {
  for (auto& members : kHosts) {
    auto blocks = blocks_of(members);
    int P = blocks.back(), H = static_cast<int>(members.size());
    auto counts = ragged(P);
    std::vector<std::int64_t> expected;
    for (int r = 0; r < P; ++r) {
      auto part = input(r, counts[at(r)]);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    auto s = run(build(P, "hierarchical",
                       [&](Member& p, auto& in, auto& out) {
                         p.kind = CollectiveKind::all_gather, p.recv_counts = counts, p.blocks = blocks,
                         in = counts[at(p.rank)], out = total(counts);
                       }),
                 2);
    for (auto& out : s.out) ASSERT_EQ(out, expected);
    auto wire = leaving(s, blocks);
    for (int h = 0; h < H; ++h) {
      std::int64_t own = 0;
      for (int r = blocks[at(h)]; r < blocks[at(h + 1)]; ++r) own += counts[at(r)];
      EXPECT_EQ(wire[at(h)], own * (H - 1));
    }
    for (int root = 0; root < P; ++root) {
      s = run(build(P, "hierarchical",
                    [&](Member& p, auto& in, auto& out) {
                      p.kind = CollectiveKind::broadcast, p.send_counts = {333}, p.root = root, p.blocks = blocks,
                      out = 333, in = p.rank == root ? 333 : 0;
                    }),
              static_cast<unsigned>(root));
      for (auto& out : s.out) ASSERT_EQ(out, input(root, 333));
      for (auto n : leaving(s, blocks)) EXPECT_LE(n, 333);
    }
  }
}
TEST(SchedulesByHost, GatherScatterAndAllToAllCrossInOneStream) {
  for (auto& members : kHosts) {
    auto blocks = blocks_of(members);
    int P = blocks.back(), H = static_cast<int>(members.size());
    auto counts = ragged(P);
    auto own = [&](int h) {
      return std::accumulate(counts.begin() + blocks[at(h)], counts.begin() + blocks[at(h + 1)], std::int64_t{0});
    };
    for (int root = 0; root < P; ++root) {
      int home = static_cast<int>(std::upper_bound(blocks.begin(), blocks.end(), root) - blocks.begin()) - 1;
      auto problem = [&](CollectiveKind op) {
        return [&, op](Member& p, auto& in, auto& out) {
          p.kind = op, p.recv_counts = counts, p.root = root, p.blocks = blocks;
          auto whole = p.rank == root ? total(counts) : 0, mine = counts[at(p.rank)];
          in = op == CollectiveKind::gather ? mine : whole, out = op == CollectiveKind::gather ? whole : mine;
        };
      };
      auto up = run(build(P, "hierarchical", problem(CollectiveKind::gather)), static_cast<unsigned>(root));
      auto down = run(build(P, "hierarchical", problem(CollectiveKind::scatter)), static_cast<unsigned>(root + 1));
      auto sent = input(root, total(counts));
      std::vector<std::int64_t> parts;
      for (int r = 0; r < P; ++r) {
        auto begin = sent.begin() + static_cast<std::ptrdiff_t>(parts.size());
        EXPECT_EQ(down.out[at(r)], std::vector<std::int64_t>(begin, begin + counts[at(r)]));
        auto part = input(r, counts[at(r)]);
        parts.insert(parts.end(), part.begin(), part.end());
      }
      EXPECT_EQ(up.out[at(root)], parts);
      for (auto* s : {&up, &down}) {
        EXPECT_LE(s->hops, 2);
        EXPECT_EQ(std::accumulate(s->messages.begin(), s->messages.end(), std::int64_t{0}), P - 1);
      }
      EXPECT_EQ(down.messages[at(root)], H - 1 + members[at(home)] - 1);
      auto wire = leaving(up, blocks);
      for (int h = 0; h < H; ++h) EXPECT_EQ(wire[at(h)], h == home ? 0 : own(h));
    }
    for (unsigned seed : {0u, 6u}) {
      auto s = run(build(P, "hierarchical",
                         [&](Member& p, auto& in, auto& out) {
                           p.kind = CollectiveKind::all_to_all, p.blocks = blocks;
                           p.send_counts.assign(at(P), 3), p.recv_counts = p.send_counts;
                           in = out = 3 * P;
                         }),
                   seed);
      for (int r = 0; r < P; ++r)
        for (int k = 0; k < P; ++k)
          for (int i = 0; i < 3; ++i) ASSERT_EQ(s.out[at(r)][at(3 * k + i)], value(k, 3 * r + i));
      EXPECT_LE(s.hops, 2);
      auto wire = leaving(s, blocks);
      for (int h = 0; h < H; ++h) EXPECT_EQ(wire[at(h)], 3 * members[at(h)] * (P - members[at(h)]));
    }
  }
}
TEST(Layouts, KnowWhereMembersAre) {
  auto l = layout_of({0, 1, 2, 3, 4}, {7, 7, 3, 3, 3});
  EXPECT_EQ(l.blocks, (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(l.hosts, 2);
  EXPECT_EQ(l.most, 3);
  EXPECT_EQ(l.least, 2);
  l = layout_of({0, 2, 1, 3}, {0, 0, 1, 1});  // interleaved
  EXPECT_TRUE(l.blocks.empty());
  EXPECT_EQ(l.hosts, 2);
  EXPECT_TRUE(layout_of({0, 2}, {0, 0, 1, 1}).blocks.empty());  // one a host
  EXPECT_TRUE(layout_of({0, 1}, {0, 0, 1, 1}).blocks.empty());  // one host
  EXPECT_EQ(layout_of({3, 2, 1, 0}, {0, 0, 1, 1}).blocks, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(layout_of({0, 1, 2}, {}).hosts, 1);
}
TEST(ScheduleSimulator, SeesBrokenSchedules) {
  auto make = [] {
    return build(3, "direct", [](Member& p, auto& in, auto& out) {
      p.kind = CollectiveKind::all_gather, p.recv_counts = {2, 3, 4}, in = p.recv_counts[at(p.rank)], out = 9;
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

template <class T> std::vector<T> reduced(Reduction r, Dtype d, const std::vector<std::vector<T>>& parts) {
  std::vector<const std::byte*> p;
  for (auto& v : parts) p.push_back(reinterpret_cast<const std::byte*>(v.data()));
  std::vector<T> out(parts[0].size());
  reduce_in_order(r, d, p, reinterpret_cast<std::byte*>(out.data()), out.size());
  return out;
}
TEST(Sum, HasTheSameBitsInStretches) {
  for (auto r : {Reduction::sum, Reduction::mean, Reduction::max}) {
    std::vector<std::vector<bfloat16>> parts;
    for (int p = 0; p < 7; ++p) {
      parts.emplace_back();
      for (int i = 0; i < 1000; ++i)
        parts.back().push_back(bfloat16(static_cast<float>((p * 7919 + i * 104729) % 1000) * 0.37f - 150));
    }
    auto pointer = [&](int p) { return reinterpret_cast<const std::byte*>(parts[at(p)].data()); };
    std::vector<float> first(1000), second(1000);
    auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
    std::vector<bfloat16> out(1000);
    reduce_in_order(r, bf16, {pointer(0), pointer(1)}, bytes(first), 1000, {});
    reduce_in_order(r, bf16, {pointer(2)}, bytes(second), 1000, {.before = bytes(first)});
    reduce_in_order(r, bf16, {pointer(3), pointer(4), pointer(5), pointer(6)}, bytes(out), 1000,
                    {.before = bytes(second), .ends = 7});
    auto whole = reduced(r, bf16, parts);
    EXPECT_TRUE(std::memcmp(whole.data(), out.data(), 2000) == 0);
  }
}
TEST(Sum, IsMadeFromLeftToRight) {
  EXPECT_EQ(reduced<float>(Reduction::sum, f32, {{1e8f}, {1}, {-1e8f}, {1}}),
            std::vector<float>{((1e8f + 1) - 1e8f) + 1});
  EXPECT_EQ(reduced<float>(Reduction::sum, f32, {{1}, {1e8f}, {-1e8f}, {1}}), std::vector<float>{1});
  // bf16: 256 + 1 + 1 in bf16 steps would stay 256; in f32 with one rounding it is 258.
  EXPECT_EQ(static_cast<float>(reduced<bfloat16>(Reduction::sum, bf16, {{256.0f}, {1.0f}, {1.0f}})[0]), 258.0f);
  EXPECT_EQ(reduced<std::int32_t>(Reduction::sum, i32, {{2147483647}, {1}}),
            std::vector<std::int32_t>{-2147483647 - 1});
  EXPECT_EQ(reduced<std::int64_t>(Reduction::max, i64, {{-5, 3}, {2, -9}}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(std::isnan(reduced<float>(Reduction::max, f32, {{1}, {NAN}, {2}})[0]));
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::min, f64, {{NAN}, {2}})[0]));
  EXPECT_EQ(reduced<float>(Reduction::mean, f32, {{1, 6}, {2, 7}}), (std::vector<float>{1.5f, 6.5f}));
  EXPECT_EQ(static_cast<float>(reduced<bfloat16>(Reduction::mean, bf16, {{256.0f}, {1.0f}, {1.0f}})[0]), 86.0f);
  EXPECT_THROW(reduced<std::int32_t>(Reduction::mean, i32, {{1}, {2}}), DtypeError);
  EXPECT_THROW(reduce_in_order(Reduction::sum, Dtype::key, {nullptr}, nullptr, 1), DtypeError);
}
}  // namespace
}  // namespace bora::transport::schedule_test
