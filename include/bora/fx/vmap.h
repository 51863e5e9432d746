// vmap.h -- a function of one example as a function of many.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
/// The mapped axis of each leaf, by pattern of its path; the first match counts.
struct ByPath {
  std::vector<std::pair<std::string, std::optional<std::int64_t>>> rules;
};
/// Axes of the leaves of one argument: by_path({{"embed.*", none}, {"*", 0}}).
inline ByPath by_path(std::initializer_list<std::pair<std::string_view, std::optional<std::int64_t>>> rules) {
  return {{rules.begin(), rules.end()}};
}
/// The mapped axis of one argument or result: an integer (negative: from the end), none, or by_path.
struct MapAxis {
  std::optional<std::int64_t> axis = 0;
  std::optional<ByPath> rules = none;
  MapAxis() = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) MapAxis(T a) : axis(static_cast<std::int64_t>(a)) {}
  MapAxis(std::nullopt_t) : axis(none) {}
  MapAxis(ByPath p) : rules(std::move(p)) {}
};
/// 0 for all arguments (results), or {none, 0}: one entry per argument (part of the tuple, vector or struct returned).
struct MapAxes {
  std::vector<MapAxis> axes;
  bool each = false;
  MapAxes() : axes{MapAxis()} {}
  template <class T>
  requires std::constructible_from<MapAxis, T> MapAxes(T a) : axes{MapAxis(std::move(a))} {}
  MapAxes(std::initializer_list<MapAxis> l) : axes(l), each(true) {}
};
namespace fx {
/// Must precede the options: without their names {0, none} would be .in = 0, .out = none, not JAX's in_axes.
struct Named {
  Named() = default;
  template <class T> __attribute__((unavailable("write vmap(f, {.in = {0, none}, .out = 0})"))) Named(T);
};
}                                           // namespace fx
struct VmapOptions {                        // of vmap
  fx::Named named = {};                     // makes a call without names of fields an error
  MapAxes in = {};                          // which axis of each argument is mapped
  MapAxes out = {};                         // where it appears in the results
  std::string axis_name = {};               // for collectives inside f: psum(x, "batch")
  std::optional<std::int64_t> size = none;  // of the mapped axis, where no argument has it
  MeshAxes spmd_axis_name = {};             // constraints inside f split the mapped axis over these mesh axes
};
namespace fx {
/// Throws ValueError or ShapeError naming arguments and paths.
Arrays vmap_shell(const FlatFn& f, const std::function<tree::Node()>& result, const std::vector<tree::Node>& arguments,
                  const VmapOptions& how);
template <class F> class Vmapped {
 public:
  static constexpr auto gives = Gives::stacked;
  Vmapped(F function, VmapOptions options) : f(std::move(function)), how(std::move(options)) {}
  template <class... A> auto operator()(const A&... a) const {
    check_trees<A...>();
    if constexpr (foreign<A...>) return ForeignCall<gives, void, A...>::call(f, *this, a...);
    else if constexpr (takes_arrays<F, A...>) return run(arrays(a)...);
    else if constexpr (are_trees<A...>) return run(a...);
  }
 private:
  template <class... A> auto run(const A&... a) const {
    static_assert(Callable<F, A...>,
                  "vmap: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
                  "mutable lambda");
    static_assert((tree::positional<A> && ... && true),
                  "vmap: an argument holds NamedArrays, whose axes have names: use vmap(f, Axis)");
    if constexpr (Callable<F, A...> && (tree::positional<A> && ... && true)) {
      using R = result_t<F, A...>;
      static_assert(tree::Tree<R>, "vmap: f must return a tree");
      static_assert(tree::positional<R>, "vmap: f returns NamedArrays, whose axes have names: use vmap(f, Axis)");
      if constexpr (tree::Tree<R>) {
        std::optional<R> out;
        auto y = vmap_shell(
            flat_fn<R>(f, out, a...), [&] { return tree::node(*out); }, {tree::node(a)...}, how);
        return tree::unflatten(std::move(*out), y);
      }
    }
  }
  F f;
  VmapOptions how;
};
}  // namespace fx
/// f over one more axis of its arguments: {.in = {none, 0}} says which axis of each argument (none: the same value for
/// all), .out where the axis appears in the results, .out = {0, 1} in each part of a pair. Throws ShapeError where
/// sizes differ, ShardError for an spmd_axis_name that the mesh lacks, or that a constraint inside f uses as well.
template <class F> auto vmap(F f, VmapOptions how = {}) { return fx::Vmapped<F>(std::move(f), std::move(how)); }
template <class F, class Out, class... More>
__attribute__((unavailable("write vmap(f, {.in = {0, none}, .out = 0})"))) fx::Vmapped<F> vmap(F f, VmapOptions, Out,
                                                                                               More...);
template <class F, std::integral In, class... Out>
__attribute__((unavailable("write vmap(f, {.in = 0, .out = 0})"))) fx::Vmapped<F> vmap(F f, In, const Out&...);
template <class F, std::same_as<Array> A, class... X>
__attribute__((unavailable("write vmap(f)(x, ..)"))) fx::Vmapped<F> vmap(F f, const A& x, const X&... more);
}  // namespace bora
