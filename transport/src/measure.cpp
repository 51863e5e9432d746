#include "bora/transport/measure.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include "link.h"
#include "select.h"
#include "simulate.h"

namespace bora::transport {
namespace {
using Clock = std::chrono::steady_clock;
/// The collective of this rank on buffers of `bytes` (rounded to equal parts).
Collective collective(Op op, const Group& g, int me, std::int64_t count, Dtype d, const void* in,
                      void* out) {
  auto n = static_cast<std::int64_t>(g.ranks.size());
  auto part = std::max<std::int64_t>(1, count / n);
  Collective c{.op = op, .dtype = d, .in = in, .out = out};
  std::vector<std::int64_t> parts(g.ranks.size(), part);
  switch (op) {
    case Op::all_reduce: c.send_counts = {count}; break;
    case Op::broadcast:
      c.send_counts = {count};
      c.in = c.out;
      break;
    case Op::permute:
      c.send_counts = {count};
      c.source = static_cast<int>((me + n - 1) % n);
      c.target = static_cast<int>((me + 1) % n);
      break;
    case Op::all_gather:
    case Op::reduce_scatter: c.recv_counts = parts; break;
    case Op::all_to_all: c.send_counts = c.recv_counts = parts; break;
    default: break;
  }
  return c;
}
double bus_factor(Op op, double n) {
  switch (op) {
    case Op::all_reduce: return 2 * (n - 1) / n;
    case Op::all_gather:
    case Op::reduce_scatter:
    case Op::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}
}  // namespace

std::string explain(Op op, int ranks, std::int64_t bytes) {
  auto n = static_cast<std::size_t>(ranks);
  std::int64_t count = std::clamp<std::int64_t>(bytes / 4, 1, 16384), part = std::max<std::int64_t>(1, count / ranks);
  auto algorithm = choose_algorithm({op, bytes, true}, {.size = ranks});
  std::vector<Schedule> schedules;
  std::vector<std::vector<std::int64_t>> in;
  std::vector<std::int64_t> out;
  for (int r = 0; r < ranks; ++r) {
    Problem p{.op = op, .rank = r, .size = ranks};
    p.source = (r + ranks - 1) % ranks;
    p.target = (r + 1) % ranks;
    p.recv_counts.assign(n, part);
    if (op == Op::all_to_all) p.send_counts.assign(n, part);
    else p.send_counts = {count};
    auto whole = static_cast<std::size_t>(std::max(count, part * ranks));
    in.emplace_back(whole);
    out.push_back(static_cast<std::int64_t>(whole));
    schedules.push_back(make_schedule(p, algorithm));
  }
  auto s = simulate(schedules, in, out);
  auto most = [](const std::vector<std::int64_t>& v) { return *std::max_element(v.begin(), v.end()); };
  char line[200];
  std::snprintf(line, sizeof line,
                "%-15s %10lld B  %-14s %2d hops  %3lld streams  %10.0f B sent",
                std::string(op_name(op)).c_str(), static_cast<long long>(bytes),
                std::string(algorithm_name(algorithm)).c_str(), s.hops, static_cast<long long>(most(s.messages)),
                static_cast<double>(most(s.sent)) / static_cast<double>(count) * static_cast<double>(bytes));
  return line;
}
std::vector<Measured> measure(Context& context, const Group& g, Op op, const std::vector<std::int64_t>& sizes,
                              int repetitions, Dtype d, bool registered) {
  auto me = static_cast<int>(std::find(g.ranks.begin(), g.ranks.end(), context.rank()) - g.ranks.begin());
  std::vector<Measured> found;
  for (auto bytes : sizes) {
    auto count = std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(dtype_size(d)));
    auto room = static_cast<std::size_t>(count + static_cast<std::int64_t>(g.ranks.size())) * dtype_size(d);
    auto buffer = [&] {
      auto p = registered ? context.allocate(room) : private_memory(room);
      std::memset(p.get(), 0, room);
      return p;
    };
    auto in = buffer(), out = buffer();
    auto c = collective(op, g, me, count, d, in.get(), out.get());
    auto times = [&](int n) {
      context.barrier(g);
      auto begin = Clock::now();
      for (int i = 0; i < n; ++i) context.run(g, c);
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    /// The slowest rank's time.
    auto agreed = [&](double mine) {
      double all = 0;
      context.run(g, {.op = Op::all_reduce, .reduce = Reduce::max, .dtype = Dtype::f64, .in = &mine, .out = &all, .send_counts = {1}});
      return all;
    };
    times(2);
    auto once = agreed(times(3)) / 3;
    int n = std::clamp(static_cast<int>(0.05 / std::max(once, 1e-7)), 3, 5000);
    std::vector<double> rounds;
    for (int k = 0; k < repetitions; ++k) rounds.push_back(agreed(times(n)) / n);
    std::sort(rounds.begin(), rounds.end());
    auto seconds = rounds[rounds.size() / 2];
    found.push_back({op, count * static_cast<std::int64_t>(dtype_size(d)), seconds,
                     bus_factor(op, static_cast<double>(g.ranks.size())) * static_cast<double>(bytes) / seconds});
  }
  return found;
}
}  // namespace bora::transport
