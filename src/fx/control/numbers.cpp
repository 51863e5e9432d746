// Plain numbers as the first carry of a loop: weak until the body says what becomes of them.
#include "bora/fx/numbers.h"
#include "bora/compile/stage.h"
#include "bora/ops/creation.h"

namespace bora::fx {
namespace {
/// The carry's types behind one round, if there is one with these types.
std::optional<Types> after_round(const FlatFn& body, Types carry, const Types& others) {
  auto n = carry.size();
  carry.insert(carry.end(), others.begin(), others.end());
  Types after;
  try {
    (void)stage(
        [&](const Arrays& in) {
          auto r = body(in);
          after = types_of(r);
          return r;
        },
        carry);
  } catch (const Error&) {
    return none;  // the loop itself reports it, for the types that it has
  }
  if (after.size() < n) return none;
  after.resize(n);
  return after;
}
/// A weak number meets any dtype of its kind without changing it. Two dtypes of that kind which no other one absorbs
/// tell which it met: each stays itself where it met none; else the lesser result is what it met.
struct Probe {
  Dtype a, b;
};
std::optional<Probe> probe(Dtype d) {
  if (d == Dtype::i32) return Probe{Dtype::i8, Dtype::u8};
  if (d == Dtype::f32) return Probe{Dtype::bf16, Dtype::f16};
  return none;
}
}  // namespace

Array number(const Scalar& s) { return constant(s, s.dtype()); }
Types types_of_elements(const Arrays& xs) {
  auto r = types_of(xs);
  for (auto& t : r)
    if (t.ndim() > 0) t.shape.erase(0);
  return r;
}
Arrays weak_carry(const FlatFn& body, Arrays init, const Mask& weak, const Types& others) {
  auto each_weak = [&](auto&& f) {
    for (std::size_t k = 0; k < init.size(); ++k)
      if (weak[k]) f(k);
  };
  auto a = types_of(init), b = a;
  each_weak([&](std::size_t k) {
    if (auto p = probe(a[k].dtype)) a[k].dtype = p->a, b[k].dtype = p->b;
  });
  auto after_a = after_round(body, a, others), after_b = after_round(body, b, others);
  if (after_a && after_b)
    each_weak([&](std::size_t k) {
      auto of_a = (*after_a)[k].dtype, of_b = (*after_b)[k].dtype;
      if (of_a != a[k].dtype || of_b != b[k].dtype)
        init[k] = init[k].astype(promote(of_a, of_b) == of_a ? of_b : of_a);
    });
  // One more round, as JAX makes: what the other numbers of the carry became may reach a number that met none.
  if (auto after = after_round(body, types_of(init), others))
    each_weak([&](std::size_t k) { init[k] = init[k].astype((*after)[k].dtype); });
  return init;
}
}  // namespace bora::fx
