// transforms.h -- shard_map, and a step's work on a mesh as text.
#pragma once
#include "bora/fx/jit.h"
#include "bora/shard/shard.h"

namespace bora {
/// One Spec per argument.
class InSpecs {
 public:
  InSpecs(std::initializer_list<Spec> l) : v_(l) {}
  const std::vector<Spec>& list() const { return v_; }
 private:
  std::vector<Spec> v_;
};
namespace fx {
template <class F> struct ShardMapped {
  F f;
  std::vector<Spec> in;
  Specs out;
  ShardMapOptions options;
  template <class... A> auto operator()(const A&... a) const {
    static_assert(Callable<F, A...>,
                  "shard_map: f cannot be called with these arguments; it takes them by value or const&, and may not "
                  "be a mutable lambda");
    if constexpr (Callable<F, A...>) {
      using R = result_t<F, A...>;
      check<ShardError>(in.size() == sizeof...(A), "shard_map: ", sizeof...(A), " arguments, but ", in.size(),
                        " in Specs");
      std::vector<Spec> specs;
      std::size_t i = 0;
      (specs.insert(specs.end(), tree::count_leaves(tree::node(a)), in[i++]), ...);
      std::optional<R> result;
      auto flat = flat_fn<R>(f, result, a...);
      std::function<std::vector<OutSpec>()> out_specs = [&] {
        std::vector<OutSpec> r;
        for (auto& path : tree::paths(*result)) {
          auto* s = out.find(path);
          check<ShardError>(s != nullptr, "shard_map: no out Spec fits result '", path, "'");
          r.push_back({path, *s});
        }
        return r;
      };
      auto y = shard_map_flat(flat, pack(a...), specs, out_specs, options);
      return tree::unflatten(std::move(*result), y);
    }
  }
};
}  // namespace fx
/// f over this rank's blocks: in says how each argument is split, out how the blocks that f returns lie in the results.
/// A result must be the same on all ranks of an axis that its out Spec does not name: inferred from the operations, as
/// in JAX (ShardError where it may differ; {.check = false} skips the check). Inside f collectives name mesh axes:
/// psum(x, "data"). Derivatives as in JAX.
template <class F>
auto shard_map(F f, const Mesh& mesh, const InSpecs& in, const Specs& out, const ShardMapOptions& options = {}) {
  check<ShardError>(here().mesh && *here().mesh == mesh.shape(),
                    "shard_map: the mesh given is not the one in force; open it with UseMesh");
  return fx::ShardMapped<F>{std::move(f), in.list(), out, options};
}
/// The work of step(args...) on this rank: bytes by kind, collectives with bytes and axes, the steps with the
/// operations fused into each; for an operand that another loop makes or reads too, why the two are not one.
template <class F, class... A> std::string explain(const F& step, const A&... args) {
  if constexpr (fx::is_jitted<F>) return explain_program(step.program(args...), step.inputs(args...));
  else return explain(jit(step), args...);
}
}  // namespace bora
