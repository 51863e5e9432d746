#include "ops/checks.h"

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
TEST(Creation, MemoryKeepsItsType) {
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
TEST(Creation, OneHotAndGrids) {
  EXPECT_TRUE(close(one_hot(array({2, 0, 5}), 3), array({{0., 0., 1.}, {1., 0., 0.}, {0., 0., 0.}})));
  EXPECT_EQ(one_hot(array({{1}}), 4, bf16).type(), (Type{{1, 1, 4}, bf16}));
  EXPECT_MESSAGE(DtypeError, one_hot(array({1.}), 3), "indices are integers");
  auto g = meshgrid({array({1, 2, 3}), array({4, 5})});
  EXPECT_TRUE(close(g[0], array({{1, 2, 3}, {1, 2, 3}})));
  EXPECT_TRUE(close(g[1], array({{4, 4, 4}, {5, 5, 5}})));
  EXPECT_EQ(meshgrid({arange(3), arange(2)}, {.indexing = Indexing::ij})[0].shape(), (Shape{3, 2}));
}
