#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/checks.h"

namespace creation_test {
using namespace bora;
using namespace bora::test;

TEST(Creation, LiteralsSayShapeAndDtype) {
  EXPECT_EQ(array({{1., 2.}, {3., 4.}}).type(), (Type{{2, 2}, f32}));
  EXPECT_EQ(array({{1.f, 2.f}}).dtype(), f32);
  EXPECT_EQ(array({1, 2, 3}).type(), (Type{{3}, i32}));
  EXPECT_EQ(array({{{true}, {false}}}).type(), (Type{{1, 2, 1}, boolean}));
  EXPECT_EQ(array({{{{1}, {2}}}}).shape(), (Shape{1, 1, 2, 1}));
  EXPECT_EQ(array({1., 2.}, f64).dtype(), f64);
  EXPECT_EQ(array(2.5).type(), (Type{{}, f32}));
  EXPECT_EQ(array(7, i64).item<std::int64_t>(), 7);
  EXPECT_EQ(numbers(array({{1, 2}, {3, 4}})), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_MESSAGE(ShapeError, array({{1, 2}, {3}}), "rows of different lengths: 2 and 1");
  EXPECT_MESSAGE(ValueError, array({3000000000l}), "3000000000 does not fit into i32");
  EXPECT_MESSAGE(ValueError, array({1.5}, i32), "1.5 does not fit into i32");
  EXPECT_EQ(array({3000000000l}, i64).item<std::int64_t>(), 3000000000l);
}
TEST(Creation, NumbersOfSeveralTypesBecomeOne) {
  EXPECT_TRUE(close(array({1, 2.5}), array({1., 2.5})));
  EXPECT_TRUE(close(array({1.f, 2.5}), array({1., 2.5})));
  EXPECT_EQ(array({NAN, 1.}).type(), (Type{{2}, f32}));
  EXPECT_TRUE(std::isnan(array({NAN, 1.}).to_vector<float>()[0]));
  EXPECT_TRUE(close(array({{1, 2.5}, {3, 4}}), array({{1., 2.5}, {3., 4.}})));
  EXPECT_TRUE(close(array({{1, 2}, {3, 4.5}}), array({{1., 2.}, {3., 4.5}})));
  EXPECT_TRUE(close(array({{{1, 2}}, {{3, 4.5}}}), array({{{1., 2.}}, {{3., 4.5}}})));
  EXPECT_TRUE(close(array({{{{1}}, {{2.5}}}}), array({{{{1.}}, {{2.5}}}})));
  EXPECT_TRUE(close(array({{{{{1}}, {{2}}}}}), reshape(array({1, 2}), {1, 1, 2, 1, 1})));  // five deep
  EXPECT_TRUE(close(array({true, 2}), array({1, 2})));
  EXPECT_TRUE(close(array({true, 0.5}), array({1., 0.5})));
  EXPECT_TRUE(close(array({1, 3000000000l}, i64), array({1l, 3000000000l}, i64)));
  EXPECT_TRUE(close(array({1, 2.5}, f64), array({1., 2.5}, f64)));
  EXPECT_TRUE(close(array({1, 2.}, i32), array({1, 2})));
  std::size_t n = 3;
  EXPECT_TRUE(close(array({n, 1}), array({3, 1})));
  EXPECT_EQ(array({}).type(), (Type{{0}, f32}));
  EXPECT_EQ(array({{}, {}}).type(), (Type{{2, 0}, f32}));
  EXPECT_MESSAGE(ShapeError, array({{1, 2}, 3}), "rows differ: one is of shape [2], another a number");
  EXPECT_MESSAGE(ShapeError, array({{1, 2.5}, {3}}), "rows differ: one is of shape [2], another of shape [1]");
  EXPECT_MESSAGE(ValueError, array({1, 3000000000l}),
                 "3000000000 does not fit into i32; give a dtype: array({..}, i64)");
  EXPECT_MESSAGE(ValueError, array({1, 2.5}, i32), "2.5 does not fit into i32");
}
TEST(Creation, ErrorsNameTheFunctionAndAdviseWhatWasNotDone) {
  EXPECT_MESSAGE(ShapeError, zeros({-2}), "zeros: sizes must not be negative, got [-2]");
  EXPECT_MESSAGE(ShapeError, ones({2, -2}), "ones: sizes must not be negative, got [2, -2]");
  EXPECT_MESSAGE(ShapeError, full({-2}, 1), "full: sizes must not be negative, got [-2]");
  EXPECT_MESSAGE(ShapeError, eye(-2), "eye: sizes must not be negative, got [-2, -2]");
  EXPECT_MESSAGE(ShapeError, tri(2, -2), "tri: sizes must not be negative, got [2, -2]");
  EXPECT_MESSAGE(DtypeError, zeros({2}, Dtype::key), "zeros: a random key is not a number");
  EXPECT_EQ(error_of<ValueError>([] { (void)array({300}, u8); }), "array: 300 does not fit into u8");
  EXPECT_EQ(error_of<ValueError>([] { (void)array({1, 300}, u8); }), "array: 300 does not fit into u8");
  EXPECT_EQ(error_of<ValueError>([] { (void)arange(300, u8); }), "arange: 299 does not fit into u8");
}
TEST(Creation, RandomKeysAreNoNumbersAndTheErrorNamesTheOperation) {
  auto words = std::vector<std::uint32_t>{1, 2};
  Array k = from_bytes({{}, Dtype::key}, words.data()), x = arange(3);
  EXPECT_MESSAGE(DtypeError, k + 1, "add: random keys take no part in arithmetic");
  EXPECT_MESSAGE(DtypeError, 1 - k, "subtract: random keys take no part in arithmetic");
  EXPECT_MESSAGE(DtypeError, maximum(k, 1), "maximum: random keys");
  EXPECT_MESSAGE(DtypeError, k < 1, "less: random keys");
  EXPECT_MESSAGE(DtypeError, k && x, "logical_and: random keys and numbers");
  EXPECT_MESSAGE(DtypeError, k * x, "multiply: random keys and numbers have no common dtype, got key and i32");
  EXPECT_MESSAGE(DtypeError, where(x > 0, k, 0), "where: random keys");
  EXPECT_MESSAGE(DtypeError, concatenate({x, reshape(k, {1})}), "concatenate: random keys and numbers");
  EXPECT_MESSAGE(DtypeError, at(x, 0).set(k), "at().set: random keys and numbers");
}
TEST(Creation, ASizeAloneIsAShape) {
  EXPECT_EQ(zeros(3).type(), (Type{{3}, f32}));
  EXPECT_EQ(ones(2, i32).type(), (Type{{2}, i32}));
  EXPECT_EQ(full(2, 0.5).type(), (Type{{2}, f32}));
  EXPECT_EQ(reshape(zeros({2, 3}), -1).shape(), Shape{6});
  EXPECT_EQ(zeros(std::size_t{0}).shape(), Shape{0});
}
TEST(Creation, MemoryKeepsItsType) {
  EXPECT_EQ(asarray(std::array<double, 2>{1, 2}).type(), (Type{{2}, f64}));
  EXPECT_EQ(asarray(std::vector<double>{1, 2}).type(), (Type{{2}, f64}));
  EXPECT_EQ(asarray(std::vector<std::int64_t>{1, 2, 3, 4}, Shape{2, 2}).type(), (Type{{2, 2}, i64}));
  EXPECT_TRUE(close(asarray(std::vector<bool>{true, false}), array({true, false})));
  EXPECT_MESSAGE(ShapeError, asarray(std::vector<float>{1, 2}, Shape{3}), "2 numbers do not fill the shape [3]");
}
TEST(Creation, Fills) {
  EXPECT_TRUE(close(zeros({2, 1}), array({{0.}, {0.}})));
  EXPECT_TRUE(close(ones({2}, i32), array({1, 1})));
  EXPECT_EQ(full({2}, 0.5).dtype(), f32);
  EXPECT_EQ(full({2}, 3).dtype(), i32);
  EXPECT_EQ(full({2}, true).dtype(), boolean);
  EXPECT_EQ(full({2}, 0.5, bf16).dtype(), bf16);
  EXPECT_EQ(zeros({}).shape(), Shape{});
  EXPECT_EQ(zeros({0, 2}).size(), 0);
  std::size_t rows = 3;
  EXPECT_EQ(zeros({rows, 2}).shape(), (Shape{3, 2}));
  EXPECT_TRUE(close(full_like(array({1, 2}), 7), array({7, 7})));
  EXPECT_TRUE(close(zeros_like(array({1., 2.})), array({0., 0.})));
  EXPECT_TRUE(close(ones_like(array({true, false})), array({true, true})));
  EXPECT_MESSAGE(ShapeError, zeros({-1}), "-1");
  EXPECT_MESSAGE(ValueError, full({2}, 300, u8), "does not fit into u8");
}
TEST(Creation, Ranges) {
  EXPECT_TRUE(close(arange(4), array({0, 1, 2, 3})));
  EXPECT_TRUE(close(arange(4, f32), array({0., 1., 2., 3.})));
  EXPECT_TRUE(close(arange(2, 9, 3), array({2, 5, 8})));
  EXPECT_TRUE(close(arange(9, 2, -3), array({9, 6, 3})));
  EXPECT_TRUE(close(arange(0., 1., 0.25), array({0., 0.25, 0.5, 0.75})));
  EXPECT_TRUE(close(arange(2.5), array({0., 1., 2.})));
  EXPECT_EQ(arange(3, 3).size(), 0);
  EXPECT_EQ(arange(5, 3).size(), 0);
  EXPECT_TRUE(close(arange(3, i64), array({0, 1, 2}, i64)));
  EXPECT_EQ(arange(0., 1., 0.1).to_vector<float>(),
            (std::vector<float>{0.f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f}));
  EXPECT_MESSAGE(ValueError, arange(0, 3, 0), "the step is 0");
  EXPECT_TRUE(close(linspace(0, 1, 5), array({0., 0.25, 0.5, 0.75, 1.})));
  EXPECT_TRUE(close(linspace(2, 3, 1), array({2.})));
  EXPECT_EQ(linspace(0, 0.3, 4).to_vector<float>().back(), 0.3f);
  EXPECT_TRUE(close(linspace(-5, 5, 4, i32), array({-5, -2, 1, 5})));
  EXPECT_TRUE(close(linspace(-0.5, 5, 1, i32), array({-1})));
  EXPECT_MESSAGE(ValueError, arange(2147483640LL, 2147483650LL), "2147483649 does not fit into i32");
  EXPECT_MESSAGE(ValueError, arange(250, 260, 1, u8), "259 does not fit into u8");
  EXPECT_TRUE(close(arange(252, 256, 1, u8), array({252, 253, 254, 255}, u8)));
  EXPECT_TRUE(close(arange(9, 2, -3, u8), array({9, 6, 3}, u8)));
  EXPECT_TRUE(close(arange(0, 1, 5000000000LL), array({0})));
  EXPECT_TRUE(close(arange(INT64_MAX, INT64_MIN, INT64_MIN, i64), array({INT64_MAX, std::int64_t{-1}}, i64)));
  EXPECT_MESSAGE(ShapeError, arange(INT64_MIN, INT64_MAX), "more numbers than any memory holds");
  EXPECT_MESSAGE(ShapeError, arange(0., 1e19), "more numbers than any memory holds");
  EXPECT_EQ(arange(1e19, 0.).size(), 0);
}
TEST(Creation, MoreElementsThanCanBe) {
  auto half = std::int64_t{1} << 32, much = std::int64_t{1} << 62;
  EXPECT_MESSAGE(ShapeError, zeros({half, half}), "[4294967296, 4294967296]");
  EXPECT_MESSAGE(ShapeError, repeat(ones({4}), much, 0), "[4, 4611686018427387904]");
  EXPECT_MESSAGE(ShapeError, tile(ones({4}), {much}), "4611686018427387904");
  EXPECT_MESSAGE(ShapeError, one_hot(array({1}), much), "[1, 4611686018427387904]");
  EXPECT_MESSAGE(ShapeError, broadcast_to(ones({1, 1}), {half, half}), "[4294967296, 4294967296]");
  EXPECT_MESSAGE(ShapeError, iota({half, half}, 0), "[4294967296, 4294967296]");
  EXPECT_MESSAGE(ShapeError, reshape(zeros({0}), {half, half}), "[4294967296, 4294967296]");
  EXPECT_MESSAGE(ShapeError, reshape(zeros({0}), {-1, half, half}), "[1, 4294967296, 4294967296]");
  auto none_of_it = zeros({half, 0, half}) + 1;  // no elements, however large the others are
  EXPECT_EQ(none_of_it.size(), 0);
  EXPECT_EQ(cumsum(transpose(none_of_it), 1).shape(), (Shape{half, 0, half}));
  EXPECT_EQ(sum(none_of_it).item<float>(), 0);
}
TEST(Creation, Matrices) {
  EXPECT_TRUE(close(eye(2), array({{1., 0.}, {0., 1.}})));
  EXPECT_TRUE(close(eye(1, 3, i32), array({{1, 0, 0}})));
  EXPECT_EQ(eye(3, bf16).dtype(), bf16);
  EXPECT_TRUE(close(tri(2, 3), array({{1., 0., 0.}, {1., 1., 0.}})));
  auto x = array({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(close(tril(x), array({{1, 0, 0}, {4, 5, 0}})));
  EXPECT_TRUE(close(tril(x, 1), array({{1, 2, 0}, {4, 5, 6}})));
  EXPECT_TRUE(close(triu(x), array({{1, 2, 3}, {0, 5, 6}})));
  EXPECT_TRUE(close(triu(x, -1), x));
  EXPECT_MESSAGE(ShapeError, tril(array({1, 2})), "needs a matrix");
}
TEST(Creation, ReadingConvertsAsAstypeDoes) {
  auto x = array({300., -1.5, 1e30, -1e30, std::nan("")}, f64);
  EXPECT_EQ(x.to_vector<int>(), x.astype(i32).to_vector<int>());
  EXPECT_EQ(x.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 0, 255, 0, 0}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), x.astype(i64).to_vector<std::int64_t>());
  EXPECT_EQ(x.to_vector<bool>(), x.astype(boolean).to_vector<bool>());
  EXPECT_EQ(array({-1, 257}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 1}));
  EXPECT_EQ(array(2.5).item<long double>(), 2.5L);
  EXPECT_EQ(array(-7).item<std::int8_t>(), -7);
}
TEST(Creation, OneHotAndGrids) {
  EXPECT_TRUE(close(one_hot(array({2, 0, 5}), 3), array({{0., 0., 1.}, {1., 0., 0.}, {0., 0., 0.}})));
  EXPECT_EQ(one_hot(array({{1}}), 4, bf16).type(), (Type{{1, 1, 4}, bf16}));
  EXPECT_TRUE(close(one_hot(array({3, 255}, u8), 300), one_hot(array({3, 255}), 300)));
  EXPECT_MESSAGE(DtypeError, one_hot(array({1.}), 3), "indices are integers");
  EXPECT_MESSAGE(ValueError, one_hot(array({0}), -1), "must not be negative, got -1");
  auto g = meshgrid({array({1, 2, 3}), array({4, 5})});
  EXPECT_TRUE(close(g[0], array({{1, 2, 3}, {1, 2, 3}})));
  EXPECT_TRUE(close(g[1], array({{4, 4, 4}, {5, 5, 5}})));
  EXPECT_EQ(meshgrid({arange(3), arange(2)}, {.indexing = Indexing::ij})[0].shape(), (Shape{3, 2}));
}
}  // namespace creation_test
