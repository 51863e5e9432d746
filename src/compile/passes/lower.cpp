// lower.cpp -- instructions become nodes: views share memory, scalar constants go to the pool, dead code is dropped.
#include <algorithm>
#include <cstring>
#include "kernels/api/loop.h"
#include "ops/api/primitives.h"
#include "compile/passes/fuse/fuse.h"

namespace bora::exec {
namespace {
Mask live_instructions(const Program& p) {
  Mask live(p.code.size()), read(p.vars.size());
  for (int v : p.out) read[idx(v)] = true;
  for (std::size_t k = p.code.size(); k-- > 0;) {
    auto& i = p.code[k];
    bool keep = communicates(i) || has_effect(i);
    for (int v : i.out) keep = keep || read[idx(v)];
    if (!keep) continue;
    live[k] = true;
    // A view needs only the types of its other operands.
    auto inputs = i.primitive->traits.view ? std::size_t{1} : i.in.size();
    for (std::size_t k = 0; k < inputs; ++k) read[idx(i.in[k])] = true;
  }
  return live;
}
/// Each output has the same bytes as the input of the same number.
bool shares_memory(const Instruction& i, const Graph& g) {
  auto& t = i.primitive->traits;
  return t.view || t.barrier || (t.loop == LoopRole::broadcast && g.type(i.in[0]).size() == g.type(i.out[0]).size());
}
std::uint64_t bits_of(const Instruction& i, const Type& t) {
  std::uint64_t bits = 0;
  OutputView out{t, &bits};
  i.primitive->eval({}, {&out, 1});
  return bits;
}
/// Lets a loop that computes or reads all of v store it once more, as `copy`; false if there is none.
bool store_in_loop(Graph& g, int v, int copy) {
  using Kind = kernels::Instr::Kind;
  for (auto& n : g.nodes) {
    if (!n.fused || n.fused->operands.size() == kernels::kMaxOperands) continue;
    auto& f = *n.fused;
    if (!f.sums.empty() || !f.edges.empty()) continue;
    auto count = f.operands.size(), result = std::size_t{0}, at = std::size_t{0};
    while (result < count && !(f.stored[result] && f.loop.operands[result].columns)) ++result;
    if (result == count) continue;
    auto strides = [&](std::size_t k) { return f.args.stride[k]; };
    auto has_all_of_v = [&](std::size_t k) {  // one element after the other, as a result
      return g.at(f.operands[k]) == g.at(v) && f.loop.operands[k].columns && f.offsets[k] == 0 &&
             g.type(v).size() == g.type(f.operands[result]).size() &&
             std::equal(strides(k), strides(k) + f.args.ndim, strides(result));
    };
    while (at < count && !has_all_of_v(at)) ++at;
    auto instruction = std::find_if(f.loop.code.begin(), f.loop.code.end(), [&](auto& i) {
      return (i.kind == Kind::store || i.kind == Kind::load) && i.imm == at;
    });
    if (instruction == f.loop.code.end()) continue;
    if (instruction->kind == Kind::load && is_float(instruction->dtype) && is_stored_only(instruction->dtype))
      continue;  // loads make NaNs quiet
    auto value = f.stored[at] ? instruction->in[0] : static_cast<std::int16_t>(instruction - f.loop.code.begin());
    auto with = std::make_shared<Fused>(f);
    with->loop.code.push_back(
        {.kind = Kind::store, .dtype = instruction->dtype, .in = {value, -1, -1, -1}, .imm = count});
    with->loop.operands.push_back(f.loop.operands[at]);
    std::copy(strides(at), strides(at) + f.args.ndim, with->args.stride[count]);
    with->operands.push_back(copy);
    with->offsets.push_back(0);
    with->stored.push_back(true);
    n.out.push_back(copy);
    n.fused = std::move(with);
    return true;
  }
  return false;
}
}  // namespace

const ops::Reduce* reduction(const Instruction& i) { return as<ops::Reduce>(i.primitive); }
const ops::BroadcastInDim* broadcast(const Instruction& i) { return as<ops::BroadcastInDim>(i.primitive); }
bool is_constant(const Instruction& i) { return as<ops::Constant>(i.primitive) != nullptr; }
Graph lower(const Program& p, bool nested, bool fused, const std::vector<std::size_t>& sections) {
  Graph g;
  g.vars = p.vars;
  g.in = p.in;
  g.out = p.out;
  g.root.resize(p.vars.size());
  for (std::size_t v = 0; v < p.vars.size(); ++v) g.root[v] = static_cast<int>(v);
  auto live = live_instructions(p);
  std::vector<std::vector<const Instruction*>> parts(1);
  for (std::size_t k = 0; k < p.code.size(); ++k) {
    while (parts.size() <= sections.size() && sections[parts.size() - 1] <= k) parts.emplace_back();
    if (!live[k]) continue;
    auto& i = p.code[k];
    if (shares_memory(i, g))
      for (std::size_t o = 0; o < i.out.size(); ++o) g.root[idx(i.out[o])] = g.root[idx(i.in[o])];
    else if (is_constant(i) && !is_complex(g.type(i.out[0]).dtype) &&
             g.type(i.out[0]).dtype != u64)
      g.constants[i.out[0]] = bits_of(i, g.type(i.out[0]));
    else parts.back().push_back(&i);
  }
  parts.resize(sections.size() + 1);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    std::vector<Node> nodes;
    if (fused) nodes = fuse(g, parts[k]);
    else
      for (auto* i : parts[k]) nodes.push_back({Node::Kind::eval, i->primitive, i->in, i->out, i->source, {}});
    for (auto& n : nodes) {
      if (!sections.empty() && k == 0) n.when = Node::When::early;
      if (!sections.empty() && k == sections.size()) n.when = Node::When::late;
      g.nodes.push_back(std::move(n));
    }
  }

  // An output needs memory that a node of this block fills; outside of loops an input or another output may be shared.
  Mask defined(g.vars.size()), taken(g.vars.size()), input(g.vars.size());
  for (auto& n : g.nodes)
    for (int v : n.out) defined[idx(v)] = true;
  for (int v : g.in) input[g.at(v)] = true;
  for (int& v : g.out) {
    auto r = g.at(v);
    bool own = r < defined.size() && defined[r] && !taken[r];
    bool shared = !nested && (own || input[r] || taken[r]);
    if (own) taken[r] = true;
    if (own || shared) continue;
    int copy = g.fresh(g.type(v));
    if (!sections.empty() || !store_in_loop(g, v, copy))
      g.nodes.push_back({Node::Kind::copy, nullptr, {v}, {copy}, {}, {}});
    v = copy;
  }
  return g;
}
}  // namespace bora::exec
