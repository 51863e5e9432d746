#include "bora/named/random.h"
#include "bora/named/mapping.h"
#include "named/support.h"

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
}  // namespace bora::random
namespace bora {
NamedArray dropout(const Array& key, const NamedArray& x, double rate) {
  return made(dropout(key, x.array(), rate, random::born(x.axes())), x.axes());
}
}  // namespace bora
