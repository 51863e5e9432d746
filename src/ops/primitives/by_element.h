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

template <class F> struct ByElement {
  static constexpr std::string_view name = F::name;
  static constexpr std::size_t arity = arity_of(F::value);
  Type infer(const Types& in) const {
    check<ValueError>(in.size() == arity, name, ": takes ", arity, " operands, got ", in.size());
    for (auto& t : in)
      check<DtypeError>(t == in[0] && (t.dtype == f32 || t.dtype == f64), name,
                        ": operands must have one type of f32 or f64, got ", in[0], " and ", t);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    if (out[0].type.dtype == f32) run<float>(in, out);
    else run<double>(in, out);
  }
  Arrays vjp(const Vjp& v) const { return F::vjp(v); }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  ByElement lift(std::int64_t) const { return *this; }
  static SamplesOf<ByElement> samples() {
    Arrays in;
    for (std::size_t i = 0; i < arity; ++i) {
      auto seed = static_cast<int>(i) + 1;
      in.push_back(random_values({2, 3}, F::range[i][0], F::range[i][1], seed));
    }
    return {{{}, in}};
  }

 private:
  template <class T> static void run(InputViews in, OutputViews out) {
    parallel_for(out[0].type.size(), grain_for(F::nanoseconds), [&](std::int64_t begin, std::int64_t end) {
      auto* y = out[0].as<T>();
      for (auto i = begin; i < end; ++i)
        y[i] = [&]<std::size_t... k>(std::index_sequence<k...>) {
          if constexpr (sizeof(T) == 8 && requires { F::wide; })
            return static_cast<T>(F::wide(static_cast<long double>(in[k].as<T>()[i])...));
          else return static_cast<T>(F::value(static_cast<double>(in[k].as<T>()[i])...));
        }(std::make_index_sequence<arity>());
    });
  }
};

template <class F, class... X> Array by_element(const X&... x) {
  static const PrimitivePtr p = primitive(ByElement<F>{});
  return call(p, {x...}).front();
}
/// The function on operands of any types.
template <class F> Array at_element(const Array& x) {
  return in_f32(x, [](A v) { return by_element<F>(v); });
}
template <class F> Array at_elements(std::string_view what, const Operand& a, const Operand& b) {
  auto t = one_type(what, {a, b});
  return by_element<F>(t.x[0], t.x[1]).astype(t.dtype);
}
/// The distribution function of the Cauchy distribution, to the last digits on both sides.
Array cauchy_cdf(A x);
}  // namespace bora::ops
