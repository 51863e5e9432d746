// Elementwise operations and reductions by name: each calls its positional counterpart on aligned arrays.
#include "bora/ops/creation.h"
#include "bora/ops/functions.h"
#include "bora/ops/print.h"
#include "bora/ops/transform.h"
#include "named/support.h"

namespace bora {
namespace {
template <class F> NamedArray binary(std::string_view what, const NamedArray& a, const NamedArray& b, F f) {
  auto axes = combined(what, a, b);
  return made(f(spread_to(a, axes), spread_to(b, axes)), axes);
}
template <class F> NamedArray reduced(std::string_view what, const NamedArray& x, const AxisNames& names, F f) {
  auto p = positions(what, x, names);
  return made(f(x.array(), Dimensions(p)), without(x.axes(), p));
}
template <class F> NamedArray along(const NamedArray& x, const AxisNames::One& axis, F f) {
  return made(f(x.array(), x.position(axis)), x.axes());
}
template <class F> NamedArray pick(const NamedArray& x, const AxisNames::One& axis, F f) {
  auto p = x.position(axis);
  return made(f(x.array(), p), without(x.axes(), {p}));
}
using A = const Array&;
using N = const NamedArray&;
}  // namespace
#define BORA_UNARY(f) \
  NamedArray f(N x) { return made(f(x.array()), x.axes()); }
BORA_UNARY(exp)
BORA_UNARY(log)
BORA_UNARY(log1p)
BORA_UNARY(expm1)
BORA_UNARY(sqrt)
BORA_UNARY(rsqrt)
BORA_UNARY(square)
BORA_UNARY(abs)
BORA_UNARY(sign)
BORA_UNARY(floor)
BORA_UNARY(round)
BORA_UNARY(sin)
BORA_UNARY(cos)
BORA_UNARY(tanh)
BORA_UNARY(erf)
BORA_UNARY(erfc)
BORA_UNARY(sigmoid)
BORA_UNARY(relu)
BORA_UNARY(silu)
BORA_UNARY(stop_gradient)
BORA_UNARY(isnan)
BORA_UNARY(isfinite)
BORA_UNARY(operator-)
BORA_UNARY(operator!)
#undef BORA_UNARY
NamedArray gelu(N x, const Gelu& o) { return made(gelu(x.array(), o), x.axes()); }
#define BORA_BINARY(f, text)                                     \
  NamedArray f(N a, N b) {                                       \
    return binary(text, a, b, [](A x, A y) { return f(x, y); }); \
  }                                                              \
  NamedArray f(N a, Scalar b) { return made(f(a.array(), b), a.axes()); }
#define BORA_BINARY3(f, text) \
  BORA_BINARY(f, text)        \
  NamedArray f(Scalar a, N b) { return made(f(a, b.array()), b.axes()); }
BORA_BINARY(maximum, "maximum")
BORA_BINARY(minimum, "minimum")
BORA_BINARY(pow, "pow")
BORA_BINARY(operator%, "%")
BORA_BINARY(operator==, "==")
BORA_BINARY(operator!=, "!=")
BORA_BINARY3(operator+, "+")
BORA_BINARY3(operator-, "-")
BORA_BINARY3(operator*, "*")
BORA_BINARY3(operator/, "/")
BORA_BINARY3(operator<, "<")
BORA_BINARY3(operator<=, "<=")
BORA_BINARY3(operator>, ">")
BORA_BINARY3(operator>=, ">=")
#undef BORA_BINARY3
#undef BORA_BINARY
NamedArray operator&&(N a, N b) {
  return binary("&&", a, b, [](A x, A y) { return x && y; });
}
NamedArray operator||(N a, N b) {
  return binary("||", a, b, [](A x, A y) { return x || y; });
}
NamedArray clip(N x, Scalar lo, Scalar hi) { return made(clip(x.array(), lo, hi), x.axes()); }
NamedArray where(N c, N a, N b) {
  std::vector<Axis> axes = combined("where", c, a);
  axes = combined("where", made(c.axes() == axes ? c.array() : a.array(), axes),
                  b);  // the largest axes of the three; values do not matter
  return made(where(spread_to(c, axes), spread_to(a, axes), spread_to(b, axes)), axes);
}
NamedArray where(N c, N a, Scalar b) {
  return binary("where", c, a, [&](A x, A y) { return where(x, y, b); });
}
NamedArray where(N c, Scalar a, N b) {
  return binary("where", c, b, [&](A x, A y) { return where(x, a, y); });
}

#define BORA_REDUCE(f)                                                              \
  NamedArray f(N x) { return made(f(x.array()), {}); }                              \
  NamedArray f(N x, const AxisNames& names) {                                       \
    return reduced(#f, x, names, [](A a, const Dimensions& d) { return f(a, d); }); \
  }
BORA_REDUCE(sum)
BORA_REDUCE(mean)
BORA_REDUCE(var)
BORA_REDUCE(prod)
BORA_REDUCE(amax)
BORA_REDUCE(amin)
BORA_REDUCE(all)
BORA_REDUCE(any)
#undef BORA_REDUCE
NamedArray argmax(N x, const AxisNames::One& a) {
  return pick(x, a, [](A y, std::int64_t d) { return argmax(y, d); });
}
NamedArray argmin(N x, const AxisNames::One& a) {
  return pick(x, a, [](A y, std::int64_t d) { return argmin(y, d); });
}
NamedArray logsumexp(N x, const AxisNames::One& a) {
  return pick(x, a, [](A y, std::int64_t d) { return logsumexp(y, d); });
}
NamedArray cumsum(N x, const AxisNames::One& a) {
  return along(x, a, [](A y, std::int64_t d) { return cumsum(y, d); });
}
NamedArray sort(N x, const AxisNames::One& a) {
  return along(x, a, [](A y, std::int64_t d) { return sort(y, d); });
}
NamedArray argsort(N x, const AxisNames::One& a) {
  return along(x, a, [](A y, std::int64_t d) { return argsort(y, d); });
}
NamedArray softmax(N x, const AxisNames::One& a) {
  return along(x, a, [](A y, std::int64_t d) { return softmax(y, d); });
}
NamedArray log_softmax(N x, const AxisNames::One& a) {
  return along(x, a, [](A y, std::int64_t d) { return log_softmax(y, d); });
}
std::ostream& operator<<(std::ostream& o, N x) { return o << to_string(x.axes()) << " " << x.array(); }
}  // namespace bora
