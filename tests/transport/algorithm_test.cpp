// Every algorithm over every carrier and over several hosts: the same bits from each; and the choices of the model and
// of the table.
#include <cstdlib>
#include <filesystem>
#include "checks.h"
#include "engine/engine.h"
#include "jobs.h"
#include "join/calibrate.h"
#include "schedule/simulate.h"
#include "support/temp_folder.h"

namespace bora::transport::algorithm_test {
namespace {
struct Setting {
  Carrier carrier;
  std::vector<std::string> hosts;  // by rank
};
std::ostream& operator<<(std::ostream& o, const Setting& s) {
  for (auto& h : s.hosts) o << (h.empty() ? "-" : h);
  return o;
}
class Algorithms : public testing::TestWithParam<Setting> {
 protected:
  void job(const std::string& algorithms, const std::function<void(Context&, const Group&)>& body) {
    auto& [carrier, hosts] = GetParam();
    auto n = static_cast<int>(hosts.size());
    expect_no_errors(run_ranks(
        carrier, n, [&](Context& c) { body(c, everybody(n)); },
        [&, &hosts = hosts](Config& c) {
          c.algorithms = algorithms, c.host_id = hosts[at(c.rank)], c.stuck_abort_s = 30, c.calibrate = "off";
        }));
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Algorithms, testing::Values(Setting{Carrier::local, {"", "", "", "", ""}}));
INSTANTIATE_TEST_SUITE_P(OneHost, Algorithms, testing::Values(Setting{Carrier::shm, {"", "", "", ""}}));
INSTANTIATE_TEST_SUITE_P(Hosts, Algorithms,
                         testing::Values(Setting{Carrier::automatic, {"a", "a", "b", "b"}},
                                         Setting{Carrier::automatic, {"a", "b", "b", "c", "c"}},
                                         Setting{Carrier::automatic, {"a", "b", "a", "b"}}));  // not side by side
const std::vector<std::int64_t> kSizes = {0, 17, 70001};

TEST_P(Algorithms, AllReduceHasTheSameBits) {
  for (auto* a : algorithms_for(CollectiveKind::all_reduce, true))
    job("all_reduce=" + std::string(a->name), [&](Context& c, const Group& g) {
      for (std::int64_t n : {0, 17, 70001, 600001})  // the last one needs credits
        for (auto [d, r] : {std::pair{f32, Reduction::sum},
                            {bf16, Reduction::mean},
                            {bf16, Reduction::sum},
                            {i32, Reduction::sum},
                            {f64, Reduction::mean},
                            {u8, Reduction::max}})
          for (bool in_place : {false, true}) {
            if (n > 70001 && (d != f32 || !in_place)) continue;
            check_all_reduce(c, g, r, d, n, 1, in_place, std::string(a->name));
          }
    });
}
TEST_P(Algorithms, SumsThatTravelAsBf16) {
  std::int64_t n = 40001;
  for (std::string a : {"two_shot", "chain", "hierarchical", "one_shot"})
    job("all_reduce=" + a + ",reduce_scatter=" + (a == "chain" || a == "hierarchical" ? a : "direct"),
        [&](Context& c, const Group& g) {
          std::vector<std::vector<bfloat16>> parts;
          std::vector<const std::byte*> p;
          std::vector<float> mine(at(n)), out(at(n));
          for (int r = 0; r < c.size(); ++r) {
            parts.emplace_back();
            for (std::int64_t i = 0; i < n; ++i) {
              auto x = static_cast<float>((r * 7919 + i * 104729) % 1000) * 0.371f - 150;
              if (r == c.rank()) mine[at(i)] = x;
              parts.back().push_back(bfloat16(x));
            }
          }
          for (auto& v : parts) p.push_back(reinterpret_cast<const std::byte*>(v.data()));
          std::vector<bfloat16> sum(at(n));
          reduce_in_order(Reduction::sum, bf16, p, reinterpret_cast<std::byte*>(sum.data()), at(n));
          std::vector<float> expected(sum.begin(), sum.end());
          c.run(g, {.kind = CollectiveKind::all_reduce,
                    .wire = Wire::bf16(),
                    .in = mine.data(),
                    .out = out.data(),
                    .send_counts = {n}});
          EXPECT_EQ(out, expected) << a;
          Counts counts(at(c.size()), n / c.size());
          auto begin = counts[0] * c.rank();
          std::vector<float> piece(at(counts[0]));
          auto whole = mine;
          c.run(g, {.kind = CollectiveKind::reduce_scatter,
                    .wire = Wire::bf16(),
                    .in = whole.data(),
                    .out = piece.data(),
                    .recv_counts = counts});
          EXPECT_EQ(piece, std::vector<float>(expected.begin() + begin, expected.begin() + begin + counts[0])) << a;
          c.run(g, {.kind = CollectiveKind::all_reduce,
                    .wire = Wire::bf16(),
                    .in = mine.data(),
                    .out = mine.data(),
                    .send_counts = {n}});
          EXPECT_EQ(mine, expected) << a << " in place";
          if (a == std::string("two_shot")) { EXPECT_LT(c.traffic().bytes_sent, 3u * 2 * 2 * at(n)); }
          EXPECT_THROW(c.run(g, {.kind = CollectiveKind::broadcast,
                                 .wire = Wire::bf16(),
                                 .in = mine.data(),
                                 .out = mine.data(),
                                 .send_counts = {n}}),
                       DtypeError);
        });
}
TEST_P(Algorithms, ScatterAndGatherHaveTheSameBits) {
  for (auto a : {"direct", "chain", "ring", "bruck", "hierarchical", "binomial"}) {
    std::string list;
    for (auto op :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::gather, CollectiveKind::scatter})
      for (auto* k : algorithms_for(op, true))
        if (k->name == a) list += (list.empty() ? "" : ",") + std::string(word(op)) + "=" + a;
    job(list, [&](Context& c, const Group& g) {
      int salt = 0;
      for (std::int64_t scale : {0, 17, 4097, 400001})
        for (auto d : {f32, bf16})
          if (scale <= 4097 || d == bf16) check_ragged_parts(c, g, d, scale, c.size() / 2, ++salt, a);
    });
  }
}
TEST_P(Algorithms, BroadcastAndAllToAllBringTheSame) {
  for (auto* a : algorithms_for(CollectiveKind::broadcast, true))
    job((a->name == "hierarchical" ? "all_to_all=hierarchical,broadcast=" : "all_to_all=bruck,broadcast=") +
            std::string(a->name),
        [&](Context& c, const Group& g) {
          for (auto n : kSizes) {
            for (int root : {0, c.size() - 2}) check_broadcast(c, g, n, root, std::string(a->name));
            Counts parts(at(c.size()), n);
            for (bool in_place : {false, true}) {
              if (in_place && a->name == "hierarchical") continue;  // only Bruck's can
              auto in = made(i32, c.rank(), n * c.size(), 7);
              Bytes out(in.size()), expected;
              for (int p = 0; p < c.size(); ++p) {
                auto b = part(made(i32, p, n * c.size(), 7), n * c.rank(), n, i32);
                expected.append(b);
              }
              auto& to = in_place ? in : out;
              c.run(g, {.kind = CollectiveKind::all_to_all,
                        .dtype = i32,
                        .in = in.data(),
                        .out = to.data(),
                        .send_counts = parts,
                        .recv_counts = parts,
                        .uniform = true});
              EXPECT_TRUE(to == expected) << "all_to_all " << n << " in place " << in_place;
            }
          }
        });
}
/// The table's choices for many ranks: Bruck's for small, chains, rings, trees and scatter + all-gather for large.
TEST(AlgorithmsOfManyRanks, GiveTheSameBits) {
  constexpr int P = 36;
  auto g = everybody(P);
  expect_no_errors(run_ranks(Carrier::local, P, [&](Context& c) {
    for (std::int64_t n : {5, 290000}) {
      auto in = made(bf16, c.rank(), n, 1);
      Bytes out(in.size());
      c.run(
          g,
          {.kind = CollectiveKind::all_reduce, .dtype = bf16, .in = in.data(), .out = out.data(), .send_counts = {n}});
      if (c.rank() % 9 == 0) { EXPECT_TRUE(out == reduced(Reduction::sum, bf16, P, n, 1)) << "all_reduce " << n; }
      auto root = made(f32, 7, n, 2), got = c.rank() == 7 ? root : Bytes(root.size());
      c.run(g, {.kind = CollectiveKind::broadcast, .in = got.data(), .out = got.data(), .send_counts = {n}, .root = 7});
      EXPECT_TRUE(got == root) << "broadcast " << n;
      Counts counts(at(P), n / 5);
      auto mine = made(i32, c.rank(), n / 5, 3);
      Bytes all(mine.size() * P), piece(mine.size());
      c.run(g, {.kind = CollectiveKind::all_gather,
                .dtype = i32,
                .in = mine.data(),
                .out = all.data(),
                .recv_counts = counts});
      for (int p = 0; p < P; p += 7)
        EXPECT_TRUE(part(all, p * (n / 5), n / 5, i32) == made(i32, p, n / 5, 3)) << "all_gather " << n;
      c.run(g, {.kind = CollectiveKind::scatter,
                .dtype = i32,
                .in = c.rank() == 2 ? all.data() : nullptr,
                .out = piece.data(),
                .recv_counts = counts,
                .root = 2});
      EXPECT_TRUE(piece == mine) << "scatter " << n;
      c.run(g, {.kind = CollectiveKind::reduce_scatter,
                .reduce = Reduction::max,
                .dtype = i32,
                .in = all.data(),
                .out = piece.data(),
                .recv_counts = counts});
      EXPECT_TRUE(piece == mine) << "reduce_scatter " << n;
    }
  }));
}
TEST(AlgorithmChoice, NamesAreChecked) {
  EXPECT_EQ(read_algorithms("all_reduce=chain,broadcast=double_tree"),
            (std::vector{&algorithm(CollectiveKind::all_reduce, "chain"),
                         &algorithm(CollectiveKind::broadcast, "double_tree")}));
  EXPECT_THROW(read_algorithms("all_reduce=ring"), ConfigError);
  EXPECT_THROW(read_algorithms("all_reduce"), ConfigError);
  EXPECT_THROW(read_algorithms("sum=chain"), ConfigError);
  Tuning t{.costs = Costs{.gamma = 3e-10}, .forced = {&algorithm(CollectiveKind::broadcast, "chain")}};
  auto again = read_tuning(t.bytes());
  EXPECT_EQ(again.costs->gamma, 3e-10);
  EXPECT_EQ(again.forced, t.forced);
  EXPECT_THROW(read_tuning("x"), TransportError);
  auto other_build = t.bytes();
  other_build.back() = 'm';
  EXPECT_THROW(read_tuning(other_build), TransportError);
}
TEST(AlgorithmChoice, EveryCollectiveHasATable) {
  for (int k = 0; k <= static_cast<int>(CollectiveKind::barrier); ++k) {
    auto kind = static_cast<CollectiveKind>(k);
    auto rows = algorithm_table(kind).rows;
    EXPECT_FALSE(rows[0].traits.hierarchical || rows[0].traits.equal_parts) << word(kind);
    for (auto& a : rows) EXPECT_EQ(&algorithm(kind, a.name), &a);
    // Names that the table does not have throw.
    for (int n : {1, 2, 8, 16, 33, 64})
      for (int per_host : {1, 4, n})
        for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 31; bytes *= 2) {
          std::vector<int> all(at(n)), hosts;
          std::iota(all.begin(), all.end(), 0);
          for (int r : all) hosts.push_back(r / per_host);
          EXPECT_EQ(choose_algorithm(kind, bytes, true, layout_of(all, hosts)).kind, kind);
        }
  }
}
/// The model's numbers match the schedules.
TEST(AlgorithmModel, CountsWhatTheSchedulesDo) {
  for (auto [ranks, hosts] :
       {std::pair{2, 1}, {5, 1}, {16, 1}, {33, 1}, {4, 4}, {17, 17}, {4, 2}, {12, 3}, {16, 2}, {16, 4}}) {
    std::vector<int> all(at(ranks)), host_of;
    std::iota(all.begin(), all.end(), 0);
    for (int r : all) host_of.push_back(r / (ranks / hosts));
    auto layout = layout_of(all, host_of);
    std::int64_t part = 96, count = part * ranks;
    for (auto op :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
          CollectiveKind::broadcast, CollectiveKind::gather, CollectiveKind::scatter, CollectiveKind::all_to_all})
      for (auto* a : algorithms_for(op, !layout.blocks.empty(), true)) {
        std::vector<Schedule> schedules;
        for (int r = 0; r < ranks; ++r) {
          CollectiveCall p{.kind = op};
          p.recv_counts.assign(at(ranks), part);
          p.send_counts = op == CollectiveKind::all_to_all ? p.recv_counts : Counts{count};
          schedules.push_back(make_schedule(*a, p, layout, r));
        }
        auto s = simulate(schedules, std::vector<Counts>(at(ranks), Counts(at(count), 1)), Counts(at(ranks), count));
        auto e = estimate(*a, count, layout, kMaxChunkBytes);
        auto what = std::string(word(op)) + " " + std::string(a->name) + " of " + std::to_string(ranks) + " on " +
                    std::to_string(hosts);
        // Trees of numbers that are no power of two are a little lower, and rings begin while the tree before them is
        // still running.
        auto lower = a->name == "scatter_gather"                             ? 6
                     : a->name == "hierarchical" || a->name == "double_tree" ? 2
                                                                             : a->name == "binomial";
        EXPECT_LE(std::abs(e.here.hops + e.wire.hops - s.hops), lower) << what;
        std::vector<double> moved(at(2 * ranks), 0), crossed(at(2 * hosts), 0);  // sent, then received
        for (auto& [pair, n] : s.between) {
          auto [from, to] = pair;
          moved[at(from)] += static_cast<double>(n), moved[at(ranks + to)] += static_cast<double>(n);
          if (host_of[at(from)] == host_of[at(to)]) continue;
          crossed[at(host_of[at(from)])] += static_cast<double>(n),
              crossed[at(hosts + host_of[at(to)])] += static_cast<double>(n);
        }
        auto most = *std::max_element(moved.begin(), moved.end()),
             wire = *std::max_element(crossed.begin(), crossed.end());
        bool tree = a->name == "double_tree" || a->name == "binomial";
        if (hosts == 1) {
          EXPECT_LE(e.here.bytes, 1.6 * most) << what;
          EXPECT_GE(e.here.bytes, 0.6 * most) << what;
        } else {
          EXPECT_LE(e.wire.bytes, (tree ? 6 : 2.2) * wire) << what;
          EXPECT_GE(e.wire.bytes, 0.6 * wire) << what;
        }
      }
  }
}
TEST(AlgorithmModel, ChoosesByLatencyAndBandwidth) {
  auto flat = [](int n) { return Layout{.size = n, .hosts = n}; };
  Tuning slow{.costs = Costs{.wire = {250e-6, 8e-6, 8.5e-9}}};  // 1 Gbit/s
  auto all_reduce = [&](std::int64_t bytes, int n) {
    return choose_algorithm(CollectiveKind::all_reduce, bytes, false, flat(n), slow).name;
  };
  EXPECT_EQ(all_reduce(4 << 10, 4), "one_shot");
  EXPECT_EQ(all_reduce(64 << 10, 4), "two_shot");
  EXPECT_EQ(all_reduce(16 << 20, 4), "two_shot");
  EXPECT_EQ(all_reduce(4 << 10, 2), "one_shot");
  EXPECT_EQ(all_reduce(1 << 20, 2), "two_shot");  // the same bytes, but sums overlap them
  EXPECT_EQ(all_reduce(64, 64), "one_shot");
  EXPECT_EQ(all_reduce(64 << 20, 64), "chain");
  auto hosts = layout_of({0, 1, 2, 3, 4, 5, 6, 7}, {0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(choose_algorithm(CollectiveKind::all_reduce, 16 << 20, false, hosts, slow).name, "hierarchical");
  EXPECT_EQ(choose_algorithm(CollectiveKind::all_gather, 16 << 20, false, hosts, slow).name, "hierarchical");
  EXPECT_EQ(choose_algorithm(CollectiveKind::all_gather, 16 << 20, false, hosts).name, "hierarchical");
  EXPECT_EQ(chunk_limit(flat(4), slow), 128 << 10);
  EXPECT_EQ(chunk_limit(flat(4), {.costs = Costs{}}), 256 << 10);
  EXPECT_EQ(chunk_limit({.size = 4}, slow), 256 << 10);
  // A forced algorithm is used where it can be.
  slow.forced = {&algorithm(CollectiveKind::all_reduce, "hierarchical")};
  EXPECT_EQ(all_reduce(4 << 10, 4), "one_shot");
  EXPECT_EQ(choose_algorithm(CollectiveKind::all_reduce, 4, false, hosts, slow).name, "hierarchical");
}
TEST(LinkCosts, AreMeasuredOnceAgreedAndKept) {
  test::TempFolder temp;
  std::filesystem::path folder = temp / "links";
  auto before = std::getenv("XDG_CACHE_HOME");
  std::string old = before ? before : "";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  auto job = [&](const std::string& how, bool two_hosts) {
    std::vector<Costs> found(4);
    std::vector<char> any(4, 0);  // not bool: ranks are threads
    expect_no_errors(run_ranks(
        Carrier::automatic, 4,
        [&](Context& c) {
          auto& tuning = dynamic_cast<Engine&>(c).options().tuning;
          EXPECT_FALSE(tuning.measure);
          any[at(c.rank())] = tuning.costs.has_value();
          if (tuning.costs) found[at(c.rank())] = *tuning.costs;
          EXPECT_EQ(c.traffic().collectives, 0u);
          std::int32_t one = 1, sum = 0;
          c.run(everybody(4),
                {.kind = CollectiveKind::all_reduce, .dtype = i32, .in = &one, .out = &sum, .send_counts = {1}});
          EXPECT_EQ(sum, 4);
        },
        [&](Config& c) { c.host_id = two_hosts && c.rank < 2 ? "a" : "b", c.calibrate = how; }));
    for (int r = 1; r < 4; ++r) EXPECT_EQ(std::memcmp(&found[0], &found[at(r)], sizeof(Costs)), 0);
    EXPECT_EQ(any, std::vector<char>(4, any[0]));
    return any[0] ? std::optional(found[0]) : std::nullopt;
  };
  EXPECT_FALSE(job("off", true).has_value());
  EXPECT_FALSE(job("auto", false).has_value());
  testing::internal::CaptureStderr();
  auto first = job("auto", true);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("links: between hosts "), std::string::npos);
  ASSERT_TRUE(first.has_value());
  for (auto& l : {first->here, first->wire}) {
    EXPECT_GT(l.alpha, 0);
    EXPECT_LT(l.alpha, 1);
    EXPECT_GE(l.message, 0);
    EXPECT_LT(l.beta, 1e-6);
  }
  EXPECT_GT(first->gamma, 0);
  EXPECT_FALSE(std::filesystem::exists(cache_of_links()));  // parts of one machine are not kept
  auto kept = job("on", false), again = job("auto", false);
  ASSERT_TRUE(kept.has_value() && again.has_value());
  EXPECT_NEAR(again->here.alpha, kept->here.alpha, 1e-8 * kept->here.alpha);  // from the file
  cache_links(cache_of_links(), "other,key", *first);
  EXPECT_TRUE(cached_links(cache_of_links(), "other,key").has_value());
  EXPECT_FALSE(cached_links(cache_of_links(), "no,key").has_value());
  EXPECT_THROW(cache_links("/proc/no/links", "key", *first), IoError);
  old.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", old.c_str(), 1);
}
}  // namespace
}  // namespace bora::transport::algorithm_test
