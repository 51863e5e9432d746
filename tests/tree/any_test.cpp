// Laws of tree::Any: whatever it holds, it is the tree that it holds.
#include <gtest/gtest.h>
#include "bora/fx/transforms.h"
#include "bora/io/tree.h"
#include "bora/named/transforms.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/ravel.h"
#include "bora/tree/any.h"
#include "bora/tree/functions.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "bora/named/elementwise.h"

namespace any_test {
namespace {
using namespace bora;
using tree::Any;
struct Norm {
  Array scale;
  static constexpr bool decays(std::string_view) { return false; }
};
struct Linear {
  NamedArray weight;
  std::optional<NamedArray> bias;
  Norm norm;
  double rate = 0.5;
};
struct Owner {
  std::unique_ptr<Array> owned;
  std::map<std::string, Array> by_name;
};
struct Other {  // Linear's paths
  NamedArray weight;
  std::optional<NamedArray> bias;
  Norm norm;
  double rate = 0.5;
};
/// A struct around a tree of any type.
template <class T> struct Around {
  T params;
  Array step;
  static constexpr bool decays(std::string_view field) { return field != "step"; }
};
const Axis kIn{"in", 3}, kOut{"out", 2};
NamedArray values(float first, std::vector<Axis> axes) {
  Shape shape;
  std::int64_t n = 1;
  for (auto& a : axes) {
    shape.push_back(a.size);
    n *= a.size;
  }
  return {reshape(arange(n).astype(f32) + first, shape), std::move(axes)};
}
Linear linear(float x) { return {values(x, {kIn, kOut}), values(x + 9, {kOut}), {full({2}, x)}}; }
tree::Key key_of(tree::Node t) {
  tree::Key k;
  tree::append_key(t, k);
  return k;
}
/// All that is to be seen of a tree is the same with an Any around it.
template <class T> void is_what_it_holds(const T& held) {
  Around<T> plain{tree::clone(held), array(1.f)};
  Around<Any> any{Any(tree::clone(held)), array(1.f)};
  EXPECT_EQ(tree::paths(any), tree::paths(plain));
  EXPECT_EQ(tree::paths(any.params), tree::paths(held));
  EXPECT_EQ(tree::decays(tree::node(any)), tree::decays(tree::node(plain)));
  auto a = tree::leaves(any), b = tree::leaves(plain);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(array_equal(a[i], b[i]));
  // New leaves and back.
  auto doubled = tree::map([](const Array& x) { return x + x; }, any);
  auto& inside = doubled.params.template get<T>();
  EXPECT_TRUE(tree::equal(inside, tree::map([](const Array& x) { return x + x; }, held)));
  EXPECT_TRUE(tree::equal(tree::unflatten(any, tree::leaves(doubled)).params.template get<T>(), inside));
  EXPECT_TRUE(tree::equal(any.params.template get<T>(), held));  // a copy was changed, not this one
  auto copy = any;
  for (auto& slot : tree::slots(tree::node(copy))) slot.leaf.set(Array());
  EXPECT_EQ(tree::count_leaves(tree::node(copy)), 0u);
  EXPECT_TRUE(tree::equal(any.params.template get<T>(), held));
  EXPECT_EQ(key_of(tree::node(any)), key_of(tree::node(tree::clone(any))));
  EXPECT_NE(key_of(tree::node(any)), key_of(tree::node(doubled = {Any(), array(1.f)})));
}
TEST(Any, IsTheTreeThatItHolds) {
  is_what_it_holds(linear(1));
  is_what_it_holds(array({1.f, 2.f}));
  is_what_it_holds(std::vector<Linear>{linear(1), linear(2)});
  is_what_it_holds(std::map<std::string, Linear>{{"b", linear(1)}, {"a", linear(2)}});
  is_what_it_holds(std::tuple{array(1.f), std::optional<Array>(), linear(3)});
  is_what_it_holds(Owner{std::make_unique<Array>(array(1.f)), {{"x", array(2.f)}}});
  is_what_it_holds(Around<Any>{Any(linear(1)), array(2.f)});  // one inside another
}
TEST(Any, FilesDoNotShowIt) {
  test::TempFolder temp;
  auto folder = temp / "tree";
  save_tree(folder, Around<Any>{Any(linear(1)), array(1.f)});
  EXPECT_TRUE(tree::equal(load_tree(folder, Around<Linear>{linear(2), array(0.f)}).params, linear(1)));
  auto back = load_tree(folder, Around<Any>{Any(linear(3)), array(0.f)});
  EXPECT_TRUE(tree::equal(back.params.get<Linear>(), linear(1)));
}
TEST(Any, TypeAndStaticsBelongToTheStructure) {
  auto l = linear(1);
  Any a(l), b(Other{l.weight, l.bias, l.norm}), c(l);
  EXPECT_EQ(tree::paths(a), tree::paths(b));
  EXPECT_EQ(key_of(tree::node(a)), key_of(tree::node(c)));
  EXPECT_NE(key_of(tree::node(a)), key_of(tree::node(b)));
  c.get<Linear>().rate = 0.25;
  EXPECT_NE(key_of(tree::node(a)), key_of(tree::node(c)));
  c = Any(l);
  c.get<Linear>().bias.reset();
  EXPECT_NE(key_of(tree::node(a)), key_of(tree::node(c)));
  auto difference = tree::first_difference(tree::node(a), tree::node(b), tree::Same::structure);
  EXPECT_TRUE(difference.find("Linear and ") != std::string::npos && difference.ends_with("Other")) << difference;
  EXPECT_EQ(key_of(tree::node(Any())), key_of(tree::node(Any())));
}
TEST(Any, NamesTheTypesOfAWrongGet) {
  test::says<ValueError>([] { (void)Any(linear(1)).get<Norm>(); }, "Linear, not ");
  test::says<ValueError>([] { (void)Any().get<Norm>(); }, "it holds nothing, not ");
}
TEST(Any, OwnsCopiesOfWhatPointersOwn) {
  Any a(Owner{std::make_unique<Array>(array(1.f)), {}});
  auto b = a;
  *b.get<Owner>().owned = array(2.f);
  EXPECT_EQ(a.get<Owner>().owned->item<float>(), 1);
  a = b;
  *b.get<Owner>().owned = array(3.f);
  EXPECT_EQ(a.get<Owner>().owned->item<float>(), 2);
  auto moved = std::move(b);
  EXPECT_EQ(moved.get<Owner>().owned->item<float>(), 3);
  EXPECT_TRUE(b.type() == typeid(void));
}
NamedArray loss_of(const Linear& m, const NamedArray& x) {
  auto y = dot(x, m.weight, "in") + *m.bias;
  return sum(y * y) * static_cast<float>(m.rate) + NamedArray(sum(m.norm.scale), {});
}
template <class T> NamedArray loss(const Around<T>& m, const NamedArray& x) {
  if constexpr (std::is_same_v<T, Any>) return loss_of(m.params.template get<Linear>(), x);
  else return loss_of(m.params, x);
}
TEST(Any, GradientsAreThoseOfTheTypedTree) {
  auto x = values(1, {{"batch", 4}, kIn});
  auto [want, g] = value_and_grad(loss<Linear>)(Around<Linear>{linear(1), array(1.f)}, x);
  auto [got, h] = value_and_grad(loss<Any>)(Around<Any>{Any(linear(1)), array(1.f)}, x);
  EXPECT_TRUE(array_equal(got.array(), want.array()));
  EXPECT_TRUE(tree::equal(h.params.get<Linear>(), g.params));
}
TEST(Any, JitStagesOnceForEachTypeAndItsStatics) {
  auto x = values(1, {{"batch", 4}, kIn});
  auto step = jit([](const Around<Any>& m, const NamedArray& x) {
    auto next = m;
    if (m.params.type() == typeid(Other)) return std::pair{next, NamedArray(m.step, {})};
    next.params.get<Linear>().norm.scale = m.params.get<Linear>().norm.scale * 2;
    return std::pair{next, loss(m, x)};
  });
  auto l = linear(1);
  Around<Any> m{Any(l), array(1.f)};
  auto want = loss(m, x);
  auto first = step(m, x);
  EXPECT_TRUE(allclose(first.second.array(), want.array()));
  EXPECT_TRUE(array_equal(first.first.params.get<Linear>().norm.scale, full({2}, 2)));
  auto second = step(std::move(first.first), x);  // given up: its leaves are, too
  EXPECT_EQ(tree::count_leaves(tree::node(first.first)), 0u);
  EXPECT_TRUE(array_equal(second.first.params.get<Linear>().norm.scale, full({2}, 4)));
  EXPECT_EQ(step.traces(), 1);
  auto slow = m;
  slow.params.get<Linear>().rate = 0.25;
  EXPECT_LT(step(slow, x).second.item<float>(), want.item<float>());
  EXPECT_EQ(step.traces(), 2);
  EXPECT_EQ(step(Around<Any>{Any(Other{l.weight, l.bias, l.norm}), array(7.f)}, x).second.item<float>(), 7);
  EXPECT_EQ(step.traces(), 3);
}
TEST(Any, NamedTransformsGoThroughIt) {
  Axis batch{"batch", 4};
  Linear stacked{values(0, {kIn, batch, kOut}), values(1, {kOut, batch}), {full({2}, 3)}};
  auto x = values(1, {batch, kIn});
  auto want = vmap(loss<Linear>, batch)(Around<Linear>{stacked, array(1.f)}, x);
  auto got = vmap(loss<Any>, batch)(Around<Any>{Any(stacked), array(1.f)}, x);
  EXPECT_EQ(got.axes(), want.axes());
  EXPECT_TRUE(array_equal(got.array(), want.array()));
  auto doubled = vmap([](const Any& m) { return tree::map([](const Array& a) { return a * 2; }, m); }, batch);
  auto typed = vmap([](const Linear& m) { return tree::map([](const Array& a) { return a * 2; }, m); }, batch);
  EXPECT_TRUE(tree::equal(doubled(Any(stacked)).get<Linear>().weight, typed(stacked).weight));
  auto body = [](const Any& carry, const NamedArray& row) {
    auto next = carry;
    next.get<Linear>().bias = *carry.get<Linear>().bias * 0.5 + sum(row);
    return std::pair{next, none};
  };
  auto typed_body = [](const Linear& carry, const NamedArray& row) {
    auto next = carry;
    next.bias = *carry.bias * 0.5 + sum(row);
    return std::pair{next, none};
  };
  EXPECT_TRUE(tree::equal(scan(body, batch)(Any(linear(1)), x).first.get<Linear>(),
                          scan(typed_body, batch)(linear(1), x).first));
}
static_assert(tree::Tree<Any> && tree::copyable<Any> && !tree::positional<Around<Any>>);
static_assert(fields::count<Around<Any>> == 2);
}  // namespace
}  // namespace any_test
