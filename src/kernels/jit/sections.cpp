#include "kernels/jit/sections.h"
#include "kernels/jit/lanes16.h"
#include "kernels/jit/trace.h"

namespace bora::kernels::jit {
namespace {
using Kind = Instr::Kind;

class Maker {
 public:
  explicit Maker(const LoopKernel& k)
      : k_(k),
        code_(k.loop.code),
        n_(static_cast<int>(code_.size())),
        out_{k.isa, k.wide, {}, Graph(k.isa), 0, {}, 0, k.loop.operands, k.blocks.rows_kept},
        slot_(n_, -1),
        first_(n_, -1),
        raw_slot_(n_, -1) {
    const Dtype lane = k.wide ? f64 : f32;
    out_.operands.insert(out_.operands.end(), static_cast<std::size_t>(out_.kept_rows), Operand{lane, true});
    for (int v = 0; v < n_; ++v)
      if (k_.live[v] && !k_.wide && code_[v].kind != Kind::store && width_of(format(v)) == 8)
        throw Uncovered{"64-bit values in a loop of 32-bit lanes"};
    const int last = k_.last_level;
    for (int pass = 0; pass <= last; ++pass) {
      out_.passes.push_back({Graph(k.isa), Graph(k.isa), {}});
      row_values(pass);
      columns(pass, pass == last);
      hoist(out_.passes.back());
    }
    begin(out_.after);
    for (int v = 0; v < n_; ++v)
      if (code_[v].kind == Kind::store && !k_.loop.operands[code_[v].imm].columns) store(v);
  }
  Sections take() { return std::move(out_); }

 private:
  const LoopKernel& k_;
  const std::vector<Instr>& code_;
  const int n_;
  Sections out_;
  std::vector<int> slot_, first_;  // value -> slot; the pass that makes it first
  std::vector<int> raw_slot_;      // reduction -> slot of the raw result of its accumulators
  Graph* g_ = nullptr;             // under construction
  std::vector<int> node_;          // value -> node of it
  int pass_ = 0;

  Format format(int v) const { return format_of(code_[v].dtype, k_.wide); }
  void begin(Graph& g) {
    g_ = &g;
    node_.assign(static_cast<std::size_t>(n_), -1);
  }
  int new_slot() { return out_.slots++; }
  int slot_node(int slot, Format f) {
    return g_->add(
        {.op = P::slot, .wide = width_of(f) == 8, .mask = is_mask(f), .imm = static_cast<std::uint64_t>(slot)});
  }
  int covered(int node, const Instr& i) const {
    if (node < 0)
      throw Uncovered{std::string(i.kind == Kind::op ? element_op(i.op).name : "cast") + " to " +
                      std::string(dtype_name(i.dtype)) + " without AVX-512"};
    return node;
  }
  int value(int v) {
    v = k_.canon[v];
    int& known = node_[static_cast<std::size_t>(v)];
    if (known >= 0) return known;
    const int made = make(v);  // does not move elements of node_: its size is fixed
    return node_[static_cast<std::size_t>(v)] = made;
  }
  int make(int v) {
    const Instr& i = code_[v];
    const Format f = format(v);
    const bool wide = width_of(f) == 8;
    if (i.kind == Kind::constant) {
      const std::uint64_t bits = to_block(i.dtype, k_.wide, i.imm);
      return is_mask(f) ? trace_loaded(*g_, f, g_->constant(bits, wide)) : g_->constant(bits, wide);
    }
    if (slot_[v] >= 0) return slot_node(slot_[v], f);
    if (k_.column[v]) {
      if (first_[v] >= 0 && first_[v] < pass_ && k_.blocks.kept[v] >= 0) {
        const int raw = g_->add({.op = P::load, .wide = k_.wide, .imm = kept_operand(v)});
        if (k_.wide && !wide) return g_->add({.op = P::low_word, .in = {raw, -1, -1, -1}});
        return is_mask(f) ? trace_loaded(*g_, f, raw) : raw;
      }
      if (first_[v] < 0) first_[v] = pass_;
    }
    switch (i.kind) {
      case Kind::load: return trace_loaded(*g_, f, g_->add({.op = P::load, .wide = wide, .imm = i.imm}));
      case Kind::op: {
        int in[kMaxInputs];
        const int arity = element_op(i.op).arity;
        for (int j = 0; j < arity; ++j) in[j] = value(i.in[static_cast<std::size_t>(j)]);
        return covered(trace_op(*g_, i.op, format(i.in[static_cast<std::size_t>(arity - 1)]), in), i);
      }
      case Kind::cast:
      case Kind::bitcast: return covered(trace_cast(*g_, format(i.in[0]), f, value(i.in[0])), i);
      case Kind::linear: {
        const int form = static_cast<int>(i.imm);
        if (is_float(f) && !wide) out_.real_forms |= 1u << form;
        return trace_linear(*g_, k_.wide, f, form, step(form, false));
      }
      case Kind::random_bits: {
        const int form = static_cast<int>(i.imm);
        const auto word = [&](int w) {
          return g_->add({.op = P::key, .imm = static_cast<std::uint64_t>(i.operand * 2 + w)});
        };
        const int key[2] = {word(0), word(1)}, low = step(form, false);
        return trace_random(*g_, f, form, low, k_.wide ? -1 : step(form, true), key);
      }
      default: throw Uncovered{"value " + std::to_string(v) + " is used before it is made"};
    }
  }
  std::uint64_t kept_operand(int v) const {
    return k_.loop.operands.size() + static_cast<std::size_t>(k_.blocks.kept[v]);
  }
  int step(int form, bool high) {
    int& slot = high ? out_.forms[form].high : out_.forms[form].low;
    if (slot < 0) slot = new_slot();
    return slot_node(slot, k_.wide ? Format::i64 : Format::u32);
  }
  /// The value that a store writes: stores of dtypes that are stored only wrap or round, so that a cast to the store's
  /// own dtype before them is not needed.
  int unrounded(int store) const {
    const int v = k_.canon[code_[store].in[0]];
    const Instr& cast = code_[v];
    const bool skips = cast.kind == Kind::cast && cast.dtype == code_[store].dtype && is_stored_only(cast.dtype) &&
                       k_.column[v];
    return skips ? cast.in[0] : v;
  }
  int stored_value(int v) { return trace_to_memory(*g_, format(code_[v].in[0]), value(unrounded(v))); }
  void store(int v) {
    const Instr& i = code_[v];
    g_->add({.op = P::store, .wide = width_of(format(i.in[0])) == 8, .in = {stored_value(v), -1, -1, -1},
             .imm = i.imm});
  }
  /// Is this row value needed outside the section that computes it?
  bool outlives(int v) const {
    for (int u = v + 1; u < n_; ++u) {
      if (!k_.live[u] || k_.canon[u] != u) continue;
      for (auto x : code_[u].in)
        if (x >= 0 && k_.canon[x] == v &&
            (k_.column[u] || code_[u].kind == Kind::store || code_[u].kind == Kind::reduce ||
             k_.level[u] > k_.level[v]))
          return true;
    }
    return false;
  }
  void row_values(int pass) {
    pass_ = pass;
    begin(out_.passes[static_cast<std::size_t>(pass)].before);
    for (int v = 0; v < n_; ++v) {
      const Instr& i = code_[v];
      if (!k_.live[v] || k_.column[v] || k_.canon[v] != v || k_.level[v] != pass || i.kind == Kind::constant ||
          i.kind == Kind::store)
        continue;
      const int x = i.kind == Kind::reduce ? reduced(v) : value(v);
      node_[static_cast<std::size_t>(v)] = x;
      if (!outlives(v)) continue;
      slot_[v] = new_slot();
      g_->add({.op = P::set_slot, .wide = width_of(format(v)) == 8, .in = {x, -1, -1, -1},
               .imm = static_cast<std::uint64_t>(slot_[v])});
    }
  }
  int reduced(int v) {
    const Format f = format(v), raw = f == Format::mask32 ? Format::u32 : f == Format::mask64 ? Format::i64 : f;
    return trace_reduced(*g_, f, slot_node(raw_slot_[static_cast<std::size_t>(v)], raw));
  }
  void columns(int pass, bool last) {
    PassSections& p = out_.passes[static_cast<std::size_t>(pass)];
    begin(p.columns);
    for (int v = 0; v < n_; ++v) {
      const Instr& i = code_[v];
      if (!k_.live[v] || i.kind != Kind::reduce || k_.level[v] != pass + 1) continue;
      const Format f = format(i.in[0]);
      const int x = trace_to_reduce(*g_, f, value(i.in[0]));
      raw_slot_[static_cast<std::size_t>(v)] = new_slot();
      g_->add({.op = P::accumulate, .wide = width_of(f) == 8, .in = {x, -1, -1, -1}, .imm = p.reductions.size()});
      p.reductions.push_back({static_cast<Reduction>(i.imm), f, raw_slot_[static_cast<std::size_t>(v)]});
    }
    if (last)  // all values first, as they go to memory: a store may overwrite an input of another one
      for (int v = 0; v < n_; ++v)
        if (is_column_store(v)) stored_value(v);
    for (int v = 0; v < n_; ++v) {
      if (first_[v] != pass || k_.blocks.kept[v] < 0) continue;
      int x = trace_to_reduce(*g_, format(v), node_[static_cast<std::size_t>(v)]);
      if (k_.wide && width_of(format(v)) == 4)
        x = g_->add({.op = P::zero_extend, .wide = true, .in = {x, -1, -1, -1}});
      g_->add({.op = P::store, .wide = k_.wide, .in = {x, -1, -1, -1}, .imm = kept_operand(v)});
    }
    if (last)
      for (int v = 0; v < n_; ++v)
        if (is_column_store(v)) store(v);
  }
  bool is_column_store(int v) const {
    return code_[v].kind == Kind::store && k_.loop.operands[code_[v].imm].columns;
  }
  /// Moves nodes that depend only on constants and row values out of the column loop, to the section before it.
  void hoist(PassSections& p) {
    auto& nodes = p.columns.nodes;
    std::vector<char> moves(nodes.size()), outside(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const Node& n = nodes[k];
      const bool leaf = n.op == P::constant || n.op == P::slot || n.op == P::key;
      moves[k] = leaf || (n.in != Node{}.in && !is_effect(n.op));
      for (int x : n.in) moves[k] = moves[k] && (x < 0 || moves[static_cast<std::size_t>(x)]);
      for (int x : n.in)
        if (x >= 0 && !moves[k]) outside[static_cast<std::size_t>(x)] = true;
    }
    std::vector<int> moved(nodes.size(), -1), set(static_cast<std::size_t>(out_.slots), -1);
    for (const Node& n : p.before.nodes)
      if (n.op == P::set_slot) set[n.imm] = n.in[0];
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (!moves[k]) continue;
      Node n = nodes[k];
      for (int& x : n.in)
        if (x >= 0) x = moved[static_cast<std::size_t>(x)];
      if (n.op == P::host) n.imm = p.before.host_call(p.columns.host[n.imm]);
      moved[k] = n.op == P::slot && set[n.imm] >= 0 ? set[n.imm] : p.before.add(n);
      if (n.op == P::constant || n.op == P::slot || !outside[k]) continue;
      const auto s = static_cast<std::uint64_t>(new_slot());
      p.before.add({.op = P::set_slot, .wide = n.wide, .in = {moved[k], -1, -1, -1}, .imm = s});
      nodes[k] = {.op = P::slot, .wide = n.wide, .mask = n.mask, .imm = s};
    }
  }
};
}  // namespace

Sections make_sections(const LoopKernel& k) {
  Sections s = Maker(k).take();
  lanes16(s);
  return s;
}
}  // namespace bora::kernels::jit
