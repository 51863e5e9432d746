#include "bora/transport/measure.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <cstring>
#include "schedule/select.h"
#include "wire/link.h"

namespace bora::transport {
namespace {
/// The collective of this rank on buffers of `bytes` (rounded to equal parts).
CollectiveCall collective(CollectiveKind kind, const Group& g, int me, std::int64_t count, Dtype d, const void* in,
                          void* out) {
  auto n = static_cast<std::int64_t>(g.ranks.size());
  auto part = std::max<std::int64_t>(1, count / n);
  CollectiveCall c{.kind = kind, .dtype = d, .in = in, .out = out};
  std::vector<std::int64_t> parts(g.ranks.size(), part);
  switch (kind) {
    case CollectiveKind::all_reduce: c.send_counts = {count}; break;
    case CollectiveKind::broadcast:
      c.send_counts = {count};
      c.in = c.out;
      break;
    case CollectiveKind::permute:
      c.send_counts = {count};
      c.source = static_cast<int>((me + n - 1) % n);
      c.target = static_cast<int>((me + 1) % n);
      break;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: c.recv_counts = parts; break;
    case CollectiveKind::all_to_all:
      c.send_counts = c.recv_counts = parts;
      c.uniform = true;
      break;
    default: break;
  }
  return c;
}
double bus_factor(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: return (n - 1) / n;
    default: return 1;
  }
}
}  // namespace

std::string explain(CollectiveKind kind, int ranks, int hosts, std::int64_t bytes) {
  check<ValueError>(hosts >= 1 && ranks % hosts == 0, "explain: ", ranks, " ranks cannot be spread evenly over ", hosts,
                    " hosts");
  std::vector<int> all(static_cast<std::size_t>(ranks)), host_of;
  std::iota(all.begin(), all.end(), 0);
  for (int r : all) host_of.push_back(r / (ranks / hosts));
  auto layout = layout_of(all, host_of);
  struct Wire {
    const char* name;
    Costs costs;
  };
  std::vector<Wire> wires = {{"within a host", {}}};
  if (hosts > 1) wires = {{"1 Gbit/s", {.wire = {250e-6, 8e-6, 8.5e-9}}}, {"10 Gbit/s", {}}};
  std::vector<const Algorithm*> best;
  for (auto& w : wires) best.push_back(&choose_algorithm(kind, bytes, true, layout, {.costs = w.costs}));
  auto* table = &choose_algorithm(kind, bytes, true, layout);
  std::string text;
  char line[240];
  for (auto* a : algorithms_for(kind, !layout.blocks.empty(), true)) {
    std::int64_t part = std::max<std::int64_t>(1, bytes / 4 / ranks), count = std::max<std::int64_t>(1, bytes / 4);
    std::int64_t messages = 0, sent = 0;
    std::vector<std::int64_t> leaving(static_cast<std::size_t>(hosts), 0);
    for (int r = 0; r < ranks; ++r) {
      CollectiveCall c{.kind = kind, .source = (r + ranks - 1) % ranks, .target = (r + 1) % ranks};
      c.recv_counts.assign(static_cast<std::size_t>(ranks), part);
      c.send_counts = kind == CollectiveKind::all_to_all ? c.recv_counts : std::vector{count};
      std::int64_t streams = 0, mine = 0;
      for (auto& s : make_schedule(*a, c, layout, r).steps) {
        int to = s.kind == Step::Kind::send ? s.peer : s.kind == Step::Kind::sum ? s.next : -1;
        if (to < 0) continue;
        auto n = 4 * (s.kind == Step::Kind::send ? s.from.size() : s.to.size());
        ++streams, mine += n;
        if (auto h = static_cast<std::size_t>(r / (ranks / hosts)); h != static_cast<std::size_t>(to / (ranks / hosts)))
          leaving[h] += n;
      }
      messages = std::max(messages, streams), sent = std::max(sent, mine);
    }
    std::string times;
    for (std::size_t k = 0; k < wires.size(); ++k) {
      auto e = estimate(*a, bytes, layout, chunk_limit(layout, {.costs = wires[k].costs}));
      std::snprintf(line, sizeof line, " %11.0f us%s", 1e6 * e.seconds(wires[k].costs), a == best[k] ? "*" : " ");
      times += line;
    }
    auto e = estimate(*a, bytes, layout, kMaxChunkBytes);
    std::snprintf(line, sizeof line, "%-15s %10lld %-21s %5.0f %8lld %12lld %12lld%s%s\n",
                  std::string(word(kind)).c_str(), static_cast<long long>(bytes), std::string(a->name).c_str(),
                  e.here.hops + e.wire.hops, static_cast<long long>(messages), static_cast<long long>(sent),
                  static_cast<long long>(hosts > 1 ? *std::max_element(leaving.begin(), leaving.end()) : 0),
                  times.c_str(), a == table ? "  table" : "");
    text += line;
  }
  return text;
}
std::vector<Measured> measure(Context& context, const Group& g, CollectiveKind kind,
                              const std::vector<std::int64_t>& sizes, int repetitions, Dtype d, bool registered) {
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
    auto c = collective(kind, g, me, count, d, in.get(), out.get());
    auto times = [&](int n) {
      context.barrier(g);
      auto begin = Clock::now();
      for (int i = 0; i < n; ++i) context.run(g, c);
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    /// The slowest rank's time.
    auto agreed = [&](double mine) {
      double all = 0;
      context.run(g, {.kind = CollectiveKind::all_reduce,
                      .reduce = Reduction::max,
                      .dtype = Dtype::f64,
                      .in = &mine,
                      .out = &all,
                      .send_counts = {1}});
      return all;
    };
    auto once = agreed(times(1));
    bool slow = once > 0.1;  // then a single call is a measurement, and a few are enough
    if (!slow) once = agreed(times(4)) / 4;
    int n = slow ? 1 : std::clamp(static_cast<int>(0.05 / std::max(once, 1e-7)), 3, 5000);
    std::vector<double> rounds;
    for (int k = 0; k < (slow ? std::min(3, repetitions) : repetitions); ++k) rounds.push_back(agreed(times(n)) / n);
    std::sort(rounds.begin(), rounds.end());
    auto seconds = rounds[rounds.size() / 2];
    found.push_back({kind, count * static_cast<std::int64_t>(dtype_size(d)), seconds,
                     bus_factor(kind, static_cast<double>(g.ranks.size())) * static_cast<double>(bytes) / seconds});
  }
  return found;
}
}  // namespace bora::transport
