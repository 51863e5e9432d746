// moves.h -- how Shard does the operations that move rows: by exchange along split dimensions. Private.
#pragma once
#include "ops/api/exchange.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
/// The value that m makes, now or when it is needed. It keeps the operands' split unless it has fewer rows than they
/// have and than there are ranks.
Sharded moved(Moved m, const ShardRules&);
/// The same with the Moves that its operands stand for composed with its own. Their Specs may differ then.
Moved composed(const std::vector<Sharded>& in, const Move&);
/// Of x, split along dim: rows [wanted[2p], wanted[2p + 1]) for part p; zeros where x has no such row.
Array rows_around(const Sharded& x, std::int64_t dim, Dims wanted, const ShardRules&);

/// An operation p on one operand that moves rows along each dimension for itself: p.along(type, d) along dimension d,
/// p.without(type, dims) what remains of it apart from these, if anything does. `last`: this remainder comes last,
/// because it makes the array larger. Nothing if no dimension that it changes is split.
template <class P>
std::optional<std::vector<Sharded>> by_moves(const P& p, const Sharded& x, ShardRules& s, bool last) {
  if (x.symbolic) return std::nullopt;  // its block is made where it is needed
  auto f = p.factors({x.type});
  Dims moves;
  for (std::size_t d = 0; d < x.spec.size(); ++d)
    if (f.in[0][d] == kNone && s.mesh().parts(x.spec[d]) > 1) moves.push_back(static_cast<std::int64_t>(d));
  if (moves.empty()) return std::nullopt;
  auto y = f.linear.empty() && !x.partial.empty() ? s.resolve(x) : x;
  auto remainder = [&] {
    if (auto rest = p.without(y.type, moves)) y = s.by_factors(primitive(*rest), rest->factors({y.type}), {y}).front();
  };
  if (!last) remainder();
  for (auto d : moves) y = moved(composed({y}, p.along(y.type, d)), s);
  if (last) remainder();
  return std::vector<Sharded>{y};
}
}  // namespace bora::ops
