// Every algorithm over every carrier and over several hosts: the same bits, whatever the algorithm; and what the model and the table choose.
#include "jobs.h"
#include "select.h"
#include "values.h"

namespace bora::transport {
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
        [&, &hosts = hosts](Config& c) { c.algorithms = algorithms, c.host_id = hosts[at(c.rank)], c.stuck_abort_s = 30; }));
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
  for (auto a : algorithms_for(Op::all_reduce, true))
    job("all_reduce=" + std::string(algorithm_name(a)), [&](Context& c, const Group& g) {
      for (std::int64_t n : {0, 17, 70001, 600001})  // the last one needs credits
        for (auto [d, r] : {std::pair{f32, Reduce::sum}, {bf16, Reduce::mean}, {bf16, Reduce::sum}, {i32, Reduce::sum},
                            {f64, Reduce::mean}, {u8, Reduce::max}})
          for (bool in_place : {false, true}) {
            if (n > 70001 && (d != f32 || !in_place)) continue;
            auto expected = reduced(r, d, c.size(), n, 1), in = made(d, c.rank(), n, 1);
            Bytes out(in_place ? 0 : in.size());
            c.run(g, {.op = Op::all_reduce, .reduce = r, .dtype = d, .in = in.data(),
                      .out = in_place ? in.data() : out.data(), .send_counts = {n}});
            EXPECT_TRUE((in_place ? in : out) == expected)
                << algorithm_name(a) << " " << d << " n=" << n << " in place " << in_place << " rank " << c.rank();
          }
    });
}
TEST_P(Algorithms, ScatterAndGatherHaveTheSameBits) {
  for (auto a : {"direct", "chain", "ring", "bruck", "by_host", "binomial"}) {
    std::string list;
    for (auto op : {Op::all_gather, Op::reduce_scatter, Op::gather, Op::scatter})
      for (auto k : algorithms_for(op, true))
        if (algorithm_name(k) == a) list += (list.empty() ? "" : ",") + std::string(op_name(op)) + "=" + a;
    job(list, [&](Context& c, const Group& g) {
      int P = c.size(), root = P / 2, salt = 0;
      for (std::int64_t scale : {0, 17, 4097, 400001})
        for (auto d : {f32, bf16}) {
          if (scale > 4097 && d == f32) continue;
          ++salt;
          Counts counts;
          for (int p = 0; p < P; ++p) counts.push_back(p % 3 == 1 ? scale / 3 : p % 3 == 2 ? 0 : scale);
          auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
          auto begin = std::accumulate(counts.begin(), counts.begin() + c.rank(), std::int64_t{0});
          auto mine = counts[at(c.rank())];
          Bytes all, in = made(d, c.rank(), mine, salt), out(at(total) * dtype_size(d)), piece(in.size()), got(in.size());
          for (int p = 0; p < P; ++p) {
            auto b = made(d, p, counts[at(p)], salt);
            all.insert(all.end(), b.begin(), b.end());
          }
          c.run(g, {.op = Op::all_gather, .dtype = d, .in = in.data(), .out = out.data(), .recv_counts = counts});
          EXPECT_TRUE(out == all) << a << " " << d << " all_gather " << scale;
          auto whole = made(d, c.rank(), total, salt);
          c.run(g, {.op = Op::reduce_scatter, .dtype = d, .in = whole.data(), .out = piece.data(), .recv_counts = counts});
          EXPECT_TRUE(piece == part(reduced(Reduce::sum, d, P, total, salt), begin, mine, d))
              << a << " " << d << " reduce_scatter " << scale;
          bool is_root = c.rank() == root;
          Bytes gathered(is_root ? all.size() : 0);
          c.run(g, {.op = Op::gather, .dtype = d, .in = in.data(), .out = gathered.data(), .recv_counts = counts, .root = root});
          EXPECT_TRUE(!is_root || gathered == all) << a << " " << d << " gather " << scale;
          c.run(g, {.op = Op::scatter, .dtype = d, .in = is_root ? all.data() : nullptr, .out = got.data(),
                    .recv_counts = counts, .root = root});
          EXPECT_TRUE(got == in) << a << " " << d << " scatter " << scale;
        }
    });
  }
}
TEST_P(Algorithms, BroadcastAndAllToAllBringTheSame) {
  for (auto a : algorithms_for(Op::broadcast, true))
    job("all_to_all=bruck,broadcast=" + std::string(algorithm_name(a)), [&](Context& c, const Group& g) {
      for (auto n : kSizes) {
        for (int root : {0, c.size() - 2}) {
          auto expected = made(f32, root, n, 5), buffer = c.rank() == root ? expected : Bytes(expected.size());
          c.run(g, {.op = Op::broadcast, .in = buffer.data(), .out = buffer.data(), .send_counts = {n}, .root = root});
          EXPECT_TRUE(buffer == expected) << algorithm_name(a) << " " << n << " from " << root;
        }
        Counts parts(at(c.size()), n);
        for (bool in_place : {false, true}) {
          auto in = made(i32, c.rank(), n * c.size(), 7);
          Bytes out(in.size()), expected;
          for (int p = 0; p < c.size(); ++p) {
            auto b = part(made(i32, p, n * c.size(), 7), n * c.rank(), n, i32);
            expected.insert(expected.end(), b.begin(), b.end());
          }
          auto& to = in_place ? in : out;
          c.run(g, {.op = Op::all_to_all, .dtype = i32, .in = in.data(), .out = to.data(), .send_counts = parts,
                    .recv_counts = parts, .uniform = true});
          EXPECT_TRUE(to == expected) << "all_to_all " << n << " in place " << in_place;
        }
      }
    });
}
TEST(AlgorithmChoice, NamesAreChecked) {
  EXPECT_EQ(read_algorithms("all_reduce=chain,broadcast=double_tree"),
            (std::vector<std::pair<Op, Algorithm>>{{Op::all_reduce, Algorithm::chain}, {Op::broadcast, Algorithm::double_tree}}));
  EXPECT_THROW(read_algorithms("all_reduce=ring"), ConfigError);
  EXPECT_THROW(read_algorithms("all_reduce"), ConfigError);
  EXPECT_THROW(read_algorithms("sum=chain"), ConfigError);
  Tuning t{.costs = Costs{.gamma = 3e-10}, .forced = {{Op::broadcast, Algorithm::chain}}};
  auto again = read_tuning(t.bytes());
  EXPECT_EQ(again.costs->gamma, 3e-10);
  EXPECT_EQ(again.forced, t.forced);
  EXPECT_THROW(read_tuning("x"), TransportError);
}
}  // namespace
}  // namespace bora::transport
