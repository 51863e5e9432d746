// xtensor_operation.h -- a lambda of xtensor expressions as an elementwise operation of Arrays.
//   auto f = xt_operation("sin_plus", [](auto x, auto y) { return xt::sin(x) + y; },
//                         [](auto x, auto) { return xt::cos(x); }, [](auto, auto) { return 1; });
//   grad([&](const Array& x) { return sum(f(x, b)); })(a)
#pragma once
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "bora/ops/ufuncs.h"
#include "bora/xtensor.h"

namespace bora {
namespace detail {
template <class T> using XtMemory = xt::xbuffer_adaptor<const T*, xt::no_ownership, std::allocator<T>>;
template <class T> using XtRange = xt::xtensor_adaptor<XtMemory<T>, 1>;
/// An operand as the lambda gets it: an expression that copies hold by value, so that the lambda may return a lazy
/// expression of parameters that it took by value.
template <class T> using XtOperand = xt::xshared_expression<XtRange<T>>;
template <class T> XtOperand<T> xt_operand(const T* data, std::int64_t n) {
  std::array<std::size_t, 1> shape{static_cast<std::size_t>(n)};
  return xt::make_xshared(XtRange<T>(XtMemory<T>(data, shape[0]), shape));
}
template <class T, std::size_t> struct Repeated { using type = T; };  // one T for each index

template <class F, class I> inline constexpr bool takes_operands = false;
template <class F, std::size_t... I>
inline constexpr bool takes_operands<F, std::index_sequence<I...>> =
    std::is_invocable_v<const F&, typename Repeated<XtOperand<float>, I>::type...>;
/// The number of operands of a lambda, at most 8; 0 if it can be called with none of these numbers.
template <class F, std::size_t N = 1> consteval std::size_t xt_arity() {
  if constexpr (N > 8) return 0;
  else if constexpr (takes_operands<F, std::make_index_sequence<N>>) return N;
  else return xt_arity<F, N + 1>();
}
template <class E> struct XtValue {
  using type = E;
};
template <XtExpression E> struct XtValue<E> {
  using type = typename E::value_type;
};
/// The result of f for operands of N T's.
template <class F, class T, std::size_t... I>
std::invoke_result_t<const F&, typename Repeated<XtOperand<T>, I>::type...> xt_result(std::index_sequence<I...>);
/// Whether two results for one element are those of one function: equal, or near where code for many elements rounds
/// otherwise.
inline bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-3 * std::max(std::abs(a), std::abs(b));
}

/// f of elements [begin, begin + n) of the operands, written to `to`.
template <class R, class T, class F, std::size_t N, std::size_t... I>
void xt_range(const std::string& name, const F& f, const std::array<const T*, N>& data, std::int64_t begin,
              std::int64_t n, R* to, std::index_sequence<I...>) {
  auto result = f(xt_operand(data[I] + begin, n)...);
  if constexpr (XtExpression<decltype(result)>) {
    auto elements = static_cast<std::int64_t>(xt::compute_size(result.shape()));
    check<ValueError>(result.dimension() == 1 && elements == n, name, ": the lambda gave ", elements, " results in ",
                      result.dimension(), " dimensions for ", n, " elements; it must be elementwise");
    std::transform(result.template begin<xt::layout_type::row_major>(),
                   result.template end<xt::layout_type::row_major>(), to, [](auto v) { return static_cast<R>(v); });
  } else {
    static_assert(std::is_arithmetic_v<decltype(result)>,
                  "xt_operation: the lambda returns an xtensor expression of its operands, or a number");
    std::fill_n(to, n, static_cast<R>(result));
  }
}
/// f as an operation on Arrays of T, all of one shape, without a derivative. Fractions are rounded to T.
template <class T, class F, std::size_t... I>
CustomOp xt_definition(const std::string& name, const F& f, std::index_sequence<I...> each) {
  using V = typename XtValue<std::remove_cvref_t<decltype(xt_result<F, T>(each))>>::type;
  using R = std::conditional_t<std::is_floating_point_v<V>, T, V>;
  static_assert(storable<R>(), "xt_operation: no dtype stores the lambda's results; use xt::cast<float>, double, ..");
  auto run = [name, f, each](const typename Repeated<Array, I>::type&... in) {
    std::array<Array, sizeof...(I)> held{in.concrete()...};
    auto n = held[0].size();
    std::array<const T*, sizeof...(I)> data{static_cast<const T*>(held[I].bytes())...};
    auto to = new_buffer({held[0].shape(), dtype_of<R>});
    auto* y = static_cast<R*>(to.data);
    parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
      xt_range<R>(name, f, data, begin, end - begin, y + begin, each);
    });
    if (n > 1) {  // results of blocks, rows and threads are those of the whole only if no element sees another one
      R alone{};
      xt_range<R>(name, f, data, n - 1, 1, &alone, each);
      auto a = static_cast<double>(y[n - 1]), b = static_cast<double>(alone);
      check<ValueError>(same_number(a, b), name, ": the lambda gave ", a, " for an element among others and ", b,
                        " for the same one alone; it must be elementwise and pure");
    }
    return to.done();
  };
  return {.eval = run, .elementwise = true, .dtype = dtype_of<R>};
}
}  // namespace detail

/// An elementwise operation of N operands, made by xt_operation.
template <std::size_t N> class XtOperation {
 public:
  XtOperation(HostOp single, HostOp wide) : single_(std::move(single)), wide_(std::move(wide)) {}
  /// Operands broadcast. They are f64 if one of them is, else f32; bf16 is computed in f32 and rounded once, integers
  /// and booleans become f32. DtypeError for complex ones.
  template <ArrayLike... A>
  requires(sizeof...(A) == N) Array operator()(const A&... operands) const { return on({operands...}); }
  Array on(Arrays in) const {
    auto d = in.front().dtype();
    for (auto& x : in) {
      check<DtypeError>(!is_complex(x.dtype()) && x.dtype() != Dtype::key,
                        "xt_operation: operands are real numbers, not ", x.dtype());
      d = promote(d, x.dtype());
    }
    auto compute = d == f64 ? f64 : f32;
    for (auto& x : in) x = x.astype(compute);
    auto y = (compute == f64 ? wide_ : single_).on(in);
    return d == bf16 && y.dtype() == f32 ? y.astype(bf16) : y;
  }
 private:
  HostOp single_, wide_;
};
/// f as an operation: eager, in jit, under vmap (one call for all elements) and on sharded arrays, where it runs on
/// each rank's block. f takes xtensor expressions of float and of double, element for element: an xt::sum inside is
/// refused when it runs (ValueError). It is a pure function. partials: one lambda for each operand, the derivative of f
/// by it; without any, a derivative throws TraceError. Fractions of the result have the operands' dtype; integers and
/// booleans (v > 0) their own.
template <class F, class... Partials>
auto xt_operation(std::string name, const F& f, const Partials&... partials) {
  constexpr auto n = detail::xt_arity<F>();
  static_assert(n > 0, "xt_operation: the lambda takes xtensor expressions: [](auto x) { return xt::sin(x); }");
  static_assert(sizeof...(Partials) == 0 || sizeof...(Partials) == n,
                "xt_operation: give one partial derivative for each operand, or none");
  static_assert(((detail::xt_arity<Partials>() == n) && ...),
                "xt_operation: the partial derivatives take the operands of the operation");
  constexpr auto each = std::make_index_sequence<n>{};
  auto rule = [&]<class T, std::size_t... I>(T, std::index_sequence<I...>) -> VjpRule {
    if constexpr (sizeof...(Partials) == 0) return {};
    else {
      std::vector<HostOp> parts{custom_op(name + "_partial", detail::xt_definition<T>(name, partials, each))...};
      return [parts](const Array& ct, const typename detail::Repeated<Array, I>::type&... x) {
        return std::array<Array, n>{ct * parts[I](x...).astype(ct.dtype())...};
      };
    }
  };
  auto made = [&]<class T>(T zero) {
    auto definition = detail::xt_definition<T>(name, f, each);
    definition.vjp = rule(zero, each);
    return custom_op(name, std::move(definition));
  };
  return XtOperation<n>(made(0.F), made(0.0));
}
template <class F> auto xt_operation(const F& f) { return xt_operation("xt_operation", f); }
}  // namespace bora
