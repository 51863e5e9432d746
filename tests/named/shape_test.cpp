// Other axes and more elements.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/named/axes.h"
#include "bora/named/shape.h"
#include "support/throws.h"

namespace bora::shape_test {
namespace {
using bora::test::says_line;
using List = std::vector<Axis>;
using F = std::vector<float>;
const Axis A{"a", 2}, B{"b", 3}, C{"c", 4};
NamedArray x() { return arange({A, B}, 0, 1, f32); }
void equal(const NamedArray& got, const List& axes, const F& want) {
  EXPECT_EQ(got.axes(), axes);
  EXPECT_EQ(got.to_vector<float>(), want);
}
TEST(NamedShape, FewerAxes) {
  equal(ravel(x(), "all"), {{"all", 6}}, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(array_equal(flatten(x(), "all"), ravel(x(), "all")));
  equal(flatten_axes(x(), AxisNames{}, Axis{"one", 1}), {{"one", 1}, A, B}, {0, 1, 2, 3, 4, 5});
  equal(unflatten_axis(flatten_axes(x(), AxisNames{}, Axis{"one", 1}), "one", List{}), {A, B}, {0, 1, 2, 3, 4, 5});
  auto y = arange({A, B, C}, 0, 1, f32);
  auto flat = flatten_all_axes_but(y, "rows", "b");
  EXPECT_EQ(flat.array.axes(), (List{{"rows", 8}, B}));
  EXPECT_TRUE(array_equal(flat.array[{{"rows", 5}, {"b", 2}}], y[{{"a", 1}, {"b", 2}, {"c", 1}}]));
  EXPECT_EQ(flat.unflatten(flat.array).axes(), y.axes());
  EXPECT_TRUE(array_equal(flat.unflatten(flat.array), y));
  EXPECT_EQ(flat.unflatten(sum(flat.array, B)).axes(), (List{A, C}));
  EXPECT_EQ(flat.unflatten(flat.array[{"b", range(0, 2)}]).axes(), (List{A, {"b", 2}, C}));
  auto parts = split(x(), B, {Axis{"b", 1}, Axis{"rest", 2}});
  equal(parts[0], {A, {"b", 1}}, {0, 3});
  equal(parts[1], {A, {"rest", 2}}, {1, 2, 4, 5});
  auto columns = unbind(x(), "b");
  ASSERT_EQ(columns.size(), 3u);
  equal(columns[1], {A}, {1, 4});
  auto square = arange({B, Axis{"d", 3}}, 0, 1, f32);
  equal(trace(square, "b", "d"), {}, {12});
  equal(trace(square, "d", "b", 1), {}, {10});
  equal(tril(square, "d", "b"), {{"d", 3}, B}, {0, 0, 0, 1, 4, 0, 2, 5, 8});
  equal(triu(square, "b", "d", 1), {B, {"d", 3}}, {0, 1, 2, 0, 0, 5, 0, 0, 0});
}
TEST(NamedShape, MoreElements) {
  equal(roll(x(), 1, "b"), {A, B}, {2, 0, 1, 5, 3, 4});
  equal(roll(x(), named(array(-4), List{}), B), {A, B}, {1, 2, 0, 4, 5, 3});
  auto v = arange(B, 0, 1, f32);
  equal(pad(v, {{"b", 1, 2}}), {{"b", 6}}, {0, 0, 1, 2, 0, 0});
  equal(pad(v, {{"b", 1, 0}}, {.value = 7}), {{"b", 4}}, {7, 0, 1, 2});
  equal(pad(v, {{B, 2, 1}}, {.mode = PadMode::edge}), {{"b", 6}}, {0, 0, 0, 1, 2, 2});
  equal(pad(v, {{B, 3, 4}}, {.mode = PadMode::reflect}), {{"b", 10}}, {1, 2, 1, 0, 1, 2, 1, 0, 1, 2});
  equal(pad(v, {{B, 2, 4}}, {.mode = PadMode::symmetric}), {{"b", 9}}, {1, 0, 0, 1, 2, 2, 1, 0, 0});
  equal(pad(v, {{B, 2, 4}}, {.mode = PadMode::wrap}), {{"b", 9}}, {1, 2, 0, 1, 2, 0, 1, 2, 0});
  equal(pad_left(v, B, Axis{"long", 5}, -1), {{"long", 5}}, {-1, -1, 0, 1, 2});
  equal(tile(v, {{"b", 2}}), {{"b", 6}}, {0, 1, 2, 0, 1, 2});
  equal(tile(v, {{"a", 2}}), {A, B}, {0, 1, 2, 0, 1, 2});
  equal(repeat(v, 2, B), {{"b", 6}}, {0, 0, 1, 1, 2, 2});
  equal(repeat(v, named(array({2, 0, 1}), B), B, 5), {{"b", 5}}, {0, 0, 2, 2, 2});
  equal(repeat(v, named(array({2, 2, 2}), B), B, 3), {{"b", 3}}, {0, 0, 1});
  equal(broadcast_axis(v, {A, B}), {A, B}, {0, 1, 2, 0, 1, 2});
  auto two = broadcast_arrays({v, x()});
  EXPECT_EQ(two[0].axes(), (List{A, B}));
  auto three = broadcast_arrays({v, arange(C, 0, 1, f32)}, {.require_subset = false});
  EXPECT_EQ(three[0].axes(), (List{B, C}));
  EXPECT_EQ(three[1].axes(), (List{B, C}));
}
TEST(NamedShape, NumbersInOrder) {
  equal(full_like(x(), 3), {A, B}, F(6, 3));
  EXPECT_EQ(full_like(x(), 3, i32).dtype(), i32);
  EXPECT_EQ(arange({A, B}, 10, 2).to_vector<int>(), (std::vector<int>{10, 12, 14, 16, 18, 20}));
  equal(arange(B, 0.5, 0.25), {B}, {0.5, 0.75, 1});
  equal(linspace(B, 0, 1), {B}, {0, 0.5, 1});
  equal(logspace(B, 0, 2), {B}, {1, 10, 100});
  equal(geomspace(B, 1, 4), {B}, {1, 2, 4});
}
TEST(NamedShape, SearchesAndOrders) {
  auto y = named(array({{3., 1., 2.}, {0., 5., 4.}}), {A, B});
  auto top = top_k(y, "b", 2, "best");
  equal(top.values, {A, {"best", 2}}, {3, 2, 5, 4});
  EXPECT_EQ(top.indices.to_vector<int>(), (std::vector<int>{0, 2, 1, 2}));
  equal(top_k(y, A, 1).values, {{"a", 1}, B}, {3, 5, 4});
  EXPECT_EQ(searchsorted(arange(B, 0, 1, f32), y - 0.5).to_vector<int>(), (std::vector<int>{3, 1, 2, 0, 3, 3}));
  auto n = named(array({{1, 1, 3}, {0, 1, 9}}), {A, B});
  EXPECT_EQ(bincount(n, C).to_vector<int>(), (std::vector<int>{1, 3, 0, 1}));
  equal(bincount(n, C, rearrange(y, {"b", "a"})), {C}, {0, 9, 0, 2});
  EXPECT_EQ(unique(n, C).to_vector<int>(), (std::vector<int>{0, 1, 3, 9}));
  auto u = unique_all(n, C);
  EXPECT_EQ(u.inverse.axes(), n.axes());
  EXPECT_EQ(u.counts.to_vector<int>(), (std::vector<int>{1, 3, 1, 1}));
  auto where_not_0 = nonzero(n > 1, Axis{"hit", 3}, -1);
  EXPECT_EQ(where_not_0[0].to_vector<int>(), (std::vector<int>{0, 1, -1}));
  EXPECT_EQ(where_not_0[1].to_vector<int>(), (std::vector<int>{2, 2, -1}));
  auto bits = named(array({1, 0, 1, 0, 0, 0, 0, 0, 1}), Axis{"bit", 9});
  EXPECT_EQ(packbits(bits, "bit").to_vector<int>(), (std::vector<int>{160, 128}));
  EXPECT_EQ((unpackbits(packbits(bits, "bit"), "bit")[{"bit", range(0, 9)}].to_vector<int>()),
            bits.to_vector<int>());
  EXPECT_EQ(argmax(y).item<std::int32_t>(), 4);
}
TEST(NamedShape, Comparisons) {
  auto y = rearrange(x(), {"b", "a"});
  EXPECT_TRUE(array_equal(x(), y));
  EXPECT_FALSE(array_equal(x(), y + 1));
  EXPECT_FALSE(array_equal(x(), sum(x(), A)));
  EXPECT_TRUE(array_equiv(ones({A, B}), ones(B)));
  EXPECT_TRUE(allclose(x(), y + 1e-9));
  EXPECT_FALSE(isclose(x(), y + 0.1).to_vector<int>()[3]);
  auto d = divmod(x(), 2);
  equal(d.quotient, {A, B}, {0, 0, 1, 1, 2, 2});
  equal(d.remainder, {A, B}, {0, 1, 0, 1, 0, 1});
  equal(around(x() / 8, 1), {A, B}, around(x() / 8, 1).to_vector<float>());
  EXPECT_NEAR(around(x() / 8, 2).to_vector<float>()[1], 0.12F, 1e-6);
  EXPECT_EQ(around(full({A}, 700, f16), 2).to_vector<float>()[0], 700);
  EXPECT_EQ(around(full({A}, 16777217, i32), 2).to_vector<int>()[0], 16777217);
  equal(clip(x(), arange(B, 0, 1, f32), 3 * ones(A)), {A, B}, {0, 1, 2, 3, 3, 3});
}
TEST(NamedShape, BadArgumentsAreNamed) {
  says_line<AxisError>([] { return split(x(), B, {Axis{"b", 1}}); },
                       "split: the parts {b:1} have 1 elements together, but axis 'b'");
  says_line<AxisError>([] { return unbind(x(), "z"); }, "unbind: no axis 'z' among {a:2, b:3}");
  says_line<AxisError>([] { return trace(x(), "a", "a"); }, "trace: axis 'a' is named twice");
  says_line<AxisError>([] { return roll(x(), zeros(A, i32), B); }, "roll: the shift is one integer");
  says_line<AxisError>([] { return pad(x(), {{"b", 1, 1}, {B, 1, 1}}); }, "pad: axis 'b' is named twice");
  says_line<ValueError>([] { return pad(x(), {{"b", -1, 1}}); }, "axis 'b' gets -1 and 1 elements");
  says_line<AxisError>([] { return pad_left(x(), B, Axis{"b", 2}); }, "pad_left: axis 'b' has size 3, more than the 2");
  says_line<AxisError>([] { return broadcast_axis(x(), B.resize(9)); },
                       "broadcast_axis: axis 'b' has size 3 in the array and 9");
  says_line<AxisError>([] { return broadcast_arrays({ones(A), ones(C)}); },
                       "neither operand has all axes of the other");
  says_line<AxisError>([] { return repeat(x(), zeros(A, i32), B, 2); }, "repeat: the counts {a:2}");
  says_line<AxisError>([] { return top_k(x(), "z", 1); }, "top_k: no axis 'z'");
  says_line<AxisError>([] { return searchsorted(x(), x()); }, "searchsorted: the sorted array has one axis");
  says_line<AxisError>([] { return x() + ones(B.resize(9)); }, "axis 'b' has size 3 on the left and 9 on the right");
  says_line<AxisError>([] { return sum(x(), {"b", B}); }, "sum: axis 'b' is named twice");
  says_line<AxisError>([] { return softmax(x(), "bb"); }, "did you mean 'b'?");
}
}  // namespace
}  // namespace bora::shape_test
