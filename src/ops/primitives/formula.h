// formula.h -- primitives that are composed of operations but have derivatives of their own, because those of the
// composition lose their digits. A tag's block holds its own part: name, value(x..), vjp, and samples. Private.
#pragma once
#include "ops/primitives/by_element.h"

namespace bora::ops {
template <class... X> constexpr std::size_t arity_of(Array (*)(X...)) { return sizeof...(X); }

template <class F> struct Formula {
  static constexpr std::string_view name = F::name;
  static constexpr std::size_t arity = arity_of(F::value);
  Type infer(const Types& in) const { return infer_by_element(name, arity, in); }
  Arrays run(const Arrays& in, const Types&) const {
    Within host(eval_interpreter());
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return Arrays{F::value(in[k]...)};
    }(std::make_index_sequence<arity>());
  }
  Arrays vjp(const Vjp& v) const { return F::vjp(v); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  Formula lift(std::int64_t) const { return *this; }
  static SamplesOf<Formula> samples() { return {{{}, samples_by_element<F>(arity)}}; }
};
template <class F, class... X> Array by_formula(const X&... x) {
  static const PrimitivePtr p = primitive(Formula<F>{});
  return call(p, {x...}).front();
}
}  // namespace bora::ops
