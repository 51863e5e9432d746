#include "bora/ops/ufuncs.h"
#include "ops/checks.h"
#include <limits>
#include <sstream>

namespace print_test {
using namespace bora;

namespace {
std::string text(const Array& x) {
  std::ostringstream o;
  o << x;
  return o.str();
}
struct Traced final : ArrayValue {
  using ArrayValue::ArrayValue;
};
}  // namespace

TEST(Print, ScalarsAreNumbersAlone) {
  EXPECT_EQ(text(array(2.5)), "2.5");
  EXPECT_EQ(text(array(3)), "3");
  EXPECT_EQ(text(array(true)), "true");
  EXPECT_EQ(text(array(2.)), "2.");
}
TEST(Print, RowsAreAligned) {
  EXPECT_EQ(text(array({{1., 2.}, {3., 4.}})), "[[1., 2.],\n [3., 4.]]");
  EXPECT_EQ(text(array({1., 2.5, -10.25})), "[  1.  ,   2.5 , -10.25]");
  EXPECT_EQ(text(array({1, -20, 300})), "[  1, -20, 300]");
  EXPECT_EQ(text(array({true, false})), "[ true, false]");
  EXPECT_EQ(text(array({{{1}, {2}}, {{3}, {4}}})), "[[[1],\n  [2]],\n\n [[3],\n  [4]]]");
  EXPECT_EQ(text(array({0.1, 0.2})), "[0.1, 0.2]");
  EXPECT_EQ(text(array({1. / 3}, f64)), "[0.33333333]");
  EXPECT_EQ(text(array({1. / 3})), "[0.33333334]");
}
TEST(Print, WideRangesAreScientific) {
  EXPECT_EQ(text(array({1e-10, 1.5})), "[1.0e-10, 1.5e+00]");
  EXPECT_EQ(text(array({1e9})), "[1.e+09]");
  EXPECT_EQ(text(array({0.00001})), "[1.e-05]");
}
TEST(Print, SpecialNumbers) {
  auto inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text(array({1.5, inf, nan, -inf})), "[ 1.5,  inf,  nan, -inf]");
}
TEST(Print, LargeArraysAreSummarised) {
  EXPECT_EQ(text(arange(2000)), "[   0,    1,    2, ..., 1997, 1998, 1999]");
  auto t = text(zeros({100, 100}));
  EXPECT_EQ(t,
            "[[0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n ...,\n"
            " [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.],\n [0., 0., 0., ..., 0., 0., 0.]]");
  EXPECT_EQ(to_string(arange(6), {.threshold = 5, .edge = 1}), "[0, ..., 5]");
}
TEST(Print, LongRowsAreWrapped) {
  auto t = to_string(arange(12), {.width = 20});
  EXPECT_EQ(t, "[ 0,  1,  2,  3,  4,\n  5,  6,  7,  8,  9,\n 10, 11]");
}
TEST(Print, EmptyAndTraced) {
  EXPECT_EQ(text(zeros({0, 3})), "[]  (f32[0, 3])");
  EXPECT_EQ(text(Array()), "empty Array");
  EXPECT_EQ(text(Array(std::make_shared<Traced>(Type{{2, 3}, f32}, 99))), "traced f32[2, 3]");
  EXPECT_EQ(text(bitcast(array(42, i64), Dtype::key)), "key(42, 0)");
}
}  // namespace print_test
