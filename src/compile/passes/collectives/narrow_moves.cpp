// narrow_moves.cpp -- elementwise work that makes elements smaller (a cast to bf16, the real part) is done before its
// operand is moved between ranks, not after. Same bits, fewer bytes on the wire.
#include <algorithm>
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"
#include "ops/api/collective_primitives.h"

namespace bora::exec {
namespace {
/// Is it computed from one operand, along each dimension for itself (so element by element), into smaller elements?
/// All ranks must agree, also those with an empty block: no size counts.
bool narrows(const Program& p, const Instruction& i) {
  if (i.in.size() != 1 || i.out.size() != 1 || communicates(i) || has_effect(i)) return false;
  auto &x = p.vars[idx(i.in[0])], &y = p.vars[idx(i.out[0])];
  if (x.shape != y.shape || dtype_size(y.dtype) >= dtype_size(x.dtype)) return false;
  auto some = x;
  for (auto& n : some.shape) n = 2;
  auto f = i.primitive->factors({some});
  return f && f->in == f->out && std::find(f->in[0].begin(), f->in[0].end(), kNone) == f->in[0].end();
}
}  // namespace

ProgramPtr narrow_moves(const ProgramPtr& p) {
  auto moves = [](const Instruction& i) { return ops::collective_only_moves(*i.primitive); };
  if (std::none_of(p->code.begin(), p->code.end(), moves)) return p;
  auto r = std::make_shared<Program>(*p);
  std::vector<std::vector<std::size_t>> readers(p->vars.size());
  for (std::size_t k = 0; k < p->code.size(); ++k)
    for (int v : p->code[k].in) readers[idx(v)].push_back(k);
  Mask kept(p->vars.size()), gone(p->code.size());
  for (int v : p->out) kept[idx(v)] = true;
  bool changed = false;
  std::vector<Instruction> code;
  for (std::size_t k = 0; k < p->code.size(); ++k) {
    if (gone[k]) continue;
    auto i = p->code[k];
    // What it moves is read once: else it would be moved twice.
    while (moves(i) && !kept[idx(i.out[0])] && readers[idx(i.out[0])].size() == 1) {
      auto next = readers[idx(i.out[0])][0];
      auto& after = p->code[next];
      if (!narrows(*p, after)) break;
      auto from = r->vars[idx(i.in[0])];
      Type small{from.shape, p->vars[idx(after.out[0])].dtype};
      r->vars.push_back(small);
      int v = static_cast<int>(r->vars.size()) - 1;
      code.push_back({after.primitive->resized({from}, {small}), i.in, {v}, after.source});
      i.in = {v}, i.out = after.out;
      gone[next] = changed = true;
    }
    code.push_back(std::move(i));
  }
  if (!changed) return p;
  r->code = std::move(code);
  return r;
}
}  // namespace bora::exec
