#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/transforms.h"

namespace bora::optim {
namespace {
struct Centralize {
  static constexpr std::string_view name = "centralize";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) {
      Dims rest;
      for (std::int64_t d = 1; d < x.ndim(); ++d) rest.push_back(d);
      r.push_back(rest.empty() ? x : x - mean(x, rest, {.keepdims = true}));
    }
    return r;
  }
  static std::vector<Centralize> samples() { return {{}}; }
};
}  // namespace
Transform centralize() { return Transform(Centralize{}); }
}  // namespace bora::optim
