// Shared by the typed transforms: abstract values, paths of arguments, checks of structure.
#include "bora/fx/tree_call.h"

namespace bora::fx {
namespace {
/// Its owner is an interpreter that never exists: any use but as a leaf of a structure is an error.
struct Abstract final : ArrayValue {
  explicit Abstract(const Type& t) : ArrayValue(t, ~std::uint64_t{0}) {}
  Array concrete() const override {
    fail<TraceError>("this Array of type ", type, " has a shape and a dtype but no numbers: it comes from eval_shape");
  }
};
}  // namespace

Array abstract_array(const Type& t) { return Array(std::make_shared<Abstract>(t)); }
void append_labels(tree::Node argument, std::size_t number, std::vector<std::string>& to) {
  auto from = to.size();
  tree::append_paths(argument, to);
  for (auto i = from; i < to.size(); ++i) {
    if (to[i].empty()) to[i] = "argument " + std::to_string(number);
    else if ('0' <= to[i][0] && to[i][0] <= '9') to[i] = "argument " + std::to_string(number) + ", " + to[i];
  }
}
void check_same(std::string_view what, tree::Node want, tree::Node got) {
  auto difference = tree::first_difference(want, got, tree::Same::types);
  check<ShapeError>(difference.empty(), what, ", but they differ: ", difference);
}
}  // namespace bora::fx
