#include "bora/fx/print.h"
#include <sstream>

namespace bora::detail {
void print_text(void (*put)(std::ostream&, const void*), const void* x) {
  std::ostringstream text;
  put(text, x);
  auto s = text.str();
  std::cout << s << (s.ends_with('\n') ? "" : "\n");
}
void print_tree(tree::Node x) {
  for (auto& p : tree::describe(x)) std::cout << (p.path.empty() ? "value" : p.path) << ": " << p.text << '\n';
}
}  // namespace bora::detail
