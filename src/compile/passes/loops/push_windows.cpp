// push_windows.cpp -- stencils of stencils. A window (slice, roll, flip, pad) of values that cheap elementwise
// operations make for loops alone becomes those operations of windows, so that the loop that reads it computes it where
// it reads; else the values would be stored and read again. Same bits: an element is computed as before, and what a pad
// puts around it is chosen, not computed.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include "compile/api/executable.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "compile/passes/pass_list.h"
#include "compile/passes/simplify/computed.h"
#include "compile/passes/graph.h"
#include "kernels/api/loop.h"
#include "ops/api/region.h"
#include "ops/api/primitives.h"

namespace bora::exec {
namespace {
constexpr int kCheap = 6, kCheapLarge = 40;  // instructions and loads of an element again, where the array is large
constexpr std::size_t kLarge = std::size_t{16} << 20, kMostReads = 24, kMostBoxes = 27, kMostOperations = 96;
constexpr std::int64_t kLeastBox = 512;  // elements for each box, on average, where there are more than before
using Cuts = std::vector<std::set<std::int64_t>>;  // of each dimension: where boxes end inside it

class Shifted {
 public:
  explicit Shifted(const Program& p)
      : p_(p), r_(std::make_shared<Program>(p)), same_(p.vars.size()), made_(p.vars.size(), nullptr),
        base_(p.vars.size()), maker_(p.vars.size(), -1), loops_(p.vars.size(), true), final_(p.vars.size()),
        direct_(p.vars.size()), stored_(p.vars.size()), windows_(p.vars.size()), readers_(p.vars.size()) {
    std::iota(same_.begin(), same_.end(), 0);
    base_ = same_;
    for (auto& i : p.code) {
      for (int v : i.out) made_[idx(v)] = &i;
      if (!is_window(i)) continue;
      auto base = base_[idx(i.in[0])];
      for (int v : i.in)
        if (base_[idx(v)] != base) base = -1;
      base_[idx(i.out[0])] = base;
    }
    find_readers();
  }
  ProgramPtr run() {
    r_->code.clear();
    for (auto i : p_.code) {
      source_ = i.source;
      auto out = i.out.empty() ? -1 : i.out[0];
      if (is_window(i) && final_[idx(out)] && base_[idx(out)] >= 0 && recomputes(base_[idx(out)])) {
        same_[idx(out)] = pushed(out);
        continue;
      }
      i.primitive = with_programs(i.primitive, push_windows);
      for (int& v : i.in) v = same_[idx(v)];
      append(std::move(i));
    }
    for (int& v : r_->out) v = same_[idx(v)];
    return sweep(*r_, true);
  }

 private:
  const Type& type(int v) const { return r_->vars[idx(v)]; }
  static bool is_elementwise(const Instruction& i) {
    auto role = i.primitive->traits.loop;
    return (role == LoopRole::op || role == LoopRole::cast) && i.out.size() == 1;
  }
  bool is_window(const Instruction& i) const {
    if (i.out.size() != 1) return false;
    auto& t = p_.vars[idx(i.out[0])];
    if (t.size() == 0 || t.dtype == Dtype::key || is_complex(t.dtype) || t.dtype == u64) return false;
    auto m = ops::movement(*i.primitive);
    if (m.slice) return std::all_of(m.slice->stride.begin(), m.slice->stride.end(), [](auto n) { return n == 1; });
    for (std::size_t d = 0; m.pad && d < m.pad->lo.size(); ++d)
      if (m.pad->lo[d] < 0 || m.pad->hi[d] < 0 || m.pad->interior[d] != 0) return false;
    return bool(m);
  }
  /// loops_: only loops read it, also through windows; final_: a window that they read.
  void find_readers() {
    for (int v : p_.out) loops_[idx(v)] = false;
    for (auto i = p_.code.rbegin(); i != p_.code.rend(); ++i) {
      bool window = is_window(*i), loop = is_elementwise(*i) || i->primitive->traits.loop == LoopRole::reduce;
      for (int v : i->in) {
        readers_[idx(v)].push_back(i->out.empty() ? -1 : i->out[0]);
        bool reads = loop && (p_.vars[idx(v)].shape == p_.vars[idx(i->out[0])].shape ||
                              i->primitive->traits.loop == LoopRole::reduce);
        if (!reads && !(window && loops_[idx(i->out[0])])) loops_[idx(v)] = false;
        if (reads && !final_[idx(v)] && made_[idx(v)] && is_window(*made_[idx(v)])) {
          final_[idx(v)] = true;
          if (int b = base_[idx(v)]; b >= 0) windows_[idx(b)].push_back(v);
        }
        direct_[idx(v)] = direct_[idx(v)] || reads;
      }
    }
    for (std::size_t v = 0; v < final_.size(); ++v)
      if (final_[v]) join(shapes_[p_.vars[v].shape.dims()], cuts(static_cast<int>(v), false));
  }

  // ---- which values are computed again ----
  bool recomputes(int y) {
    auto [it, unknown] = chosen_.try_emplace(y, false);
    if (!unknown) return it->second;
    bool chosen = pays(y);
    stored_[idx(y)] = !chosen;
    return chosen_[y] = chosen;
  }
  bool pays(int y) {
    auto* m = made_[idx(y)];
    if (!m || !is_elementwise(*m) || !loops_[idx(y)] || is_stored_only(type(y).dtype)) return false;
    reads_ = 0;
    seen_.clear();
    visit(y);
    if (seen_.size() > kMostOperations) return false;
    auto times = windows_[idx(y)].size(), loads = std::max<std::size_t>(1, reads_) - 1;  // of each, instead of one
    auto most = type(y).nbytes() >= kLarge ? kCheapLarge : kCheap;
    if (cost_again(y, static_cast<int>(times)) + static_cast<int>(loads * times) > most || reads_ * times > kMostReads)
      return false;
    std::map<Dims, Cuts> all;
    if (direct_[idx(y)]) all[type(y).shape.dims()] = cuts_of(y);
    for (int w : windows_[idx(y)]) {
      auto shape = p_.vars[idx(w)].shape.dims();
      join(all[shape], cuts(w, true));
    }
    for (auto& [shape, cut] : all) join(cut, shapes_[shape]);
    for (auto& [shape, cut] : all) {
      auto n = boxes(cut);
      if (n > kMostBoxes) return false;
      if (n > boxes(shapes_[shape]) && static_cast<std::int64_t>(n) * kLeastBox > volume(Shape(shape))) return false;
    }
    for (auto& [shape, cut] : all) shapes_[shape] = cut;
    return true;
  }
  /// Is it computed by an operation in the loop that reads it?
  const Instruction* operation(int v) const {
    auto m = maker_[idx(v)];
    if (m < 0 || !is_elementwise(r_->code[idx(m)]) || (idx(v) < p_.vars.size() && stored_[idx(v)])) return nullptr;
    auto foreign = [&](int u) { return is_complex(type(u).dtype) || type(u).dtype == u64; };
    if (foreign(v) || std::any_of(r_->code[idx(m)].in.begin(), r_->code[idx(m)].in.end(), foreign)) return nullptr;
    return idx(v) >= p_.vars.size() || loops_[idx(v)] ? &r_->code[idx(m)] : nullptr;
  }
  /// A value that is equal everywhere.
  const Instruction* repeated(int v) const {
    auto m = maker_[idx(v)];
    auto* b = m < 0 ? nullptr : broadcast(r_->code[idx(m)]);
    return b && type(r_->code[idx(m)].in[0]).size() == 1 ? &r_->code[idx(m)] : nullptr;
  }
  void visit(int v) {
    if (seen_.size() > kMostOperations || std::find(seen_.begin(), seen_.end(), v) != seen_.end()) return;
    seen_.push_back(v);
    auto* m = operation(v);
    if (!m) {
      reads_ += !type(v).shape.empty() && !repeated(v);
      return;
    }
    for (int u : m->in) visit(u);
  }
  /// Cost of the operations above y that this many windows, and what else reads their values, compute again.
  int cost_again(int y, int windows) {
    std::vector<int> operations;
    for (int v : seen_)
      if (operation(v)) operations.push_back(v);
    std::sort(operations.begin(), operations.end(), [&](int a, int b) { return maker_[idx(a)] > maker_[idx(b)]; });
    std::map<int, bool> elsewhere;  // readers come first
    int cost = 0;
    for (int v : operations) {
      auto& readers = idx(v) < p_.vars.size() ? readers_[idx(v)] : users_[idx(v)];
      bool again = v == y ? direct_[idx(y)] : std::any_of(readers.begin(), readers.end(), [&](int u) {
        auto it = elsewhere.find(u);
        return it == elsewhere.end() || it->second;
      });
      elsewhere[v] = again;
      auto& p = *operation(v)->primitive;
      auto each = p.traits.loop == LoopRole::op ? kernels::element_op(*p.element()).cost : 1;
      cost += each * (windows - 1 + (again ? 1 : 0));
    }
    return cost;
  }

  // ---- boxes ----
  static void join(Cuts& all, const Cuts& more) {
    all.resize(std::max(all.size(), more.size()));
    for (std::size_t d = 0; d < more.size(); ++d) all[d].insert(more[d].begin(), more[d].end());
  }
  static std::size_t boxes(const Cuts& c) {
    std::size_t n = 1;
    for (auto& d : c) n *= d.size() + 1;
    return n;
  }
  /// The cuts of a window of p_; computed: with the cuts of its base, else as if the base were in memory.
  Cuts cuts(int v, bool computed) {
    if (base_[idx(v)] == v) return computed ? cuts_of(v) : Cuts(p_.vars[idx(v)].shape.size());
    auto& i = *made_[idx(v)];
    std::vector<Cuts> in;
    for (int u : i.in) in.push_back(cuts(u, computed && base_[idx(v)] >= 0));
    return through(i, in, p_.vars);
  }
  /// The cuts of a variable of r_.
  Cuts cuts_of(int v) {
    if (auto it = known_.find(v); it != known_.end()) return it->second;
    Cuts r(type(v).shape.size());
    if (auto m = maker_[idx(v)]; m >= 0) {
      auto& i = r_->code[idx(m)];
      if (i.out.size() == 1 && (operation(v) || ops::movement(*i.primitive))) {
        std::vector<Cuts> in;
        for (int u : i.in) in.push_back(cuts_of(u));
        r = through(i, in, r_->vars);
      }
    }
    return known_[v] = r;
  }
  static Cuts through(const Instruction& i, const std::vector<Cuts>& in, const Types& vars) {
    auto& shape = vars[idx(i.out[0])].shape;
    Cuts r(shape.size());
    auto add = [&](std::size_t d, std::int64_t at) {
      if (at > 0 && at < shape[d]) r[d].insert(at);
    };
    const auto [slice, pad, joint, flip] = ops::movement(*i.primitive);
    std::int64_t first = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      auto& from = vars[idx(i.in[k])].shape;
      for (std::size_t d = 0; d < in[k].size() && from.size() == shape.size(); ++d) {
        auto n = from[d];
        bool joins = joint && idx(joint->axis) == d;
        bool flips = flip && std::count(flip->dims.begin(), flip->dims.end(), static_cast<std::int64_t>(d)) > 0;
        auto by = pad ? pad->lo[d] : slice ? -slice->start[d] : joins ? first : 0;
        auto step = slice ? slice->stride[d] : 1;
        for (auto at : in[k][d]) add(d, flips ? n - at : (at + by + step - 1) / step);
        if (pad || joins) add(d, by), add(d, by + n);
      }
      if (joint) first += from[idx(joint->axis)];
    }
    return r;
  }

  // ---- the new code ----
  void append(Instruction i) {
    maker_.resize(r_->vars.size(), -1);
    users_.resize(r_->vars.size());
    for (int v : i.out) maker_[idx(v)] = static_cast<int>(r_->code.size());
    for (int v : i.in) users_[idx(v)].push_back(i.out.empty() ? -1 : i.out[0]);
    if (i.out.size() == 1 && (is_elementwise(i) || ops::movement(*i.primitive) || broadcast(i)))
      found_.try_emplace({i.primitive.get(), i.in}, i.out[0]);
    r_->code.push_back(std::move(i));
  }
  int add(const PrimitivePtr& primitive, const std::vector<int>& in) {
    if (auto it = found_.find({primitive.get(), in}); it != found_.end()) return it->second;
    Types types;
    for (int v : in) types.push_back(type(v));
    r_->vars.push_back(primitive->infer(types)[0]);
    int out = static_cast<int>(r_->vars.size()) - 1;
    append({primitive, in, {out}, source_});
    return out;
  }
  int staged(const FlatFn& f, const std::vector<int>& in) {
    Types types;
    for (int v : in) types.push_back(type(v));
    Program part;
    part.vars = r_->vars;
    auto out = inline_into(part, *stage(f, types).program, in);
    r_->vars = part.vars;
    for (auto& i : part.code) {
      i.source = source_;
      append(std::move(i));
    }
    return out[0];
  }
  /// The window w of p_ over another array of its base's shape. zeros: pads put 0 around it.
  int window(int w, int of, bool zeros) {
    if (base_[idx(w)] == w) return of;
    auto& i = *made_[idx(w)];
    std::vector<int> in;
    for (int v : i.in) in.push_back(window(v, of, zeros));
    auto* pad = ops::movement(*i.primitive).pad;
    return add(pad && zeros ? primitive(ops::Pad{pad->lo, pad->hi, pad->interior, Scalar(0)}) : i.primitive, in);
  }
  bool pads(int w) const {
    if (base_[idx(w)] == w) return false;
    auto& i = *made_[idx(w)];
    return ops::movement(*i.primitive).pad || std::any_of(i.in.begin(), i.in.end(), [&](int v) { return pads(v); });
  }
  int pushed(int w) {
    auto y = base_[idx(w)];
    std::map<int, int> done;
    auto value = computed(y, w, done);
    if (!pads(w)) return value;
    auto equal = [&](Scalar x, Dtype d) {
      return staged([&](const Arrays&) { return Arrays{broadcast_in_dim(constant(x, d), type(y).shape, {})}; }, {});
    };
    auto inside = window(w, equal(Scalar(true), boolean), true);
    auto outside = window(w, equal(Scalar(0), type(y).dtype), false);
    return staged([](const Arrays& a) { return Arrays{where(a[0], a[1], a[2])}; }, {inside, value, outside});
  }
  int computed(int v, int w, std::map<int, int>& done) {
    if (type(v).shape.empty()) return v;
    if (auto it = done.find(v); it != done.end()) return it->second;
    int r = -1;
    if (auto* m = operation(v)) {
      auto primitive = m->primitive;
      auto in = m->in;  // code moves as it grows
      for (int& u : in) u = computed(u, w, done);
      r = add(primitive, in);
    } else if (auto* b = repeated(v)) {
      auto in = b->in;
      auto dims = broadcast(*b)->dims;
      bool scalar = type(in[0]).shape.empty();
      r = scalar ? add(primitive(ops::BroadcastInDim{p_.vars[idx(w)].shape, dims}), in) : window(w, v, true);
    } else {
      r = window(w, v, true);
    }
    return done[v] = r;
  }

  const Program& p_;
  std::shared_ptr<Program> r_;
  std::vector<int> same_;                  // variable -> the one that holds its value
  std::vector<const Instruction*> made_;   // of each variable of p_
  std::vector<int> base_;                  // of windows: the one variable that they show, or -1; others: themselves
  std::vector<int> maker_;                 // of each variable of r_: the number of its instruction
  Mask loops_, final_, direct_, stored_;
  std::vector<std::vector<int>> windows_;  // of each variable: final windows of it
  std::vector<std::vector<int>> readers_;  // of each variable of p_: what is computed from it
  std::vector<std::vector<int>> users_;    // of each variable of r_, so far
  std::map<int, bool> chosen_;
  std::map<Dims, Cuts> shapes_;            // of everything that loops of this shape read
  std::map<int, Cuts> known_;
  std::unordered_map<Computed, int, Computed::Hash> found_;
  std::vector<int> seen_;
  std::size_t reads_ = 0;
  SourcePtr source_;
};
}  // namespace

ProgramPtr push_windows(const ProgramPtr& p) {
  bool any = false;
  for (auto& i : p->code)
    any = any || i.primitive->traits.holds || ops::movement(*i.primitive);
  return any ? Shifted(*p).run() : p;
}
}  // namespace bora::exec
