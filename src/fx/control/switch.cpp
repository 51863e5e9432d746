// switch_ as a binary tree of conds: a choice of n branches costs log2(n) comparisons, and every rule is cond's.
#include "bora/fx/switch.h"
#include "bora/ops/ufuncs.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
/// Branches first .. last - 1. An index outside falls to the outermost branch of its side.
Arrays choose_branch(const std::vector<FlatFn>& branches, std::size_t first, std::size_t last, const Arrays& in) {
  if (last - first == 1) return branches[first](part(in, 1, in.size() - 1));
  auto middle = (first + last) / 2;
  auto below = [&](const Arrays& a) { return choose_branch(branches, first, middle, a); };
  auto above = [&](const Arrays& a) { return choose_branch(branches, middle, last, a); };
  return cond_flat(less(in[0], Scalar(static_cast<std::int64_t>(middle))), below, above, in);
}
}  // namespace
Arrays switch_shell(const Array& index, const std::vector<FlatFn>& branches, const Arrays& operands) {
  check<ValueError>(!branches.empty(), "switch_: there are no branches");
  check<ShapeError>(index.ndim() == 0, "switch_: the index must be an integer scalar, got ", index.type());
  check<DtypeError>(is_integer(index.dtype()), "switch_: the index must be an integer scalar, got ", index.type());
  Arrays in{index};
  append(in, operands);
  return choose_branch(branches, 0, branches.size(), in);
}
}  // namespace bora::fx
