#include "bora/nn/checkpoint_names.h"
#include "bora/ops/transform.h"

namespace bora::nn {
NamedArray marked(const NamedArray& x, std::initializer_list<std::string_view> names) {
  auto a = x.array();
  for (auto name : names) a = checkpoint_name(a, std::string(name));
  return {a, x.axes()};
}
}  // namespace bora::nn
