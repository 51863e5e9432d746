#include "compile/run/plan_steps.h"
#include <algorithm>
#include <functional>
#include "compile/api/control.h"
#include "kernels/api/loop_gaps.h"
#include "ops/api/collective_primitives.h"
#include "ops/api/product.h"
#include "compile/passes/loops/loop_sums.h"
#include "ops/api/primitives.h"

namespace bora::exec {
namespace {
/// Carry i of a held body is its input `first` + i and its output i.
std::vector<int> carries_in_place(std::size_t inputs, std::size_t first, std::size_t carries) {
  std::vector<int> r(inputs, kNever);
  for (std::size_t i = 0; i < carries; ++i) r[first + i] = static_cast<int>(i);
  return r;
}
/// Does the output take the memory of an input?
bool stays(const Block& body, std::size_t output) { return body.out_input[output] >= 0; }
void add_others(Held& h, const Block& body, const Program& p, std::size_t carries) {
  for (std::size_t i = 0; i < carries; ++i) h.workspaces.push_back(stays(body, i) ? 0 : p.vars[idx(p.out[i])].nbytes());
}
std::size_t carries_of(const ops::While& w) { return w.body->out.size(); }
}  // namespace

Held hold(const Node& n, const std::vector<int>& may_take, Table& t) {
  Held h;
  if (n.fused && !n.fused->sums.empty()) h.workspaces = {partial_bytes(*n.fused)};
  if (!n.primitive || n.kind != Node::Kind::eval) return h;
  auto scan = [&](const ops::Scan& s) {
    auto may = carries_in_place(s.body->in.size(), idx(s.consts), idx(s.carries));
    std::copy(may_take.begin() + s.consts + s.carries, may_take.end(), may.begin() + s.consts + s.carries);
    h.first = compile_body(s, std::move(may), t);
    h.workspaces = {h.first->bytes};
    add_others(h, *h.first, *s.body, idx(s.carries));
    if (h.first->ahead)
      for (auto bytes : h.first->ahead->results) h.workspaces.insert(h.workspaces.end(), 2, bytes);
  };
  auto cond = [&](const ops::Cond& c) {
    std::vector<int> none(n.in.size() - 1, kNever);
    h.first = compile_block(*c.on_true, true, none, t);
    h.second = compile_block(*c.on_false, true, none, t);
    h.workspaces = {std::max(h.first->bytes, h.second->bytes)};
  };
  auto loop = [&](const ops::While& w) {
    h.first = compile_block(*w.cond, true, std::vector<int>(w.cond->in.size(), kNever), t);
    h.second = compile_block(*w.body, true, carries_in_place(w.body->in.size(), idx(w.body_consts), carries_of(w)), t);
    h.workspaces = {h.first->bytes, h.second->bytes, sizeof(bool)};
    add_others(h, *h.second, *w.body, carries_of(w));
  };
  ops::visit_control(*n.primitive, scan, cond, loop);
  return h;
}

std::string kind_of(const Node& n) {
  if (n.fused) return "loops";
  if (n.kind != Node::Kind::eval || !n.primitive) return n.kind == Node::Kind::copy ? "copies" : "collectives";
  return std::string(n.primitive->traits.collective ? "collectives" : n.primitive->traits.memory);
}

std::vector<std::pair<std::size_t, std::size_t>> in_place(const Node& n, const Held& h, const Graph& g) {
  std::vector<std::pair<std::size_t, std::size_t>> r;
  auto once = [&](std::size_t i) {  // an operand that is passed twice must not change
    return std::count_if(n.in.begin(), n.in.end(), [&](int v) { return g.at(v) == g.at(n.in[i]); }) == 1;
  };
  auto pair = [&](std::size_t i, std::size_t o) {
    if (once(i)) r.push_back({i, o});
  };
  if (n.kind == Node::Kind::copy) pair(0, 0);
  else if (n.kind == Node::Kind::loop) {
    // n.in and n.out list the loop's operands, loads first: a column may be stored over a column that is read at the
    // same places.
    auto same = [](const Fused& f, std::size_t a, std::size_t b) {
      auto &x = f.loop.operands[a], &y = f.loop.operands[b];
      return x.columns && y.columns && dtype_size(x.dtype) == dtype_size(y.dtype) && f.offsets[a] == f.offsets[b] &&
             std::equal(f.args.stride[a], f.args.stride[a] + f.args.ndim, f.args.stride[b]);
    };
    auto fits = [&](const Fused& f, int in, std::size_t out) {  // wherever the loop reads it
      auto loads = idx(std::find(f.stored.begin(), f.stored.end(), true) - f.stored.begin());
      for (std::size_t k = 0; k < loads; ++k)
        if (g.at(f.operands[k]) == g.at(in) && !same(f, k, loads + out)) return false;
      return true;
    };
    std::function<bool(const Fused&, int, std::size_t)> fits_all = [&](const Fused& f, int in, std::size_t out) {
      return fits(f, in, out) &&
             std::all_of(f.edges.begin(), f.edges.end(), [&](auto& e) { return fits_all(*e, in, out); });
    };
    for (std::size_t o = 0; o < n.out.size() - n.fused->sums.size(); ++o)
      for (std::size_t i = 0; i < n.in.size() - n.fused->starts.size(); ++i)
        if (fits_all(*n.fused, n.in[i], o) && (!n.rest || fits_all(*n.rest, n.in[i], o))) pair(i, o);
  } else if (n.kind == Node::Kind::eval) {
    auto scan = [&](const ops::Scan& s) {
      for (std::size_t i = 0; i < idx(s.carries); ++i)
        if (stays(*h.first, i) || s.length % 2 == 0) pair(idx(s.consts) + i, i);
      for (auto k = idx(s.carries); k < n.out.size(); ++k)
        if (stays(*h.first, k)) pair(idx(h.first->out_input[k]), k);
    };
    auto loop = [&](const ops::While& w) {
      for (std::size_t i = 0; i < carries_of(w); ++i) pair(idx(w.cond_consts + w.body_consts) + i, i);
    };
    ops::visit_control(*n.primitive, scan, [](const ops::Cond&) {}, loop);
    if (n.primitive->traits.in_place >= 0) pair(idx(n.primitive->traits.in_place), 0);
  }
  return r;
}

namespace {
struct StepMaker {
  const Node& n;
  Held h;
  const Graph& g;
  const std::vector<Place>& places;
  const std::vector<Place>& work;
  Table& table;
  Place in(std::size_t i) const { return places[idx(n.in[i])]; }
  Place out(std::size_t k) const { return places[idx(n.out[k])]; }
  std::size_t bytes(std::size_t k) const { return g.type(n.out[k]).nbytes(); }
  EvalStep eval() const {
    EvalStep r{n.primitive, {}, {}, {}, {}, table.inputs, table.outputs, {}};
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      r.in.push_back(in(i));
      r.in_types.push_back(g.type(n.in[i]));
    }
    auto results = n.out.size() - (n.kind == Node::Kind::start ? 1 : 0);
    for (std::size_t k = 0; k < results; ++k) {
      r.out.push_back(out(k));
      r.out_types.push_back(g.type(n.out[k]));
    }
    if (n.later >= 0) {
      r.out.push_back(places[idx(n.later)]);
      r.out_types.push_back(g.type(n.later));
    }
    table.inputs += r.in.size();
    table.outputs += r.out.size();
    if (auto* dot = as<ops::DotGeneral>(n.primitive)) r.gemm = ops::as_gemm(*dot, r.in_types);
    if (r.gemm) kernels::prepare_gemm(*r.gemm);
    return r;
  }
  std::vector<Carry> carries(const Block& body, std::size_t first, std::size_t in_node, std::size_t count,
                             std::size_t others) const {
    std::vector<Carry> r;
    for (std::size_t i = 0; i < count; ++i)
      r.push_back({body.in + static_cast<int>(first + i), body.out + static_cast<int>(i), in(in_node + i), out(i),
                   work[others + i], bytes(i), stays(body, i)});
    return r;
  }
  Step scan(const ops::Scan& s) {
    ScanStep r{std::move(h.first), work[0], s.length, s.reverse, {}, {}, {}, {}};
    auto& b = *r.body;
    auto ahead = b.ahead.get();
    auto nc = idx(s.consts), nk = idx(s.carries);
    for (std::size_t i = 0; i < nc; ++i) r.consts.push_back({b.in + static_cast<int>(i), in(i)});
    r.carries = carries(b, nc, nc, nk, 1);
    for (std::size_t i = nc + nk; i < n.in.size(); ++i) {
      auto place = in(i);
      for (auto k = nk; k < n.out.size(); ++k)
        if (b.out_input[k] == static_cast<int>(i)) {  // results over operands, slice by slice
          r.copies.push_back({place, out(k), bytes(k)});
          place = out(k);
        }
      r.slices.push_back({b.in + static_cast<int>(i), place, b.vars[idx(b.in_vars[i])].nbytes()});
    }
    for (std::size_t k = nk; k < n.out.size(); ++k)
      r.slices.push_back({b.out + static_cast<int>(k), out(k), b.vars[idx(b.out_vars[k])].nbytes(),
                          ahead && ahead->late[k] ? -1 : 0});
    if (!ahead) {
      r.steps = steps(r);
      return r;
    }
    auto in_slot = b.in + static_cast<int>(n.in.size()), out_slot = b.out + static_cast<int>(n.out.size());
    for (std::size_t k = 0; k < ahead->results.size(); ++k)
      r.handed.push_back({in_slot++, out_slot++, work[1 + nk + 2 * k], work[2 + nk + 2 * k]});
    for (auto i : ahead->next) r.slices.push_back({in_slot++, in(i), b.vars[idx(b.in_vars[i])].nbytes(), 1});
    return r;
  }
  /// ScanStep::steps, for a body that is one loop with its carries in place: then iterations differ in nothing else.
  static std::vector<std::int64_t> steps(const ScanStep& s) {
    auto* loop = s.body->steps.size() == 1 ? std::get_if<LoopStep>(s.body->steps.data()) : nullptr;
    bool in_place = std::all_of(s.carries.begin(), s.carries.end(), [](auto& c) { return c.in_place; });
    if (!loop || !in_place || !loop->sums.empty() || !loop->starts.empty() || !loop->edges.empty()) return {};
    std::vector<std::int64_t> r(loop->operands.size());
    for (std::size_t k = 0; k < r.size(); ++k)
      for (auto& v : s.slices)
        if (v.slot == loop->operands[k].base) r[k] = static_cast<std::int64_t>(v.stride) * (s.reverse ? -1 : 1);
    return r;
  }
  Step cond() {
    CondStep r{std::move(h.first), std::move(h.second), work[0], in(0), {}, {}};
    for (auto [block, bound] :
         {std::pair{r.on_true.get(), &r.bound_true}, std::pair{r.on_false.get(), &r.bound_false}}) {
      for (std::size_t i = 1; i < n.in.size(); ++i) bound->push_back({block->in + static_cast<int>(i) - 1, in(i)});
      for (std::size_t k = 0; k < n.out.size(); ++k) bound->push_back({block->out + static_cast<int>(k), out(k)});
    }
    return r;
  }
  Step loop(const ops::While& w) {
    auto cc = idx(w.cond_consts), bc = idx(w.body_consts), nk = carries_of(w);
    WhileStep r{std::move(h.first), std::move(h.second), work[0], work[1], work[2], 0, {}, {}, {}};
    r.predicate_slot = r.cond->out;
    for (std::size_t i = 0; i < cc; ++i) r.consts.push_back({r.cond->in + static_cast<int>(i), in(i)});
    for (std::size_t i = 0; i < bc; ++i) r.consts.push_back({r.body->in + static_cast<int>(i), in(cc + i)});
    r.carries = carries(*r.body, bc, cc + bc, nk, 3);
    for (std::size_t i = 0; i < nk; ++i) r.cond_slots.push_back(r.cond->in + static_cast<int>(cc + i));
    return r;
  }
  /// Do edges that are computed later read memory in which a result is?
  bool overwrites_operand() const {
    return std::any_of(n.in.begin(), n.in.end(), [&](int v) {
      return std::any_of(n.out.begin(), n.out.end(), [&](int w) {
        auto &a = places[idx(v)], &b = places[idx(w)];
        return a.base == b.base && a.offset == b.offset;
      });
    });
  }
  LoopStep loop_step(const std::shared_ptr<const Fused>& f) {
    LoopStep r{f, kernels::compile(f->loop), {}, {}, table.loops++};
    bool free = !n.rest || !overwrites_operand();
    if (!f->edges.empty() && f->starts.empty() && free) r.gaps = kernels::with_gaps(*r.kernel, f->args);
    if (r.gaps) ++table.loops;
    for (std::size_t k = 0; k < f->kept(); ++k) {
      auto place = places[idx(f->operands[k])];
      place.offset += idx(f->offsets[k]) * dtype_size(f->loop.operands[k].dtype);
      r.operands.push_back(place);
    }
    for (auto& s : f->sums) r.sums.push_back(places[idx(s.var)]);
    if (!r.sums.empty()) r.partials = work[0];
    for (auto& s : f->starts) r.starts.push_back(places[idx(s.var)]);
    for (auto& e : f->edges) r.edges.push_back(loop_step(e));
    return r;
  }
  Step make() {
    switch (n.kind) {
      case Node::Kind::copy: return CopyStep{in(0), out(0), bytes(0)};
      case Node::Kind::loop: return loop_step(n.fused);
      case Node::Kind::start: {  // its last result is the scratch memory
        auto call = eval();
        auto words = ops::collective_words(*call.primitive, call.in_types[0].dtype);
        return StartStep{std::move(call), std::move(words), out(n.out.size() - 1), n.handle};
      }
      case Node::Kind::wait: return WaitStep{n.handle};
      case Node::Kind::eval: break;
    }
    Step r;
    bool held = ops::visit_control(
        *n.primitive, [&](const ops::Scan& s) { r = scan(s); }, [&](const ops::Cond&) { r = cond(); },
        [&](const ops::While& w) { r = loop(w); });
    return held ? std::move(r) : eval();
  }
};
}  // namespace

Step make_step(const Node& n, Held h, const Graph& g, const std::vector<Place>& places, const std::vector<Place>& work,
               Table& t) {
  return StepMaker{n, std::move(h), g, places, work, t}.make();
}
}  // namespace bora::exec
