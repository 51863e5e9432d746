// by_element.h -- primitives whose elements a function of doubles computes, and, of f64, where there is one, a function
// `wide` of long doubles. A tag's block holds its own part: name, the functions, the nanoseconds they take, its
// derivative, and samples. Private.
#pragma once
#include "bora/base/parallel.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/one_type.h"
#include "ops/primitives/elementwise_rules.h"

namespace bora::ops {
using special::Operand;
template <class... D> constexpr std::size_t arity_of(double (*)(D...)) { return sizeof...(D); }

/// The type of elementwise primitives whose operands have one type, f32 or f64.
Type infer_by_element(std::string_view name, std::size_t arity, const Types& in);
template <class... X> inline constexpr bool is_wide = (std::is_same_v<X, long double> && ...);
/// y = f(x..) for each element: of f64 with long doubles where F has `wide`, else with doubles.
template <class F, std::size_t arity, class G> void map_elements(InputViews in, OutputViews out, const G& f) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    using Wide = std::conditional_t<sizeof(T) == 8 && requires { F::wide; }, long double, double>;
    parallel_for(out[0].type.size(), grain_for(F::nanoseconds), [&](std::int64_t begin, std::int64_t end) {
      auto* y = out[0].as<T>();
      for (auto i = begin; i < end; ++i)
        y[i] = [&]<std::size_t... k>(std::index_sequence<k...>) {
          return static_cast<T>(f(static_cast<Wide>(in[k].template as<T>()[i])...));
        }(std::make_index_sequence<arity>());
    });
  };
  if (out[0].type.dtype == f32) run(0.0f);
  else run(0.0);
}
template <class F> Arrays samples_by_element(std::size_t arity) {
  Arrays in;
  for (std::size_t i = 0; i < arity; ++i)
    in.push_back(random_values({2, 3}, F::range[i][0], F::range[i][1], static_cast<int>(i) + 1));
  return in;
}

template <class F> struct ByElement {
  static constexpr std::string_view name = F::name;
  static constexpr std::size_t arity = arity_of(F::value);
  Type infer(const Types& in) const { return infer_by_element(name, arity, in); }
  void eval(InputViews in, OutputViews out) const {
    map_elements<F, arity>(in, out, [](auto... x) {
      if constexpr (is_wide<decltype(x)...>) return F::wide(x...);
      else return F::value(x...);
    });
  }
  Arrays vjp(const Vjp& v) const { return F::vjp(v); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  ByElement lift(std::int64_t) const { return *this; }
  static SamplesOf<ByElement> samples() { return {{{}, samples_by_element<F>(arity)}}; }
};

/// The derivatives of a function, of every order: F::value and F::wide take the order first, F::vjp(order, v) gives the
/// gradients of that order. Its name is that of the function with "_slope".
template <class F> struct ByOrder {
  int order = 1;
  static constexpr std::string_view name = F::name;
  static constexpr std::size_t arity = arity_of(F::value) - 1;
  Type infer(const Types& in) const { return infer_by_element(name, arity, in); }
  void eval(InputViews in, OutputViews out) const {
    map_elements<F, arity>(in, out, [k = order](auto... x) {
      if constexpr (is_wide<decltype(x)...>) return F::wide(k, x...);
      else return F::value(k, x...);
    });
  }
  Arrays vjp(const Vjp& v) const { return F::vjp(order, v); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  ByOrder lift(std::int64_t) const { return *this; }
  static SamplesOf<ByOrder> samples() { return {{ByOrder{1}, samples_by_element<F>(arity)}}; }
};

template <class F, class... X> Array by_element(const X&... x) {
  static const PrimitivePtr p = primitive(ByElement<F>{});
  return call(p, {x...}).front();
}
/// The derivative of this order at x.
template <class F, class... X> Array by_order(int order, const X&... x) {
  return call(primitive(ByOrder<F>{order}), {x...}).front();
}
/// The function on operands of any types.
template <class F> Array at_element(const Array& x) {
  return in_f32(x, [](A v) { return by_element<F>(v); });
}
template <class F> Array at_elements(std::string_view what, const Operand& a, const Operand& b) {
  auto t = one_type(what, {a, b});
  return by_element<F>(t.x[0], t.x[1]).astype(t.dtype);
}
}  // namespace bora::ops
