// Lists of axes as values, and what bad ones say.
#include <gtest/gtest.h>
#include "bora/named/axes.h"
#include "bora/named/named.h"
#include "support/throws.h"

namespace bora::axes_test {
namespace {
using bora::test::says_line;
using List = std::vector<Axis>;
const Axis H{"H", 3}, W{"W", 4}, C{"C", 5};
TEST(Axes, AlgebraOfLists) {
  EXPECT_EQ(make_axes({{"H", 3}, {"W", 4}}), (List{H, W}));
  EXPECT_EQ(eliminate_axes({H, W}, H), List{W});
  EXPECT_EQ(eliminate_axes({H, W}, {"W", H}), List{});
  EXPECT_EQ(without_axes({H, W}, {"C", W}), List{H});
  EXPECT_EQ(without_axes({H, W}, H.resize(9), {.allow_mismatched_sizes = true}), List{W});
  EXPECT_EQ(concat_axes({H}, {W, C}), (List{H, W, C}));
  EXPECT_EQ(union_axes({W, H}, {C, H}), (List{W, H, C}));
  EXPECT_EQ(intersect_axes({W, H, C}, {"C", W}), (List{W, C}));
  EXPECT_EQ(replace_axis({H, W}, "H", {Axis{"top", 2}, Axis{"H", 9}}), (List{{"top", 2}, {"H", 9}, W}));
  EXPECT_EQ(resolve_axis({H, W}, "W"), W);
  EXPECT_EQ(resolve_axes({H, W, C}, {"C", H}), (List{C, H}));
  EXPECT_EQ(axis_name(H), "H");
  EXPECT_EQ(axis_names({H, C}), (std::vector<std::string>{"H", "C"}));
  EXPECT_EQ(axis_size({H, W, C}), 60);
  EXPECT_EQ(axis_size(List{}), 1);
  EXPECT_TRUE(selects_axis({"H", W}, W));
  EXPECT_TRUE(selects_axis({H, W}, {"W", H}));
  EXPECT_FALSE(selects_axis({H, W}, H.resize(9)));
  EXPECT_FALSE(selects_axis(H, {H, W}));
  EXPECT_TRUE(is_axis_compatible("H", H));
  EXPECT_FALSE(is_axis_compatible(H, H.resize(2)));
  EXPECT_EQ(check_shape({3, 4}, {H, "W"}), (List{H, W}));
}
TEST(Axes, OrdersOfWhichOnlyAPartIsGiven) {
  const Axis banana{"banana", 1}, apple{"apple", 2}, cherry{"cherry", 3}, orange{"orange", 4}, grape{"grape", 5};
  List fruit{banana, apple, cherry};
  auto order = [](std::initializer_list<AxisNames::One> partial, const List& axes) {
    return rearrange_for_partial_order(partial, axes);
  };
  // The results of Haliax's own tests.
  EXPECT_EQ(order({"apple", "...", "banana"}, fruit), (List{apple, cherry, banana}));
  EXPECT_EQ(order({"...", "apple", "banana"}, fruit), (List{cherry, apple, banana}));
  EXPECT_EQ(order({"apple", "...", "banana", "..."}, fruit), (List{apple, banana, cherry}));
  EXPECT_EQ(order({"..."}, fruit), fruit);
  EXPECT_EQ(order({"apple", "banana", "..."}, fruit), (List{apple, banana, cherry}));
  EXPECT_EQ(order({"apple", "...", "banana", "...", "cherry", "..."}, {banana, orange, cherry, apple, grape}),
            (List{apple, banana, orange, cherry, grape}));
  EXPECT_EQ(order({"cherry", "apple", "banana"}, fruit), (List{cherry, apple, banana}));
  says_line<AxisError>([&] { return order({"apple", "banana"}, fruit); }, "does not name all axes");
  says_line<AxisError>([&] { return order({"apple", "apple", "..."}, fruit); }, "named twice");
  says_line<AxisError>([&] { return order({"pear", "..."}, fruit); }, "no axis 'pear'");
  auto x = zeros({banana, apple, cherry});
  EXPECT_EQ(rearrange(x, {"cherry", "..."}).axes(), (List{cherry, banana, apple}));
}
TEST(Axes, BadListsSayWhatIsWrong) {
  says_line<AxisError>([] { return make_axes({{"H", 3}, {"H", 3}}); }, "make_axes: axis 'H' is named twice");
  says_line<AxisError>([] { return make_axes({{"H", -3}}); }, "axis 'H' has size -3");
  says_line<AxisError>([] { return eliminate_axes({H, W}, C); }, "eliminate_axes: no axis 'C' among {H:3, W:4}");
  says_line<AxisError>([] { return eliminate_axes({H, W}, H.resize(2)); },
                       "axis 'H' has size 3 in {H:3, W:4} and 2 as given");
  says_line<AxisError>([] { return without_axes({H, W}, H.resize(2)); }, "axis 'H' has size 3 and size 2");
  says_line<AxisError>([] { return concat_axes({H}, {H}); }, "axis 'H' is in both");
  says_line<AxisError>([] { return union_axes({H}, {H.resize(2)}); }, "union_axes: axis 'H' has size 3 and size 2");
  says_line<AxisError>([] { return replace_axis({H, W}, "C", W); }, "no axis 'C'");
  says_line<AxisError>([] { return replace_axis({H, W}, "H", W); }, "there is an axis 'W' already");
  says_line<AxisError>([] { return resolve_axis({Axis{"embed", 3}, W}, "embde"); },
                       "among {embed:3, W:4}; did you mean 'embed'?");
  says_line<AxisError>([] { return check_shape({3, 4}, {H, C}); },
                       "axis 'C' has size 5, but its dimension of [3, 4] has 4");
  says_line<AxisError>([] { return check_shape({3}, {H, C}); }, "does not fit the shape [3]");
  says_line<AxisError>([] { return zeros({H, W}).axis("h"); }, "no axis 'h' among {H:3, W:4}; did you mean 'H'?");
}
TEST(Axes, PatternsDescribeAxes) {
  List axes{{"batch", 2}, {"position", 3}, {"embed", 4}};
  for (auto* yes : {"batch position embed", "... embed", "batch ...", "batch ... embed", "...", "{embed batch ...}",
                    "{embed batch position}", " batch  position embed ", "{...}"})
    EXPECT_TRUE(matches_axes(axes, yes)) << yes;
  for (auto* no :
       {"batch embed position", "batch", "... position", "embed ...", "{embed batch}", "{embed vocab ...}", ""})
    EXPECT_FALSE(matches_axes(axes, no)) << no;
  EXPECT_TRUE(matches_axes(List{}, ""));
  says_line<ValueError>([&] { return matches_axes(axes, "{batch"); }, "a brace is missing");
  says_line<ValueError>([&] { return matches_axes(axes, "... x ..."); }, "more than one ...");
}
}  // namespace
}  // namespace bora::axes_test
