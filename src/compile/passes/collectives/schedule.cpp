// schedule.cpp -- splits collectives into start and wait. A start moves up to where its operands are ready, a wait down
// to the first use of the result; work between them overlaps. Starts keep the order of the Program, the same on every
// rank.
#include <algorithm>
#include "ops/api/collective_primitives.h"
#include "compile/passes/graph.h"

namespace bora::exec {
namespace {
/// Most collectives and bytes in flight at once because of a moved start: results need memory from the start on.
constexpr std::size_t kMostUnderWay = 4, kMostBytesUnderWay = std::size_t{64} << 20;

struct Span {
  std::size_t node, start, wait;  // its place; the nodes before which it starts and is waited for
  std::size_t bytes;
  bool late;  // waited for in the next iteration: has memory of its own
};
}  // namespace

std::pair<Node, Node> start_and_wait(Graph& g, const Node& x, std::size_t handle) {
  Types in, out;
  for (int v : x.in) in.push_back(g.type(v));
  for (int v : x.out) out.push_back(g.type(v));
  auto bytes = static_cast<std::int64_t>(ops::collective_scratch_bytes(*x.primitive, in, out));
  Node start = x, wait = x;
  start.kind = Node::Kind::start;
  start.when = x.when == Node::When::early ? x.when : Node::When::always;
  start.out.push_back(g.fresh({{bytes}, Dtype::u8}));
  wait.kind = Node::Kind::wait;  // its operands stay until here, unless they are packed
  if (ops::collective_packs_operand(*x.primitive, in)) wait.in.clear();
  wait.when = x.when == Node::When::late ? x.when : Node::When::always;
  wait.in.insert(wait.in.end(), start.out.begin(), start.out.end());
  wait.out.clear();
  start.handle = wait.handle = handle;
  return {std::move(start), std::move(wait)};
}

void schedule(Graph& g) {
  auto n = g.nodes.size();
  auto talks = [](const Node& x) { return x.primitive && communicates({x.primitive, x.in, x.out}); };
  auto splits = [](const Node& x) { return x.starts_and_waits(); };
  if (std::none_of(g.nodes.begin(), g.nodes.end(), splits)) return;
  std::vector<std::size_t> made(g.vars.size()), first_use(g.vars.size(), n);  // by root: the node behind its maker
  for (std::size_t t = 0; t < n; ++t) {
    for (int v : g.nodes[t].out) made[g.at(v)] = t + 1;
    for (int v : g.nodes[t].in) first_use[g.at(v)] = std::min(first_use[g.at(v)], t);
  }
  std::vector<Span> spans;
  std::size_t order = 0;  // no start comes before this
  for (std::size_t t = 0; t < n; ++t) {
    auto& x = g.nodes[t];
    if (!splits(x)) {
      if (talks(x)) order = t + 1;
      continue;
    }
    Span s{t, t, n, 0, x.when == Node::When::late};
    std::size_t ready = order;
    for (int v : x.in) {
      ready = std::max(ready, made[g.at(v)]);
      for (auto& o : spans)
        if (o.node + 1 == made[g.at(v)]) ready = t;  // another collective's result: ready after its wait
    }
    for (int v : x.out) {
      s.wait = std::min(s.wait, first_use[g.at(v)]);
      s.bytes += g.type(v).nbytes();
    }
    auto room_at = [&](std::size_t place) {
      if (s.late) return true;
      std::size_t count = 0, bytes = s.bytes;
      for (auto& o : spans)
        if (!o.late && o.start <= place && place < o.wait) {
          ++count;
          bytes += o.bytes;
        }
      return count < kMostUnderWay && bytes <= kMostBytesUnderWay;
    };
    while (s.start > ready && room_at(s.start - 1)) --s.start;
    order = s.start;
    spans.push_back(s);
  }
  std::vector<std::vector<std::size_t>> starts(n + 1), waits(n + 1);
  for (std::size_t k = 0; k < spans.size(); ++k) {
    starts[spans[k].start].push_back(k);
    waits[spans[k].wait].push_back(k);
  }
  std::vector<Node> start_nodes, wait_nodes;
  for (std::size_t k = 0; k < spans.size(); ++k) {
    auto [start, wait] = start_and_wait(g, g.nodes[spans[k].node], k);
    start_nodes.push_back(std::move(start));
    wait_nodes.push_back(std::move(wait));
  }
  std::vector<Node> r;
  for (std::size_t t = 0; t <= n; ++t) {
    for (auto k : waits[t]) r.push_back(std::move(wait_nodes[k]));
    for (auto k : starts[t]) r.push_back(std::move(start_nodes[k]));
    if (t < n && !splits(g.nodes[t])) r.push_back(std::move(g.nodes[t]));
  }
  g.nodes = std::move(r);
}
}  // namespace bora::exec
