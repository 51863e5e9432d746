#include "bora/named/random.h"
#include "bora/named/mapping.h"
#include "bora/ops/creation.h"
#include "bora/random/random.h"
#include "named/api/support.h"
#include "bora/named/by_name.h"
#include "bora/named/index.h"

namespace bora::random {
namespace {
DrawOptions born(const Axes& axes) { return {.spec = spec_for(axes.list(), current_mapping())}; }
}  // namespace
NamedArray bits(const Array& k, const Axes& a, Dtype d) {
  return made(bits(k, shape_of(a.list()), d, born(a)), a.list());
}
NamedArray uniform(const Array& k, const Axes& a, Dtype d, Scalar lo, Scalar hi) {
  return made(uniform(k, shape_of(a.list()), d, lo, hi, born(a)), a.list());
}
NamedArray normal(const Array& k, const Axes& a, Dtype d) {
  return made(normal(k, shape_of(a.list()), d, born(a)), a.list());
}
NamedArray truncated_normal(const Array& k, double lo, double hi, const Axes& a, Dtype d) {
  return made(truncated_normal(k, lo, hi, shape_of(a.list()), d, born(a)), a.list());
}
NamedArray bernoulli(const Array& k, double p, const Axes& a) {
  return made(bernoulli(k, p, shape_of(a.list()), born(a)), a.list());
}
NamedArray randint(const Array& k, const Axes& a, std::int64_t lo, std::int64_t hi, Dtype d) {
  return made(randint(k, shape_of(a.list()), lo, hi, d, born(a)), a.list());
}
NamedArray gumbel(const Array& k, const Axes& a, Dtype d) {
  return made(gumbel(k, shape_of(a.list()), d, born(a)), a.list());
}
NamedArray exponential(const Array& k, const Axes& a, Dtype d) {
  return made(exponential(k, shape_of(a.list()), d, born(a)), a.list());
}
NamedArray categorical(const Array& k, const NamedArray& logits, const AxisNames::One& axis) {
  auto p = logits.position(axis);
  return made(categorical(k, logits.array(), p, none, born(logits.axes())), without(logits.axes(), {p}));
}
NamedArray categorical(const Array& k, const NamedArray& logits, const AxisNames::One& axis, const Axes& axes) {
  auto p = require_axis("categorical", logits.axes(), axis);
  // The batch axes come last, as the positional draw wants them; the draws are moved afterwards.
  auto batch = without(logits.axes(), {p});
  std::vector<Axis> order;
  for (auto& a : axes)
    if (find_axis(batch, a.name) < 0) order.push_back(a);
  for (auto& b : batch) {
    (void)require_axis("categorical", axes.list(), b);
    order.push_back(b);
  }
  CategoricalOptions o{.axis = p, .shape = shape_of(order)};
  auto draw = born(order);  // of the noise, which has the categories too
  draw.spec.insert(order.size() - batch.size() + static_cast<std::size_t>(p), {});
  return aligned(made(categorical(k, logits.array(), o, draw), order), axes.list());
}

namespace {
/// A parameter over all axes of the draw.
Parameter over(std::string_view what, const NamedOperand& x, const std::vector<Axis>& axes) {
  if (!x.array.defined()) {
    auto& n = x.number;
    check<DtypeError>(n.kind != Scalar::Kind::complex, what, ": a parameter is a real number");
    return n.integral() ? Parameter(n.integer) : Parameter(n.value);
  }
  for (auto& a : x.array.axes()) (void)require_axis(what, axes, a);
  return Parameter(spread_to(x.array, axes));
}
Array as_array(const Parameter& p, Dtype d) { return p.is_number ? full_of({{}, d}, p.number) : p.array; }
}  // namespace
NamedArray uniform(const Array& k, const Axes& a, const NamedOperand& lo, const NamedOperand& hi, Dtype d) {
  auto low = as_array(over("uniform", lo, a.list()), d), high = as_array(over("uniform", hi, a.list()), d);
  return made(uniform(k, shape_of(a.list()), d, low, high, born(a)), a.list());
}
NamedArray randint(const Array& k, const Axes& a, const NamedOperand& lo, const NamedOperand& hi, Dtype d) {
  auto low = over("randint", lo, a.list()), high = over("randint", hi, a.list());  // may lie outside of the dtype
  return made(randint(k, shape_of(a.list()), low, high, d, born(a)), a.list());
}
NamedArray bernoulli(const Array& k, const NamedArray& p, const Axes& a) {
  return made(bernoulli(k, over("bernoulli", p, a.list()).array, shape_of(a.list()), born(a)), a.list());
}
NamedArray truncated_normal(const Array& k, const NamedOperand& lo, const NamedOperand& hi, const Axes& a, Dtype d) {
  auto low = as_array(over("truncated_normal", lo, a.list()), d);
  auto high = as_array(over("truncated_normal", hi, a.list()), d);
  return made(truncated_normal(k, low, high, shape_of(a.list()), d, born(a)), a.list());
}
#define PLAIN(f) \
  NamedArray f(const Array& k, const Axes& a, Dtype d) { return made(f(k, shape_of(a.list()), d, born(a)), a.list()); }
PLAIN(laplace)
PLAIN(logistic)
PLAIN(cauchy)
PLAIN(maxwell)
PLAIN(rademacher)
#define OF_ONE(f)                                                                                   \
  NamedArray f(const Array& k, const Axes& a, const NamedOperand& p, Dtype d) {                     \
    return made(f(k, over(#f, p, a.list()), shape_of(a.list()), d, born(a)), a.list());             \
  }
OF_ONE(chisquare)
OF_ONE(t)
OF_ONE(pareto)
OF_ONE(lognormal)
OF_ONE(rayleigh)
OF_ONE(poisson)
OF_ONE(geometric)
#define OF_ARRAY(f)                                                                                 \
  NamedArray f(const Array& k, const Axes& a, const NamedOperand& p, Dtype d) {                     \
    return made(f(k, as_array(over(#f, p, a.list()), d), shape_of(a.list()), d, born(a)), a.list()); \
  }
OF_ARRAY(gamma)
OF_ARRAY(loggamma)
#undef PLAIN
#undef OF_ONE
#undef OF_ARRAY
NamedArray beta(const Array& k, const Axes& a, const NamedOperand& x, const NamedOperand& y, Dtype d) {
  return made(beta(k, over("beta", x, a.list()), over("beta", y, a.list()), shape_of(a.list()), d, born(a)), a.list());
}
NamedArray weibull_min(const Array& k, const Axes& a, const NamedOperand& scale, const NamedOperand& c, Dtype d) {
  return made(weibull_min(k, over("weibull_min", scale, a.list()), over("weibull_min", c, a.list()), shape_of(a.list()),
                          d, born(a)),
              a.list());
}
NamedArray binomial(const Array& k, const Axes& a, const NamedOperand& n, const NamedOperand& p, Dtype d) {
  return made(binomial(k, over("binomial", n, a.list()), over("binomial", p, a.list()), shape_of(a.list()), d, born(a)),
              a.list());
}
NamedArray ball(const Array& k, const Axes& a, const Axis& vector, const NamedOperand& p, Dtype d) {
  auto axes = a.list();
  check<AxisError>(find_axis(axes, vector.name) < 0, "ball: axis '", vector.name, "' is named twice");
  auto draw = born(a);  // says nothing of the vectors, which are whole
  auto norm = over("ball", p, axes);
  axes.push_back(vector);
  return made(ball(k, vector.size, norm, shape_of(a.list()), d, draw), axes);
}

NamedArray permutation(const Array& k, const NamedArray& x, const AxisNames::One& axis, bool independent) {
  auto p = require_axis("permutation", x.axes(), axis);
  return made(permutation(k, x.array(), {.axis = p, .independent = independent}), x.axes());
}
NamedArray choice(const Array& k, const Axes& a, const NamedArray& x, const AxisNames::One& axis,
                  const NamedChoice& o) {
  auto p = require_axis("choice", x.axes(), axis);
  auto& along = x.axes()[static_cast<std::size_t>(p)];
  ChoiceOptions options{.replace = o.replace, .axis = p};
  if (o.p.defined()) {
    check<AxisError>(o.p.axes() == std::vector<Axis>{along}, "choice: the probabilities ", to_string(o.p.axes()),
                     " have one number for each position of ", along.name, ":", along.size);
    options.p = o.p.array();
  }
  auto axes = x.axes();
  axes.erase(axes.begin() + p);
  axes.insert(axes.begin() + p, a.begin(), a.end());
  return {choice(k, x.array(), shape_of(a.list()), options), axes};
}
std::vector<std::optional<Array>> maybe_rng_split(const std::optional<Array>& key, std::int64_t n) {
  std::vector<std::optional<Array>> r(static_cast<std::size_t>(n));
  if (!key) return r;
  auto keys = split(*key, n);
  for (std::int64_t i = 0; i < n; ++i) r[static_cast<std::size_t>(i)] = detail::element(keys, i);
  return r;
}
}  // namespace bora::random
namespace bora {
NamedArray dropout(const Array& key, const NamedArray& x, double rate) {
  return made(dropout(key, x.array(), rate, random::born(x.axes())), x.axes());
}
}  // namespace bora
