// print.h -- print(x): anything that streams, and trees leaf by leaf, to standard output.
#pragma once
#include <iostream>
#include "bora/tree/tree.h"

namespace bora {
namespace detail {
void print_text(void (*put)(std::ostream&, const void*), const void* x);
void print_tree(tree::Node);
}  // namespace detail
/// Writes x and a newline to standard output; for a tree, each leaf after its path.
template <class T> void print(const T& x) {
  if constexpr (tree::Foreign<T>) print(Array(x));
  else if constexpr (requires(std::ostream & o) { o << x; })
    detail::print_text([](std::ostream& o, const void* p) { o << *static_cast<const T*>(p); }, &x);
  else {
    static_assert(tree::Tree<T>, "print: x neither streams nor is a tree");
    detail::print_tree(tree::node(x));
  }
}
}  // namespace bora
