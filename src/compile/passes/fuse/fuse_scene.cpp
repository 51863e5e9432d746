// fuse_scene.cpp -- which instructions may become part of loops, and how variables are read through lazy ones.
#include <algorithm>
#include <utility>
#include "ops/api/primitives.h"
#include "compile/passes/fuse/fuse_group.h"

namespace bora::exec {
namespace {
int width_of(Dtype d) { return d == Dtype::boolean ? 0 : dtype_size(d) == 8 ? 8 : 4; }

/// Reductions over dimensions next to each other: the last ones, or others.
void describe_reduction(Item& it, const ops::Reduce& r, const Type& in) {
  auto first = r.dims.empty() ? 0 : r.dims.front(), end = first + static_cast<std::int64_t>(r.dims.size());
  auto reduced = in.size() / it.elements;
  if (reduced <= 1 || r.dims.back() != end - 1) return;
  bool trailing = end == in.ndim();
  std::int64_t behind = 1;
  for (auto d = end; d < in.ndim(); ++d) behind *= in.shape[idx(d)];
  it.kind = trailing ? Item::Kind::reduce : Item::Kind::sum;
  it.reduction = r.kind;
  it.columns = trailing ? reduced : behind;
  it.rows = reduced;
  it.elements = in.size();
  it.width = width_of(in.dtype);
}
Item describe_item(const Graph& g, const Instruction& i) {
  Item it{.code = &i};
  if (i.out.size() != 1) return it;
  auto& p = *i.primitive;
  auto& out = g.type(i.out[0]);
  it.elements = out.size();
  if (it.elements == 0) return it;
  // Loops hold real numbers: others are computed, and even moved, outside of them. Those of dtypes that are stored only
  // are read through broadcasts and windows, and cast.
  bool stored = false;
  auto foreign = [&](int v) {
    auto d = g.type(v).dtype;
    stored = stored || is_stored_only(d);
    return is_complex(d) || d == u64;
  };
  if (foreign(i.out[0]) || std::any_of(i.in.begin(), i.in.end(), foreign)) return it;
  if (stored && p.traits.loop != LoopRole::cast && p.traits.loop != LoopRole::broadcast) return it;
  using K = Item::Kind;
  auto of_lanes = [](Dtype d) { return d != Dtype::boolean && d != Dtype::key; };
  switch (p.traits.loop) {
    case LoopRole::alone: break;
    case LoopRole::broadcast: it.kind = K::lazy; break;
    case LoopRole::iota: it.kind = out.dtype == Dtype::boolean ? K::other : K::lazy; break;
    case LoopRole::op:
      it.kind = K::op;
      it.op = *p.element();
      it.cost = kernels::element_op(it.op).cost;
      it.width = width_of(out.dtype);
      for (int v : i.in) it.width = std::max(it.width, width_of(g.type(v).dtype));
      break;
    case LoopRole::cast:
      if (out.dtype == g.type(i.in[0]).dtype) break;
      it.kind = K::cast;
      it.width = width_of(g.type(i.in[0]).dtype);
      it.to_width = width_of(out.dtype);
      break;
    case LoopRole::bitcast:
      if (!of_lanes(out.dtype) || !of_lanes(g.type(i.in[0]).dtype)) break;
      it.kind = K::bitcast;
      it.width = width_of(out.dtype);
      break;
    case LoopRole::reduce: describe_reduction(it, *reduction(i), g.type(i.in[0])); break;
    case LoopRole::random:
      it.kind = K::random;
      it.width = width_of(out.dtype);
      it.cost = 60;
      break;
  }
  return it;
}
}  // namespace

Scene::Scene(const Graph& g, const std::vector<const Instruction*>& code)
    : graph(g), maker(g.vars.size(), -1), readers(g.vars.size()), kept(g.vars.size()), reads_(g.vars.size()),
      pieces_(g.vars.size()) {
  for (auto* i : code) {
    for (int v : i->out) maker[g.at(v)] = static_cast<int>(items.size());
    items.push_back(describe_item(g, *i));
  }
  find_windows();
  std::vector<int> seen(g.vars.size(), -1);
  int walk = 0;
  auto chain = [&](const std::vector<int>& from, auto&& f) {  // f(root) of each variable below
    std::vector<int> todo = from;
    for (++walk; !todo.empty();) {
      auto r = g.at(todo.back());
      todo.pop_back();
      if (std::exchange(seen[r], walk) == walk) continue;
      f(r);
      if (maker[r] < 0) continue;
      auto& m = items[idx(maker[r])];
      if (m.kind == Item::Kind::lazy) todo.insert(todo.end(), m.code->in.begin(), m.code->in.end());
    }
  };
  for (std::size_t k = 0; k < items.size(); ++k)
    if (items[k].kind != Item::Kind::lazy)
      chain(items[k].code->in, [&](std::size_t r) { readers[r].push_back(static_cast<int>(k)); });
  chain(g.out, [&](std::size_t r) { kept[r] = true; });
}
/// A window that only loops read is read in place, except where that would keep its operand from being changed in
/// place, or, if it is much smaller than its operand, would keep that alive for long.
void Scene::find_windows() {
  constexpr int kNear = 64;  // instructions
  Mask apart(graph.vars.size());   // read from memory
  Mask itself(graph.vars.size());  // read by something that does not join it with others
  std::vector<int> last(graph.vars.size(), -1);
  std::vector<int> changed(graph.vars.size(), static_cast<int>(items.size()));  // first change in place
  for (int v : graph.out) apart[graph.at(v)] = true;
  for (std::size_t k = items.size(); k-- > 0;) {
    auto& it = items[k];
    auto& in = it.code->in;
    auto lasts = static_cast<int>(k);
    if (it.kind == Item::Kind::other && !it.code->out.empty() &&
        is_window(graph, *it.code, !itself[graph.at(it.code->out[0])])) {
      auto out = graph.at(it.code->out[0]);
      bool far = last[out] - lasts > kNear && 2 * it.elements < graph.type(in[0]).size();
      bool stays = std::all_of(in.begin(), in.end(), [&](int v) { return last[out] <= changed[graph.at(v)]; });
      if (!apart[out] && !far && stays) it.kind = Item::Kind::lazy;
    }
    if (int i = it.code->primitive->traits.in_place; i >= 0 && it.kind == Item::Kind::other)
      changed[graph.at(in[idx(i)])] = lasts;
    bool memory = it.kind == Item::Kind::other || it.kind == Item::Kind::random;
    if (it.kind == Item::Kind::lazy) {
      memory = apart[graph.at(it.code->out[0])];
      lasts = last[graph.at(it.code->out[0])];
    }
    bool joining = it.kind == Item::Kind::lazy && joins(graph, *it.code);
    for (int v : in) {
      itself[graph.at(v)] = itself[graph.at(v)] || !joining;
      apart[graph.at(v)] = apart[graph.at(v)] || memory;
      last[graph.at(v)] = std::max(last[graph.at(v)], lasts);
    }
  }
}
const Read& Scene::read(int variable) const {
  auto& r = reads_[idx(variable)];
  if (!r) r = find(variable);
  return *r;
}
Read Scene::find(int variable) const {
  auto root = graph.at(variable);
  auto n = graph.type(variable).size();
  Read r{{Read::Kind::memory, static_cast<int>(root), contiguous(n)}, {static_cast<int>(root)}, {}};
  if (auto c = graph.constants.find(static_cast<int>(root)); c != graph.constants.end()) {
    r.kind = Read::Kind::constant;
    r.bits = c->second;
    return r;
  }
  if (maker[root] < 0 || items[idx(maker[root])].kind != Item::Kind::lazy) return r;
  auto& code = *items[idx(maker[root])].code;
  if (auto* iota = as<ops::Iota>(code.primitive)) {
    r.kind = Read::Kind::linear;
    r.access = {iota->shape.dims(), Dims(iota->shape.size())};
    r.access.strides[idx(iota->dim)] = 1;
    return r;
  }
  r.bottoms.clear();
  for (int v : code.in)
    for (int b : read(v).bottoms)
      if (std::find(r.bottoms.begin(), r.bottoms.end(), b) == r.bottoms.end()) r.bottoms.push_back(b);
  auto& all = pieces(code.out[0]);
  if (!all || !std::all_of(all->begin(), all->end(), is_readable)) return r;
  if (all->size() == 1) {
    static_cast<Origin&>(r) = all->front().origin;
  } else {
    r.kind = Read::Kind::pieces;
    r.access = {graph.type(code.out[0]).shape.dims(), {}};
    r.pieces = *all;
  }
  return r;
}
const std::optional<Pieces>& Scene::pieces(int variable) const {
  auto& p = pieces_[idx(variable)];
  if (!p) p = find_pieces(variable);
  return *p;
}
std::optional<Pieces> Scene::find_pieces(int variable) const {
  auto root = graph.at(variable);
  auto& shape = graph.type(variable).shape;
  auto* made = maker[root] < 0 ? nullptr : &items[idx(maker[root])];
  Pieces r{{{Dims(shape.size()), shape.dims()}, {}}};
  if (made && made->kind == Item::Kind::lazy && !made->code->in.empty()) {
    std::vector<Pieces> in;
    for (int v : made->code->in) {
      if (!pieces(v)) return std::nullopt;
      in.push_back(*pieces(v));
    }
    auto all = pieces_through(graph, *made->code, in);
    if (all.empty() || graph.type(made->code->out[0]).shape == shape)
      return all.empty() ? std::nullopt : std::optional(std::move(all));
    if (all.size() > 1) return std::nullopt;
    r[0].origin = all[0].origin;
  } else {
    r[0].origin = read(variable);
  }
  auto& a = r[0].origin.access;
  if (r[0].origin.kind == Origin::Kind::constant) {
    a = {};
    return r;
  }
  auto flat = a;
  flat.offset = 0;
  if (is_contiguous(flat)) a.strides = strides_of(shape);
  else if (a.dims != shape.dims()) return std::nullopt;
  a.dims = shape.dims();
  return r;
}
}  // namespace bora::exec
