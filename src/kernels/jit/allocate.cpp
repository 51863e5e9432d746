#include "kernels/jit/allocate.h"
#include <algorithm>
#include "kernels/jit/sections.h"

namespace bora::kernels::jit {
namespace {
constexpr int kNever = 1 << 30;
constexpr bool is_leaf(P op) { return op == P::constant || op == P::slot; }
/// The second operand may lie in memory.
constexpr bool reads_memory(P op) {
  switch (op) {
    case P::add: case P::sub: case P::mul: case P::div: case P::vmin: case P::vmax: case P::scalef: case P::iadd:
    case P::isub: case P::imul: case P::imin: case P::imax: case P::umin: case P::umax: case P::umul32:
    case P::iand: case P::ior: case P::ixor: case P::shlv: case P::shrv: case P::sarv: case P::cmp: case P::icmp:
    case P::ucmp: case P::select: return true;
    default: return false;
  }
}
constexpr bool commutes(P op) {
  switch (op) {
    case P::add: case P::mul: case P::iadd: case P::imul: case P::umul32: case P::iand: case P::ior: case P::ixor:
    case P::imin: case P::imax: case P::umin: case P::umax: return true;
    default: return false;
  }
}
/// Scratch vector registers of an instruction.
constexpr int temporaries(P op) {
  switch (op) {
    case P::store: return 2;
    case P::accumulate: return 3;
    case P::load:
    case P::mnot:
    case P::narrow_float:
    case P::whole_to_f32:
    case P::low_word: return 1;
    default: return 0;
  }
}

class Allocator {
 public:
  Allocator(const Task& t, Frame& f)
      : t_(t), g_(*t.graph), frame_(f), v4_(g_.isa == Isa::v4),
        values_(g_.nodes.size() * static_cast<std::size_t>(t.copies)), owner_(kRegisters, kFree), needed_(needed(g_)) {
    for (int r = v4_ ? 32 : 16; r < kFirstMask; ++r) owner_[at(r)] = kReserved;
    for (int r : {kFirstMask, kRegisters - 2, kRegisters - 1}) owner_[at(r)] = kReserved;
    for (int r : t.reserved) owner_[at(r)] = kReserved;
    for (auto [node, r] : t.pins) {
      Value& x = values_[at(node * t.copies)];
      x.reg = r, x.pinned = true;
      owner_[at(r)] = kReserved;
    }
    homes();
    order();
    for (std::size_t p = 0; p < order_.size(); ++p) one(p);
  }
  std::vector<Machine> take() { return std::move(code_); }

 private:
  static constexpr int kFree = -1, kReserved = -2;
  struct Value {
    int reg = -1;
    Place home;
    bool pinned = false;
    int next = kNever;  // position of its next use
  };
  struct Use {
    int value = -1, next = kNever;  // and the use after this one
  };
  const Task& t_;
  const Graph& g_;
  Frame& frame_;
  const bool v4_;
  std::vector<Value> values_;
  std::vector<int> owner_;  // register -> value
  std::vector<char> needed_;
  std::vector<std::pair<int, int>> order_;  // node, copy
  std::vector<std::array<Use, 4>> uses_;
  std::vector<Machine> code_;
  std::uint64_t locked_ = 0;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool invariant(int node) const { return is_leaf(g_.nodes[at(node)].op); }
  bool shared(int node) const { return t_.paired && !g_.nodes[at(node)].wide; }
  int id(int node, int copy) const {
    return node * t_.copies + (invariant(node) ? 0 : shared(node) ? copy & ~1 : copy);
  }
  bool in_mask_register(const Node& n) const { return v4_ && n.mask; }

  void homes() {
    std::vector<char> stored(g_.nodes.size());
    for (const Node& n : g_.nodes)
      if (n.op == P::store) stored[at(n.in[0])] = true;
    for (std::size_t k = 0; k < g_.nodes.size(); ++k) {
      const Node& n = g_.nodes[k];
      for (int u = 0; u < t_.copies; ++u) {
        Value& x = values_[k * at(t_.copies) + at(u)];
        if (n.op == P::constant) x.home = {Place::Kind::constant, 0, n.imm, n.wide};
        else if (n.op == P::slot) x.home = {Place::Kind::frame, t_.slots[n.imm], 0, n.wide};
        else if (n.op == P::load && t_.mode == Mode::main && stored[k] == 0 && t_.lazy[n.imm] != 0)
          x.home = {Place::Kind::operand, static_cast<int>(n.imm), static_cast<std::uint64_t>(u), n.wide};
      }
    }
  }
  void order() {
    for (int first = 0; first < t_.copies; first += t_.group)
      for (int k = 0; k < static_cast<int>(g_.nodes.size()); ++k) {
        if (needed_[at(k)] == 0 || invariant(k)) continue;
        for (int u = first; u < first + t_.group; u += shared(k) ? 2 : 1)
          if (values_[at(id(k, u))].home.kind == Place::Kind::none) order_.emplace_back(k, u);
      }
    uses_.resize(order_.size());
    for (std::size_t p = order_.size(); p-- > 0;) {
      const Node& n = g_.nodes[at(order_[p].first)];
      for (std::size_t j = 4; j-- > 0;) {
        const bool odd = j == 1 && t_.paired && narrows(n.op);
        if (n.in[j] < 0 && !odd) continue;
        Use& use = uses_[p][j];
        use.value = odd ? id(n.in[0], order_[p].second + 1) : id(n.in[j], order_[p].second);
        use.next = values_[at(use.value)].next;
        values_[at(use.value)].next = static_cast<int>(p);
      }
    }
  }

  /// A free register; if there is none, the value with the furthest next use is evicted to its home.
  int take_register(bool mask) {
    const int begin = mask ? kFirstMask : 0, end = mask ? kRegisters : kFirstMask;
    int best = -1;
    for (int r = begin; r < end; ++r) {
      if ((locked_ >> r & 1u) != 0 || owner_[at(r)] == kReserved) continue;
      if (owner_[at(r)] == kFree) return r;
      if (best < 0 || values_[at(owner_[at(r)])].next > values_[at(owner_[at(best)])].next) best = r;
    }
    if (best < 0) throw Uncovered{"out of registers"};
    Value& x = values_[at(owner_[at(best)])];
    if (x.home.kind == Place::Kind::none && x.next != kNever) {
      x.home = {Place::Kind::frame, frame_.take(t_.vector_bytes), 0, false};
      Machine m{.what = Machine::What::spill, .mask = mask, .imm = static_cast<std::uint64_t>(x.home.at)};
      m.in[0] = {Place::Kind::reg, best};
      code_.push_back(m);
    }
    x.reg = -1;
    owner_[at(best)] = kFree;
    return best;
  }
  void move(int r, const Place& from, bool mask) {
    Machine m{.what = Machine::What::move, .wide = from.wide, .mask = mask, .out = r};
    m.in[0] = from;
    code_.push_back(m);
  }
  bool mask_value(int value) const { return in_mask_register(g_.nodes[at(value / t_.copies)]); }
  Place in_register(int value) {
    Value& x = values_[at(value)];
    if (x.reg < 0) {
      const int r = take_register(mask_value(value));
      move(r, x.home, mask_value(value));
      x.reg = r;
      owner_[at(r)] = value;
    }
    locked_ |= std::uint64_t{1} << x.reg;
    return {Place::Kind::reg, x.reg};
  }
  /// The value's home in memory if it is in no register and would not be read from one again, else a register.
  Place anywhere(int value, bool last) {
    const Value& x = values_[at(value)];
    if (x.reg < 0 && !mask_value(value) && (last || invariant(value / t_.copies))) return x.home;
    return in_register(value);
  }
  void consume(const std::array<Use, 4>& use) {
    for (std::size_t j = 0; j < 4; ++j) {
      if (use[j].value < 0) continue;
      Value& x = values_[at(use[j].value)];
      x.next = next_of(use, j);
      if (x.next != kNever || x.reg < 0 || x.pinned) continue;
      owner_[at(x.reg)] = kFree;
      x.reg = -1;
    }
  }
  bool dies(const std::array<Use, 4>& use, std::size_t j) const {
    const Value& x = values_[at(use[j].value)];
    int times = 0;
    for (const Use& u : use) times += u.value == use[j].value;
    return times == 1 && use[j].next == kNever && x.reg >= 0 && !x.pinned;
  }
  /// The next use of operand j after this node; several operands of the node may be the same value.
  static int next_of(const std::array<Use, 4>& use, std::size_t j) {
    int next = 0;
    for (const Use& u : use)
      if (u.value == use[j].value) next = std::max(next, u.next);
    return next;
  }
  static bool last(const std::array<Use, 4>& use, std::size_t j) { return next_of(use, j) == kNever; }
  void bind(int value, int r) {
    values_[at(value)].reg = r;
    owner_[at(r)] = value;
  }
  void one(std::size_t p) {
    const auto [k, copy] = order_[p];
    const Node& n = g_.nodes[at(k)];
    auto use = uses_[p];
    Machine m{.op = n.op, .wide = n.wide, .mask = n.mask, .imm = n.imm, .copy = copy};
    locked_ = 0;
    for (const Use& u : use)
      if (u.value >= 0 && values_[at(u.value)].reg >= 0) locked_ |= std::uint64_t{1} << values_[at(u.value)].reg;
    if (n.op == P::fma || n.op == P::fnma) return fused(m, use, id(k, copy));
    if (n.op == P::host) return host(m, use, id(k, copy));
    const std::size_t memory = reads_memory(n.op) ? 1 : 4;
    if (commutes(n.op) && values_[at(use[0].value)].reg < 0 && values_[at(use[1].value)].reg >= 0)
      std::swap(use[0], use[1]);
    for (std::size_t j = 0; j < 4; ++j)
      if (use[j].value >= 0 && j != memory) m.in[j] = in_register(use[j].value);
    if (memory == 1) m.in[1] = anywhere(use[1].value, last(use, 1));
    for (int t = 0; t < temporaries(n.op); ++t) {
      m.temp[at(t)] = take_register(false);
      locked_ |= std::uint64_t{1} << m.temp[at(t)];
    }
    // A result may take the register of an input, unless the instruction uses temporaries.
    consume(use);
    if (!is_effect(n.op)) {
      if (temporaries(n.op) == 0) locked_ = 0;
      m.out = take_register(in_mask_register(n));
      bind(id(k, copy), m.out);
    }
    code_.push_back(m);
  }
  /// in0 * in1 + in2 (or in2 - in0 * in1): the result overwrites one of the three.
  void fused(Machine& m, std::array<Use, 4>& use, int result) {
    if (dies(use, 1) && !dies(use, 0)) std::swap(use[0], use[1]);
    auto reg = [&](std::size_t j) { return values_[at(use[j].value)].reg; };
    if (dies(use, 2)) {
      m.out = reg(2);
      if (reg(0) < 0) std::swap(use[0], use[1]);
      m.in[0] = in_register(use[0].value);
      m.in[1] = anywhere(use[1].value, last(use, 1));
      m.in[2] = {Place::Kind::reg, m.out};
    } else if (dies(use, 0)) {
      m.out = reg(0);
      m.in[0] = {Place::Kind::reg, m.out};
      if (reg(1) < 0 && reg(2) >= 0) {
        m.in[2] = in_register(use[2].value);
        m.in[1] = anywhere(use[1].value, last(use, 1));
      } else {
        m.in[1] = in_register(use[1].value);
        m.in[2] = anywhere(use[2].value, last(use, 2));
      }
    } else {
      for (std::size_t j : {0u, 1u}) m.in[j] = in_register(use[j].value);
      m.out = take_register(false);
      locked_ |= std::uint64_t{1} << m.out;
      const Value& c = values_[at(use[2].value)];
      move(m.out, c.reg >= 0 ? Place{Place::Kind::reg, c.reg} : c.home, false);
      m.in[2] = {Place::Kind::reg, m.out};
    }
    consume(use);
    bind(result, m.out);
    code_.push_back(m);
  }
  void host(Machine& m, std::array<Use, 4>& use, int result) {
    for (std::size_t j = 0; j < 4; ++j)
      if (use[j].value >= 0) m.in[j] = in_register(use[j].value);
    m.out = take_register(false);  // not one of the arguments
    if (use[1].value >= 0) move(m.out, m.in[1], false);
    consume(use);
    bind(result, m.out);
    code_.push_back(m);
  }
};
}  // namespace

std::vector<Machine> allocate(const Task& t, Frame& f) { return Allocator(t, f).take(); }
bool wants_register(const Graph& g, const Node& n, std::size_t j) {
  const auto leaf = [&](std::size_t i) {
    return n.in[i] >= 0 && is_leaf(g.nodes[static_cast<std::size_t>(n.in[i])].op);
  };
  if (!leaf(j)) return false;
  if (n.op == P::fma || n.op == P::fnma) return leaf(0) + leaf(1) + leaf(2) > 1;
  return !(reads_memory(n.op) && (j == 1 || (j == 0 && commutes(n.op) && !leaf(1))));
}
std::vector<char> needed(const Graph& g) {
  std::vector<char> r(g.nodes.size());
  for (std::size_t k = g.nodes.size(); k-- > 0;) {
    if (is_effect(g.nodes[k].op)) r[k] = true;
    if (r[k] != 0)
      for (int x : g.nodes[k].in)
        if (x >= 0) r[static_cast<std::size_t>(x)] = true;
  }
  return r;
}
std::pair<int, int> pressure(const Graph& g) {
  const auto live = needed(g);
  std::vector<int> last(g.nodes.size(), -1);
  for (std::size_t k = 0; k < g.nodes.size(); ++k)
    if (live[k] != 0)
      for (int x : g.nodes[k].in)
        if (x >= 0) last[static_cast<std::size_t>(x)] = static_cast<int>(k);
  std::vector<std::array<int, 2>> end(g.nodes.size() + 1);
  int now[2] = {}, most[2] = {};
  for (std::size_t k = 0; k < g.nodes.size(); ++k) {
    const Node& n = g.nodes[k];
    const int c = n.mask && g.isa == Isa::v4 ? 1 : 0;
    if (!is_leaf(n.op) && last[k] >= 0) ++now[c], ++end[static_cast<std::size_t>(last[k])][static_cast<std::size_t>(c)];
    for (int j = 0; j < 2; ++j) {
      most[j] = std::max(most[j], now[j]);
      now[j] -= end[k][static_cast<std::size_t>(j)];
    }
  }
  return {most[0], most[1]};
}
}  // namespace bora::kernels::jit
