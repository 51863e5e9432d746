// transform_base.h -- what a gradient transformation is (transform.h), without the trees of its users.
#pragma once
#include <functional>
#include <map>
#include "bora/base/fields.h"
#include "bora/tree/node.h"

namespace bora::optim {
/// The state of any optimizer; a user's struct can name it. Its entries are split as the parameters are.
struct State {
  std::map<std::string, Array> entries = {};
};
/// Parameters, or gradients, with their paths: the input of a transformation. bf16 parameters come as f32, as do their
/// gradients: transformations compute in f32, and their state is f32.
struct Leaves {
  std::vector<std::string> paths;
  Arrays arrays;
  std::vector<bool> decays = {};                    // tree::decays of the parameters; empty: all
  std::vector<std::vector<std::string>> axes = {};  // names of the dimensions; none for a plain Array
};
/// State with other shapes than the parameters': one Array per parameter, empty where there is none.
struct Reduced {
  Arrays of = {};
};
/// Selects parameters by their layers' own words: biases and the weights of norms are not selected (tree::decays).
struct ByLayer {};
inline constexpr ByLayer by_layer = {};  // stands where a Mask is wanted
/// Selects the parameters that a transformation applies to: all of them, those for which a function of path and value
/// (or of all parameters and a number) says so, or by_layer.
class Mask {
 public:
  Mask() = default;
  Mask(ByLayer) : by_layer_(true) {}
  template <std::predicate<const std::string&, const Array&> F> Mask(F f)
      : selects_([f](const Leaves& p, std::size_t i) { return f(p.paths[i], p.arrays[i]); }) {}
  template <std::predicate<const Leaves&, std::size_t> F> Mask(F f) : selects_(std::move(f)) {}
  bool operator()(const Leaves& params, std::size_t i) const {
    if (by_layer_) return params.decays.empty() || params.decays[i];
    return !selects_ || selects_(params, i);
  }
 private:
  std::function<bool(const Leaves&, std::size_t)> selects_ = {};
  bool by_layer_ = false;
};
/// ShapeError with the path of the first parameter whose shape `given` does not match; what: "optim: the gradient".
void check_shapes(std::string_view what, const Leaves& params, const Arrays& given);
/// The names of each leaf's dimensions; none for a plain Array.
std::vector<std::vector<std::string>> axis_names(tree::Node);

/// A transformation without state: update(updates, params) gives the new updates.
template <class T> concept Stateless = requires(const T& t, const Arrays& updates, const Leaves& params) {
  { t.update(updates, params) } -> std::same_as<Arrays>;
};
/// A transformation with state: init(params) gives the first one, update(updates, state, params) also the next.
template <class T> concept Stateful =
    requires(const T& t, const typename T::State& s, const Arrays& updates, const Leaves& params) {
      { t.init(params) } -> std::same_as<typename T::State>;
      { t.update(updates, s, params) } -> std::same_as<std::pair<Arrays, typename T::State>>;
    };
/// What a Transform is made of: a name, and one of these two forms.
template <class T> concept Transformation = (Stateless<T> || Stateful<T>) && requires {
  { T::name } -> std::convertible_to<std::string_view>;
};

template <class P> struct Updated {  // updates like the parameters, and the next state
  P updates;
  State state;
};
/// One gradient transformation, or several in a row (chain). Without any it changes nothing.
class Transform {
 public:
  Transform() = default;
  template <Transformation T> explicit Transform(T t);
  template <class P> State init(const P& params) const;
  /// {updates like params, those of bf16 parameters in f32; next state}. params may be any tree with the structure of
  /// the gradients.
  template <class P> Updated<P> update(const P& gradients, const State& state, const P& params) const;
  /// The same, whose state keeps these fields of all parameters ("mu") in another dtype. update() computes with them as
  /// before and rounds only what it stores, so an update of this step is made from moments that are not rounded yet.
  Transform storing(Dtype dtype, const std::vector<std::string>& fields) const;
  /// The same, whose init() first calls f with the parameters: f throws if they do not fit.
  Transform checking(std::function<void(const Leaves& params)> f) const;
  State init_flat(const Leaves& params) const;
  std::pair<Arrays, State> update_flat(Arrays updates, const State&, const Leaves& params) const;

 private:
  struct Part {
    std::string_view transformation;
    std::string name;  // of its entries: the second "adam" of a chain is "adam2"
    std::function<void(const std::string& name, const Leaves&, State& next)> init;
    std::function<Arrays(const std::string& name, const Arrays&, const State&, State& next, const Leaves&)> update;
  };
  /// Gradients laid out as their parameters, pending sums completed once. Throws as check_shapes.
  static Arrays settled(Arrays gradients, const Leaves& params);
  template <class P> static Leaves leaves_of(const P& p);
  static Arrays accumulated(Arrays);  // halves as f32
  friend Transform chain_of(const std::vector<Transform>&);
  std::vector<Part> parts_;
};
/// One after the other. A chain inside a chain is the same as its members in its place.
Transform chain_of(const std::vector<Transform>& parts);
/// One after the other.
template <std::same_as<Transform>... T> Transform chain(const T&... parts) { return chain_of({parts...}); }
Transform identity();  // updates stay as they are

/// All transformations linked into this program, for tests/optim. They register themselves.
struct RegistryEntry {
  std::string_view name;
  std::vector<Transform> (*samples)();
};
std::vector<RegistryEntry>& registry();  // all transformations of this program

namespace detail {
void store(State&, const std::string& name, const Array&, const Leaves& params);
void store(State&, const std::string& name, const Arrays&, const Leaves& params);
void store(State&, const std::string& name, const Reduced&, const Leaves& params);
void store(State&, const std::string& name, const State& inner, const Leaves& params);
/// Throw ValueError and ShapeError with the entry's name.
void load(const State&, const std::string& name, Array&, const Leaves& params);
void load(const State&, const std::string& name, Arrays&, const Leaves& params);
void load(const State&, const std::string& name, Reduced&, const Leaves& params);  // absent entries are empty
void load(const State&, const std::string& name, State& inner, const Leaves& params);

template <class S> void store_all(State& to, const std::string& name, const S& state, const Leaves& params) {
  fields::for_each(state, [&](std::string_view field, const auto& value) {
    store(to, name + "." + std::string(field), value, params);
  });
}
template <class S> S load_all(const State& from, const std::string& name, const Leaves& params) {
  S state;
  fields::for_each(
      state, [&](std::string_view field, auto& value) { load(from, name + "." + std::string(field), value, params); });
  return state;
}
template <class T> std::vector<Transform> samples_of() {
  std::vector<Transform> r;
  if constexpr (requires { T::samples(); })
    for (auto& t : T::samples()) r.push_back(Transform(t));
  return r;
}
template <class T> inline const bool registered = (registry().push_back({T::name, &samples_of<T>}), true);
}  // namespace detail

template <Transformation T> Transform::Transform(T t) {
  (void)detail::registered<T>;
  Part p{T::name, std::string(T::name), [](const std::string&, const Leaves&, State&) {}, {}};
  if constexpr (Stateless<T>)
    p.update = [t](const std::string&, const Arrays& u, const State&, State&, const Leaves& params) {
      return t.update(u, params);
    };
  else {
    p.init = [t](const std::string& name, const Leaves& params, State& next) {
      detail::store_all(next, name, t.init(params), params);
    };
    p.update = [t](const std::string& name, const Arrays& u, const State& s, State& next, const Leaves& params) {
      auto [updates, mine] = t.update(u, detail::load_all<typename T::State>(s, name, params), params);
      detail::store_all(next, name, mine, params);
      return updates;
    };
  }
  parts_.push_back(std::move(p));
}
}  // namespace bora::optim
