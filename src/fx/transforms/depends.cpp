// The results that have a derivative, found from the operations alone before any of them is differentiated. A result
// without one is a plain value to Tape, so that loops without a derivative accept it.
#include <algorithm>
#include "compile/api/control.h"
#include "ops/api/primitives.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
void merge(Mask& a, const Mask& b) {
  for (std::size_t i = 0; i < b.size(); ++i) a[i] = a[i] || b[i];
}
}  // namespace

Mask with_reached_carries(const ops::Scan& scan, const Mask& needs, Flow flow) {
  auto n = static_cast<std::size_t>(scan.consts), carries = static_cast<std::size_t>(scan.carries);
  Mask wrt = needs;
  for (bool changed = true; changed;) {
    changed = false;
    auto d = depends(*scan.body, wrt, flow);
    for (std::size_t i = 0; i < carries; ++i)
      if (d[i] && !wrt[n + i]) wrt[n + i] = changed = true;
  }
  return wrt;
}
Mask depends(const Primitive& p, const Mask& in, const Types& out, Flow flow) {
  Mask r(out.size());
  if ((flow == Flow::derivatives && p.traits.flat) || std::find(in.begin(), in.end(), true) == in.end()) return r;
  if (auto* c = as<ops::Call>(p)) return depends(*c->program, in, flow);
  if (auto* c = as<ops::Cond>(p)) {
    if (flow == Flow::values && in[0]) return Mask(out.size(), true);
    Mask operands(in.begin() + 1, in.end());
    r = depends(*c->on_true, operands, flow);
    merge(r, depends(*c->on_false, operands, flow));
    return r;
  }
  if (auto* s = as<ops::Scan>(p)) {
    auto wrt = with_reached_carries(*s, in, flow);
    r = depends(*s->body, wrt, flow);
    // after zero rounds the result is the initial carry
    merge(r, Mask(wrt.begin() + s->consts, wrt.begin() + s->consts + s->carries));
    return r;
  }
  for (std::size_t k = 0; k < out.size(); ++k) r[k] = flow == Flow::values || is_inexact(out[k].dtype);
  return r;
}
Mask depends(const Program& p, const Mask& in, Flow flow) {
  return *p.memo.get<Mask>(Form::dependence, (flow == Flow::values ? "reads " : "depends ") + bits(in), [&] {
    auto at = [](int v) { return static_cast<std::size_t>(v); };
    Mask d(p.vars.size());
    for (std::size_t i = 0; i < in.size(); ++i) d[at(p.in[i])] = in[i];
    for (auto& i : p.code) {
      Mask operands;
      Types out;
      for (int v : i.in) operands.push_back(d[at(v)]);
      for (int v : i.out) out.push_back(p.vars[at(v)]);
      auto moved = depends(*i.primitive, operands, out, flow);
      for (std::size_t k = 0; k < moved.size(); ++k) d[at(i.out[k])] = moved[k];
    }
    Mask r;
    for (int v : p.out) r.push_back(d[at(v)]);
    return r;
  });
}
}  // namespace bora::fx
