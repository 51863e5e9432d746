// Rows in groups times the matrix of their group, against a loop over the rows.
#include "bora/ops/contractions.h"
#include <gtest/gtest.h>
#include "bora/base/parallel.h"
#include "bora/bora.h"
#include "ops/checks.h"
#include "support/numbers.h"

namespace bora::ragged_test {
namespace {
Array numbers(const Shape& shape, int seed, Dtype dtype = f64) {
  auto x = test::rnd(shape, seed);
  return (is_integer(dtype) ? x * 9.0 : x).astype(dtype);
}
/// x [M, K], w [E, K, N]: each row times the matrix of its group.
Array by_rows(const Array& x, const Array& w, const std::vector<std::int64_t>& sizes, std::int64_t first) {
  Arrays rows;
  std::size_t group = 0;
  std::int64_t left = sizes.empty() ? 0 : std::max<std::int64_t>(0, sizes[0]);
  for (std::int64_t i = 0; i < x.shape(0); ++i) {
    while (group < sizes.size() && left == 0)
      if (++group < sizes.size()) left = std::max<std::int64_t>(0, sizes[group]);
    auto e = static_cast<std::int64_t>(group) - first;
    bool has = group < sizes.size() && e >= 0 && e < w.shape(0);
    rows.push_back(has ? matmul(view(x, i), view(w, e)) : zeros({w.shape(2)}, x.dtype()));
    --left;
  }
  return rows.empty() ? zeros({0, w.shape(2)}, x.dtype()) : stack(rows);
}
double distance(const Array& a, const Array& b) {
  EXPECT_EQ(a.type(), b.type());
  return a.size() == 0 ? 0 : amax(abs(a.astype(f64) - b.astype(f64))).item<double>();
}
struct Case {
  std::int64_t rows, groups, matrices, first;
  std::vector<std::int64_t> sizes;
};
const std::vector<Case> kCases{{6, 3, 3, 0, {2, 3, 1}},   {6, 3, 3, 0, {0, 6, 0}},  // all in one group
                               {6, 3, 3, 0, {0, 0, 0}},   {6, 3, 3, 0, {1, 0, 2}},  // rows of no group
                               {6, 3, 3, 0, {9, 9, 9}},   {6, 3, 3, 0, {-4, 2, 4}},
                               {7, 4, 2, 1, {2, 1, 3, 1}}, {7, 4, 2, 3, {2, 1, 3, 1}},
                               {0, 2, 2, 0, {0, 0}},      {300, 5, 5, 0, {100, 0, 199, 1, 0}}};

TEST(RaggedDot, IsALoopOverRows) {
  for (auto& c : kCases)
    for (auto dtype : {f32, f64, bf16, i32}) {
      auto x = numbers({c.rows, 5}, 1, dtype), w = numbers({c.matrices, 5, 4}, 2, dtype);
      auto y = ragged_dot(x, w, asarray(c.sizes), {.first_group = array(c.first)});
      EXPECT_LE(distance(y, by_rows(x, w, c.sizes, c.first)), dtype == bf16 ? 1e-2 : 1e-6)
          << dtype_name(dtype) << " " << to_string(Dims(c.sizes));
    }
}
TEST(RaggedDot, BatchesOfRowsShareTheMatrices) {
  auto x = numbers({3, 6, 5}, 1), w = numbers({3, 5, 4}, 2);
  std::vector<std::vector<std::int64_t>> sizes{{2, 3, 1}, {0, 0, 6}, {1, 0, 2}};
  auto all = array({{2, 3, 1}, {0, 0, 6}, {1, 0, 2}});
  auto y = ragged_dot(x, w, all);
  for (std::int64_t r = 0; r < 3; ++r)
    EXPECT_LE(distance(view(y, r), by_rows(view(x, r), w, sizes[static_cast<std::size_t>(r)], 0)), 1e-14);
  auto g = grad([&](const Array& m) { return sum(square(ragged_dot(x, m, all))); })(w);
  Array want = zeros_like(w);
  for (std::int64_t r = 0; r < 3; ++r)
    want = want + grad([&](const Array& m) { return sum(square(ragged_dot(view(x, r), m, view(all, r)))); })(w);
  EXPECT_LE(distance(g, want), 1e-13);
}
TEST(RaggedDot, StacksHaveTheirOwnFirstGroup) {
  auto x = numbers({6, 5}, 1), w = numbers({4, 5, 4}, 2), sizes = array({1, 2, 0, 3});
  auto y = ragged_dot(broadcast_to(expand_dims(x, 0), {2, 6, 5}), reshape(w, {2, 2, 5, 4}),
                      broadcast_to(expand_dims(sizes, 0), {2, 4}), {.first_group = array({0, 2})});
  EXPECT_EQ(distance(sum(y, 0), ragged_dot(x, w, sizes)), 0) << "a row is in one stack, and zero in the other";
}
TEST(RaggedDot, HasTheSameBitsForAnyNumberOfThreads) {
  auto before = thread_count();
  for (auto dtype : {f32, bf16})
    for (auto sizes : {Dims{400, 0, 100, 12}, Dims{512, 0, 0, 0}, Dims{128, 128, 128, 128}}) {
      auto x = numbers({2, 512, 96}, 1, dtype), w = numbers({4, 96, 80}, 2, dtype);
      auto counts = broadcast_to(asarray(sizes), {2, 4});
      std::vector<std::vector<float>> y, dw;
      for (int n : {1, 2, 3, 7}) {
        set_thread_count(n);
        y.push_back(ragged_dot(x, w, counts).astype(f32).to_vector<float>());
        dw.push_back(grad([&](const Array& m) { return sum(ragged_dot(x, m, counts).astype(f32)); })(w)
                         .astype(f32)
                         .to_vector<float>());
        EXPECT_EQ(y.back(), y[0]) << n;
        EXPECT_EQ(dw.back(), dw[0]) << n;
      }
    }
  set_thread_count(before);
}
TEST(RaggedDot, AGroupWithoutRowsHasAGradientOfZero) {
  auto x = numbers({4, 3}, 1), w = numbers({3, 3, 2}, 2);
  auto dw = grad([&](const Array& m) { return sum(ragged_dot(x, m, array({1, 0, 3}))); })(w);
  EXPECT_EQ(amax(abs(view(dw, 1))).item<double>(), 0);
  EXPECT_GT(amax(abs(view(dw, 2))).item<double>(), 0);
}
TEST(RaggedDot, ErrorsNameTheSizes) {
  auto x = zeros({4, 3}), w = zeros({2, 5, 2}), sizes = array({2, 2});
  EXPECT_MESSAGE(ShapeError, ragged_dot(x, w, sizes), "inner sizes differ");
  EXPECT_MESSAGE(ShapeError, ragged_dot(zeros({4, 5}), zeros({5, 2}), sizes), "ragged_dot: needs x");
  EXPECT_MESSAGE(DtypeError, ragged_dot(zeros({4, 5}), w, array({2., 2.})), "sizes are integers");
  EXPECT_MESSAGE(ShapeError, ragged_dot(zeros({3, 4, 5}), w, sizes), "sizes must be");
  EXPECT_MESSAGE(ShapeError, ragged_dot(zeros({4, 5}), w, sizes, {.first_group = sizes}), "first group must be");
}
}  // namespace
}  // namespace bora::ragged_test
