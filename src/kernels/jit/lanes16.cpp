#include "kernels/jit/lanes16.h"
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include "kernels/jit/allocate.h"

namespace bora::kernels::jit {
namespace {
/// The range of a 32-bit value, as a signed number.
struct Range {
  std::int64_t low = INT32_MIN, high = INT32_MAX;
  bool within(std::int64_t a, std::int64_t b) const { return low >= a && high <= b; }
  bool is_i16() const { return within(INT16_MIN, INT16_MAX); }
  bool is_u16() const { return within(0, UINT16_MAX); }
};
/// Results that leave 32 bits wrap.
Range wrapped(std::int64_t low, std::int64_t high) {
  return low < INT32_MIN || high > INT32_MAX ? Range{} : Range{low, high};
}
Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range product(Range a, Range b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return wrapped(low, high);
}
/// All numbers with the significant bits of both ranges, which no bitwise operation leaves.
Range bits_of(Range a, Range b) {
  const auto all = hull(a, b);
  const auto most = static_cast<std::uint64_t>(std::max(all.high, ~all.low));
  const auto end = std::int64_t{1} << std::bit_width(most);
  return {all.low < 0 ? -end : 0, end - 1};
}
/// Is this a mask that keeps all numbers from 0 to `high`?
bool keeps(Range mask, std::int64_t high) {
  return mask.low == mask.high && mask.low >= high && (mask.low & (mask.low + 1)) == 0;
}
struct Wide {};  // a value that needs more than 16 bits

class Narrower {
 public:
  explicit Narrower(Sections& s) : s_(s), slot_(static_cast<std::size_t>(s.slots)) {}
  void run() {
    Graph before = section(s_.passes[0].before), columns = section(s_.passes[0].columns);
    s_.passes[0].before = std::move(before);
    s_.passes[0].columns = std::move(columns);
    s_.narrow = true;
  }

 private:
  struct Value {
    int node = -1;
    Range range;
  };
  Sections& s_;
  std::vector<Range> slot_;
  const Graph* from_ = nullptr;
  Graph to_{Isa::v3};
  std::vector<Value> value_;  // of each node

  const Node& node(int k) const { return from_->nodes[static_cast<std::size_t>(k)]; }
  Value in(const Node& n, std::size_t j) const { return value_[static_cast<std::size_t>(n.in[j])]; }
  Graph section(const Graph& g) {
    from_ = &g;
    to_ = Graph(g.isa, true);
    value_.assign(g.nodes.size(), {});
    const auto live = needed(g);
    for (std::size_t k = 0; k < g.nodes.size(); ++k)
      if (live[k] != 0) value_[k] = made(g.nodes[k]);
    return std::move(to_);
  }
  int put(P op, int a, int b = -1, std::uint64_t imm = 0) {
    return to_.add({.op = op, .in = {a, b, -1, -1}, .imm = imm});
  }
  int put_mask(P op, int a, int b = -1, std::uint64_t imm = 0) {
    return to_.add({.op = op, .mask = true, .in = {a, b, -1, -1}, .imm = imm});
  }
  Value number(std::int64_t x) { return {to_.constant(static_cast<std::uint64_t>(x) & 0xffffu, false), {x, x}}; }

  Value made(const Node& n) {
    if (n.wide) throw Wide{};
    switch (n.op) {
      case P::constant: return number(static_cast<std::int32_t>(n.imm));
      case P::slot: return {to_.add(n), slot_[n.imm]};
      case P::load: return {to_.add(n), loaded(s_.operands[n.imm])};
      case P::store:
        if (dtype_size(s_.operands[n.imm].dtype) > 2 || is_float(s_.operands[n.imm].dtype)) throw Wide{};
        return {put(P::store, in(n, 0).node, -1, n.imm), {}};
      case P::set_slot:
        slot_[n.imm] = in(n, 0).range;
        return {put(P::set_slot, in(n, 0).node, -1, n.imm), {}};
      case P::mand:
      case P::mor:
      case P::mxor:
      case P::mnot: return {put_mask(n.op, in(n, 0).node, n.op == P::mnot ? -1 : in(n, 1).node), {}};
      case P::icmp:
      case P::ucmp: return {compared(n), {}};
      case P::select:
        return {to_.add({.op = P::select, .in = {in(n, 0).node, in(n, 1).node, in(n, 2).node, -1}}),
                hull(in(n, 1).range, in(n, 2).range)};
      case P::shl:
      case P::shr:
      case P::sar: return shifted(n, n.op, n.imm);
      case P::shlv:
      case P::shrv:
      case P::sarv: {
        const Node& count = node(n.in[1]);
        if (count.op != P::constant) throw Wide{};
        return shifted(n, n.op == P::shlv ? P::shl : n.op == P::shrv ? P::shr : P::sar, count.imm & 0xffffffffu);
      }
      default: return computed(n);
    }
  }
  static Range loaded(const Operand& o) {
    if (dtype_size(o.dtype) <= 2 && !is_float(o.dtype))
      return dispatch_real(o.dtype, "a range", [](auto x) -> Range {
        using Limits = std::numeric_limits<decltype(x)>;
        return {static_cast<std::int64_t>(Limits::min()), static_cast<std::int64_t>(Limits::max())};
      });
    if ((o.dtype == i32 || o.dtype == u32) && !o.columns) return {};
    throw Wide{};
  }
  Value computed(const Node& n) {
    const bool two = n.op == P::iadd || n.op == P::isub || n.op == P::imul || n.op == P::iand || n.op == P::ior ||
                     n.op == P::ixor || n.op == P::imin || n.op == P::imax || n.op == P::umin || n.op == P::umax;
    if (!two) throw Wide{};
    const auto [a, x] = in(n, 0);
    const auto [b, y] = in(n, 1);
    P op = n.op;
    Range r;
    switch (n.op) {
      case P::iadd: r = wrapped(x.low + y.low, x.high + y.high); break;
      case P::isub: r = wrapped(x.low - y.high, x.high - y.low); break;
      case P::imul: r = product(x, y); break;
      case P::iand:
        if (x.low >= 0 && keeps(y, x.high)) return in(n, 0);
        if (y.low >= 0 && keeps(x, y.high)) return in(n, 1);
        r = bits_of(x, y);
        if (x.low >= 0) r = {0, x.high};
        if (y.low >= 0) r = {0, x.low >= 0 ? std::min(x.high, y.high) : y.high};
        break;
      case P::ior:
      case P::ixor: r = bits_of(x, y); break;
      default: {
        const bool larger = op == P::imax || op == P::umax, is_unsigned = op == P::umax || op == P::umin;
        if (!is_unsigned || (x.low >= 0 && y.low >= 0)) {  // one is always the larger
          if (x.low >= y.high) return in(n, larger ? 0 : 1);
          if (y.low >= x.high) return in(n, larger ? 1 : 0);
        }
        if (x.is_u16() && y.is_u16()) op = larger ? P::umax : P::umin;
        else if (is_unsigned || !x.is_i16() || !y.is_i16()) throw Wide{};
        r = larger ? Range{std::max(x.low, y.low), std::max(x.high, y.high)}
                   : Range{std::min(x.low, y.low), std::min(x.high, y.high)};
      }
    }
    return {put(op, a, b), r};
  }
  /// By any count: 32 and more shift everything out.
  Value shifted(const Node& n, P op, std::uint64_t count) {
    const auto [x, r] = in(n, 0);
    if (count == 0) return {x, r};
    const int by = static_cast<int>(std::min<std::uint64_t>(count, 32));
    if (op == P::shl) {
      const auto range = by < 32 ? wrapped(r.low * (std::int64_t{1} << by), r.high * (std::int64_t{1} << by)) : Range{};
      return by < 16 ? Value{put(P::shl, x, -1, count), range} : Value{number(0).node, range};
    }
    // The high half of a value that was shifted to the left: a cast to fewer bits.
    if (const Node& left = node(n.in[0]); left.op == P::shl && left.imm >= 16 && left.imm < 32 && by >= 16) {
      int v = in(left, 0).node;
      if (left.imm > 16) v = put(P::shl, v, -1, left.imm - 16);
      const int rest = by - 16;
      const bool keeps_sign = op == P::sar;
      if (rest >= 16 && !keeps_sign) return number(0);
      if (rest > 0) v = put(op, v, -1, static_cast<std::uint64_t>(std::min(rest, 15)));
      const auto all = std::int64_t{1} << (32 - std::min(by, 31));
      return {v, keeps_sign ? Range{-all / 2, all / 2 - 1} : Range{0, all - 1}};
    }
    if (r.is_u16()) {
      if (by >= 16) return number(0);
      return {put(P::shr, x, -1, count), {r.low >> by, r.high >> by}};
    }
    if (op == P::shr || !r.is_i16()) throw Wide{};
    const int most = std::min(by, 31);
    return {put(P::sar, x, -1, static_cast<std::uint64_t>(std::min(by, 15))), {r.low >> most, r.high >> most}};
  }
  int compared(const Node& n) {
    auto a = in(n, 0), b = in(n, 1);
    bool is_unsigned = n.op == P::ucmp;
    // AVX2 compares unsigned numbers as signed ones with the sign bit flipped.
    if (const auto x = unflipped(n.in[0]), y = unflipped(n.in[1]); !is_unsigned && x && y && x->range.is_u16() &&
                                                                    y->range.is_u16())
      a = *x, b = *y, is_unsigned = true;
    if (!is_unsigned && a.range.is_i16() && b.range.is_i16()) return put_mask(P::icmp, a.node, b.node, n.imm);
    if (!a.range.is_u16() || !b.range.is_u16()) throw Wide{};
    if (to_.isa == Isa::v4) return put_mask(P::ucmp, a.node, b.node, n.imm);
    if (n.imm == kEqual || (a.range.is_i16() && b.range.is_i16())) return put_mask(P::icmp, a.node, b.node, n.imm);
    const int sign = to_.constant(0x8000u, false);
    return put_mask(P::icmp, put(P::ixor, a.node, sign), put(P::ixor, b.node, sign), n.imm);
  }
  std::optional<Value> unflipped(int k) {
    const Node& n = node(k);
    constexpr std::uint64_t sign = 0x80000000u;
    if (n.op == P::constant) return number(static_cast<std::int32_t>(n.imm ^ sign));
    if (n.op != P::ixor || node(n.in[1]).op != P::constant || node(n.in[1]).imm != sign) return std::nullopt;
    return in(n, 0);
  }
};
}  // namespace

void lanes16(Sections& s) {
  if (s.wide || s.passes.size() != 1 || !s.passes[0].reductions.empty() || s.kept_rows > 0 || !s.after.nodes.empty())
    return;
  try {
    Narrower(s).run();
  } catch (const Wide&) {}
}
}  // namespace bora::kernels::jit
