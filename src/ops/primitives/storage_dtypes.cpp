// Operations on dtypes that are stored only: those of a wider dtype, whose results are rounded or wrapped. Integers of
// 8 and 16 bits compute as i32 and f16 as f32: sums, products and shifts give the same bits modulo 2^n, a product of
// two f16 is exact. u64 computes as i64: what depends on signs goes through an order that both share.
#include "array/api/call_stored.h"
#include <limits>
#include <map>
#include "kernels/api/loop.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"

namespace bora {
namespace {
constexpr auto kSign = std::numeric_limits<std::int64_t>::min();
Array bits_of(const Array& x) { return bitcast(x, i64); }
/// x - 2^63: i64 has the order of u64 then. Its own inverse, as bits.
Array ordered(const Array& bits) { return bits ^ Scalar(kSign); }
Array below(const Array& a, const Array& b) { return ordered(a) < ordered(b); }
/// a / b in numbers without signs, from the signed quotient of a / 2; all bits set for b = 0 (Warren, Hacker's Delight,
/// 9-3).
Array quotient(const Array& a, const Array& b) {
  auto divisor = where(b > 0, b, 1);
  auto q = floor_divide((a >> 1) & Scalar(std::numeric_limits<std::int64_t>::max()), divisor) << 1;
  q = where(below(a - q * divisor, divisor), q, q + 1);
  return where(b < 0, where(below(a, b), 0, 1).astype(i64), where(b == 0, -1, q));
}
/// a^b modulo 2^64. x^(2^63) is 1 for odd x and 0 for even ones: the highest bit of b counts for the latter only.
Array wrapped_power(const Array& a, const Array& b) {
  auto r = power(a, b & Scalar(std::numeric_limits<std::int64_t>::max()));
  return where((b < 0) & ((a & 1) == 0), 0, r);
}

enum class Way { none, bits, order, abs, sign, div, rem, pow };
Way way_of(kernels::OpId op) {
  static const auto table = [] {
    std::map<kernels::OpId, Way> m;
    for (auto* name : {"neg", "not", "add", "sub", "mul", "eq", "ne", "and", "or", "xor", "shl", "shr_logical",
                       "shr_arithmetic", "fma", "select"})
      m[kernels::find_op(name)] = Way::bits;
    for (auto* name : {"max", "min", "lt", "le", "gt", "ge", "clamp"}) m[kernels::find_op(name)] = Way::order;
    m[kernels::find_op("abs")] = m[kernels::find_op("relu")] = Way::abs;
    m[kernels::find_op("sign")] = Way::sign;
    m[kernels::find_op("div")] = Way::div;
    m[kernels::find_op("rem")] = Way::rem;
    m[kernels::find_op("pow")] = Way::pow;
    return m;
  }();
  auto it = table.find(op);
  return it == table.end() ? Way::none : it->second;
}
Way way_of(const Primitive& p) {
  if (auto op = p.element()) return way_of(*op);
  if (p.traits.by_bits) return Way::bits;
  if (p.traits.by_order) return Way::order;
  if (auto* r = as<ops::Reduce>(p)) {
    bool extreme = r->kind == Reduction::max || r->kind == Reduction::min;
    return extreme ? Way::order : r->kind == Reduction::sum || r->kind == Reduction::prod ? Way::bits : Way::none;
  }
  if (auto* s = as<ops::Scatter>(p)) {
    using Mode = kernels::ScatterMode;
    return s->mode == Mode::min || s->mode == Mode::max ? Way::order : Way::bits;
  }
  return Way::none;
}
Arrays call_u64(const PrimitivePtr& p, const Arrays& in, const Types& out) {
  auto way = way_of(*p);
  check<DtypeError>(way != Way::none, p->name(), ": not defined for u64; use x.astype(i64), f32 or f64");
  Arrays bits;
  for (auto& a : in) bits.push_back(!a.defined() || a.dtype() != u64 ? a : bits_of(a));
  if (way == Way::abs) return in;
  if (way == Way::sign) return {(bits[0] != 0).astype(u64)};
  if (way == Way::div) return {bitcast(quotient(bits[0], bits[1]), u64)};
  if (way == Way::pow) return {bitcast(wrapped_power(bits[0], bits[1]), u64)};
  if (way == Way::rem) {
    auto q = quotient(bits[0], bits[1]);
    return {bitcast(where(bits[1] == 0, 0, bits[0] - q * bits[1]), u64)};
  }
  if (way == Way::order)
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i].defined() && in[i].dtype() == u64) bits[i] = ordered(bits[i]);
  auto r = call(p, bits);
  for (std::size_t i = 0; i < r.size(); ++i)
    if (out[i].dtype == u64) r[i] = bitcast(way == Way::order ? ordered(r[i]) : r[i], u64);
  return r;
}
}  // namespace

Arrays call_stored(const PrimitivePtr& p, const Arrays& in) {
  Types types;
  bool wide = false;
  for (auto& a : in) {
    types.push_back(a.type());
    wide = wide || a.dtype() == u64;
  }
  auto out = p->infer(types);
  if (wide) return call_u64(p, in, out);
  Arrays a;
  for (auto& x : in) a.push_back(!is_stored_only(x.dtype()) ? x : x.astype(computed_as(x.dtype())));
  static const auto shifts = kernels::find_op("shr_logical");
  if (p->element() == shifts) a[0] = a[0] & Scalar((1 << (8 * dtype_size(in[0].dtype()))) - 1);  // zeros come in
  auto r = call(p, a);
  // Pending sums stay pending, as those of bf16 do.
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = is_float(out[i].dtype) ? rounded_sum(r[i], out[i].dtype) : r[i].astype(out[i].dtype);
  return r;
}
}  // namespace bora
