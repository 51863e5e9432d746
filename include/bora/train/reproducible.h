// reproducible.h -- sums over the rows of a batch whose bits do not depend on the number of ranks. The rows are cut
// into V virtual ranks; what each of them finds is added in a balanced binary tree over all V, of which every rank
// holds a whole subtree. So 1, 2, 4, .. V ranks give the same bits, and a rank sends one sum, as in an all_reduce.
#pragma once
#include "bora/named/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/train/local.h"

namespace bora::training {
namespace detail {
/// The axis of the ranks, called like the mesh axis that splits the batch, and how many times a rank's virtual ranks
/// are halved. Throws ShardError if several mesh axes do, or the ranks do not divide V.
struct VirtualRanks {
  Axis ranks;
  int halvings = 0;
  Axis half(int level) const { return {"virtual" + std::to_string(level), 2}; }
};
VirtualRanks virtual_ranks(std::int64_t parts);
/// [batch, ..] of every leaf as [ranks, virtual0, virtual1, .., batch / parts, ..]. AxisError if parts do not divide
/// it.
void cut(tree::Node example, std::int64_t parts, const VirtualRanks&);
/// The positions 0 .. parts of virtual ranks, in the same form.
NamedArray numbers(std::int64_t parts, const VirtualRanks&);
/// Adds the leaves of all ranks, neighbours first; every rank gets the sum. No zero of it is negative.
void add_ranks(tree::Node, const Axis& ranks);

template <class Sum, class Example, class F>
Sum sum_of_halves(const F& f, const std::pair<Example, NamedArray>& part, const Sum& zero, const VirtualRanks& v,
                  int level) {
  if (level == v.halvings) return f(part.first, part.second.array());
  auto body = [&](const Sum& total, const std::pair<Example, NamedArray>& half) {
    auto add = [](const Array& a, const Array& b) { return a + b; };
    return std::pair{tree::map(add, total, sum_of_halves(f, half, zero, v, level + 1)), none};
  };
  return scan(body, v.half(level))(zero, part).first;
}
}  // namespace detail

/// The sum of f(rows, k) over the virtual ranks k = 0 .. parts, each with batch / parts rows of the example, in their
/// tree. parts: a power of two that the ranks of the batch's mesh axis divide. zero: what f gives, with zeros. f must
/// not depend on where it runs, and its parameters must be whole on every rank.
template <class Sum, class Example, class F>
Sum virtual_sum(std::int64_t parts, Example example, const Sum& zero, const F& f) {
  auto v = detail::virtual_ranks(parts);
  detail::cut(tree::node(example), parts, v);
  auto of_rank = [&](const std::pair<Example, NamedArray>& mine) { return detail::sum_of_halves(f, mine, zero, v, 0); };
  auto sums = local::each(of_rank, v.ranks)(std::pair{example, detail::numbers(parts, v)});
  detail::add_ranks(tree::node(sums), v.ranks);
  return sums;
}
}  // namespace bora::training
