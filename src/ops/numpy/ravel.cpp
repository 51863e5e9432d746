// Leaves of a tree as one vector, and back.
#include "bora/ops/ravel.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/ufuncs.h"

namespace bora::tree {
Raveled ravel_leaves(const Arrays& leaves) {
  Raveled r;
  if (leaves.empty()) return {zeros({0}), {}};
  auto dtype = leaves.front().dtype();
  for (auto& a : leaves) {
    dtype = promote(dtype, a.dtype());
    r.leaves.push_back(a.type());
  }
  Arrays flat;
  for (auto& a : leaves) flat.push_back(bora::ravel(a.astype(dtype)));
  r.flat = concatenate(flat);
  return r;
}
Arrays unravel_leaves(const Array& flat, const Types& types) {
  std::int64_t n = 0;
  for (auto& t : types) n += volume(t.shape);
  check<ShapeError>(flat.ndim() == 1 && flat.shape(0) == n, "unravel: the tree has ", n, " elements, the vector is ",
                    flat.type());
  Arrays r;
  std::int64_t begin = 0;
  for (auto& t : types) {
    auto size = volume(t.shape);
    r.push_back(reshape(slice_in_dim(flat, 0, begin, begin + size), t.shape).astype(t.dtype));
    begin += size;
  }
  return r;
}
bool equal_nodes(Node a, Node b, const EqualOptions& o) {
  if (!first_difference(a, b, Same::types).empty()) return false;
  Arrays x, y;
  append_leaves(a, x);
  append_leaves(b, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool same = o.rtol == 0 && o.atol == 0
                    ? all((x[i] == y[i]) | ((x[i] != x[i]) & (y[i] != y[i]))).item<bool>()
                    : allclose(x[i], y[i], o.rtol, o.atol);
    if (!same) return false;
  }
  return true;
}
}  // namespace bora::tree
