// hoist.cpp -- moves loop-invariant code in front of loops. No instruction is merged with another.
#include <algorithm>
#include "compile/api/control.h"
#include "compile/passes/graph.h"
#include "ops/api/primitives.h"
#include "compile/passes/pass_list.h"

namespace bora::exec {
namespace {
/// Values that are cheaper to recompute in a loop than to read.
bool leaf(const Instruction& i) {
  auto& t = i.primitive->traits;
  return t.recomputed || t.view;
}
struct Moved {
  ops::Scan scan;
  std::vector<Instruction> before;  // in the variables of the body
  std::vector<int> results;         // those of its variables that the body still reads: new constants, after the old
};
/// Splits the body of a scan into the part that depends on constants only, and the rest.
Moved split(const ops::Scan& s) {
  const Program& b = *s.body;
  auto consts = idx(s.consts);
  std::vector<bool> fixed(b.vars.size());
  for (std::size_t i = 0; i < consts; ++i) fixed[idx(b.in[i])] = true;
  std::vector<bool> moves(b.code.size());
  std::size_t bytes = 0, limit = std::size_t{1} << 20;
  for (std::size_t i = 0; i < consts; ++i) limit += b.vars[idx(b.in[i])].nbytes();
  for (std::size_t k = 0; k < b.code.size(); ++k) {
    auto& i = b.code[k];
    auto& t = i.primitive->traits;
    bool ok = t.plain() && !t.opaque && !t.random;
    for (int v : i.in) ok = ok && fixed[idx(v)];
    std::size_t made = 0;
    for (int v : i.out) made += b.vars[idx(v)].nbytes();
    if (!leaf(i)) ok = ok && bytes + made <= limit;
    if (!ok) continue;
    moves[k] = true;
    if (!leaf(i)) bytes += made;
    for (int v : i.out) fixed[idx(v)] = true;
  }
  Moved m{s, {}, {}};
  auto body = std::make_shared<Program>();
  body->vars = b.vars;
  body->out = b.out;
  body->local = b.local;
  std::vector<bool> made(b.vars.size()), taken(b.vars.size());  // computed outside; passed in as a new constant
  for (std::size_t k = 0; k < b.code.size(); ++k)
    if (moves[k]) {
      m.before.push_back(b.code[k]);
      if (leaf(b.code[k])) body->code.push_back(b.code[k]);
      else
        for (int v : b.code[k].out) made[idx(v)] = true;
    } else body->code.push_back(b.code[k]);
  auto take = [&](int v) {
    if (!made[idx(v)] || taken[idx(v)]) return;
    taken[idx(v)] = true;
    m.results.push_back(v);
  };
  // Leaves are in both parts: the body keeps only copies that it reads.
  std::vector<bool> read(b.vars.size());
  for (int v : body->out) read[idx(v)] = true;
  std::vector<Instruction> kept;
  for (std::size_t k = body->code.size(); k-- > 0;) {
    auto& i = body->code[k];
    bool live = !leaf(i);
    for (int v : i.out) live = live || read[idx(v)];
    if (!live) continue;
    for (int v : i.in) read[idx(v)] = true;
    kept.push_back(i);
  }
  body->code.assign(kept.rbegin(), kept.rend());
  for (auto& i : body->code)
    for (int v : i.in) take(v);
  for (int v : body->out) take(v);
  body->in.assign(b.in.begin(), b.in.begin() + s.consts);
  body->in.insert(body->in.end(), m.results.begin(), m.results.end());
  body->in.insert(body->in.end(), b.in.begin() + s.consts, b.in.end());
  m.scan.body = body;
  m.scan.consts = s.consts + static_cast<std::int64_t>(m.results.size());
  return m;
}
/// Transposes constant matrices that every iteration multiplies with a few vectors along rows: columns are faster, and
/// the transpose, which reads only constants of the loop, moves out. The bits stay: a product's bits depend on k.
ops::Scan turned(ops::Scan s) {
  // Iterations; vectors; bytes: larger matrices are as fast along rows.
  constexpr std::int64_t least = 8, few = 8, most = 1 << 20;
  if (s.length < least) return s;
  auto body = std::make_shared<Program>(*s.body);
  body->code.clear();
  for (auto i : s.body->code) {
    if (auto* dot = as<ops::DotGeneral>(i.primitive); dot && dot->batch_a.empty() && dot->contract_a.size() == 1) {
      auto d = *dot;
      for (std::size_t o = 0; o < 2; ++o) {
        const auto m = body->vars[idx(i.in[o])], other = body->vars[idx(i.in[1 - o])];
        auto& along = o == 0 ? d.contract_a[0] : d.contract_b[0];
        auto constant =
            std::find(body->in.begin(), body->in.begin() + s.consts, i.in[o]) != body->in.begin() + s.consts;
        if (!constant || m.ndim() != 2 || along != 1 || m.size() == 0 || other.size() > few * m.shape[1] ||
            m.nbytes() > idx(most))
          continue;
        auto t = ops::Transpose{{1, 0}};
        body->vars.push_back(t.infer({m}));
        auto v = static_cast<int>(body->vars.size()) - 1;
        body->code.push_back({primitive(t), {i.in[o]}, {v}, i.source});
        i.in[o] = v, along = 0;
      }
      i.primitive = primitive(d);
    }
    body->code.push_back(std::move(i));
  }
  s.body = body;
  return s;
}
}  // namespace

ProgramPtr hoist(const ProgramPtr& p) {
  if (!holds_programs(*p)) return p;
  auto r = std::make_shared<Program>(*p);
  r->code.clear();
  for (auto i : p->code) {
    i.primitive = with_programs(i.primitive, hoist);
    if (auto* s = as<ops::Scan>(i.primitive)) {
      auto inner = turned(*s);
      auto m = split(inner);
      if (!m.results.empty()) {
        const Program& b = *inner.body;
        std::vector<int> number(b.vars.size(), -1);
        for (std::size_t k = 0; k < idx(s->consts); ++k) number[idx(b.in[k])] = i.in[k];
        for (auto j : m.before) {
          for (int& v : j.in) v = number[idx(v)];
          for (int& v : j.out) {
            r->vars.push_back(b.vars[idx(v)]);
            number[idx(v)] = static_cast<int>(r->vars.size()) - 1;
            v = number[idx(v)];
          }
          r->code.push_back(std::move(j));
        }
        std::vector<int> args(i.in.begin(), i.in.begin() + s->consts);
        for (int v : m.results) args.push_back(number[idx(v)]);
        args.insert(args.end(), i.in.begin() + s->consts, i.in.end());
        i.in = std::move(args);
      }
      i.primitive = primitive(m.results.empty() ? inner : m.scan);
    }
    r->code.push_back(std::move(i));
  }
  return r;
}
}  // namespace bora::exec
