// absorb.cpp -- elementwise work behind a scan on results that it stacks moves into its body: an optimizer's update of
// a layer runs while the layer's gradient is in cache, and the gradients of all layers are never in memory at once. The
// new values take the memory of old ones that the scan reads for the last time (plan.cpp). Every element is computed by
// the same operations as before, so the bits stay.
#include <algorithm>
#include <map>
#include <set>
#include "compile/passes/graph.h"

namespace bora::exec {
namespace {
/// Bytes of a result in one iteration: loops over less are better run once, over all iterations.
constexpr std::size_t kLeast = std::size_t{256} << 10;
/// Elements of a value that is computed in front of the scan instead of behind it.
constexpr std::int64_t kSmall = 4096;
constexpr int kOutside = -1;  // reads a result of the Program

Shape slice(const Shape& s) { return Dims(s.begin() + 1, s.end()); }

class Absorber {
 public:
  Absorber(const Program& p, std::size_t k, const ops::Scan& s)
      : p_(p), k_(k), s_(s), maker_(p.vars.size(), -1), readers_(p.vars.size()), depends_(p.vars.size()) {
    for (std::size_t j = 0; j < p.code.size(); ++j) {
      auto& i = p.code[j];
      bool later = j == k || std::any_of(i.in.begin(), i.in.end(), [&](int v) { return depends_[idx(v)]; });
      for (int v : i.out) {
        maker_[idx(v)] = static_cast<int>(j);
        depends_[idx(v)] = later;
      }
      for (int v : i.in) readers_[idx(v)].push_back(static_cast<int>(j));
    }
    for (int v : p.out) readers_[idx(v)].push_back(kOutside);
  }
  /// The Program with the work in the scan's body; null if there is none.
  std::shared_ptr<Program> run() {
    auto& loop = p_.code[k_];
    for (auto o = idx(s_.carries); o < loop.out.size(); ++o)
      if (type(loop.out[o]).nbytes() / idx(s_.length) >= kLeast) taken_.insert(loop.out[o]);
    // A result that others read as well stays, and so does all work that reads it.
    for (bool more = true; more && !taken_.empty();) {
      gather();
      more = std::erase_if(taken_, [&](int v) {
               auto& r = readers_[idx(v)];
               return r.empty() || !std::all_of(r.begin(), r.end(), [&](int j) { return inside(j); });
             }) > 0;
    }
    return taken_.empty() ? nullptr : rewritten();
  }
  /// How many instructions from behind the scan are in front of it now.
  std::size_t moved() const { return earlier_.size(); }

 private:
  const Type& type(int v) const { return p_.vars[idx(v)]; }
  bool stacked(int v) const {
    auto& t = type(v);
    return !t.shape.empty() && t.shape[0] == s_.length;
  }
  bool inside(int j) const { return j >= 0 && group_.contains(idx(j)); }
  bool member(int v) const {
    return taken_.contains(v) || (maker_[idx(v)] > static_cast<int>(k_) && inside(maker_[idx(v)]));
  }
  static bool elementwise(const Instruction& i) {
    auto role = i.primitive->traits.loop;
    return (role == LoopRole::op || role == LoopRole::cast) && i.out.size() == 1;
  }
  static bool reshapes(const Instruction& i) { return i.primitive->traits.view && i.primitive->traits.sized; }
  /// Do all operands have the result's shape?
  bool alike(const Instruction& i) const {
    return std::all_of(i.in.begin(), i.in.end(), [&](int v) { return type(v).shape == type(i.out[0]).shape; });
  }
  /// The instructions that follow from the taken results slice by slice.
  void gather() {
    group_.clear();
    for (std::size_t j = k_ + 1; j < p_.code.size(); ++j) {
      auto& i = p_.code[j];
      if (std::none_of(i.in.begin(), i.in.end(), [&](int v) { return member(v); })) continue;
      if (each(i, [&](int v) { return member(v) || available(v); })) group_.insert(j);
    }
  }
  /// Does an iteration's slice of the result come from its slices of operands, of which `has` says the body can have
  /// them?
  template <class F> bool each(const Instruction& i, const F& has) const {
    if (auto* r = reduction(i)) return std::find(r->dims.begin(), r->dims.end(), 0) == r->dims.end() && has(i.in[0]);
    if (auto* b = broadcast(i)) return begins(*b, i.in[0]) && stacked(i.out[0]) && has(i.in[0]);
    if (reshapes(i)) return stacked(i.in[0]) && stacked(i.out[0]) && has(i.in[0]);
    return elementwise(i) && alike(i) && std::all_of(i.in.begin(), i.in.end(), has);
  }
  /// Can the body have its slices of v, which does not come from the scan?
  bool available(int v) const {
    if (early(v)) return true;
    if (depends_[idx(v)]) return false;
    auto& i = p_.code[idx(maker_[idx(v)])];
    if (auto* b = broadcast(i); b && !first(*b)) return early(i.in[0]);
    return each(i, [&](int u) { return available(u); });
  }
  /// Does the broadcast make the first dimension of its result from one of its operand's?
  static bool first(const ops::BroadcastInDim& b) {
    return std::find(b.dims.begin(), b.dims.end(), 0) != b.dims.end();
  }
  /// From an operand that is stacked itself?
  bool begins(const ops::BroadcastInDim& b, int from) const {
    return !b.dims.empty() && b.dims[0] == 0 && stacked(from);
  }
  /// Is v there before the scan, or small enough to be computed there?
  bool early(int v) const {
    auto m = maker_[idx(v)];
    if (m < static_cast<int>(k_)) return true;
    auto& i = p_.code[idx(m)];
    return !depends_[idx(v)] && i.primitive->traits.plain() && type(v).size() <= kSmall &&
           std::all_of(i.in.begin(), i.in.end(), [&](int u) { return early(u); });
  }
  void compute_early(int v) {
    auto m = maker_[idx(v)];
    if (m < static_cast<int>(k_) || !earlier_.insert(idx(m)).second) return;
    for (int u : p_.code[idx(m)].in) compute_early(u);
  }

  int variable(Type t) {
    body_->vars.push_back(std::move(t));
    return static_cast<int>(body_->vars.size()) - 1;
  }
  int add(PrimitivePtr primitive, std::vector<int> in, std::shared_ptr<const Source> source) {
    Types types;
    for (int u : in) types.push_back(body_->vars[idx(u)]);
    auto out = variable(primitive->infer(types)[0]);
    body_->code.push_back({std::move(primitive), std::move(in), {out}, std::move(source)});
    return out;
  }
  /// The body's variable for a value that is the same in all iterations.
  int constant(int v) {
    compute_early(v);
    auto [at, fresh] = consts_.try_emplace(v, -1);
    if (fresh) at->second = variable(type(v));
    return at->second;
  }
  /// For the slices of v, which is there before the scan.
  int scanned(int v) {
    auto& loop = p_.code[k_];
    for (auto n = idx(s_.consts + s_.carries); n < loop.in.size(); ++n)
      if (loop.in[n] == v) return s_.body->in[n];
    compute_early(v);
    auto [at, fresh] = xs_.try_emplace(v, -1);
    if (fresh) {
      auto t = type(v);
      t.shape = slice(t.shape);
      at->second = variable(t);
    }
    return at->second;
  }
  /// The body's variable for a slice of v: a result of the scan or of the group, or an operand of the group.
  int inner(int v) {
    if (auto known = number_.find(v); known != number_.end()) return known->second;
    auto m = maker_[idx(v)];
    auto* i = m < 0 ? nullptr : &p_.code[idx(m)];
    int r = -1;
    if (auto* b = i ? broadcast(*i) : nullptr; b && (begins(*b, i->in[0]) || !first(*b))) {
      Dims dims;
      for (auto d : b->dims)
        if (d > 0) dims.push_back(d - 1);
      auto u = i->in[0];
      auto from = !first(*b) ? constant(u) : member(u) || !early(u) ? inner(u) : scanned(u);
      r = add(primitive(ops::BroadcastInDim{slice(b->shape), dims}), {from}, i->source);
    } else if (!member(v) && early(v)) {
      return scanned(v);
    } else {
      std::vector<int> in;
      for (int u : i->in) in.push_back(inner(u));
      auto changed = i->primitive;
      if (auto* reduce = reduction(*i)) {
        auto shorter = *reduce;
        for (auto& d : shorter.dims) --d;
        changed = primitive(shorter);
      } else if (reshapes(*i)) {
        changed = primitive(ops::Reshape{slice(type(v).shape)});
      }
      r = add(changed, in, i->source);
    }
    number_[v] = r;
    return r;
  }
  std::shared_ptr<Program> rewritten() {
    body_ = std::make_shared<Program>(*s_.body);
    auto loop = p_.code[k_];
    std::vector<int> outer(loop.out.begin(), loop.out.begin() + s_.carries),
        results(body_->out.begin(), body_->out.begin() + s_.carries);
    auto give = [&](int v, int from) {
      outer.push_back(v);
      results.push_back(from);
    };
    for (auto o = idx(s_.carries); o < loop.out.size(); ++o) {
      if (taken_.contains(loop.out[o])) number_[loop.out[o]] = body_->out[o];
      else give(loop.out[o], body_->out[o]);
    }
    for (auto j : group_) {
      auto v = p_.code[j].out[0];
      auto from = inner(v);
      auto& r = readers_[idx(v)];
      if (std::any_of(r.begin(), r.end(), [&](int reader) { return !inside(reader); })) give(v, from);
    }
    body_->out = std::move(results);
    loop.out = std::move(outer);
    std::vector<int> inputs, operands;
    for (auto [from, to] : consts_) {
      operands.push_back(from);
      inputs.push_back(to);
    }
    body_->labels.clear();
    body_->in.insert(body_->in.begin() + s_.consts, inputs.begin(), inputs.end());
    loop.in.insert(loop.in.begin() + s_.consts, operands.begin(), operands.end());
    for (auto [from, to] : xs_) {
      loop.in.push_back(from);
      body_->in.push_back(to);
    }
    loop.primitive = primitive(
        ops::Scan{body_, s_.consts + static_cast<std::int64_t>(operands.size()), s_.carries, s_.length, s_.reverse});
    auto r = std::make_shared<Program>(p_);
    r->code.clear();
    for (std::size_t k = 0; k < p_.code.size(); ++k) {
      if (k == k_) {
        for (auto m : earlier_) r->code.push_back(p_.code[m]);
        r->code.push_back(loop);
      } else if (!group_.contains(k) && !earlier_.contains(k)) r->code.push_back(p_.code[k]);
    }
    return r;
  }

  const Program& p_;
  std::size_t k_;
  const ops::Scan& s_;
  std::vector<int> maker_;  // of each variable: its instruction, or -1
  std::vector<std::vector<int>> readers_;
  Mask depends_;  // of each variable: on a result of the scan
  std::set<int> taken_ = {};            // stacked results that only the body reads
  std::set<std::size_t> group_ = {};    // instructions that move into the body
  std::set<std::size_t> earlier_ = {};  // that move in front of the scan
  std::map<int, int> consts_ = {}, xs_ = {};  // new inputs of the scan, and of its body
  std::map<int, int> number_ = {};            // variables of the body by those of the Program
  std::shared_ptr<Program> body_ = {};
};
}  // namespace

ProgramPtr absorb(const ProgramPtr& p) {
  auto r = std::make_shared<Program>(*p);
  bool any = false;
  for (auto& i : r->code) i.primitive = with_programs(i.primitive, absorb);
  for (std::size_t k = 0; k < r->code.size(); ++k) {
    auto held = r->code[k].primitive;
    ops::visit_control(
        *held,
        [&](const ops::Scan& s) {
          // Behind collectives that are on their way nothing may follow in the same iteration.
          if (s.length < 2 || std::any_of(s.body->code.begin(), s.body->code.end(), communicates)) return;
          Absorber absorber(*r, k, s);
          auto with_work = absorber.run();
          if (!with_work) return;
          r = with_work;
          k += absorber.moved();
          any = true;
        },
        [](const ops::Cond&) {}, [](const ops::While&) {});
  }
  return any ? sweep(*r, true) : r;
}
}  // namespace bora::exec
