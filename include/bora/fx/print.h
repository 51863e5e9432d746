// print.h -- print(x): anything that streams, and trees leaf by leaf, to standard output.
#pragma once
#include <iostream>
#include "bora/tree/tree.h"

namespace bora {
/// Writes x and a newline to standard output; for a tree, each leaf after its path.
template <class T> void print(const T& x) {
  if constexpr (requires(std::ostream & o) { o << x; }) {
    std::ostringstream text;
    text << x;
    auto s = text.str();
    std::cout << s << (s.ends_with('\n') ? "" : "\n");
  } else {
    static_assert(tree::Tree<T>, "print: x neither streams nor is a tree");
    for (auto& p : tree::describe(tree::node(x)))
      std::cout << (p.path.empty() ? "value" : p.path) << ": " << p.text << '\n';
  }
}
}  // namespace bora
