// exchange.h -- the collective that moves rows along one split dimension, and which rows a rank sends and receives.
#pragma once
#include "ops/api/collective_primitives.h"

namespace bora::ops {
struct Start;  // ops/primitives/collective_start.h

/// Rows begin, begin + every, .. below `end` of a result are rows start, start + step, .. of an operand. step may be
/// negative, or 0: one row for all of them.
struct Piece {
  std::int64_t begin = 0, end = 0, every = 1, operand = 0, start = 0, step = 1;
};
/// The numbers k, from the first to before the second, for which begin <= start + k step < end; 0 <= k is not asked.
std::pair<std::int64_t, std::int64_t> steps_inside(std::int64_t start, std::int64_t step, std::int64_t begin,
                                                   std::int64_t end);
/// A result of n rows along dimension dim, in pieces. No two pieces give the same row; rows that none gives are `fill`.
struct Move {
  std::int64_t dim = 0, n = 0;
  std::vector<Piece> pieces = {};
  Scalar fill = 0;
};
/// A Move whose operands are split along its dimension over `axes`: every rank sends to each other one the rows that
/// the other's part of the result reads and that it owns. All parameters are global: which rows these are follows from
/// them and the rank. The operands' blocks -> this rank's part of the result.
struct Exchange {
  MeshAxes axes;
  std::int64_t dim, n;
  std::vector<Piece> pieces;
  Scalar fill;
  Dims rows;    // of each operand: its rows on all ranks
  Dims whole;   // of each operand: 1 if every rank has all of its rows
  /// Which rows of the result each part has: the begins and ends of as many stretches for each, part after part. Parts
  /// may have the same rows. Empty: block p of n.
  Dims wanted;
  Shape of;     // the result's global shape, for the fingerprint
  /// Pairs of ranks without rows send no message. Eagerly they do: a message of every rank tells each other one with
  /// which types it came, which Programs compare before they run.
  bool sparse;
  static constexpr std::string_view name = "exchange";
  static constexpr bool collective = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  Exchange lift(std::int64_t) const;
  // As a collective (collectives.cpp).
  std::size_t scratch_bytes(const Types& in, const Types& out) const;
  void call(CollectiveCall&, const Type& in, const Type& out) const;
  StartedCollective start(Start) const;
};
/// A Move that Shard has not made yet. Its operands' Specs and pending sums agree, but that some may be whole along its
/// dimension; one at least is split.
struct Moved {
  std::vector<Sharded> in;
  Move move;
  Array made = {};
};
/// The block of the value x that m makes, made once.
Array moved_now(Moved& m, const Sharded& x, const ShardRules&);
/// Rows [begin, end) of the result are rows from, from + step, .. of an operand, step > 0.
struct OwnRun {
  std::int64_t begin, end, from, step;
};
/// For each part, which has one stretch, the longest run of rows that it owns itself in this operand.
std::vector<OwnRun> longest_own_runs(const Exchange&, const MeshShape&, std::int64_t operand);
/// The rows that each of the parts sends to others and is sent by them.
struct Traffic {
  Dims sent, received;
};
Traffic traffic(const Exchange&, const MeshShape&);
/// The most bytes that a rank sends and receives in p (traits.collective) on this rank's mesh, for operands and results
/// of these types; of an all_reduce and its like the operand and the result.
std::size_t collective_bytes(const Primitive& p, const Types& in, const Types& out);
/// The bytes that a rank receives in p, by the best algorithms: of an all_gather the result without its own part, of an
/// all_reduce twice the operand without a rank's part, of a reduce_scatter and an all_to_all the operand without it; of
/// an exchange the rows that the busiest rank is sent; of others the results.
std::size_t received_bytes(const Primitive& p, const Types& in, const Types& out);
}  // namespace bora::ops

namespace bora {
extern template PrimitivePtr primitive<ops::Exchange>(ops::Exchange);
}
