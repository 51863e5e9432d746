// Products with patches that are read from the image: the bits of products with a matrix of patches, for any number of
// threads.
#include "kernels/api/patches.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/gemm/unfolded.h"
#include "kernels/numbers.h"

namespace bora::kernels::patches_test {
namespace {
/// Windows of random places, sizes and numbers of dimensions, some of them on nothing; groups of channels or all.
struct Random {
  std::mt19937 rng;
  I channels, all, image = 1;
  Patches p;
  I pick(I least, I most) { return std::uniform_int_distribution<I>(least, most)(rng); }
  explicit Random(unsigned seed) : rng(seed) {
    const I dims = pick(1, 3), most = dims == 1 ? 90 : dims == 2 ? 14 : 5;
    channels = pick(0, 1) ? pick(1, 4) : pick(5, 40);
    all = pick(0, 1) ? channels : channels * pick(2, 3);
    p = {{}, pick(1, 3), 0, channels, pick(0, 1) == 1};
    p.dims.resize(static_cast<std::size_t>(dims));
    I stride = all;
    for (auto d = p.dims.rbegin(); d != p.dims.rend(); ++d) {
      *d = {pick(1, most), stride, pick(1, most), pick(1, 4), pick(1, 3), pick(0, 2) ? 1 : pick(2, 3), pick(-4, 2)};
      stride *= d->size;
    }
    p.image_stride = stride;
    image = stride * p.images;
  }
};
template <class T> void compare(unsigned seed) {
  Random r(seed);
  const auto& p = r.p;
  const I rows = p.windows(), columns = p.elements(), m = p.turned ? columns : rows, k = p.turned ? rows : columns,
          n = r.pick(0, 2) ? r.pick(1, 20) : r.pick(30, 90);
  SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << m << " " << k << " " << n);
  const auto x = numbers<T>(r.image, r.rng, 9);
  Gemm g{.dtype = dtype_of<T>, .m = m, .n = n, .k = k, .a = x.data(), .ldc = n + r.pick(0, 3)};
  // b as it is, or in parts that are transposed and in any order
  const bool parts = !p.turned && r.pick(0, 1);
  std::vector<I> begin;
  const auto b = numbers<T>(k * n, r.rng, 9);
  g.b = b.data(), g.b_row = n, g.b_col = 1;
  if (parts) {
    for (I i = 0; i < k / p.channels; ++i) begin.push_back(i * p.channels * n);
    std::shuffle(begin.begin(), begin.end(), r.rng);
    if (r.pick(0, 1)) g.b_row = 1, g.b_col = p.channels;
  }
  const auto c0 = numbers<T>(m * g.ldc, r.rng, 9);
  auto want = c0;
  g.c = want.data();
  gemm_unfolded(g, p, parts ? begin.data() : nullptr, p.channels);
  for (int threads : {1, 2, 3}) {
    auto c = c0;
    g.c = c.data();
    set_thread_count(threads);
    gemm_patches(g, p, parts ? begin.data() : nullptr, p.channels);
    set_thread_count(0);
    ASSERT_EQ(std::memcmp(c.data(), want.data(), c.size() * sizeof(T)), 0) << threads << " threads";
  }
}
template <class T> struct PatchesTest : testing::Test {};
using Types = testing::Types<float, double, bfloat16, std::int32_t>;
TYPED_TEST_SUITE(PatchesTest, Types);
TYPED_TEST(PatchesTest, HaveTheBitsOfTheirMatrix) {
  for (unsigned seed = 0; seed < 300; ++seed) compare<TypeParam>(seed);
}
TEST(Patches, OfAnotherSizeAreRefused) {
  Patches p{{{4, 1, 4, 2, 1, 1, 0}}, 1, 4, 1, false};
  std::vector<float> x(8);
  EXPECT_THROW(gemm_patches({.dtype = Dtype::f32, .m = 4, .n = 1, .k = 3, .a = x.data()}, p), ValueError);
}
}  // namespace
}  // namespace bora::kernels::patches_test
