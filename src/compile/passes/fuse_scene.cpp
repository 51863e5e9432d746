// fuse_scene.cpp -- which instructions may become part of loops, and how variables are read through broadcasts.
#include "bora/ops/primitives.h"
#include "compile/passes/fuse_group.h"

namespace bora::exec {
namespace {
int width_of(Dtype d) { return d == Dtype::boolean ? 0 : dtype_size(d) == 8 ? 8 : 4; }

/// Reductions over the last dimensions, or over the first.
void describe_reduction(Item& it, const ops::Reduce& r, const Type& in) {
  auto first = in.ndim() - static_cast<std::int64_t>(r.dims.size());
  bool trailing = true, leading = true;
  for (std::size_t k = 0; k < r.dims.size(); ++k) {
    trailing = trailing && r.dims[k] == first + static_cast<std::int64_t>(k);
    leading = leading && r.dims[k] == static_cast<std::int64_t>(k);
  }
  auto reduced = in.size() / it.elements;
  if (reduced <= 1 || !(trailing || leading)) return;
  it.kind = trailing ? Item::Kind::reduce : Item::Kind::sum;
  it.reduction = r.kind;
  it.columns = trailing ? reduced : it.elements;
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
    case LoopRole::reduce: describe_reduction(it, *as<ops::Reduce>(p), g.type(i.in[0])); break;
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
    : graph(g), maker(g.vars.size(), -1), readers(g.vars.size()), kept(g.vars.size()), reads_(g.vars.size()) {
  for (auto* i : code) {
    for (int v : i->out) maker[g.at(v)] = static_cast<int>(items.size());
    items.push_back(describe_item(g, *i));
  }
  auto chain = [&](int v, auto&& f) {
    for (;;) {
      auto r = g.at(v);
      f(r);
      if (maker[r] < 0) return;
      auto& m = items[idx(maker[r])];
      if (m.kind != Item::Kind::lazy || m.code->in.empty()) return;
      v = m.code->in[0];
    }
  };
  for (std::size_t k = 0; k < items.size(); ++k)
    if (items[k].kind != Item::Kind::lazy)
      for (int v : items[k].code->in) chain(v, [&](std::size_t r) { readers[r].push_back(static_cast<int>(k)); });
  for (int v : g.out) chain(v, [&](std::size_t r) { kept[r] = true; });
}
const Read& Scene::read(int variable) const {
  auto& r = reads_[idx(variable)];
  if (!r) r = find(variable);
  return *r;
}
Read Scene::find(int variable) const {
  auto root = graph.at(variable);
  auto n = graph.type(variable).size();
  Read r{Read::Kind::memory, static_cast<int>(root), static_cast<int>(root), contiguous(n)};
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
  auto* b = as<ops::BroadcastInDim>(code.primitive);
  auto& inner_type = graph.type(code.in[0]);
  const Read& inner = read(code.in[0]);
  r.bottom = inner.bottom;
  if (inner.kind == Read::Kind::constant) {
    auto bottom = r.bottom;
    r = inner;
    r.bottom = bottom;
    return r;
  }
  // Strides of the inner value over its own dimensions, if it has such strides.
  Dims own = strides_of(inner_type.shape);
  if (!is_contiguous(inner.access)) {
    if (inner.access.dims != inner_type.shape.dims()) return r;
    own = inner.access.strides;
  }
  r.kind = inner.kind;
  r.root = inner.root;
  r.access = {b->shape.dims(), Dims(b->shape.size())};
  for (std::size_t d = 0; d < b->dims.size(); ++d)
    r.access.strides[idx(b->dims[d])] = inner_type.shape[d] == 1 ? 0 : own[d];
  return r;
}
}  // namespace bora::exec
