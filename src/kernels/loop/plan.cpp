// plan.cpp -- from a Loop to lists of kernel calls: which values are one per row, where a reduction ends a pass, which
// values are kept between passes (expensive ones) and which are recomputed (cheap ones), which block buffer holds which
// value.
#include "kernels/loop/plan.h"
#include <algorithm>

namespace bora::kernels {
int arity(const Instr& i) {
  switch (i.kind) {
    case Instr::Kind::op: return element_op(i.op).arity;
    case Instr::Kind::cast:
    case Instr::Kind::bitcast:
    case Instr::Kind::reduce:
    case Instr::Kind::store: return 1;
    default: return 0;
  }
}
namespace {
using Kind = Instr::Kind;
constexpr int kDear = 8;

class Planner {
 public:
  Planner(LoopKernel& kernel, const KernelTable& table)
      : k_(kernel),
        t_(table),
        code_(kernel.loop.code),
        n_(static_cast<int>(code_.size())),
        canon_(kernel.canon),
        column_(kernel.column),
        live_(kernel.live),
        uses_(n_),
        level_(kernel.level),
        last_(kernel.last_level),
        cost_(n_) {
    for (auto* v : {&canon_, &level_}) v->resize(static_cast<std::size_t>(n_));
    for (auto* v : {&column_, &live_}) v->resize(static_cast<std::size_t>(n_));
    analyse();
    arrays();
    plan_whole();
    plan_blocks();
  }

 private:
  LoopKernel& k_;
  const KernelTable& t_;
  const std::vector<Instr>& code_;
  const int n_;
  std::vector<int>& canon_;  // a cast that changes no bit of a block stands for its input
  std::vector<char>&column_, &live_;
  std::vector<int> uses_;
  std::vector<int>& level_;
  int& last_;
  std::vector<int> cost_;
  int column_stores_ = 0;

  Format format(Dtype d) const { return format_of(d, k_.wide); }
  bool is_column_store(const Instr& i) const { return i.kind == Kind::store && k_.loop.operands[i.imm].columns; }
  bool rounded_by_store(const Instr& store) const {  // store(cast to bf16 of f32), used once: one kernel does both
    const int v = canon_[store.in[0]];
    const Instr& c = code_[v];
    const bool rounds = c.kind == Kind::cast && c.dtype == store.dtype && uses_[v] == 1 && column_[v];
    return is_column_store(store) && rounds &&
           (is_stored_only(store.dtype) || (store.dtype == bf16 && format(code_[c.in[0]].dtype) == Format::f32));
  }
  int stored_value(const Instr& store) const {
    const int v = canon_[store.in[0]];
    return rounded_by_store(store) ? canon_[code_[v].in[0]] : v;
  }
  void analyse() {
    for (int v = n_ - 1; v >= 0; --v) {
      if (code_[v].kind == Kind::store) live_[v] = true;
      if (live_[v])
        for (int j = 0; j < arity(code_[v]); ++j) live_[code_[v].in[j]] = true;
    }
    for (int v = 0; v < n_; ++v) {
      const Instr& i = code_[v];
      canon_[v] = v;
      for (int j = 0; j < arity(i); ++j) {
        const int x = canon_[i.in[j]];
        level_[v] = std::max(level_[v], level_[x]);
        column_[v] = column_[v] || column_[x];
        cost_[v] = std::min(1 << 20, cost_[v] + cost_[x]);
        if (live_[v]) ++uses_[x];
      }
      switch (i.kind) {
        case Kind::op: cost_[v] += element_op(i.op).cost; break;
        case Kind::load:
          column_[v] = k_.loop.operands[i.imm].columns;
          cost_[v] = 1;
          break;
        case Kind::linear:
          column_[v] = true;
          cost_[v] = 2;
          break;
        case Kind::random_bits:
          column_[v] = true;
          cost_[v] = 130;
          break;
        case Kind::reduce:
          column_[v] = false;
          ++level_[v];
          cost_[v] = 0;
          break;
        case Kind::cast:
        case Kind::bitcast: {
          const Format from = format(code_[i.in[0]].dtype), to = format(i.dtype);
          const bool reinterpret = i.kind == Kind::bitcast && !is_mask(from) && !is_mask(to);
          if (reinterpret || cast_kernel(from, to).by_scalars[0] == nullptr) {
            canon_[v] = canon_[i.in[0]];
            if (live_[v]) uses_[canon_[v]] += uses_[v] - 1;
          } else {
            cost_[v] += 2;
          }
          break;
        }
        default: break;
      }
      if (!live_[v]) continue;
      if (width_of(format(i.dtype)) == 8) k_.element_bytes = 8;
      last_ = std::max(last_, level_[v]);
      k_.has_reduction = k_.has_reduction || i.kind == Kind::reduce;
      k_.has_row_store = k_.has_row_store || (i.kind == Kind::store && !is_column_store(i));
      column_stores_ += is_column_store(i);
      if (column_[v] || i.kind == Kind::reduce || is_column_store(i))
        k_.cost += i.kind == Kind::op ? element_op(i.op).cost + 2 : i.kind == Kind::random_bits ? 130 : 2;
    }
    k_.cost = std::max(1, k_.cost);
    // A use of an identity cast counts as a use of its input.
    std::fill(uses_.begin(), uses_.end(), 0);
    for (int v = 0; v < n_; ++v)
      if (live_[v] && canon_[v] == v)
        for (int j = 0; j < arity(code_[v]); ++j) ++uses_[canon_[code_[v].in[j]]];
  }
  const Kernel& cast_kernel(Format from, Format to) const {
    return t_.cast[static_cast<int>(from)][static_cast<int>(to)];
  }
  void arrays() {
    k_.row_array.assign(n_, -1);
    k_.constant.assign(n_, 0);
    for (int v = 0; v < n_; ++v) {
      const Instr& i = code_[v];
      if (!live_[v] || column_[v] || canon_[v] != v || i.kind == Kind::store) continue;
      k_.row_array[v] = static_cast<std::int16_t>(k_.row_arrays++);
      if (i.kind != Kind::constant) continue;
      k_.constants.push_back(static_cast<std::int16_t>(v));
      k_.constant[v] = to_block(i.dtype, k_.wide, i.imm);
    }
  }
  /// Is v a column that is read in place? 32- and 64-bit elements need no conversion.
  bool in_place(int v) const {
    const Instr& i = code_[v];
    return i.kind == Kind::load && column_[v] && dtype_size(i.dtype) >= 4;
  }
  std::int16_t place(int v, bool copied = false) const {
    return static_cast<std::int16_t>(in_place(v) && !copied ? n_ + static_cast<int>(code_[v].imm) : v);
  }
  /// With two stores, a stored value that is read in place could be overwritten by the other store.
  bool needs_copy(int v) const {
    if (!in_place(v) || column_stores_ < 2) return false;
    for (int s = 0; s < n_; ++s)
      if (code_[s].kind == Kind::store && stored_value(code_[s]) == v) return true;
    return false;
  }
  std::int16_t source(int v) const { return place(v, needs_copy(v)); }

  /// Appends the steps that compute value v; its inputs exist.
  void make(std::vector<Step>& steps, int v, Plan& plan) const {
    const Instr& i = code_[v];
    Step s;
    s.out = static_cast<std::int16_t>(v);
    s.format = format(i.dtype);
    s.over = column_[v] ? Step::Over::columns : Step::Over::row_values;
    const int f = static_cast<int>(s.format);
    switch (i.kind) {
      case Kind::constant: return;
      case Kind::load:
        if (in_place(v) && !needs_copy(v)) return;
        s.in[0] = static_cast<std::int16_t>(n_ + static_cast<int>(i.imm));
        s.run = t_.load[f].by_scalars[0];
        if (!column_[v]) s.over = Step::Over::row_memory;
        break;
      case Kind::op: {
        s.arity = static_cast<std::uint8_t>(arity(i));
        unsigned scalars = 0;
        for (int j = 0; j < s.arity; ++j) {
          const int x = canon_[i.in[j]];
          s.in[j] = source(x);
          if (column_[v] && !column_[x]) scalars |= 1u << j;
        }
        const auto last = static_cast<int>(format(code_[i.in[s.arity - 1]].dtype));
        s.joinable = scalars == 0;
        s.run = t_.op[i.op][last].by_scalars[scalars];
        if (s.run == nullptr) {
          s.run = t_.op[i.op][static_cast<int>(Format::f32)].by_scalars[scalars];
          s.then = t_.round.by_scalars[0];
        }
        break;
      }
      case Kind::cast:
      case Kind::bitcast:
        s.in[0] = source(canon_[i.in[0]]);
        s.run = cast_kernel(format(code_[i.in[0]].dtype), s.format).by_scalars[0];
        break;
      case Kind::reduce: {
        const int x = canon_[i.in[0]];
        s.what = Step::What::reduce;
        s.reduce = &t_.reduce[i.imm][f];
        s.partials = plan.partials++;
        s.in[0] = source(x);
        if (!column_[x]) {  // one value per row: repeat it along the row
          Step fill;
          fill.in[0] = s.in[0];
          fill.out = static_cast<std::int16_t>(v);  // the block buffer of this value is its own temporary
          fill.run = (width_of(s.format) == 4 ? t_.load[static_cast<int>(Format::f32)]
                                              : t_.load[static_cast<int>(Format::f64)])
                         .by_scalars[1];
          fill.partials = -2;
          fill.joinable = false;
          steps.push_back(fill);
          s.in[0] = static_cast<std::int16_t>(v);
          s.form = -2;  // reads the temporary
        }
        break;
      }
      case Kind::linear:
        s.what = Step::What::linear;
        s.form = static_cast<int>(i.imm);
        s.linear = t_.linear[f];
        break;
      case Kind::random_bits:
        s.what = Step::What::random;
        s.form = static_cast<int>(i.imm);
        s.operand = i.operand;
        s.random = t_.random[f];
        break;
      case Kind::store: return;
    }
    steps.push_back(s);
  }
  void store(std::vector<Step>& steps, int v) const {
    const Instr& i = code_[v];
    const bool rounds = rounded_by_store(i);
    const int x = stored_value(i);
    Step s;
    s.in[0] = source(x);
    s.out = static_cast<std::int16_t>(n_ + static_cast<int>(i.imm));
    s.stores = static_cast<int>(i.imm);
    const Kernel& k = rounds && i.dtype == bf16 ? t_.store_rounded : t_.store[static_cast<int>(format(i.dtype))];
    s.over = is_column_store(i) ? Step::Over::columns : Step::Over::row_memory;
    const bool spreads = is_column_store(i) && !column_[x];
    s.joinable = !spreads;
    s.run = k.by_scalars[spreads ? 1 : 0];
    steps.push_back(s);
  }
  bool skipped(int v) const {  // a cast that its store does
    for (int s = v + 1; s < n_; ++s)
      if (code_[s].kind == Kind::store && canon_[code_[s].in[0]] == v && rounded_by_store(code_[s])) return true;
    return false;
  }
  bool made(int v) const { return live_[v] && canon_[v] == v && code_[v].kind != Kind::store && !skipped(v); }

  void plan_whole() {
    Plan& p = k_.whole;
    p.passes.resize(1);
    p.kept.assign(n_, -1);
    auto& steps = p.passes[0].columns;
    for (int v = 0; v < n_; ++v)
      if (made(v)) make(steps, v, p);
    for (int v = 0; v < n_; ++v)
      if (live_[v] && code_[v].kind == Kind::store) store(is_column_store(code_[v]) ? steps : p.finish, v);
    assign(p);
    find_direct(p);
  }
  void plan_blocks() {
    Plan& p = k_.blocks;
    p.passes.resize(last_ + 1);
    p.kept.assign(n_, -1);
    for (int v = 0; v < n_; ++v)
      if (made(v) && !column_[v] && code_[v].kind != Kind::reduce) make(p.passes[level_[v]].rows, v, p);
    std::vector<int> first(n_, -1), latest(n_, -1);  // value -> first pass that computes it; last pass that has it
    for (int pass = 0; pass <= last_; ++pass) {
      auto& steps = p.passes[pass].columns;
      auto visit = [&](auto&& self, int v) -> void {
        if (!column_[v] || latest[v] == pass) return;
        latest[v] = pass;
        if (first[v] >= 0 && cost_[v] > kDear) {
          if (p.kept[v] < 0) p.kept[v] = static_cast<std::int16_t>(p.rows_kept++);
          return;
        }
        for (int j = 0; j < arity(code_[v]); ++j) self(self, canon_[code_[v].in[j]]);
        if (first[v] < 0) first[v] = pass;
        make(steps, v, p);
      };
      for (int v = 0; v < n_; ++v) {
        if (!live_[v]) continue;
        if (code_[v].kind == Kind::reduce && level_[v] == pass + 1) {
          visit(visit, canon_[code_[v].in[0]]);
          make(steps, v, p);
        }
        if (pass == last_ && is_column_store(code_[v])) visit(visit, stored_value(code_[v]));
      }
      if (pass == last_)
        for (int v = 0; v < n_; ++v)
          if (is_column_store(code_[v])) store(steps, v);
    }
    for (int v = 0; v < n_; ++v)
      if (code_[v].kind == Kind::store && !is_column_store(code_[v])) store(p.finish, v);
    assign(p);
    find_direct(p);
  }
  /// Assigns block buffers by liveness within each pass.
  void assign(Plan& p) const {
    for (Pass& pass : p.passes) {
      pass.slot.assign(n_, -1);
      std::vector<int> last(n_, -1), free;
      int slots = 0;
      const int count = static_cast<int>(pass.columns.size());
      // A column value, or the temporary in which a reduction repeats a row value (named by the reduction's number).
      auto buffered = [&](const Step& s, int v) {
        return v >= 0 && v < n_ && p.kept[v] < 0 && (column_[v] || (s.partials == -2 && v == s.out) || s.form == -2);
      };
      for (int s = 0; s < count; ++s) {
        const Step& step = pass.columns[s];
        for (int j = 0; j < step.arity; ++j)
          if (buffered(step, step.in[j])) last[step.in[j]] = s;
        if (buffered(step, step.out)) last[step.out] = std::max(last[step.out], s);
      }
      for (int s = 0; s < count; ++s) {
        const Step& step = pass.columns[s];
        // Elementwise kernels of one width may write over an input; a cast between widths may not.
        bool may_reuse = step.what == Step::What::kernel && step.out < n_ && step.stores < 0;
        for (int j = 0; j < step.arity && may_reuse; ++j)
          if (step.in[j] >= 0 && step.in[j] < n_)
            may_reuse = width_of(format(code_[step.in[j]].dtype)) == width_of(format(code_[step.out].dtype));
        auto release = [&] {
          for (int j = 0; j < step.arity; ++j) {
            const int x = step.in[j];
            if (!buffered(step, x) || last[x] != s || x == step.out || pass.slot[x] < 0) continue;
            if (std::find(free.begin(), free.end(), pass.slot[x]) == free.end()) free.push_back(pass.slot[x]);
          }
        };
        if (may_reuse) release();
        const bool own = step.out >= 0 && buffered(step, step.out) && step.what != Step::What::reduce;
        if (own) {
          if (free.empty()) free.push_back(slots++);
          pass.slot[step.out] = static_cast<std::int16_t>(free.back());
          free.pop_back();
        }
        if (!may_reuse) release();
        if (own && last[step.out] == s) free.push_back(pass.slot[step.out]);
        if (step.form == -2) free.push_back(pass.slot[step.in[0]]);  // the temporary of a reduction
      }
      p.slots = std::max(p.slots, slots);
      for (int v = 0; v < n_; ++v)
        if (pass.slot[v] >= 0 && column_[v]) pass.buffers.emplace_back(static_cast<std::int16_t>(v), pass.slot[v]);
    }
  }
  void find_direct(Plan& p) const {
    auto& steps = p.passes.back().columns;
    const int count = static_cast<int>(steps.size());
    for (int s = 0; s < count; ++s) {
      Step& st = steps[s];
      const int v = st.in[0];
      if (st.stores < 0 || v < 0 || v >= n_ || !column_[v] || p.kept[v] >= 0) continue;
      const Instr& value = code_[v];
      if (width_of(format(value.dtype)) != static_cast<int>(dtype_size(k_.loop.operands[st.stores].dtype)) ||
          dtype_size(value.dtype) < 4)
        continue;
      if (std::any_of(p.direct.begin(), p.direct.end(), [&](const Direct& d) { return d.value == v; })) continue;
      int at = -1;
      for (int q = 0; q < s; ++q)
        if (steps[q].out == v && steps[q].stores < 0) at = q;
      if (at < 0) continue;
      std::uint32_t later = 0;
      auto reads = [&](int x) {
        if (x >= n_) later |= 1u << (x - n_);
      };
      for (int q = at + 1; q < count; ++q) {
        for (int j = 0; j < steps[q].arity; ++j) reads(steps[q].in[j]);
        if (steps[q].operand >= 0) later |= 1u << steps[q].operand;
      }
      p.direct.push_back({static_cast<std::int16_t>(v), st.stores, later});
    }
  }
};
}  // namespace

LoopKernel::LoopKernel(const Loop& l, Isa i, Code mode) : loop(l), isa(i), wide(check_loop(l)), mode_(mode) {
  Planner(*this, kernel_table(isa));
}
}  // namespace bora::kernels
