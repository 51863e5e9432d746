#include "shard/held_body.h"
#include <algorithm>
#include "bora/array/communicator.h"
#include "compile/api/control.h"
#include "ops/api/collective_primitives.h"

namespace bora::fx {
std::optional<Body> body_of(const Instruction& i) {
  auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::optional<Body> r;
  ops::visit_control(
      *i.primitive,
      [&](const ops::Scan& s) {
        r = {.program = s.body, .consts = size(s.consts), .carries = size(s.carries),
             .times = static_cast<double>(s.length), .stacks = true};
      },
      [&](const ops::Cond& c) { r = {.program = c.on_true, .other = c.on_false, .first = 1}; },
      [&](const ops::While& w) {
        r = {.program = w.body, .condition = w.cond, .first = size(w.cond_consts), .consts = size(w.body_consts),
             .carries = i.out.size(), .lanes = w.lanes};
      });
  if (i.primitive->traits.calls) r = {.program = i.primitive->programs()[0], .call = true};
  return r;
}
std::vector<Sharded> arguments_of(const Instruction& i, const Body& b, const std::vector<Sharded>& values) {
  std::vector<Sharded> in;
  for (std::size_t j = 0; b.first + j < i.in.size(); ++j) {
    bool carry = j >= b.consts && j < b.consts + b.carries;
    auto x = values[static_cast<std::size_t>(carry ? i.out[j - b.consts] : i.in[b.first + j])];
    x.symbolic = {};
    if (!b.call && !carry) x.partial = {};
    if (b.stacks && j >= b.consts + b.carries) x.type.shape.erase(0), x.spec.erase(0);
    in.push_back(x);
  }
  return in;
}
Forced forced(const Instruction& i, const Body& b, const std::vector<Sharded>& in,
              const std::vector<Sharded>& values) {
  Forced force(b.call ? 0 : i.out.size());
  for (std::size_t k = 0; k < b.carries; ++k) force[k] = in[b.consts + k];
  for (std::size_t k = 0; b.other && k < i.out.size(); ++k) {
    auto& x = values[static_cast<std::size_t>(i.out[k])];
    force[k] = Sharded{.local = {}, .type = x.type, .spec = x.spec};
  }
  return force;
}
ProgramPtr of_own_lanes(const ProgramPtr& cond, const Program& body) {
  auto makes_it = [&](auto& i) { return i.out == cond->out; };
  auto last = std::find_if(cond->code.begin(), cond->code.end(), makes_it);
  auto all = last == cond->code.end() ? none : ops::collective_params(*last->primitive);
  if (!all || all->kind != CollectiveKind::all_reduce || all->reduce != Reduction::max) return cond;
  auto own = *cond;
  own.out = last->in;
  auto r = sweep(own, false);
  auto meets = [](const Program& p) { return std::any_of(p.code.begin(), p.code.end(), communicates); };
  return meets(*r) || meets(body) ? cond : r;
}
}  // namespace bora::fx
