// The Sobol sequence beside SciPy's (tests/golden/sobol.txt), its balance, blocks, jit and errors.
#include "bora/random/sobol.h"
#include <gtest/gtest.h>
#include <fstream>
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/mesh.h"
#include "support/golden.h"
#include "support/throws.h"

namespace bora::sobol_test {
namespace {
TEST(Sobol, IsSciPys) {
  std::ifstream file(test::golden_path("sobol.txt"));
  std::int64_t n = 0, d = 0, skip = 0;
  file >> n >> d >> skip;
  std::vector<double> want, cut;
  for (std::uint32_t x = 0; file >> std::hex >> x;) {
    want.push_back(x * 0x1p-32);
    cut.push_back((x >> 8) * 0x1p-24);
  }
  ASSERT_EQ(want.size(), 512u);
  EXPECT_EQ(random::sobol(n, d, {.skip = skip, .dtype = f64}).to_vector<double>(), want);
  EXPECT_EQ(random::sobol(n, d, {.skip = skip}).to_vector<double>(), cut);
  EXPECT_TRUE(
      array_equal(random::sobol(n, 5, {.skip = skip}), slice_in_dim(random::sobol(skip + n, 5), 0, skip, skip + n)));
  EXPECT_EQ(random::sobol(0, 3).shape(), (Shape{0, 3}));
  EXPECT_EQ(random::sobol(1, 1, {.skip = (std::int64_t{1} << 32) - 1, .dtype = f64}).item<double>(), 0x1p-32);
}
/// Each of 2^m intervals of each coordinate has one of 2^m points; shifted by random bits too.
TEST(Sobol, IsBalanced) {
  for (auto& x : {random::sobol(256, 64), random::sobol(256, 64, {.key = random::key(3)})}) {
    auto cells = sort(floor(x * 256), 0);
    EXPECT_TRUE(array_equal(cells, broadcast_to(reshape(arange(256), {256, 1}), {256, 64}).astype(f32)));
  }
  auto x = random::sobol(1024, 4, {.key = random::key(1), .dtype = f64});
  EXPECT_NEAR(mean(prod(x * 2, -1)).item<double>(), 1, 0.01);
}
TEST(Sobol, BlocksAndJitGiveTheSamePoints) {
  auto key = random::key(2);
  auto alone = random::sobol(37, 6, {.skip = 5, .key = key}).to_vector<float>();
  auto draw = [](const Array& k) { return random::sobol(37, 6, {.skip = 5, .key = k}); };
  EXPECT_EQ(jit(draw)(key).to_vector<float>(), alone);
  auto keys = random::split(key, 2);
  EXPECT_TRUE(array_equal(vmap(draw)(keys), stack({draw(index_in_dim(keys, 0, 0)), draw(index_in_dim(keys, 0, 1))})));
  local_mesh({{"data", 3}, {"model", 2}}, [&](const Mesh&) {
    for (auto& spec : {Spec{"data"}, Spec{none, "data"}, Spec{"model", "data"}}) {
      auto x = random::sobol(37, 6, {.skip = 5, .key = key, .draw = {.spec = spec}});
      EXPECT_FALSE(is_buffer(x)) << "not split: " << spec;
      EXPECT_EQ(x.to_vector<float>(), alone) << spec;
    }
  });
}
TEST(Sobol, ErrorsHaveTheValues) {
  test::says([] { return random::sobol(4, 65); }, "1 to 64 dimensions, got 65");
  test::says([] { return random::sobol(-4, 2); }, "got -4 points");
  test::says([] { return random::sobol(2, 2, {.skip = (1ll << 32) - 1}); }, "2^32");
  test::says([] { return random::sobol(2, 2, {.dtype = bf16}); }, "got bf16");
}
}  // namespace
}  // namespace bora::sobol_test
