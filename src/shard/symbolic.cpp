// Symbolic values: operations that have not run, since it is not known yet how their results are split.
#include <algorithm>
#include <map>
#include "ops/api/exchange.h"
#include "ops/api/primitives.h"
#include "shard/interpreter.h"
#include "shard/splits.h"

namespace bora {
namespace {
/// Eager values below this many elements are made at once: a draw of so few costs less than keeping what it is.
constexpr std::int64_t kLarge = 1 << 12;
/// Longer chains run: a loop that adds noise to a value would keep all of them.
constexpr std::size_t kLongest = 64;

/// Draws of a whole array, and numbers stretched to one: they cost less than to send them.
bool is_source(const Primitive& p, const Arrays& in) {
  auto* bits = as<ops::RandomBits>(p);
  return bits ? bits->spec.trivial() && in.size() == 1 : p.traits.loop == LoopRole::broadcast && in[0].ndim() == 0;
}
}  // namespace
bool is_elementwise(const Primitive& p) {
  auto role = p.traits.loop;
  return role == LoopRole::op || role == LoopRole::cast || role == LoopRole::bitcast || role == LoopRole::broadcast;
}

std::pair<Spec, PrimitivePtr> drawn_at(const Primitive& draw, const Spec& spec) {
  auto& bits = *as<ops::RandomBits>(draw);
  auto keys = spec, shape = Spec{};
  keys.resize(spec.size() - bits.shape.size());
  for (auto d = keys.size(); d < spec.size(); ++d) shape.push_back(spec[d]);
  return {keys, primitive(ops::RandomBits{bits.shape, bits.dtype, shape, bits.sizes})};
}

/// The block at x.spec, with its pending sums. Operands that several operations read are made once for each of their
/// splits.
Sharded Shard::real(const Sharded& x) const {
  if (x.moved) return {ops::moved_now(*x.moved, x, *this), x.type, x.spec, x.partial};
  if (!x.symbolic) return x;
  struct Made {
    const ArrayValue* of;
    Spec spec;
    Array local;
  };
  std::vector<Made> made;
  std::function<Array(const Sharded&)> block = [&](const Sharded& y) {
    auto& [p, operands, size, length] = *y.symbolic;
    if (p->traits.random) {
      auto [keys, draw] = drawn_at(*p, y.spec);
      return draw->shard({reshard(view(operands[0]), keys)}, const_cast<Shard&>(*this))->front().local;
    }
    Types global;
    for (auto& a : operands) global.push_back(a.type());
    auto f = *p->factors(global);
    Splits splits;
    for (std::size_t d = 0; d < y.spec.size(); ++d) splits.of[f.out[0][d]] = y.spec[d];
    Arrays locals;
    Types local;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      auto want = splits.spec(f.in[i]);
      auto known = std::find_if(made.begin(), made.end(),
                                [&](auto& m) { return m.of == operands[i].get() && m.spec == want; });
      if (known != made.end()) {
        locals.push_back(known->local);
      } else {
        auto operand = view(operands[i]);
        if (operand.symbolic) operand.spec = want, operand.partial = y.partial, locals.push_back(block(operand));
        else locals.push_back(reshard(operand, want, y.partial).local);
        made.push_back({operands[i].get(), want, locals.back()});
      }
      local.push_back(locals.back().type());
    }
    return call(p->resized(local, {{local_shape(y.type.shape, y.spec), y.type.dtype}}), locals).front();
  };
  return {block(x), x.type, x.spec, x.partial};
}

/// In a Program a broadcast value stays symbolic until an operation needs its block: zeros of sharded state are born
/// local, and a bias is stretched over this rank's rows only. A pending sum is completed before it is stretched.
Sharded Shard::stretched(const PrimitivePtr& p, const Array& operand) const {
  auto x = view(operand);
  auto f = *p->factors({x.type});
  Splits splits;
  for (std::size_t d = 0; d < x.spec.size(); ++d)
    if (f.in[0][d] != kNone) splits.of[f.in[0][d]] = x.spec[d];
  auto size = x.symbolic ? x.symbolic->size : x.type.size();
  return {{}, p->infer({x.type}).front(), splits.spec(f.out[0]), x.partial,
          std::make_shared<const Symbolic>(Symbolic{p, {operand}, size})};
}
/// Eagerly draws and arrays of one number stay symbolic, and what is computed from them element by element, until a
/// constraint or an operand beside them says how they are split, or their numbers are read. Other eager values are
/// plain: users print and keep them.
Sharded Shard::deferred(const PrimitivePtr& p, const Arrays& in) const {
  if (!eager()) return p->traits.loop == LoopRole::broadcast ? stretched(p, in[0]) : Sharded{};
  if (mesh_.size() == 1) return {};
  bool source = is_source(*p, in);
  if (!source && !(is_elementwise(*p) && owns_any(in))) return {};
  std::size_t length = 1;
  std::int64_t size = 0;
  for (auto& a : in) {
    auto x = view(a);
    if (!x.symbolic && a.size() != 1 && !source) return {};  // a draw may have many keys
    if (!x.spec.trivial() || !x.partial.empty()) return {};
    length += x.symbolic ? x.symbolic->length : 0;
    size += x.symbolic ? x.symbolic->size : a.size();
  }
  if (length > kLongest) return {};
  auto out = p->infer(types_of(in));
  if (out.size() != 1 || out[0].size() < kLarge) return {};
  auto spec = Spec::replicated(out[0].shape.size());
  return {{}, out[0], spec, {}, std::make_shared<const Symbolic>(Symbolic{p, in, size, length})};
}
}  // namespace bora
