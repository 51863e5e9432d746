// flatten.cpp -- inlines held calls and what operations are composed of. No instruction is merged with another.
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "ops/api/primitives.h"
#include "bora/compile/stage.h"
#include "compile/passes/graph.h"

namespace bora {
std::vector<int> exec::inline_into(Program& to, const Program& from, const std::vector<int>& in) {
  std::vector<int> number(from.vars.size(), -1);
  for (std::size_t i = 0; i < from.in.size(); ++i) number[idx(from.in[i])] = in[i];
  auto fresh = [&](int v) {
    to.vars.push_back(from.vars[idx(v)]);
    return number[idx(v)] = static_cast<int>(to.vars.size()) - 1;
  };
  for (auto& i : from.code) {
    std::vector<int> args;
    for (int v : i.in) args.push_back(number[idx(v)]);
    if (i.primitive->traits.calls) {
      auto out = inline_into(to, *i.primitive->programs().front(), args);
      for (std::size_t k = 0; k < out.size(); ++k) number[idx(i.out[k])] = out[k];
      continue;
    }
    if (i.primitive->traits.expands) {
      SourceScope source(i.source);
      Types types;
      for (int v : i.in) types.push_back(from.vars[idx(v)]);
      auto out = inline_into(to, *stage([&](const Arrays& x) { return i.primitive->expand(x); }, types).program, args);
      for (std::size_t k = 0; k < out.size(); ++k) number[idx(i.out[k])] = out[k];
      continue;
    }
    if (i.primitive->traits.view && i.out.size() == 1 && from.vars[idx(i.out[0])] == from.vars[idx(i.in[0])]) {
      number[idx(i.out[0])] = args[0];  // the same value: a sharding that is in place, for one
      continue;
    }
    Instruction j{with_programs(i.primitive, flatten), std::move(args), {}, i.source};
    for (int v : i.out) j.out.push_back(fresh(v));
    to.code.push_back(std::move(j));
  }
  std::vector<int> out;
  for (int v : from.out) out.push_back(number[idx(v)]);
  return out;
}

namespace {
std::shared_ptr<Program> empty_like(const Program& p) {
  auto r = std::make_shared<Program>();
  r->local = p.local;
  r->labels = p.labels;
  for (int v : p.in) {
    r->vars.push_back(p.vars[idx(v)]);
    r->in.push_back(static_cast<int>(r->vars.size()) - 1);
  }
  return r;
}
}  // namespace

ProgramPtr flatten(const ProgramPtr& p) {
  auto r = empty_like(*p);
  r->out = exec::inline_into(*r, *p, r->in);
  return r;
}
}  // namespace bora
