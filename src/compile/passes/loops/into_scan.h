// into_scan.h -- what passes have in common that move work on a scan's stacked results into its body.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include "compile/passes/graph.h"
#include "compile/api/control.h"
#include "ops/api/primitives.h"

namespace bora::exec {
class IntoScan {
 public:
  /// How many instructions from behind the scan are in front of it now.
  std::size_t moved() const { return earlier_.size(); }

 protected:
  IntoScan(const Program& p, std::size_t k, const ops::Scan& s)
      : p_(p), k_(k), s_(s), maker_(p.vars.size(), -1), depends_(p.vars.size()) {
    for (std::size_t j = 0; j < p.code.size(); ++j) {
      auto& i = p.code[j];
      bool later = j == k || std::any_of(i.in.begin(), i.in.end(), [&](int v) { return depends_[idx(v)]; });
      for (int v : i.out) {
        maker_[idx(v)] = static_cast<int>(j);
        depends_[idx(v)] = later;
      }
    }
  }
  static Shape slice(const Shape& s) { return Dims(s.begin() + 1, s.end()); }
  const Type& type(int v) const { return p_.vars[idx(v)]; }
  bool stacked(int v) const {
    auto& t = type(v);
    return !t.shape.empty() && t.shape[0] == s_.length;
  }
  /// Is v there before the scan?
  bool before(int v) const { return maker_[idx(v)] < static_cast<int>(k_); }
  int variable(Type t) {
    body_->vars.push_back(std::move(t));
    return static_cast<int>(body_->vars.size()) - 1;
  }
  /// Appends to the body; the variable of the result.
  int add(PrimitivePtr primitive, std::vector<int> in, std::shared_ptr<const Source> source) {
    Types types;
    for (int u : in) types.push_back(body_->vars[idx(u)]);
    auto out = variable(primitive->infer(types)[0]);
    body_->code.push_back({std::move(primitive), std::move(in), {out}, std::move(source)});
    return out;
  }
  /// The body's variable for v, the same in all iterations.
  int constant(int v) {
    auto [at, fresh] = consts_.try_emplace(v, -1);
    if (fresh) at->second = variable(type(v));
    return at->second;
  }
  /// The body's variable for slices of v.
  int scanned(int v) {
    auto& in = p_.code[k_].in;
    auto known = std::find(in.begin() + s_.consts + s_.carries, in.end(), v);
    if (known != in.end()) return s_.body->in[static_cast<std::size_t>(known - in.begin())];
    auto [at, fresh] = xs_.try_emplace(v, -1);
    if (fresh) {
      auto t = type(v);
      t.shape = slice(t.shape);
      at->second = variable(t);
    }
    return at->second;
  }
  /// The broadcast of v's maker, slice by slice, from the body's variable `from`.
  int broadcast_slice(const Instruction& i, const ops::BroadcastInDim& b, int from) {
    Dims dims;
    for (auto d : b.dims)
      if (d > 0) dims.push_back(d - 1);
    return add(primitive(ops::BroadcastInDim{slice(b.shape), dims}), {from}, i.source);
  }
  /// The Program with `loop` in the scan's place, which gets the new body and its inputs, and without what is gone.
  template <class F> std::shared_ptr<Program> rewritten(Instruction loop, const F& gone) {
    std::vector<int> inputs, operands;
    for (auto [outer, inner] : consts_) {
      operands.push_back(outer);
      inputs.push_back(inner);
    }
    body_->labels.clear();
    body_->in.insert(body_->in.begin() + s_.consts, inputs.begin(), inputs.end());
    loop.in.insert(loop.in.begin() + s_.consts, operands.begin(), operands.end());
    for (auto [outer, inner] : xs_) {
      loop.in.push_back(outer);
      body_->in.push_back(inner);
    }
    loop.primitive = primitive(
        ops::Scan{body_, s_.consts + static_cast<std::int64_t>(operands.size()), s_.carries, s_.length, s_.reverse});
    auto r = std::make_shared<Program>(p_);
    r->code.clear();
    for (std::size_t k = 0; k < p_.code.size(); ++k) {
      if (k == k_) {
        for (auto m : earlier_) r->code.push_back(p_.code[m]);
        r->code.push_back(loop);
      } else if (!gone(k) && !earlier_.contains(k)) r->code.push_back(p_.code[k]);
    }
    return r;
  }

  const Program& p_;
  std::size_t k_;
  const ops::Scan& s_;
  std::vector<int> maker_;  // of each variable: its instruction, or -1
  Mask depends_;            // of each variable: on a result of the scan
  std::set<std::size_t> earlier_ = {};  // instructions that move in front of the scan
  std::shared_ptr<Program> body_ = {};

 private:
  std::map<int, int> consts_ = {}, xs_ = {};  // new inputs of the scan, and of its body
};

/// The Program with what Pass(p, k, scan).run() gives for each scan of two iterations or more, if that is not null, and
/// `held` applied to all Programs in it.
template <class Pass> ProgramPtr into_scans(const ProgramPtr& p, ProgramPtr (*held)(const ProgramPtr&)) {
  if (!holds_programs(*p)) return p;
  auto r = std::make_shared<Program>(*p);
  bool any = false;
  for (auto& i : r->code) i.primitive = with_programs(i.primitive, held);
  for (std::size_t k = 0; k < r->code.size(); ++k) {
    auto kept = r->code[k].primitive;
    ops::visit_control(
        *kept,
        [&](const ops::Scan& s) {
          if (s.length < 2) return;
          Pass pass(*r, k, s);
          auto changed = pass.run();
          if (!changed) return;
          r = changed;
          k += pass.moved();
          any = true;
        },
        [](const ops::Cond&) {}, [](const ops::While&) {});
  }
  return any ? sweep(*r, true) : r;
}
}  // namespace bora::exec
