#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "bora/ops/arguments.h"
#include <thread>
#include "bora/ops/creation.h"
#include "ops/reference.h"

namespace bora::shape_test {
namespace {
using namespace reference;

TEST(Sizes, AListOfAnyLength) {
  Dims want;
  Shape got;
  auto step = [&](int i) {
    auto at = static_cast<std::size_t>(i * 7 + 3) % (want.size() + 1);
    auto place = want.begin() + static_cast<std::ptrdiff_t>(at);
    if (i % 40 < 20) {
      want.insert(place, i);
      got.insert(at, i);
    } else if (at < want.size()) {
      want.erase(place);
      got.erase(at);
    }
  };
  for (int i = 0; i < 400; ++i) {
    step(i);
    Shape copy = got, other{1, 2};
    other = copy;
    ASSERT_EQ(got, Shape(want)) << i;
    ASSERT_EQ(other, got);
    ASSERT_EQ(Shape(std::move(copy)).dims(), want);
    other.push_back(5);
    ASSERT_NE(other, got);
    other.append(other);
    ASSERT_EQ(other.size(), 2 * want.size() + 2);
  }
}
/// Small results have their memory within themselves: a view keeps all of it.
TEST(Reshape, OutlivesWhatItIsAViewOf) {
  for (std::int64_t n : {1, 6, 100, 5000}) {
    Array y;
    {
      auto x = iota({n, 2}, 0, f32) + 1;
      y = reshape(x, {2, n});
      EXPECT_EQ(y.bytes(), x.bytes());
      EXPECT_FALSE(y.sole());
    }
    EXPECT_TRUE(y.sole());
    std::vector<Array> others(50);
    for (auto& o : others) o = y * 3;
    EXPECT_EQ(y.to_vector<float>().back(), static_cast<float>(n));
    std::thread([z = std::move(y)]() mutable { z = Array(); }).join();
  }
}
TEST(Broadcast, StretchesSizesOfOne) {
  auto x = numbers({2, 1, 3});
  Table t(x);
  expect_equal(broadcast_to(x, {4, 2, 5, 3}), Table({4, 2, 5, 3}, [&](const Index& i) { return t({i[1], 0, i[3]}); }));
  expect_equal(broadcast_in_dim(numbers({3}), {2, 3, 2}, {1}),
               Table({2, 3, 2}, [&](const Index& i) { return Table(numbers({3}))({i[1]}); }));
  EXPECT_EQ(broadcast_to(numbers({1}), {0}).shape(), Shape{0});
  says<ShapeError>([] { (void)broadcast_to(numbers({2, 3}), {4, 3}); }, "[2, 3] does not stretch to [4, 3]");
  EXPECT_THROW((void)broadcast_to(numbers({2, 3}), {3}), ShapeError);
}
TEST(Reshape, KeepsOrderAndMemory) {
  auto x = numbers({2, 6});
  auto y = reshape(x, {3, -1});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(y.to_vector<double>(), x.to_vector<double>());
  EXPECT_EQ(y.bytes(), x.bytes());
  EXPECT_EQ(reshape(numbers({0, 3}), {0}).shape(), Shape{0});
  EXPECT_EQ(ravel(x).shape(), Shape{12});
  EXPECT_EQ(reshape(numbers({}), {1, 1}).shape(), (Shape{1, 1}));
  says<ShapeError>([&] { (void)reshape(x, {5, 2}); }, "[2, 6] has 12 elements, [5, 2] has 10");
  EXPECT_THROW((void)reshape(x, {-1, -1}), ShapeError);
  EXPECT_THROW((void)reshape(x, {-1, 5}), ShapeError);
  EXPECT_THROW((void)reshape(numbers({0}), {-1, 0}), ShapeError);
  EXPECT_THROW((void)reshape(x, {-2, -6}), ShapeError);
}
TEST(Transpose, AnyOrderAnyDtype) {
  for (auto d : {u8, bf16, f32, f64, i64}) {
    auto x = numbers({2, 3, 4, 2}, d);
    Table t(x);
    expect_equal(transpose(x, {2, 0, 3, 1}), Table({4, 2, 2, 3}, [&](const Index& i) {
                   return t({i[1], i[3], i[0], i[2]});
                 }));
    expect_equal(transpose(x), Table({2, 4, 3, 2}, [&](const Index& i) { return t({i[3], i[2], i[1], i[0]}); }));
  }
  auto big = numbers({130, 70}, f32);
  Table t(big);
  expect_equal(transpose(big), Table({70, 130}, [&](const Index& i) { return t({i[1], i[0]}); }));
  EXPECT_EQ(transpose(numbers({2, 3, 4}), {-1, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(moveaxis(numbers({2, 3, 4}), 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(swapaxes(numbers({2, 3, 4}), 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_THROW((void)transpose(numbers({2, 3}), {0, 0}), ValueError);
  EXPECT_THROW((void)transpose(numbers({2, 3}), {0}), ValueError);
  EXPECT_THROW((void)transpose(numbers({2, 3}), {0, 2}), IndexError);
}
TEST(Dimensions, ComeAndGo) {
  EXPECT_EQ(expand_dims(numbers({2, 3}), -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(numbers({2, 3}), 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(squeeze(numbers({1, 2, 1})).shape(), Shape{2});
  EXPECT_EQ(squeeze(numbers({1, 2, 1}), -1).shape(), (Shape{1, 2}));
  EXPECT_THROW((void)squeeze(numbers({1, 2}), 1), ShapeError);
  EXPECT_THROW((void)expand_dims(numbers({2}), 3), IndexError);
}
TEST(Slice, StepsAndBounds) {
  auto x = numbers({5, 7});
  Table t(x);
  expect_equal(slice(x, {1, 0}, {5, 7}, {2, 3}), Table({2, 3}, [&](const Index& i) {
                 return t({1 + 2 * i[0], 3 * i[1]});
               }));
  expect_equal(slice_in_dim(x, -1, 2, 4), Table({5, 2}, [&](const Index& i) { return t({i[0], 2 + i[1]}); }));
  expect_equal(index_in_dim(x, 0, -1), Table({7}, [&](const Index& i) { return t({4, i[0]}); }));
  EXPECT_EQ(slice(x, {2, 0}, {2, 7}).shape(), (Shape{0, 7}));
  says<ShapeError>([&] { (void)slice(x, {0, 3}, {5, 8}); }, "[3, 8) leaves dimension 1 of [5, 7]");
  EXPECT_THROW((void)index_in_dim(x, 0, 5), IndexError);
  EXPECT_THROW((void)slice(x, {0, 0}, {5, 7}, {1, 0}), ValueError);
}
TEST(Pad, AroundBetweenAndCut) {
  auto x = array({1., 2., 3.});
  expect_values(pad(x, {1}, {2}), {0, 1, 2, 3, 0, 0});
  expect_values(pad(x, {0}, {0}, 9, {1}), {1, 9, 2, 9, 3});
  expect_values(pad(x, {-1}, {1}), {2, 3, 0});
  expect_values(pad(x, {-1}, {0}, 9, {1}), {9, 2, 9, 3});
  auto fraction = [] { (void)pad(arange(2), {1}, {1}, 0.5); };
  says<DtypeError>(fraction, "the fraction 0.5 does not fit into i32");
  expect_values(pad(x, {-2}, {-1}, 9, {2}), {9, 2, 9, 9});
  expect_values(pad(x, {-4}, {1}), {});
  expect_values(pad(numbers({0}), {2}, {0}, 4), {4, 4});
  expect_values(pad(array({true}), {1}, {0}, true), {1, 1});
  auto bytes = array({1, 2}, u8);
  expect_values(pad(bytes, {1}, {0}, 255), {255, 1, 2});
  for (int value : {300, -1})
    says<ValueError>([&] { (void)pad(bytes, {1}, {0}, value); }, "does not fit into u8");
  EXPECT_THROW((void)pad(x, {-4}, {0}), ShapeError);
  EXPECT_THROW((void)pad(x, {0}, {0}, 0, {-1}), ValueError);
  EXPECT_EQ(pad(x, {0}, {0}).get(), x.get());
}
TEST(Join, ConcatenateStackSplit) {
  auto a = numbers({2, 3}), b = numbers({2, 1}, f64, 1);
  Table ta(a), tb(b);
  auto both = Table({2, 4}, [&](const Index& i) { return i[1] < 3 ? ta(i) : tb({i[0], 0}); });
  expect_equal(concatenate({a, b}, 1), both);
  expect_equal(concatenate({a, b}, -1), both);
  expect_equal(concatenate({numbers({0, 3}), a}), ta);
  EXPECT_EQ(concatenate({numbers({2}, i32), numbers({2}, f32)}).dtype(), f32);
  expect_equal(stack({a, a}, -1), Table({2, 3, 2}, [&](const Index& i) { return ta({i[0], i[1]}); }));
  auto parts = split(numbers({6, 2}), 3);
  ASSERT_EQ(parts.size(), 3u);
  expect_equal(concatenate(parts), Table(numbers({6, 2})));
  says<ShapeError>([&] { (void)concatenate({a, numbers({3, 3})}, 1); }, "[3, 3] does not fit [2, 3] along axis 1");
  EXPECT_THROW((void)split(a, 2, 1), ShapeError);
  EXPECT_THROW((void)stack({a, b}), ShapeError);
  EXPECT_THROW((void)concatenate({}), ValueError);
}
TEST(Repeat, TileRepeatRollFlip) {
  auto x = numbers({2, 3});
  Table t(x);
  expect_equal(tile(x, {2, 2}), Table({4, 6}, [&](const Index& i) { return t({i[0] % 2, i[1] % 3}); }));
  expect_equal(tile(x, {2}), Table({2, 6}, [&](const Index& i) { return t({i[0], i[1] % 3}); }));
  expect_equal(tile(x, {2, 1, 1}), Table({2, 2, 3}, [&](const Index& i) { return t({i[1], i[2]}); }));
  expect_equal(repeat(x, 2, 1), Table({2, 6}, [&](const Index& i) { return t({i[0], i[1] / 2}); }));
  for (int shift : {-4, -1, 0, 1, 5})
    expect_equal(roll(x, shift, 1), Table({2, 3}, [&](const Index& i) {
                   return t({i[0], ((i[1] - shift) % 3 + 3) % 3});
                 }));
  expect_equal(flip(x), Table({2, 3}, [&](const Index& i) { return t({1 - i[0], 2 - i[1]}); }));
  expect_equal(flip(x, 1), Table({2, 3}, [&](const Index& i) { return t({i[0], 2 - i[1]}); }));
  EXPECT_EQ(flip(numbers({0, 2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(tile(x, {0, 1}).shape(), (Shape{0, 3}));
}
TEST(Iota, CountsAlongOneDimension) {
  expect_values(iota({2, 3}, 1), {0, 1, 2, 0, 1, 2});
  expect_values(iota({2, 3}, 0, f32), {0, 0, 0, 1, 1, 1});
  expect_values(iota({2, 2}, -1, bf16), {0, 1, 0, 1});
  EXPECT_EQ(iota({3}, 0).dtype(), i32);
  EXPECT_EQ(iota({256}, 0, u8).to_vector<int>().back(), 255);
  EXPECT_THROW((void)iota({257}, 0, u8), ShapeError);
  auto many = iota({3, 5, 20000}, 1);  // over threads
  expect_values(slice(many, {2, 0, 19999}, {3, 5, 20000}), {0, 1, 2, 3, 4});
}
}  // namespace
}  // namespace bora::shape_test
