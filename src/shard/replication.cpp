// Infers replication inside of shard_map, over the staged function and the Programs that it holds.
#include "shard/replication.h"
#include <algorithm>
#include "compile/api/control.h"
#include "ops/api/collective_primitives.h"

namespace bora::fx {
namespace {
Same bits_of(const MeshAxes& axes, const MeshShape& mesh) {
  Same s = 0;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    if (axes.has(mesh.axes[i].first)) s |= Same{1} << i;  // others belong to a vmap
  return s;
}
Same meet(const std::vector<Same>& v) {
  Same s = ~Same{0};
  for (auto x : v) s &= x;
  return s;
}
std::vector<Same> slice(const std::vector<Same>& v, std::int64_t from, std::int64_t n) {
  return {v.begin() + from, v.begin() + from + n};
}
/// A loop's carries: the axes over which they are the same before it and after every round. `round`: carries -> carries
/// (and its other results).
template <class F> std::vector<Same> fixed_point(std::vector<Same> carry, const F& round) {
  for (;;) {
    auto out = round(carry);
    bool changed = false;
    for (std::size_t i = 0; i < carry.size(); ++i) {
      auto kept = carry[i] & out[i];
      changed |= kept != carry[i];
      out[i] = carry[i] = kept;
    }
    if (!changed) return out;
  }
}

std::vector<Same> results(const Primitive& p, const std::vector<Same>& in, std::size_t outs, const MeshShape& mesh) {
  if (p.traits.collective || p.traits.opaque) {
    auto own = bits_of(p.named_axes(), mesh);
    auto params = ops::collective_params(p);
    bool joins = params && params->kind != CollectiveKind::reduce_scatter;  // every member gets the same
    return std::vector<Same>(outs, joins ? meet(in) | own : meet(in) & ~own);
  }
  if (p.traits.barrier) return in;
  if (p.traits.calls) return same_results(*p.programs().front(), in, mesh);
  std::vector<Same> r(outs, p.traits.holds ? Same{0} : meet(in));
  auto scan = [&](const ops::Scan& s) {
    r = fixed_point(slice(in, s.consts, s.carries), [&](const std::vector<Same>& carry) {
      auto x = in;
      std::copy(carry.begin(), carry.end(), x.begin() + s.consts);
      return same_results(*s.body, x, mesh);
    });
  };
  auto cond = [&](const ops::Cond& c) {
    std::vector<Same> operands(in.begin() + 1, in.end());
    r = same_results(*c.on_true, operands, mesh);
    auto other = same_results(*c.on_false, operands, mesh);
    for (std::size_t k = 0; k < r.size(); ++k) r[k] &= other[k] & in[0];
  };
  auto loop = [&](const ops::While& w) {
    auto first = w.cond_consts + w.body_consts, n = static_cast<std::int64_t>(in.size()) - first;
    r = fixed_point(slice(in, first, n), [&](const std::vector<Same>& carry) {
      auto c = slice(in, 0, w.cond_consts), b = slice(in, w.cond_consts, w.body_consts);
      c.insert(c.end(), carry.begin(), carry.end());
      b.insert(b.end(), carry.begin(), carry.end());
      auto rounds = same_results(*w.cond, c, mesh)[0];  // ranks that run more rounds have other results
      auto made = same_results(*w.body, b, mesh);
      for (auto& x : made) x &= rounds;
      return made;
    });
  };
  ops::visit_control(p, scan, cond, loop);
  return r;
}
}  // namespace

Same same_over_all_but(const MeshAxes& axes, const MeshShape& mesh) { return ~bits_of(axes, mesh); }
std::vector<Same> same_results(const Program& p, std::vector<Same> in, const MeshShape& mesh) {
  auto at = [](int v) { return static_cast<std::size_t>(v); };
  std::vector<Same> of(p.vars.size(), ~Same{0}), out;
  for (std::size_t i = 0; i < in.size(); ++i) of[at(p.in[i])] = in[i];
  for (auto& i : p.code) {
    std::vector<Same> operands;
    for (int v : i.in) operands.push_back(of[at(v)]);
    auto r = results(*i.primitive, operands, i.out.size(), mesh);
    for (std::size_t k = 0; k < r.size(); ++k) of[at(i.out[k])] = r[k];
  }
  for (int v : p.out) out.push_back(of[at(v)]);
  return out;
}
}  // namespace bora::fx
