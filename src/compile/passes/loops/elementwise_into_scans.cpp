// elementwise_into_scans.cpp -- elementwise work behind a scan on results that it stacks moves into its body: an
// optimizer's update of a layer runs while the layer's gradient is in cache, and the gradients of all layers are never
// in memory at once. The new values take the memory of old ones that the scan reads for the last time (plan.cpp). Every
// element is computed by the same operations as before, so the bits stay.
#include "compile/passes/loops/into_scan.h"
#include "compile/passes/pass_list.h"
#include "ops/api/primitives.h"
#include "compile/api/control.h"

namespace bora::exec {
namespace {
/// Bytes of a result in one iteration: loops over less are better run once, over all iterations.
constexpr std::size_t kLeastResult = std::size_t{256} << 10;
/// Elements of a value that is computed in front of the scan instead of behind it.
constexpr std::int64_t kSmallValue = 4096;
constexpr int kOutside = -1;  // reads a result of the Program

class ElementwiseIntoScan : public IntoScan {
 public:
  ElementwiseIntoScan(const Program& p, std::size_t k, const ops::Scan& s)
      : IntoScan(p, k, s), readers_(p.vars.size()), early_(p.vars.size(), true), available_(p.vars.size(), true) {
    for (std::size_t j = 0; j < p.code.size(); ++j)
      for (int v : p.code[j].in) readers_[idx(v)].push_back(static_cast<int>(j));
    for (int v : p.out) readers_[idx(v)].push_back(kOutside);
    for (std::size_t j = k; j < p.code.size(); ++j)
      for (int v : p.code[j].out) {
        early_[idx(v)] = j > k && is_early(p.code[j], v);
        available_[idx(v)] = j > k && is_available(p.code[j], v);
      }
  }
  /// The Program with the work in the scan's body; null if there is none.
  std::shared_ptr<Program> run() {
    // Behind collectives that are on their way nothing may follow in the same iteration.
    if (std::any_of(s_.body->code.begin(), s_.body->code.end(), communicates)) return nullptr;
    auto& loop = p_.code[k_];
    for (auto o = idx(s_.carries); o < loop.out.size(); ++o)
      if (type(loop.out[o]).nbytes() / idx(s_.length) >= kLeastResult) taken_.insert(loop.out[o]);
    // A result that others read as well stays, and so does all work that reads it.
    for (bool more = true; more && !taken_.empty();) {
      gather();
      more = std::erase_if(taken_, [&](int v) {
               auto& r = readers_[idx(v)];
               return r.empty() || !std::all_of(r.begin(), r.end(), [&](int j) { return inside(j); });
             }) > 0;
    }
    return taken_.empty() ? nullptr : with_work();
  }

 private:
  bool inside(int j) const { return j >= 0 && group_.contains(idx(j)); }
  bool member(int v) const { return taken_.contains(v) || inside(maker_[idx(v)]); }
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
      if (each(i, [&](int v) { return member(v) || available_[idx(v)]; })) group_.insert(j);
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
  /// Does the broadcast make the first dimension of its result from one of its operand's?
  static bool first(const ops::BroadcastInDim& b) {
    return std::find(b.dims.begin(), b.dims.end(), 0) != b.dims.end();
  }
  /// From an operand that is stacked itself?
  bool begins(const ops::BroadcastInDim& b, int from) const {
    return !b.dims.empty() && b.dims[0] == 0 && stacked(from);
  }
  /// Is v, which i makes behind the scan, small enough to be computed in front of it?
  bool is_early(const Instruction& i, int v) const {
    return !depends_[idx(v)] && i.primitive->traits.plain() && type(v).size() <= kSmallValue &&
           std::all_of(i.in.begin(), i.in.end(), [&](int u) { return early_[idx(u)]; });
  }
  /// Can the body have its slices of v, which i makes behind the scan and not of its results?
  bool is_available(const Instruction& i, int v) const {
    if (early_[idx(v)]) return true;
    if (depends_[idx(v)]) return false;
    if (auto* b = broadcast(i); b && !first(*b)) return early_[idx(i.in[0])];
    return each(i, [&](int u) { return available_[idx(u)]; });
  }
  /// v, computed in front of the scan.
  int in_front(int v) {
    if (!before(v) && earlier_.insert(idx(maker_[idx(v)])).second)
      for (int u : p_.code[idx(maker_[idx(v)])].in) (void)in_front(u);
    return v;
  }
  /// The body's variable for a slice of v: a result of the scan or of the group, or an operand of the group.
  int inner(int v) {
    if (auto known = number_.find(v); known != number_.end()) return known->second;
    auto m = maker_[idx(v)];
    auto* i = m < 0 ? nullptr : &p_.code[idx(m)];
    int r = -1;
    if (auto* b = i ? broadcast(*i) : nullptr; b && (begins(*b, i->in[0]) || !first(*b))) {
      auto u = i->in[0];
      r = broadcast_slice(*i, *b, first(*b) ? inner(u) : constant(in_front(u)));
    } else if (!member(v) && early_[idx(v)]) {
      r = scanned(in_front(v));
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
  std::shared_ptr<Program> with_work() {
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
    return rewritten(std::move(loop), [&](std::size_t k) { return group_.contains(k); });
  }

  std::vector<std::vector<int>> readers_;  // of each variable: instructions, and kOutside
  Mask early_;                             // of each variable: it is, or can be, computed in front of the scan
  Mask available_;                         // of each variable: the body can have its slices without results of the scan
  std::set<int> taken_ = {};               // stacked results that only the body reads
  std::set<std::size_t> group_ = {};       // instructions that move into the body
  std::map<int, int> number_ = {};         // variables of the body by those of the Program
};
}  // namespace

ProgramPtr elementwise_into_scans(const ProgramPtr& p) {
  return into_scans<ElementwiseIntoScan>(p, elementwise_into_scans);
}
}  // namespace bora::exec
