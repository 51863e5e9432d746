// ravel.h -- a tree as one vector, and trees compared by value.
#pragma once
#include "bora/tree/tree.h"

namespace bora::tree {
/// The vector of a tree, and the types that make the tree of it again.
struct Raveled {
  Array flat;    // [sum of the sizes of all leaves], of the dtype that they promote to; f32 [0] without leaves
  Types leaves;  // shape and dtype of each leaf
};
Raveled ravel_leaves(const Arrays&);  // of all of them, one after the other
/// The leaves that a vector holds. Throws ShapeError unless it has one element for each of theirs.
Arrays unravel_leaves(const Array& flat, const Types&);
/// {flat, unravel}: all leaves as one vector in order, and the function that makes such a tree of a vector; integer and
/// boolean leaves are cast back. Both are differentiable (jax.flatten_util.ravel_pytree).
template <class T> auto ravel(const T& t) {
  auto r = ravel_leaves(leaves(t));
  return std::pair{std::move(r.flat), [types = std::move(r.leaves), like = clone(t)](const Array& flat) {
                     return unflatten(like, unravel_leaves(flat, types));
                   }};
}
struct EqualOptions {         // the tolerance of equal
  double rtol = 0, atol = 0;  // |a - b| <= atol + rtol * |b|; both 0: the same numbers, NaN as NaN
};
bool equal_nodes(Node a, Node b, const EqualOptions&);  // equal() of trees without their types
/// The same structure, statics, shapes, dtypes and numbers (equinox.tree_equal). Reads values: not inside transforms.
template <class T> bool equal(const T& a, const T& b, const EqualOptions& options = {}) {
  return equal_nodes(node(a), node(b), options);
}
}  // namespace bora::tree
