// narrow_moves.cpp -- elementwise work that makes elements smaller (a cast to bf16, the real part) is done before its
// operand is moved between ranks, not after. Same bits, fewer bytes on the wire.
#include <algorithm>
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"
#include "ops/api/collective_primitives.h"

namespace bora::exec {
namespace {
/// Is it computed from one value, along each dimension for itself (so element by element), into smaller elements? All
/// ranks must agree, also those with an empty block: no size counts. isnan(x), which is x != x, has it twice.
bool narrows(const Program& p, const Instruction& i) {
  bool one = std::all_of(i.in.begin(), i.in.end(), [&](int v) { return v == i.in[0]; });
  if (i.in.empty() || !one || i.out.size() != 1 || communicates(i) || has_effect(i)) return false;
  auto &x = p.vars[idx(i.in[0])], &y = p.vars[idx(i.out[0])];
  if (x.shape != y.shape || dtype_size(y.dtype) >= dtype_size(x.dtype)) return false;
  auto some = x;
  for (auto& n : some.shape) n = 2;
  auto f = i.primitive->factors(Types(i.in.size(), some));
  return f && f->out.size() == 1 && std::find(f->out[0].begin(), f->out[0].end(), kNone) == f->out[0].end() &&
         std::all_of(f->in.begin(), f->in.end(), [&](auto& labels) { return labels == f->out[0]; });
}
}  // namespace

ProgramPtr narrow_moves(const ProgramPtr& p) {
  auto moves = [](const Instruction& i) { return ops::collective_only_moves(*i.primitive); };
  auto r = std::make_shared<Program>(*p);
  std::vector<std::vector<std::size_t>> readers(p->vars.size());
  for (std::size_t k = 0; k < p->code.size(); ++k)
    for (int v : p->code[k].in) readers[idx(v)].push_back(k);
  Mask kept(p->vars.size()), gone(p->code.size());
  for (int v : p->out) kept[idx(v)] = true;
  r->code.clear();
  for (std::size_t k = 0; k < p->code.size(); ++k) {
    if (gone[k]) continue;
    auto i = p->code[k];
    i.primitive = with_programs(i.primitive, narrow_moves);
    // What it moves has one reader: else it would be moved twice.
    while (moves(i) && !kept[idx(i.out[0])] && !readers[idx(i.out[0])].empty()) {
      auto& by = readers[idx(i.out[0])];
      auto next = by[0];
      auto& after = p->code[next];
      if (by.size() != after.in.size() || !narrows(*p, after)) break;
      auto from = r->vars[idx(i.in[0])];
      Type small{from.shape, p->vars[idx(after.out[0])].dtype};
      r->vars.push_back(small);
      int v = static_cast<int>(r->vars.size()) - 1;
      r->code.push_back({after.primitive->resized(Types(after.in.size(), from), {small}),
                         std::vector<int>(after.in.size(), i.in[0]), {v}, after.source});
      i.in = {v}, i.out = after.out;
      gone[next] = true;
    }
    r->code.push_back(std::move(i));
  }
  return r;
}
}  // namespace bora::exec
