// custom.h -- a function of the host as an operation, with a derivative of its own.
//   auto relu6 = custom_op("relu6", {
//       .eval = [](const xt::xarray<float>& x) { return xt::clip(x, 0.f, 6.f); },
//       .vjp = [](const Array& ct, const Array& x) { return where(x > 0 && x < 6, ct, 0); },
//       .elementwise = true});
#pragma once
#include <array>
#include <functional>
#include <tuple>
#include <vector>
#include "bora/array/array.h"

namespace bora {
/// Conversion of a host function's parameter or result type from an Array, and back. <bora/xtensor.h> and
/// <bora/eigen.h> specialise it for theirs; `static constexpr std::optional<Dtype> dtype`, where present, is the dtype
/// of its elements.
template <class T> struct host_arg {
  static_assert(detail::never<T>, "custom_op: include <bora/xtensor.h> or <bora/eigen.h> for this parameter type");
};
template <> struct host_arg<Array> {
  static const Array& from(const Array& a) { return a; }
  static Array to(const Array& a) { return a; }
};

/// The host function: parameter types are read from its signature, so generic lambdas do not fit.
class HostFn {
 public:
  HostFn() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, HostFn>) HostFn(F f) {
    if constexpr (std::is_pointer_v<F>) bind_pointer(f);
    else if constexpr (requires { &F::operator(); }) bind(std::move(f), &F::operator());
    else
      static_assert(detail::never<F>,
                    "custom_op: eval must name its parameter types: [](const xt::xarray<float>& x) { ... }, not auto");
  }
  Array operator()(const Arrays& in) const { return call_(in); }
  explicit operator bool() const { return call_ != nullptr; }
  std::size_t arity() const { return arity_; }
  std::optional<Dtype> dtype() const { return dtype_; }  // of its result, if its type determines it
 private:
  template <class R, class... P> void bind_pointer(R (*f)(P...)) {
    auto g = [f](P... p) -> R { return f(p...); };
    bind(g, &decltype(g)::operator());
  }
  template <class F, class R, class... P> void bind(F f, R (F::*)(P...) const) {
    using Result = host_arg<std::remove_cvref_t<R>>;
    arity_ = sizeof...(P);
    if constexpr (requires { Result::dtype; }) dtype_ = Result::dtype;
    call_ = [f](const Arrays& a) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        // The converted arguments live until the returned (perhaps lazy) expression has been evaluated.
        std::tuple<decltype(host_arg<std::remove_cvref_t<P>>::from(a[I]))...> in{
            host_arg<std::remove_cvref_t<P>>::from(a[I])...};
        return Result::to(f(std::get<I>(in)...));
      }
      (std::index_sequence_for<P...>{});
    };
  }
  std::function<Array(const Arrays&)> call_;
  std::size_t arity_ = 0;
  std::optional<Dtype> dtype_;
};

/// (ct, inputs...) -> the gradient of the one input, or a tuple, pair, std::array or Arrays of them; an empty Array is
/// zero. Written with Bora's operations, so it can be differentiated again, batched and staged. Values that it closes
/// over are constants of the value, not of the slope: a derivative by them is taken where the slope is differentiated.
class VjpRule {
 public:
  VjpRule() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, VjpRule>) VjpRule(F f) {
    if constexpr (std::is_pointer_v<F>) bind_pointer(f);
    else if constexpr (requires { &F::operator(); }) bind(std::move(f), &F::operator());
    else
      static_assert(detail::never<F>,
                    "custom_op: vjp must name its parameter types: "
                    "[](const Array& ct, const Array& x) { ... }, not auto");
  }
  Arrays operator()(const Arrays& ct_and_inputs) const { return call_(ct_and_inputs); }
  explicit operator bool() const { return call_ != nullptr; }
  std::size_t arity() const { return arity_; }  // counts the cotangent
 private:
  static Arrays list(Array a) { return {std::move(a)}; }
  static Arrays list(Arrays a) { return a; }
  template <class T> static Arrays list(const T& t) {
    return std::apply([](const auto&... a) { return Arrays{a...}; }, t);
  }
  template <class R, class... P> void bind_pointer(R (*f)(P...)) {
    auto g = [f](P... p) -> R { return f(p...); };
    bind(g, &decltype(g)::operator());
  }
  template <class F, class R, class... P> void bind(F f, R (F::*)(P...) const) {
    static_assert((std::same_as<std::remove_cvref_t<P>, Array> && ...),
                  "custom_op: vjp takes Arrays: the cotangent, then the inputs");
    arity_ = sizeof...(P);
    call_ = [f](const Arrays& a) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) { return list(f(a[I]...)); }
      (std::index_sequence_for<P...>{});
    };
  }
  std::function<Arrays(const Arrays&)> call_;
  std::size_t arity_ = 0;
};

struct CustomOp {  // the host function, and its shapes and derivative
  HostFn eval;
  VjpRule vjp = {};
  std::function<Shape(const std::vector<Shape>&)> shape = {};  // of the result; default: that of the first input
  bool elementwise = false;           // inputs broadcast; vmap and sharding need no copy of the whole
  std::optional<Dtype> dtype = none;  // of the result; default: eval's element type, else the first input's
};
/// An operation made from a host function. Two made by two calls of custom_op are different operations.
class HostOp {
 public:
  HostOp(std::string name, CustomOp definition);
  template <ArrayLike... A> Array operator()(const A&... inputs) const { return on(Arrays{inputs...}); }
  /// Throws ValueError for a wrong number of inputs; ShapeError or DtypeError if eval's result is not as declared.
  Array on(const Arrays& inputs) const;
 private:
  PrimitivePtr primitive_;
};
/// Works under grad (where .vjp is given), vmap, jit and sharding. eval must be a pure function of its inputs, which
/// hold numbers.
HostOp custom_op(std::string name, CustomOp definition);
}  // namespace bora
