// push_slices.cpp -- values of which only a part is read are computed in that part alone: slices and takes move in
// front of the elementwise operations and movements that make their operands. Same bits: an element is computed as
// before. Code that communicates stays as it is, because parts depend on the sizes of one rank's blocks.
#include <algorithm>
#include <cmath>
#include <numeric>
#include "compile/api/executable.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "compile/passes/graph.h"
#include "ops/api/region.h"
#include "compile/passes/pass_list.h"
#include "ops/api/primitives.h"

namespace bora::exec {
namespace {
using ops::Region, ops::whole;
using Parts = std::vector<std::optional<Region>>;

class Narrow {
 public:
  explicit Narrow(const Program& p)
      : p_(p), r_(std::make_shared<Program>(p)), same_(p.vars.size()), part_(p.vars.size()), known_(p.vars.size()),
        maker_(p.vars.size(), nullptr), readers_(p.vars.size()) {
    std::iota(same_.begin(), same_.end(), 0);
    for (auto& i : p.code) {
      for (int v : i.out) maker_[idx(v)] = &i;
      for (int v : i.in) ++readers_[idx(v)];
    }
    for (int v : p.out) ++readers_[idx(v)];
  }
  ProgramPtr run() {
    for (int v : p_.out) demand(v, whole(shape(v)));
    for (auto i = p_.code.rbegin(); i != p_.code.rend(); ++i)
      if (lives(*i)) visit(*i);
    for (int v : p_.in) part_[idx(v)] = whole(shape(v));
    r_->code.clear();
    for (auto& i : p_.code)
      if (lives(i)) rebuild(i);
    for (int& v : r_->out) v = same_[idx(v)];
    return sweep(*r_, true);
  }

 private:
  const Shape& shape(int v) const { return p_.vars[idx(v)].shape; }
  Types types(const std::vector<int>& vars) const {
    Types r;
    for (int v : vars) r.push_back(r_->vars[idx(v)]);
    return r;
  }
  bool lives(const Instruction& i) const {
    return communicates(i) || has_effect(i) ||
           std::any_of(i.out.begin(), i.out.end(), [&](int v) { return known_[idx(v)]; });
  }
  void demand(int v, const Region& part) {
    auto& all = part_[idx(v)];
    if (!known_[idx(v)]) all = part;
    for (std::size_t d = 0; d < part.size(); ++d) all[d] = ops::hull(all[d], part[d]);
    known_[idx(v)] = true;
  }
  /// Decides on the part of the result that is computed, and demands the parts of the operands that it needs.
  void visit(const Instruction& i) {
    Parts in;
    if (i.out.size() == 1 && volume(shape(i.out[0])) > 0 && known_[idx(i.out[0])]) {
      auto all = whole(shape(i.out[0]));
      auto& part = part_[idx(i.out[0])];
      // One reader: its loop can read parts of the operands in place. Several readers could have shared the loop of
      // this operation, so that a small gain is none.
      if (readers_[idx(i.out[0])] > 1 && 4 * volume(ops::shape_of(part)) > 3 * volume(shape(i.out[0]))) part = all;
      in = ops::operand_regions(*i.primitive, types(i.in), part);
      if (in.empty()) in = ops::operand_regions(*i.primitive, types(i.in), part = all);
    } else {
      for (int v : i.out) part_[idx(v)] = whole(shape(v));
    }
    for (std::size_t k = 0; k < i.in.size(); ++k)
      if (in.empty() || in[k]) demand(i.in[k], in.empty() ? whole(shape(i.in[k])) : *in[k]);
  }

  int add(PrimitivePtr primitive, std::vector<int> in) {
    r_->vars.push_back(primitive->infer(types(in))[0]);
    int out = static_cast<int>(r_->vars.size()) - 1;
    r_->code.push_back({std::move(primitive), std::move(in), {out}, source_});
    return out;
  }
  int staged(const FlatFn& f, const std::vector<int>& in) {
    auto first = r_->code.size();
    auto out = inline_into(*r_, *stage(f, types(in)).program, in);
    for (; first < r_->code.size(); ++first) r_->code[first].source = source_;
    return out[0];
  }
  /// The variable that holds this part of v.
  int read(int v, const Region& wanted) {
    auto& has = part_[idx(v)];
    if (wanted == has) return same_[idx(v)];
    Dims start, limit, stride;
    for (std::size_t d = 0; d < has.size(); ++d) {
      start.push_back((wanted[d].begin - has[d].begin) / has[d].step);
      stride.push_back(wanted[d].count > 1 ? wanted[d].step / has[d].step : 1);
      limit.push_back(start.back() + (wanted[d].count - 1) * stride.back() + 1);
    }
    return staged([&](const Arrays& a) { return Arrays{slice(a[0], start, limit, stride)}; }, {same_[idx(v)]});
  }
  void rebuild(const Instruction& i) {
    source_ = i.source;
    if (taken(i)) return;
    Parts parts;
    Region part;
    bool all = true;
    if (i.out.size() == 1 && volume(shape(i.out[0])) > 0 && known_[idx(i.out[0])]) {
      part = part_[idx(i.out[0])];
      all = part == whole(shape(i.out[0]));
      parts = ops::operand_regions(*i.primitive, types(i.in), part);
    }
    std::vector<int> in;
    for (std::size_t k = 0; k < i.in.size(); ++k)
      if (parts.empty() || parts[k]) in.push_back(read(i.in[k], parts.empty() ? whole(shape(i.in[k])) : *parts[k]));
    auto primitive = parts.empty() ? i.primitive : ops::region_of(i.primitive, types(i.in), part);
    if (!primitive) same_[idx(i.out[0])] = in[0];
    else if (!all) same_[idx(i.out[0])] = add(std::move(primitive), std::move(in));
    else r_->code.push_back({with_programs(primitive, push_slices), std::move(in), i.out, i.source});
  }

  // ---- takes ----
  /// A take of values that elementwise operations make for it alone, more than it takes: it takes their operands.
  bool taken(const Instruction& i) {
    auto* t = ops::simple_take(*i.primitive);
    if (!t || !known_[idx(i.out[0])] || is_complex(p_.vars[idx(i.out[0])].dtype) ||
        is_stored_only(p_.vars[idx(i.out[0])].dtype))
      return false;
    auto from = i.in[0];
    bool gains = 2 * volume(shape(i.out[0])) <= volume(shape(from)) && made_for_one(from) && arrays_below(from) <= 2;
    if (!gains) return false;
    auto at = read(i.in[1], whole(shape(i.in[1])));
    auto y = pulled(from, {t->axis, false}, at);
    if (t->fill) {
      auto n = shape(from)[idx(t->axis)];
      y = staged([&](const Arrays& a) { return Arrays{filled(a[0], a[1], n, t->axis)}; }, {y, at});
    }
    same_[idx(i.out[0])] = y;
    return true;
  }
  bool made_for_one(int v) const {
    auto* m = maker_[idx(v)];
    auto role = m ? m->primitive->traits.loop : LoopRole::alone;
    return (role == LoopRole::op || role == LoopRole::cast || role == LoopRole::bitcast) && readers_[idx(v)] == 1;
  }
  int arrays_below(int v) const {
    auto* m = maker_[idx(v)];
    if (shape(v).empty() || (m && broadcast(*m))) return 0;
    if (!made_for_one(v)) return 1;
    int n = 0;
    for (int u : m->in) n += arrays_below(u);
    return n;
  }
  int pulled(int v, const ops::Take& t, int at) {
    auto* m = maker_[idx(v)];
    if (shape(v).empty()) return read(v, {});
    if (made_for_one(v)) {
      std::vector<int> in;
      for (int u : m->in) in.push_back(pulled(u, t, at));
      return add(m->primitive, in);
    }
    auto* b = m ? broadcast(*m) : nullptr;
    if (b && std::find(b->dims.begin(), b->dims.end(), t.axis) == b->dims.end()) {
      auto dims = b->dims;  // equal along the axis: nothing to take
      for (auto& d : dims)
        if (d > t.axis) d += r_->vars[idx(at)].ndim() - 1;
      auto to = t.infer({p_.vars[idx(v)], r_->vars[idx(at)]}).shape;
      return add(primitive(ops::BroadcastInDim{to, dims}), {read(m->in[0], whole(shape(m->in[0])))});
    }
    return add(primitive(t), {read(v, whole(shape(v))), at});
  }
  /// NaN (0 for integers) where the index is outside of [0, n).
  static Array filled(const Array& y, const Array& at, std::int64_t n, std::int64_t axis) {
    Dims dims(idx(at.ndim()));
    std::iota(dims.begin(), dims.end(), axis);
    auto inside = broadcast_in_dim(logical_and(at >= 0, at < n), y.shape(), dims);
    return where(inside, y, constant(is_float(y.dtype()) ? Scalar(std::nan("")) : Scalar(0), y.dtype()));
  }

  const Program& p_;
  std::shared_ptr<Program> r_;
  std::vector<int> same_;     // variable -> the one that holds its part
  std::vector<Region> part_;  // of each variable that is read
  Mask known_;                // is it read
  std::vector<const Instruction*> maker_;
  std::vector<int> readers_;
  SourcePtr source_;
};
}  // namespace

ProgramPtr push_slices(const ProgramPtr& p) {
  bool any = false;
  for (auto& i : p->code) {
    if (communicates(i) && !i.primitive->traits.holds) return p;
    any = any || i.primitive->traits.holds || ops::selects(*i.primitive);
  }
  return any ? Narrow(*p).run() : p;
}
}  // namespace bora::exec
