// Trees: leaves, paths, structure, errors.
#include "bora/ops/ufuncs.h"
#include "bora/tree/tree.h"
#include <gtest/gtest.h>
#include "bora/ops/ops.h"
#include "support/throws.h"

namespace tree_test {
namespace {
using namespace bora;
enum class Mode { train, eval };
struct Dense {
  Array weight;
  std::optional<Array> bias;
};
struct Net {
  Dense up, down;
  float scale = 1;
  Mode mode = Mode::train;
  std::string name = "net";
  std::vector<Dense> layers;
  std::array<Array, 2> two;
  std::map<std::string, Array> more;
  std::pair<Array, std::tuple<Array, int>> nested;
};
struct Tree {
  Array value;
  std::vector<Tree> children;
};
struct Empty {};
struct Window {
  int size = 3;
  std::vector<int> strides = {1, 2};
};
struct Hashed {  // equal hashes, different values
  int size = 3, more = 0;
  bool operator==(const Hashed&) const = default;
};
class Opaque {
 public:
  explicit Opaque(int x) : x_(x) {}
  bool operator==(const Opaque&) const = default;
 private:
  int x_;
};
}  // namespace
}  // namespace tree_test
template <> inline constexpr bool bora::is_static<tree_test::Window> = true;
template <> inline constexpr bool bora::is_static<tree_test::Hashed> = true;
template <> inline constexpr bool bora::is_static<tree_test::Opaque> = true;
template <> struct std::hash<tree_test::Hashed> {
  std::size_t operator()(const tree_test::Hashed&) const { return 1; }
};
template <> struct std::hash<tree_test::Opaque> {
  std::size_t operator()(const tree_test::Opaque&) const { return 1; }
};

namespace tree_test {
namespace {
struct WithStatic {
  Array a;
  Window w;
};
Array number(float x) { return array(x); }
Net example() {
  Net n;
  n.up = {number(1), number(2)};
  n.down = {number(3), none};
  n.layers = {{number(4), none}, {number(5), number(6)}};
  n.two = {number(7), number(8)};
  n.more = {{"b", number(10)}, {"a", number(9)}};
  n.nested = {number(11), {number(12), 4}};
  return n;
}
std::vector<float> values(const Arrays& a) {
  std::vector<float> r;
  for (auto& x : a) r.push_back(x.item<float>());
  return r;
}
template <class T> tree::Key key_of(const T& t) {
  tree::Key k;
  tree::append_key(tree::node(t), k);
  return k;
}

TEST(Tree, LeavesComeInOrderOfDeclaration) {
  EXPECT_EQ(values(tree::leaves(example())), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(tree::leaves(Empty{}).size(), 0u);
  EXPECT_EQ(tree::leaves(none).size(), 0u);
}
TEST(Tree, PathsNameFieldsElementsAndEntries) {
  EXPECT_EQ(tree::paths(example()), (std::vector<std::string>{"up.weight", "up.bias", "down.weight", "layers.0.weight",
                                                              "layers.1.weight", "layers.1.bias", "two.0", "two.1",
                                                              "more.a", "more.b", "nested.0", "nested.1.0"}));
  EXPECT_EQ(tree::paths(number(1)), std::vector<std::string>{""});
  EXPECT_EQ(tree::paths(Tree{number(1), {{number(2), {{number(3), {}}}}}}),
            (std::vector<std::string>{"value", "children.0.value", "children.0.children.0.value"}));
  struct Local {
    Array a;
  };  // a struct inside a function has names too
  EXPECT_EQ(tree::paths(Local{number(1)}), std::vector<std::string>{"a"});
}
TEST(Tree, UnflattenIsTheInverseOfFlatten) {
  auto n = example();
  auto l = tree::leaves(n);
  for (auto& a : l) a = a * 10;
  auto m = tree::unflatten(n, l);
  EXPECT_EQ(values(tree::leaves(m)), values(l));
  EXPECT_EQ(m.name, "net");
  EXPECT_EQ(n.up.weight.item<float>(), 1);
  l.pop_back();
  test::says<ValueError>([&] { (void)tree::unflatten(n, l); }, "12 leaves but there are 11");
}
TEST(Tree, EmptyArraysAreNoLeaves) {
  auto n = example();
  n.up.weight = Array();
  EXPECT_EQ(tree::leaves(n).size(), 11u);
  EXPECT_EQ(tree::paths(n).front(), "up.bias");
  auto m = tree::unflatten(n, tree::leaves(n));
  EXPECT_FALSE(m.up.weight.defined());
  EXPECT_FALSE(key_of(n) == key_of(example()));
}
TEST(Tree, KeyHasStructureStaticsAndTypesAndNothingElse) {
  auto k = key_of(example());
  EXPECT_TRUE(k == key_of(example()));
  EXPECT_EQ(k.hash(), key_of(example()).hash());
  auto other = [&](auto change) {
    auto n = example();
    change(n);
    return !(key_of(n) == k);
  };
  EXPECT_FALSE(other([](Net& n) { n.up.weight = number(-5); }));
  EXPECT_TRUE(other([](Net& n) { n.scale = 2; }));
  EXPECT_TRUE(other([](Net& n) { n.mode = Mode::eval; }));
  EXPECT_TRUE(other([](Net& n) { n.name = "neT"; }));
  EXPECT_TRUE(other([](Net& n) { n.down.bias = number(0); }));
  EXPECT_TRUE(other([](Net& n) { n.up.bias = none; }));
  EXPECT_TRUE(other([](Net& n) { n.layers.pop_back(); }));
  EXPECT_TRUE(other([](Net& n) { n.more["c"] = number(0); }));
  EXPECT_TRUE(other([](Net& n) {
    auto node = n.more.extract("a");
    node.key() = "aa";
    n.more.insert(std::move(node));
  }));
  EXPECT_TRUE(other([](Net& n) { std::get<1>(n.nested.second) = 5; }));
  EXPECT_TRUE(other([](Net& n) { n.up.weight = number(1).astype(bf16); }));
  EXPECT_TRUE(other([](Net& n) { n.up.weight = zeros({1}); }));
}
TEST(Tree, UsersStaticsArePartOfTheKey) {
  WithStatic a{number(1), {}}, b = a;
  EXPECT_TRUE(key_of(a) == key_of(b));
  b.w.strides = {1, 3};
  EXPECT_FALSE(key_of(a) == key_of(b));
  EXPECT_NE(tree::first_difference(tree::node(a), tree::node(b), tree::Same::structure).find("'w'"), std::string::npos);
}
TEST(Tree, EqualHashesAreNotEqualStatics) {
  EXPECT_TRUE(key_of(Hashed{3, 1}) == key_of(Hashed{3, 1}));
  EXPECT_FALSE(key_of(Hashed{3, 1}) == key_of(Hashed{3, 2}));
  EXPECT_TRUE(key_of(Opaque(1)) == key_of(Opaque(1)));
  EXPECT_FALSE(key_of(Opaque(1)) == key_of(Opaque(2)));
  EXPECT_EQ(key_of(Opaque(1)).hash(), key_of(Opaque(1)).hash());
}
TEST(Tree, ReplaceSaysHowManyLeavesThereAre) {
  auto n = example();
  Arrays two{number(1), number(2)};
  test::says<ValueError>([&] { (void)tree::replace(tree::node(n), two.data(), 2); }, "12 leaves");
}
TEST(Tree, MapVisitsLeavesTogether) {
  auto n = example();
  auto twice = tree::map([](const Array& a, const Array& b) { return a + b; }, n, n);
  EXPECT_EQ(twice.layers[1].bias->item<float>(), 12);
  auto g = n;
  g.up.weight = Array();  // an absent gradient is an empty Array
  auto kept = tree::map([](const Array& p, const Array& u) { return u.defined() ? p + u : p; }, n, g);
  EXPECT_EQ(kept.up.weight.item<float>(), 1);
  EXPECT_EQ(kept.two[0].item<float>(), 14);
  auto other = n;
  other.layers.pop_back();
  auto text = test::error_of<ValueError>(
      [&] { (void)tree::map([](const Array& a, const Array&) { return a; }, n, other); });
  EXPECT_NE(text.find("'layers.1.weight'"), std::string::npos) << text;
}
TEST(Tree, MapWithPathFilterAndForEach) {
  auto n = example();
  auto weights = tree::filter(n, [](const std::string& path, const Array&) { return path.ends_with("weight"); });
  EXPECT_EQ(tree::leaves(weights).size(), 4u);
  EXPECT_FALSE(weights.up.bias->defined());
  auto marked =
      tree::map_with_path([](const std::string& path, const Array& a) { return path == "two.1" ? a * 100 : a; }, n);
  EXPECT_EQ(marked.two[1].item<float>(), 800);
  int count = 0;
  tree::for_each([&](const std::string&, const Array&) { ++count; }, n);
  EXPECT_EQ(count, 12);
}
TEST(Tree, PartitionAndCombineAreInverse) {
  auto n = example();
  auto [weights, rest] = tree::partition(n, [](auto& path, auto&) { return path.ends_with("weight"); });
  EXPECT_EQ(tree::leaves(weights).size(), 4u);
  EXPECT_EQ(tree::leaves(rest).size(), 8u);
  for (const auto& both : {tree::combine(weights, rest), tree::combine(rest, weights), tree::combine(n, rest)}) {
    EXPECT_EQ(tree::paths(both), tree::paths(n));
    auto a = tree::leaves(both), b = tree::leaves(n);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(array_equal(a[i], b[i])) << i;
  }
  EXPECT_EQ(tree::reduce([](std::int64_t sum, const Array& a) { return sum + a.size(); }, n, std::int64_t{0}),
            tree::reduce([](std::int64_t sum, const Array& a) { return sum + a.size(); }, weights, std::int64_t{0}) +
                tree::reduce([](std::int64_t sum, const Array& a) { return sum + a.size(); }, rest, std::int64_t{0}));
  rest.layers.pop_back();
  auto text = test::error_of<ValueError>([&] { (void)tree::combine(weights, rest); });
  EXPECT_NE(text.find("'layers.1.weight'"), std::string::npos) << text;
}
TEST(Tree, FirstDifferenceNamesPathAndBothSides) {
  auto n = example(), m = n;
  auto difference = [&](tree::Same s) { return tree::first_difference(tree::node(n), tree::node(m), s); };
  EXPECT_EQ(difference(tree::Same::types), "");
  m.up.weight = zeros({2});
  EXPECT_EQ(difference(tree::Same::types), "'up.weight': f32[] and f32[2]");
  EXPECT_EQ(difference(tree::Same::structure), "");
  m = n;
  m.layers.pop_back();
  EXPECT_EQ(difference(tree::Same::types), "'layers': 2 elements and 1 element");
  m = n;
  m.scale = 0.5;
  EXPECT_EQ(difference(tree::Same::types), "'scale': 1 and 0.5");
}
TEST(Tree, Patterns) {
  EXPECT_TRUE(tree::matches("*", ""));
  EXPECT_TRUE(tree::matches("up.*", "up.weight"));
  EXPECT_TRUE(tree::matches("*.attn.*.weight", "blocks.3.attn.q.weight"));
  EXPECT_FALSE(tree::matches("*.weight", "up.weights"));
  EXPECT_FALSE(tree::matches("", "a"));
  EXPECT_TRUE(tree::matches("a*b*c", "aXbXbYc"));
}
}  // namespace
}  // namespace tree_test
