// cut_edges.cpp -- a loop of which only some boxes read the result of a collective becomes two: the other boxes, such
// as the interior of a stencil, are computed while the collective is under way, and those at the edges after it.
#include <algorithm>
#include "compile/passes/graph.h"

namespace bora::exec {
namespace {
/// By root variable: results of collectives that start and wait apart.
Mask brought(const Graph& g) {
  Mask r(g.vars.size());
  for (auto& n : g.nodes)
    if (n.starts_and_waits())
      for (int v : n.out) r[g.at(v)] = true;
  return r;
}
bool reads(const Graph& g, const Fused& f, const Mask& marked) {
  for (std::size_t k = 0; k < f.operands.size(); ++k)
    if (!f.stored[k] && marked[g.at(f.operands[k])]) return true;
  return false;
}
void add_reads(std::vector<int>& in, const Fused& f) {
  for (std::size_t k = 0; k < f.kept(); ++k)
    if (int v = f.operands[k]; !f.stored[k] && std::find(in.begin(), in.end(), v) == in.end()) in.push_back(v);
  for (auto& e : f.edges) add_reads(in, *e);
}
}  // namespace

void cut_edges(Graph& g) {
  auto marked = brought(g);
  if (std::find(marked.begin(), marked.end(), true) == marked.end()) return;
  std::vector<Node> r;
  for (auto& n : g.nodes) {
    auto waits = [&](auto& e) { return reads(g, *e, marked); };
    auto* f = n.fused.get();
    bool plain = f && f->starts.empty() && f->sums.empty() && !reads(g, *f, marked);
    if (!plain || std::none_of(f->edges.begin(), f->edges.end(), waits)) {
      r.push_back(std::move(n));
      continue;
    }
    auto first = std::make_shared<Fused>(*f);
    std::shared_ptr<Fused> rest;
    std::erase_if(first->edges, [&](auto& e) {
      if (!waits(e)) return false;
      if (!rest) rest = std::make_shared<Fused>(*e);
      else rest->edges.push_back(e);
      return true;
    });
    n.in.clear();
    add_reads(n.in, *first);
    Node edges{Node::Kind::loop, n.primitive, n.out, n.out, n.source, rest};
    edges.when = n.when;
    add_reads(edges.in, *rest);
    n.fused = std::move(first);
    n.rest = std::move(rest);
    r.push_back(std::move(n));
    r.push_back(std::move(edges));
  }
  g.nodes = std::move(r);
}
}  // namespace bora::exec
