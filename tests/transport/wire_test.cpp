// Sums that travel in blocks of integers: the bits of a reference in one process with every algorithm, carrier and
// number of ranks; exact bytes; and what is refused.
#include <map>
#include <mutex>
#include "engine/engine.h"
#include "bora/transport/forecast.h"
#include "jobs.h"
#include "schedule/codec.h"
#include "support/throws.h"
#include "values.h"

namespace bora::transport::wire_test {
namespace {
using Numbers = std::vector<float>;
const Wire kWires[] = {Wire::bf16(), Wire::f16(), Wire::int8(), Wire::int4(), Wire::int8({256})};

Numbers input(int rank, std::int64_t n) {
  Numbers x(at(n));
  for (std::int64_t i = 0; i < n; ++i)
    x[at(i)] = (static_cast<float>((rank * 7919 + i * 104729) % 1000) * 0.371F - 150) * (i % 500 < 250 ? 1 : 1e-4F);
  return x;
}
Numbers through(const Wire& w, const Numbers& x) {
  auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> bytes(at(encoded_bytes(w, n)));
  Numbers y(x.size());
  encode(w, x.data(), n, bytes.data());
  decode(w, bytes.data(), n, y.data());
  return y;
}
/// The sum in rank order of what each rank's numbers [begin, end) become, in one process.
Numbers sum_of(const Wire& w, Reduction r, int ranks, std::int64_t n, std::int64_t begin, std::int64_t end) {
  Numbers sum;
  for (int k = 0; k < ranks; ++k) {
    auto x = input(k, n);
    auto y = through(w, Numbers(x.begin() + begin, x.begin() + end));
    if (k == 0) sum = y;
    else
      for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i];
  }
  if (r == Reduction::mean)
    for (auto& s : sum) s /= static_cast<float>(ranks);
  return sum;
}
/// The same, and as all ranks decode it; made once for all ranks and algorithms.
const Numbers& expected(const Wire& w, Reduction r, int ranks, std::int64_t n) {
  static std::mutex m;
  static std::map<std::tuple<Codec, std::uint16_t, Reduction, int, std::int64_t>, Numbers> known;
  std::lock_guard lock(m);
  auto [at, fresh] = known.try_emplace({w.codec, w.block, r, ranks, n});
  if (fresh) at->second = through(w, sum_of(w, r, ranks, n, 0, n));
  return at->second;
}
/// Algorithms that can carry these wires, as settings force them.
std::vector<std::string> forced(CollectiveKind kind) {
  std::vector<std::string> r{""};
  for (auto* a : algorithms_for(kind, true))
    if (!a->traits.running) r.push_back(std::string(word(kind)) + "=" + std::string(a->name));
  return r;
}
void on_ranks(Carrier carrier, const std::vector<std::string>& hosts, const std::string& algorithms,
              const std::function<void(Context&, const Group&)>& body) {
  auto n = static_cast<int>(hosts.size());
  auto errors = run_ranks(
      carrier, n, [&](Context& c) { body(c, everybody(n)); },
      [&](Config& c) {
        c.algorithms = algorithms, c.host_id = hosts[at(c.rank)], c.stuck_abort_s = 30, c.calibrate = "off";
      });
  for (auto& e : errors) EXPECT_EQ(e, "");
}
void check_sums(Context& c, const Group& g, const std::vector<std::int64_t>& sizes, const std::string& what) {
  for (auto& w : kWires)
    for (auto n : sizes)
      for (auto r : {Reduction::sum, Reduction::mean})
        for (bool in_place : {false, true}) {
          if (n > 10000 && (in_place || r == Reduction::mean)) continue;
          auto x = input(c.rank(), n);
          Numbers out(at(n));
          c.run(g, {.kind = CollectiveKind::all_reduce,
                    .reduce = r,
                    .wire = w,
                    .in = x.data(),
                    .out = in_place ? x.data() : out.data(),
                    .send_counts = {n}});
          ASSERT_TRUE((in_place ? x : out) == expected(w, r, c.size(), n))
              << what << " " << word(w) << " n=" << n << " rank " << c.rank();
        }
}
TEST(Wire, AllReduceHasTheBitsOfOneProcessWithAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (auto& a : forced(CollectiveKind::all_reduce))
      on_ranks(Carrier::local, std::vector<std::string>(at(ranks)), a, [&](Context& c, const Group& g) {
        check_sums(c, g, {0, 1, 63, 64, 1000, 9001}, a + " ranks=" + std::to_string(ranks));
      });
}
TEST(Wire, AllReduceHasTheSameBitsOverProcessesCarriersAndHosts) {
  for (auto& [carrier, hosts] : {std::pair{Carrier::shm, std::vector<std::string>{"", "", ""}},
                                 {Carrier::tcp, {"", "", ""}},
                                 {Carrier::automatic, {"a", "a", "b", "b"}},
                                 {Carrier::automatic, {"a", "b", "b", "c", "c"}}})
    for (auto& a : forced(CollectiveKind::all_reduce))
      on_ranks(carrier, hosts, a, [&](Context& c, const Group& g) {
        check_sums(c, g, {17, 400001}, a + " " + carrier_name(carrier));  // the last one needs credits
      });
}
TEST(Wire, ReduceScatterKeepsTheSumOfEachPartInF32) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (auto& a : forced(CollectiveKind::reduce_scatter))
      on_ranks(Carrier::local, std::vector<std::string>(at(ranks)), a, [&](Context& c, const Group& g) {
        for (auto& w : kWires)
          for (std::int64_t scale : {1, 100, 9001})
            for (auto r : {Reduction::sum, Reduction::mean}) {
              Counts counts;
              for (int p = 0; p < ranks; ++p) counts.push_back(p % 3 == 1 ? scale / 3 : p % 3 == 2 ? 0 : scale);
              auto n = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
              auto begin = std::accumulate(counts.begin(), counts.begin() + c.rank(), std::int64_t{0});
              auto x = input(c.rank(), n);
              Numbers out(at(counts[at(c.rank())]));
              c.run(g, {.kind = CollectiveKind::reduce_scatter,
                        .reduce = r,
                        .wire = w,
                        .in = x.data(),
                        .out = out.data(),
                        .recv_counts = counts});
              auto sum = sum_of(w, r, ranks, n, begin, begin + counts[at(c.rank())]);
              ASSERT_EQ(out, w.blocks() ? sum : through(w, sum)) << a << " " << word(w) << " ranks=" << ranks;
            }
      });
}
TEST(Wire, BytesAreAsForecast) {
  for (int ranks : {2, 3, 5})
    for (std::int64_t n : {100, 100000, 1000003})
      on_ranks(Carrier::local, std::vector<std::string>(at(ranks)), "", [&](Context& c, const Group& g) {
        auto x = input(c.rank(), n);
        for (auto wire : {Wire{}, Wire::bf16(), Wire::int8(), Wire::int4()}) {
          CollectiveCall call{
              .kind = CollectiveKind::all_reduce, .wire = wire, .in = x.data(), .out = x.data(), .send_counts = {n}};
          auto before = c.traffic().bytes_sent;
          c.run(g, call);
          auto sent = static_cast<std::int64_t>(c.traffic().bytes_sent - before);
          EXPECT_EQ(sent, forecast(g, call, {}, c.rank()).sent) << word(wire) << " n=" << n << " ranks=" << ranks;
          if (n == 100 || ranks != 2) continue;  // half of it to the other, and half of the sum
          EXPECT_NEAR(static_cast<double>(sent) / static_cast<double>(n),
                      wire.exact() ? 4 : static_cast<double>(encoded_bytes(wire, 64)) / 64, 0.02)
              << word(wire);
        }
      });
}
/// Operand and sum are held encoded beside the caller's; the sum of a reduce_scatter in blocks is not.
TEST(Wire, MemoryOfCodecsIsForecast) {
  constexpr std::int64_t n = 1 << 24;
  Group g{{0, 1, 2, 3}, "axis data"};
  auto memory = [&](CollectiveKind kind, const Wire& wire) {
    CollectiveCall call{.kind = kind, .wire = wire, .send_counts = {n}, .recv_counts = {n / 4, n / 4, n / 4, n / 4}};
    return forecast(g, call, {}, 1).memory;
  };
  for (auto wire : {Wire::bf16(), Wire::int8(), Wire::int4()}) {
    auto all = memory(CollectiveKind::all_reduce, wire) - memory(CollectiveKind::all_reduce, {});
    EXPECT_EQ(all, 2 * encoded_bytes(wire, n)) << word(wire);
    auto part = memory(CollectiveKind::reduce_scatter, wire) - memory(CollectiveKind::reduce_scatter, {});
    EXPECT_EQ(part, encoded_bytes(wire, n) + (wire.blocks() ? 0 : encoded_bytes(wire, n / 4))) << word(wire);
  }
}
TEST(Wire, WhatCannotTravelIsRefused) {
  on_ranks(Carrier::local, {"", ""}, "", [](Context& c, const Group& g) {
    Numbers x(100);
    CollectiveCall good{.kind = CollectiveKind::all_reduce,
                        .wire = Wire::int8(),
                        .in = x.data(),
                        .out = x.data(),
                        .send_counts = {100}};
    auto refused = [&](auto change, const std::string& words) {
      auto call = good;
      change(call);
      test::says([&] { c.run(g, call); }, words);
    };
    for (auto d : {i32, u8, f64, bf16, i64})
      refused([&](auto& call) { call.dtype = d; }, std::string(dtype_name(d)) + " cannot travel as int8");
    refused([](auto& call) { call.reduce = Reduction::max; }, "a max cannot travel as int8");
    refused([](auto& call) { call.wire.block = 65; }, "a multiple of 64 numbers up to 4096, got 65");
    refused([](auto& call) { call.kind = CollectiveKind::broadcast; }, "cannot travel as int8");
    c.run(g, good);
  });
}
TEST(Wire, AlgorithmsThatPassSumsOnAreRefused) {
  for (std::string a : {"all_reduce=chain", "all_reduce=hierarchical"}) {
    EXPECT_THROW(check_wire(Wire::int4(), a), ConfigError) << a;
    EXPECT_NO_THROW(check_wire(Wire::bf16(), a));
    on_ranks(Carrier::local, {"", ""}, a, [&](Context& c, const Group& g) {
      Numbers x(100);
      CollectiveCall call{.kind = CollectiveKind::all_reduce,
                          .wire = Wire::int4(),
                          .in = x.data(),
                          .out = x.data(),
                          .send_counts = {100}};
      test::says<ConfigError>([&] { c.run(g, call); }, "would round at every hop; use one_shot, two_shot");
    });
  }
  EXPECT_NO_THROW(check_wire(Wire::int4(), "all_reduce=two_shot,broadcast=chain"));
}
TEST(Wire, AnAlgorithmSaysWhetherItPassesSumsOn) {
  std::vector<int> all{0, 1, 2, 3}, hosts{0, 0, 1, 1};
  auto layout = layout_of(all, hosts);
  for (auto kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter})
    for (auto* a : algorithms_for(kind, true)) {
      CollectiveCall c{.kind = kind, .send_counts = {100}, .recv_counts = {25, 25, 25, 25}};
      EXPECT_EQ(make_schedule(*a, c, layout, 1).running, a->traits.running) << a->name;
    }
}
TEST(Wire, RanksThatDifferAreToldBothWires) {
  auto errors = run_ranks(Carrier::local, 2, [](Context& c) {
    Numbers x(100);
    c.run(everybody(2), {.kind = CollectiveKind::all_reduce,
                         .wire = c.rank() == 0 ? Wire::int8() : Wire::int4(),
                         .in = x.data(),
                         .out = x.data(),
                         .send_counts = {100}});
  });
  for (auto& e : errors)
    for (auto words : {"as int8/64", "as int4/64"}) EXPECT_NE(e.find(words), std::string::npos) << e;
}
}  // namespace
}  // namespace bora::transport::wire_test
