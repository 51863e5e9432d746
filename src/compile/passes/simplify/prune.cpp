// prune.cpp -- removes dead values of loops and branches: unread results, values carried only for them, and operands
// that are then not needed. By structure alone, so that all ranks do the same; collectives are effects and stay.
#include <algorithm>
#include "compile/api/control.h"
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"

namespace bora::exec {
namespace {
template <class T> std::vector<T> chosen(const std::vector<T>& all, const Mask& keep) {
  std::vector<T> r;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (keep[i]) r.push_back(all[i]);
  return r;
}
Mask first(const Mask& m, std::int64_t n) { return {m.begin(), m.begin() + n}; }
Mask joined(Mask a, const Mask& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::int64_t marked(const Mask& m) { return std::count(m.begin(), m.end(), true); }
/// Inputs that the marked outputs, and the collectives, depend on.
Mask needed_inputs(const Program& p, const Mask& outputs) {
  Mask live(p.vars.size()), r;
  for (std::size_t k = 0; k < p.out.size(); ++k)
    if (outputs[k]) live[idx(p.out[k])] = true;
  for (auto i = p.code.rbegin(); i != p.code.rend(); ++i)
    if (communicates(*i) || has_effect(*i) ||
        std::any_of(i->out.begin(), i->out.end(), [&](int v) { return live[idx(v)]; }))
      for (int v : i->in) live[idx(v)] = true;
  for (int v : p.in) r.push_back(live[idx(v)]);
  return r;
}
ProgramPtr restricted(const Program& p, const Mask& inputs, const Mask& outputs) {
  Program q = p;
  q.in = chosen(p.in, inputs);
  q.out = chosen(p.out, outputs);
  if (p.labels.size() == p.in.size()) q.labels = chosen(p.labels, inputs);
  return prune(sweep(q, true));
}
/// Adds the carried values (inputs from `first` on, the first outputs) that the marked outputs need.
Mask with_carries(const Program& body, Mask outputs, std::size_t first, std::size_t carries) {
  for (bool more = true; more;) {
    more = false;
    auto in = needed_inputs(body, outputs);
    for (std::size_t c = 0; c < carries; ++c)
      if (in[first + c] && !outputs[c]) outputs[c] = more = true;
  }
  return outputs;
}
/// Removes the results of the instruction that are not read.
void drop_unread(Instruction& i, const Mask& read) {
  Mask in, out = read;
  PrimitivePtr narrower;
  auto scan = [&](const ops::Scan& s) {
    auto nc = idx(s.consts), nk = idx(s.carries);
    out = with_carries(*s.body, out, nc, nk);
    in = needed_inputs(*s.body, out);
    for (std::size_t c = 0; c < nk; ++c) in[nc + c] = out[c];
    narrower = primitive(ops::Scan{restricted(*s.body, in, out), marked(first(in, s.consts)),
                                   marked(first(out, s.carries)), s.length, s.reverse});
  };
  auto cond = [&](const ops::Cond& c) {
    in = needed_inputs(*c.on_true, out);
    auto other = needed_inputs(*c.on_false, out);
    for (std::size_t k = 0; k < in.size(); ++k) in[k] = in[k] || other[k];
    narrower = primitive(ops::Cond{restricted(*c.on_true, in, out), restricted(*c.on_false, in, out)});
    in.insert(in.begin(), true);
  };
  auto loop = [&](const ops::While& w) {
    auto cc = idx(w.cond_consts), bc = idx(w.body_consts);
    auto cond = needed_inputs(*w.cond, {true});
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = out[c] || cond[cc + c];
    out = with_carries(*w.body, out, bc, out.size());
    auto body = needed_inputs(*w.body, out);
    auto of_cond = first(cond, w.cond_consts), of_body = first(body, w.body_consts);
    narrower = primitive(ops::While{restricted(*w.cond, joined(of_cond, out), {true}),
                                    restricted(*w.body, joined(of_body, out), out), marked(of_cond), marked(of_body),
                                    w.lanes});
    in = joined(joined(of_cond, of_body), out);
  };
  if (!ops::visit_control(*i.primitive, scan, cond, loop)) return;
  i.primitive = std::move(narrower);
  i.in = chosen(i.in, in);
  i.out = chosen(i.out, out);
}
}  // namespace

ProgramPtr prune(const ProgramPtr& p) {
  if (!holds_programs(*p)) return p;
  auto r = std::make_shared<Program>(*p);
  Mask live(p->vars.size());
  for (int v : p->out) live[idx(v)] = true;
  for (auto i = r->code.rbegin(); i != r->code.rend(); ++i) {
    Mask read;
    for (int v : i->out) read.push_back(live[idx(v)]);
    bool any = marked(read) > 0;
    if (any) drop_unread(*i, read);
    if (any || communicates(*i) || has_effect(*i))
      for (int v : i->in) live[idx(v)] = true;
  }
  return r;
}
}  // namespace bora::exec
