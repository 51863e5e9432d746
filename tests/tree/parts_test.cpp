// Every kind of member of a tree, and the functions of trees as a whole.
#include <gtest/gtest.h>
#include "bora/fx/transforms.h"
#include "bora/io/tree.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/ravel.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "bora/tree/functions.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace parts_test {
namespace {
using namespace bora;
struct Linear {
  Array weight, bias;
};
class Counter {
 public:
  Counter() = default;
  explicit Counter(Array n) : n_(std::move(n)) {}
  const Array& n() const { return n_; }
 private:
  Array n_;
  int steps_ = 3;
 public:
  using members = MemberList<&Counter::n_, &Counter::steps_>;
};
struct Chain {
  Array value;
  std::unique_ptr<Chain> next;
};
using Either = std::variant<std::monostate, Array, Linear>;
enum class Side { left, right };
Linear linear(float x) { return {full({2, 2}, x), full({2}, x / 2)}; }

/// One of each kind.
struct Everything {
  Array leaf;
  Linear module;
  Counter listed;
  std::vector<Linear> vector;
  std::array<Array, 2> array;
  std::map<std::string, Array> by_name;
  std::map<int, Array> by_number;
  std::map<Side, Array> by_enum;
  std::optional<Array> present, absent;
  std::pair<Array, int> pair;
  std::tuple<Array, Linear> tuple;
  Either alternative, other, nothing;
  std::unique_ptr<Array> owned;
  Chain chain;
  double number = 2.5;
  std::string text = "t";
};
Everything everything() {
  auto x = [i = 0.f]() mutable { return full({2}, ++i); };
  Everything e{.leaf = x(), .module = linear(1), .listed = Counter(x()), .vector = {}, .array = {x(), x()},
               .by_name = {{"b", x()}, {"a", x()}}, .by_number = {{10, x()}, {9, x()}},
               .by_enum = {{Side::right, x()}}, .present = x(), .absent = none, .pair = {x(), 4},
               .tuple = {x(), linear(2)}, .alternative = x(), .other = linear(3), .nothing = {},
               .owned = std::make_unique<Array>(x()), .chain = {x(), nullptr}};
  e.vector.push_back(linear(4));
  e.chain.next = std::make_unique<Chain>(Chain{x(), std::make_unique<Chain>(Chain{x(), nullptr})});
  return e;
}
static_assert(!tree::copyable<Everything> && !tree::copyable<Chain> && !tree::copyable<std::vector<Chain>>);
static_assert(tree::copyable<Linear> && tree::copyable<Counter> && tree::copyable<std::map<int, Linear>>);

TEST(Parts, PathsNameEveryKindOfMember) {
  EXPECT_EQ(tree::paths(everything()),
            (std::vector<std::string>{"leaf", "module.weight", "module.bias", "listed.n", "vector.0.weight",
                                      "vector.0.bias", "array.0", "array.1", "by_name.a", "by_name.b", "by_number.9",
                                      "by_number.10", "by_enum.1", "present", "pair.0", "tuple.0", "tuple.1.weight",
                                      "tuple.1.bias", "alternative", "other.weight", "other.bias", "owned",
                                      "chain.value", "chain.next.value", "chain.next.next.value"}));
}
TEST(Parts, UnflattenCloneAndMapKeepTheStructure) {
  auto e = everything();
  auto doubled = tree::map([](const Array& x) { return x * 2; }, e);
  auto back = tree::unflatten(e, tree::map_leaves([](const Array& x) { return x * 0.5; }, doubled));
  EXPECT_TRUE(tree::equal(e, back));
  EXPECT_FALSE(tree::equal(e, doubled));
  auto copy = tree::clone(e);
  EXPECT_TRUE(tree::equal(e, copy));
  *copy.owned = *copy.owned * 3;
  copy.chain.next->value = copy.chain.value;
  EXPECT_FALSE(tree::equal(e, copy));
  EXPECT_TRUE(tree::equal(e, back));  // a copy shares nothing that a pointer owns
}
TEST(Parts, AlternativesAndPointersBelongToTheStructure) {
  auto key = [](const auto& t) {
    tree::Key k;
    tree::append_key(tree::node(t), k);
    return k;
  };
  auto a = everything(), b = everything();
  EXPECT_EQ(key(a), key(b));
  b.nothing = full({2}, 1);
  EXPECT_NE(key(a), key(b));
  EXPECT_NE(tree::structure(a), tree::structure(b));
  b = everything();
  b.chain.next->next.reset();
  EXPECT_NE(key(a), key(b));
  EXPECT_NE(tree::first_difference(tree::node(a), tree::node(b), tree::Same::structure), "");
  b = everything();
  b.other = Array(full({2}, 1));
  EXPECT_NE(tree::structure(a), tree::structure(b));
}
Array total(const Everything& e) {
  Array s = array(0.f);
  for (auto& x : tree::leaves(e)) s = s + sum(square(x));
  return s * e.number;
}
TEST(Parts, GradJitAndVmapTakeEveryKind) {
  auto e = everything();
  auto g = grad(total)(e);
  EXPECT_TRUE(tree::equal(g, tree::map([](const Array& x) { return 5 * x; }, e), {.rtol = 1e-6}));
  auto step = jit([](const Everything& m) { return tree::map([](const Array& x) { return x + 1; }, m); });
  auto want = tree::map([](const Array& x) { return x + 1; }, e);
  EXPECT_TRUE(tree::equal(step(e), want));
  EXPECT_TRUE(tree::equal(step(std::move(e)), want));  // given up, and staged no second time
  EXPECT_EQ(step.traces(), 1);
  auto stacked = tree::map([](const Array& x) { return stack({x, 2 * x}); }, want);
  auto sums = vmap([](const Everything& m) { return total(m); })(stacked);
  EXPECT_TRUE(allclose(sums, stack({total(want), 4 * total(want)})));
}
TEST(Parts, ScanCarriesAndFilesHoldEveryKind) {
  auto e = everything();
  auto last = scan([](const Everything& m, const Array& x) {
    return std::pair{tree::map([&](const Array& a) { return a + x; }, m), none};
  }, e, array({1.f, 2.f})).first;
  EXPECT_TRUE(tree::equal(last, tree::map([](const Array& x) { return x + 3; }, e)));
  test::TempFolder temp;
  auto folder = temp / "tree";
  save_tree(folder, last);
  EXPECT_TRUE(tree::equal(load_tree(folder, tree::clone(e)), last));
}
struct Wide {
  Array a00, a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21;
  Array a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43;
  Array a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63;
};
TEST(Parts, StructsHaveUpTo64Members) {
  Wide w;
  w.a63 = array(1.f);
  w.a40 = array(2.f);
  EXPECT_EQ(tree::paths(w), (std::vector<std::string>{"a40", "a63"}));
  EXPECT_EQ(fields::count<Wide>, 64u);
}

TEST(TreeFunctions, LeavesGiveOtherTypes) {
  auto m = linear(1);
  EXPECT_EQ(tree::map_leaves([](const Array& x) { return x.size(); }, m), (std::vector<std::int64_t>{4, 2}));
  struct Same {
    std::optional<Array> weight, bias;
  } same{m.weight, 2 * m.bias};  // another type with the same paths
  auto products = tree::map_leaves([](const Array& x, const Array& y) { return sum(x * y).item<float>(); }, m, same);
  EXPECT_EQ(products, (std::vector<float>{4, 1}));
  auto map = [&](const auto& t) { return tree::map_leaves([](const Array&, const Array&) { return 0; }, m, t); };
  EXPECT_MESSAGE(ValueError, map(std::pair{m.weight, m.bias}), "'weight' in the first is at the place of '0'");
  EXPECT_TRUE(tree::all([](const Array& x) { return x.ndim() > 0; }, m));
  EXPECT_TRUE(tree::any([](const Array& x) { return x.ndim() == 1; }, m));
  EXPECT_FALSE(tree::any([](const Array& x) { return x.ndim() == 3; }, m));
}
TEST(TreeFunctions, StructureComparesAndPrints) {
  auto s = tree::structure(linear(1)), t = tree::structure(linear(2));
  EXPECT_EQ(s, t);
  EXPECT_EQ(s.hash(), t.hash());
  EXPECT_EQ(s.leaf_count(), 2u);
  EXPECT_NE(tree::structure(Linear{full({3}, 1), full({2}, 1)}, tree::Same::types),
            tree::structure(linear(1), tree::Same::types));
  EXPECT_EQ(tree::to_text(linear(1)), "weight  f32[2, 2]\nbias    f32[2]\n");
}
TEST(TreeFunctions, TransposeTurnsATreeOfTreesInsideOut) {
  std::pair<Linear, Linear> two{linear(1), linear(2)};
  struct Turned {
    std::pair<Array, Array> weight, bias;
  };
  Turned like{{two.first.weight, two.first.weight}, {two.first.bias, two.first.bias}};
  std::pair<Array, Array> outer{array(0.f), array(0.f)};
  auto t = tree::transpose(outer, two, like);
  EXPECT_TRUE(array_equal(t.weight.second, two.second.weight) && array_equal(t.bias.first, two.first.bias));
  Linear inner = linear(0);
  EXPECT_TRUE(tree::equal(tree::transpose(inner, t, two), two));
  EXPECT_MESSAGE(ValueError, tree::transpose(outer, linear(1), like), "no leaf of the tree belongs at 'weight.0'");
  EXPECT_MESSAGE(ValueError, tree::transpose(outer, two, like.weight), "no leaf of the tree belongs at '0'");
}
TEST(TreeFunctions, BroadcastFollowsPaths) {
  auto m = std::pair{linear(1), linear(2)};
  auto t = tree::broadcast(std::pair{array(5.f), array(6.f)}, m);
  EXPECT_EQ(t.first.bias.item<float>() + t.second.weight.item<float>(), 11);
  EXPECT_EQ(tree::broadcast(array(7.f), m).second.bias.item<float>(), 7);
  EXPECT_MESSAGE(ValueError, tree::broadcast(std::tuple{array(5.f)}, m), "no leaf of the prefix leads to '1.weight'");
}
TEST(TreeFunctions, RavelIsAVectorAndBack) {
  std::tuple m{array({1, 2, 3}), full({2, 2}, 0.5), array({true, false})};
  auto raveled = tree::ravel(m);
  auto& [flat, unravel] = raveled;
  EXPECT_EQ(flat.to_vector<float>(), (std::vector<float>{1, 2, 3, .5, .5, .5, .5, 1, 0}));
  EXPECT_TRUE(tree::equal(unravel(flat), m));
  EXPECT_EQ(std::get<2>(unravel(flat)).dtype(), Dtype::boolean);
  EXPECT_MESSAGE(ShapeError, raveled.second(zeros({4})), "9 elements, the vector is f32[4]");
  auto [nothing, empty] = tree::ravel(std::vector<Linear>{});
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_TRUE(empty(nothing).empty());
  auto f = [](const Linear& l) { return sum(square(l.weight)) + 3 * sum(l.bias); };
  auto [v, back] = tree::ravel(linear(1));
  auto g = grad([&, back = back](const Array& x) { return f(back(x)); })(v);
  EXPECT_TRUE(tree::equal(back(g), grad(f)(linear(1))));
  auto h = grad([&](const Linear& l) { return sum(square(tree::ravel(l).first)); })(linear(1));
  EXPECT_TRUE(tree::equal(h, tree::map([](const Array& x) { return 2 * x; }, linear(1))));
}
TEST(TreeFunctions, AtReachesMembersElementsAndEntries) {
  auto e = everything();
  auto x = full({2}, 9);
  EXPECT_TRUE(array_equal(tree::at(e, &Everything::module, &Linear::bias).set(x).module.bias, x));
  EXPECT_TRUE(array_equal(tree::at(e, &Everything::vector, 0, &Linear::weight).set(x).vector[0].weight, x));
  EXPECT_TRUE(array_equal(tree::at(e, &Everything::by_name, "a").set(x).by_name["a"], x));
  EXPECT_TRUE(array_equal(tree::at(e, &Everything::by_number, 9).set(x).by_number[9], x));
  EXPECT_TRUE(array_equal(*tree::at(e, &Everything::owned).set(std::make_unique<Array>(x)).owned, x));
  EXPECT_TRUE(array_equal(tree::at(e, &Everything::chain, &Chain::next, &Chain::value).set(x).chain.next->value, x));
  EXPECT_EQ(tree::at(e, &Everything::number).apply([](double d) { return d + 1; }).number, 3.5);
  EXPECT_TRUE(tree::equal(e, everything()));  // the tree itself stays
  EXPECT_MESSAGE(ValueError, tree::at(e, &Everything::vector, 1, &Linear::weight).set(x), "no element 1 among 1");
  EXPECT_MESSAGE(ValueError, tree::at(e, &Everything::vector, -1, &Linear::weight).get(), "among 1");
  EXPECT_MESSAGE(ValueError, tree::at(e, &Everything::by_name, "c").set(x), "no entry 'c'");
  EXPECT_MESSAGE(ValueError, tree::at(e, &Everything::by_number, 3).set(x), "no entry '3'");
  EXPECT_TRUE(array_equal(std::get<1>(tree::with_leaf(e, "tuple.1.bias", x).tuple).bias, x));
  EXPECT_MESSAGE(ValueError, tree::with_leaf(e, "tuples.1.bias", x),
                 "no leaf 'tuples.1.bias' among 25; one is 'module.bias'");
}
TEST(TreeFunctions, SubtreesOfOneType) {
  auto e = everything();
  EXPECT_EQ(tree::subtrees<Linear>(e).size(), 4u);
  auto f = tree::map_subtrees<Linear>([](const Linear& l) { return Linear{l.weight + 1, l.bias}; }, e);
  EXPECT_TRUE(array_equal(f.vector[0].weight, e.vector[0].weight + 1));
  EXPECT_TRUE(array_equal(std::get<Linear>(f.other).weight, std::get<Linear>(e.other).weight + 1));
  EXPECT_TRUE(array_equal(f.leaf, e.leaf) && array_equal(f.module.bias, e.module.bias));
}
}  // namespace
}  // namespace parts_test
