#include "kernels/loop/recorded.h"
#include <bit>
#include <cmath>
#include "bora/base/shape.h"

namespace bora::kernels::jit {
namespace {
template <class X, class I> bool fold_as(P op, const std::uint64_t* in, std::uint64_t imm, std::uint64_t& out) {
  const auto x = [&](int j) { return std::bit_cast<X>(static_cast<I>(in[j])); };
  const auto i = [&](int j) { return static_cast<I>(in[j]); };
  auto number = [&](X v) {  // NaN is not folded: machines differ in which NaN they return
    out = std::bit_cast<I>(v);
    return v == v;
  };
  auto integer = [&](I v) {
    out = v;
    return true;
  };
  switch (op) {
    case P::add: return number(x(0) + x(1));
    case P::sub: return number(x(0) - x(1));
    case P::mul: return number(x(0) * x(1));
    case P::div: return number(x(0) / x(1));
    case P::fma: return number(std::fma(x(0), x(1), x(2)));
    case P::fnma: return number(std::fma(-x(0), x(1), x(2)));
    case P::iadd: return integer(i(0) + i(1));
    case P::isub: return integer(i(0) - i(1));
    case P::imul: return integer(static_cast<I>(i(0) * i(1)));
    case P::iand: return integer(i(0) & i(1));
    case P::ior: return integer(i(0) | i(1));
    case P::ixor: return integer(i(0) ^ i(1));
    case P::shl: return integer(static_cast<I>(i(0) << imm));
    case P::shr: return integer(i(0) >> imm);
    default: return false;
  }
}
constexpr int arity(P op) {
  switch (op) {
    case P::add: case P::sub: case P::mul: case P::div: case P::iadd: case P::isub: case P::imul: case P::iand:
    case P::ior: case P::ixor: return 2;
    case P::fma: case P::fnma: return 3;
    case P::shl: case P::shr: return 1;
    default: return 0;  // never folded
  }
}
}  // namespace

std::size_t Graph::Hash::operator()(const Node& n) const {
  std::size_t h = hash_combine(static_cast<std::size_t>(n.op) * 4 + n.wide * 2u + n.mask, n.imm);
  for (int x : n.in) h = hash_combine(h, static_cast<std::size_t>(x + 1));
  return h;
}
std::uint64_t Graph::host_call(HostCall c) {
  for (std::size_t k = 0; k < host.size(); ++k)
    if (host[k] == c) return k;
  host.push_back(c);
  return host.size() - 1;
}
int Graph::simplified(const Node& n) const {
  const auto value = [&](int j) -> const Node* {
    const Node& c = nodes[static_cast<std::size_t>(n.in[static_cast<std::size_t>(j)])];
    return c.op == P::constant ? &c : nullptr;
  };
  const std::uint64_t ones = n.wide ? ~std::uint64_t{0} : narrow ? 0xffffull : 0xffffffffull;
  switch (n.op) {
    case P::mnot: {
      const Node& m = nodes[static_cast<std::size_t>(n.in[0])];
      return m.op == P::mnot ? m.in[0] : -1;
    }
    case P::iand:
      for (int j = 0; j < 2; ++j)
        if (value(j) != nullptr && value(j)->imm == ones) return n.in[static_cast<std::size_t>(1 - j)];
      return -1;
    case P::iadd:
    case P::ior:
    case P::ixor:
      for (int j = 0; j < 2; ++j)
        if (value(j) != nullptr && value(j)->imm == 0) return n.in[static_cast<std::size_t>(1 - j)];
      return -1;
    case P::select: return n.in[1] == n.in[2] ? n.in[1] : -1;
    default: return -1;
  }
}
/// a < b ? a : b and its like; with AVX2 both operands of an unsigned comparison have their sign bit flipped.
bool Graph::as_extreme(Node& n) const {
  if (n.mask || (n.wide && isa != Isa::v4)) return false;
  const auto node = [&](int k) -> const Node& { return nodes[static_cast<std::size_t>(k)]; };
  const Node& m = node(n.in[0]);
  if (m.op != P::icmp && m.op != P::ucmp) return false;
  const bool less = m.imm == kLess || m.imm == kLessEqual;
  if (!less && m.imm != kGreater) return false;
  const auto flipped = [&](int x, int of) {
    const Node &f = node(x), &v = node(of);
    if (f.op == P::constant) return v.op == P::constant && f.imm == (v.imm ^ 0x80000000u);
    return f.op == P::ixor && f.in[0] == of && node(f.in[1]).op == P::constant && node(f.in[1]).imm == 0x80000000u;
  };
  const auto compares = [&](int a, int b, bool flips) {
    return flips ? flipped(m.in[0], a) && flipped(m.in[1], b) : m.in[0] == a && m.in[1] == b;
  };
  for (bool flips : {false, true}) {
    if (flips && (m.op == P::ucmp || n.wide)) continue;
    const bool is = compares(n.in[1], n.in[2], flips), swapped = compares(n.in[2], n.in[1], flips);
    if (!is && !swapped) continue;
    const bool larger = is ? !less : less, is_unsigned = m.op == P::ucmp || flips;
    n = {.op = is_unsigned ? (larger ? P::umax : P::umin) : (larger ? P::imax : P::imin),
         .wide = n.wide,
         .in = {n.in[1], n.in[2], -1, -1}};
    return true;
  }
  return false;
}
int Graph::add(Node n) {
  if (n.op == P::select && !n.mask) {
    if (const Node& m = nodes[static_cast<std::size_t>(n.in[0])]; m.op == P::mnot)
      n.in = {m.in[0], n.in[2], n.in[1], -1};
    as_extreme(n);
  }
  if (!is_effect(n.op)) {
    std::uint64_t x[3] = {}, r = 0;
    const int inputs = arity(n.op);
    bool known = inputs > 0 && !narrow;  // a narrow graph is made of one that is folded already
    for (int j = 0; j < inputs; ++j) {
      const Node& c = nodes[static_cast<std::size_t>(n.in[static_cast<std::size_t>(j)])];
      known = known && c.op == P::constant;
      x[j] = c.imm;
    }
    if (known && (n.wide ? fold_as<double, std::uint64_t>(n.op, x, n.imm, r)
                         : fold_as<float, std::uint32_t>(n.op, x, n.imm, r)))
      return constant(r, n.wide);
    // Bits that a shift drops need no mask before it: a rounded bf16 on its way to memory.
    if (n.op == P::shr && !narrow) {
      const Node& cut = nodes[static_cast<std::size_t>(n.in[0])];
      if (cut.op == P::iand)
        if (const Node& c = nodes[static_cast<std::size_t>(cut.in[1])];
            c.op == P::constant && (c.imm >> n.imm) == ((n.wide ? ~std::uint64_t{0} : 0xffffffffull) >> n.imm))
          n.in[0] = cut.in[0];
    }
    if (const int same = simplified(n); same >= 0) return same;
    if (auto it = seen_.find(n); it != seen_.end()) return it->second;
    seen_.emplace(n, static_cast<int>(nodes.size()));
  }
  nodes.push_back(n);
  return static_cast<int>(nodes.size()) - 1;
}
}  // namespace bora::kernels::jit
