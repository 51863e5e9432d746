// ragged_all_to_all against loops over the slices, on meshes and over a mapped axis.
#include "bora/ops/collectives.h"
#include <random>
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::ragged_exchange_test {
namespace {
/// The operands of every member, stacked, and its results.
struct Exchange {
  Array operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, want;
};
Exchange exchange(int members, int slices, int rows, int seed) {
  std::mt19937 g(static_cast<unsigned>(seed));
  auto below = [&](int n) { return static_cast<int>(g() % static_cast<unsigned>(n)); };
  const auto P = static_cast<std::size_t>(members), K = static_cast<std::size_t>(slices), N = P * K;
  const auto R = static_cast<std::size_t>(rows), room = R * N;  // of an output: no two slices overlap
  std::vector<double> x(P * R * 2), out(P * room * 2);
  for (auto& v : x) v = below(1000);
  for (auto& v : out) v = -1 - below(1000);
  auto want = out;
  std::vector<int> from(P * N), sizes(P * N), to(P * N), come(P * N);
  for (std::size_t p = 0; p < P; ++p)
    for (std::size_t i = 0; i < N; ++i) {
      auto size = below(rows + 1), start = below(rows - size + 1);
      auto target = i / K, at = p * K + i % K, place = at * R;
      from[p * N + i] = start, sizes[p * N + i] = size, to[p * N + i] = static_cast<int>(place);
      come[target * N + at] = size;
      for (std::size_t r = 0; r < static_cast<std::size_t>(size) * 2; ++r)
        want[(target * room + place) * 2 + r] = x[(p * R + static_cast<std::size_t>(start)) * 2 + r];
    }
  const auto m = static_cast<std::int64_t>(P), n = static_cast<std::int64_t>(N), many = static_cast<std::int64_t>(room);
  const std::int64_t height = rows;
  const Shape each{m, n};
  return {asarray(x, Shape{m, height, 2}), asarray(out, Shape{m, many, 2}), asarray(from, each), asarray(sizes, each),
          asarray(to, each),               asarray(come, each),             asarray(want, Shape{m, many, 2})};
}
Array mapped(const Exchange& e, const Array& operand, const Array& output) {
  return vmap([](const Array& x, const Array& y, const Array& a, const Array& b, const Array& c,
                 const Array& d) { return ragged_all_to_all(x, y, a, b, c, d, "i"); },
              {.axis_name = "i"})(operand, output, e.input_offsets, e.send_sizes, e.output_offsets, e.recv_sizes);
}
TEST(RaggedExchange, IsALoopOverSlices) {
  for (int members : {1, 2, 3})
    for (int slices : {1, 2}) {
      auto e = exchange(members, slices, 4, members * 10 + slices);
      close({mapped(e, e.operand, e.output)}, {e.want}, 0, "over a mapped axis");
      auto staged = jit([&](const Array& x) { return mapped(e, x, e.output); });
      close({staged(e.operand)}, {e.want}, 0, "staged");
    }
}
TEST(RaggedExchange, OnAMesh) {
  for (int members : {1, 2, 4}) {
    auto e = exchange(members, 2, 3, members);
    local_mesh({{"data", members}}, [&](const Mesh& mesh) {
      Spec s{"data"};
      auto f = [](const Array& x, const Array& y, const Array& a, const Array& b, const Array& c, const Array& d) {
        auto one = [](const Array& v) { return index_in_dim(v, 0, 0); };
        return expand_dims(ragged_all_to_all(one(x), one(y), one(a), one(b), one(c), one(d), "data"), 0);
      };
      auto y = shard_map(f, mesh, {s, s, s, s, s, s}, s)(e.operand, e.output, e.input_offsets, e.send_sizes,
                                                         e.output_offsets, e.recv_sizes);
      close({y}, {e.want}, 0, "on " + std::to_string(members) + " ranks");
    });
  }
}
TEST(RaggedExchange, DerivativesReachOperandAndOutput) {
  auto e = exchange(3, 1, 3, 7);
  auto ct = rnd(e.want.shape(), 4);
  auto loss = [&](const Array& x, const Array& y) { return sum(square(mapped(e, x, y)) * ct); };
  auto gx = grad([&](const Array& x) { return loss(x, e.output); })(e.operand);
  auto gy = grad([&](const Array& y) { return loss(e.operand, y); })(e.output);
  auto v = rnd(e.operand.shape(), 5), w = rnd(e.output.shape(), 6);
  const double h = 1e-4;
  auto slope = [&](const Array& a, const Array& b) {
    return ((loss(e.operand + h * a, e.output + h * b) - loss(e.operand - h * a, e.output - h * b)) / (2 * h))
        .item<double>();
  };
  auto zero_x = zeros_like(v), zero_y = zeros_like(w);
  EXPECT_NEAR(sum(gx * v).item<double>(), slope(v, zero_y), 1e-3);
  EXPECT_NEAR(sum(gy * w).item<double>(), slope(zero_x, w), 1e-3);
}
/// The example in the documentation of jax.lax.ragged_all_to_all.
TEST(RaggedExchange, TheExampleOfJax) {
  Exchange e;
  e.operand = asarray(std::vector<float>{1, 2, 2, 3, 4, 0}, Shape{2, 3});
  e.output = zeros({2, 4});
  e.input_offsets = asarray(std::vector<int>{0, 1, 0, 1}, Shape{2, 2});
  e.send_sizes = asarray(std::vector<int>{1, 2, 1, 1}, Shape{2, 2});
  e.output_offsets = asarray(std::vector<int>{0, 0, 1, 2}, Shape{2, 2});
  e.recv_sizes = asarray(std::vector<int>{1, 1, 2, 1}, Shape{2, 2});
  close({mapped(e, e.operand, e.output)}, {asarray(std::vector<float>{1, 3, 0, 0, 2, 2, 4, 0}, Shape{2, 4})}, 0, "JAX");
}
TEST(RaggedExchange, MistakesAreNamed) {
  auto e = exchange(2, 1, 3, 1);
  auto says = [&](const Exchange& wrong, const std::string& words) {
    test::says([&] { (void)mapped(wrong, wrong.operand, wrong.output); }, words);
  };
  auto other = e;
  other.operand = other.operand.astype(f32);
  says(other, "ragged_all_to_all: operand f32[3, 2] and output f64[6, 2] have different dtypes");
  other = e;
  other.send_sizes = e.send_sizes.astype(f32);
  says(other, "ragged_all_to_all: offsets and sizes are integers, got f32[2]");
  other = e;
  other.recv_sizes = ones({2, 3}, i32);
  says(other, "ragged_all_to_all: offsets and sizes must be vectors of one length that 2 members divide, got i32[3]");
  other = e;
  other.output = ones({2, 6, 3}, f64);
  says(other, "must have the same dimensions after the first one");
}
}  // namespace
}  // namespace bora::laws::ragged_exchange_test
