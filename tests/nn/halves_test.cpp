// Sums of many gradients of bf16 and f16 are f32, and stay pending on a mesh.
#include "bora/ops/sharding.h"
#include "laws/laws.h"

namespace bora::laws::halves_test {
namespace {
/// sum over n iterations of w * x, of which a half's own sum would stop at 256 (bf16) or 2048 (f16).
NamedArray looped(const Array& w, std::int64_t n) {
  auto body = [&](const Array& total, const Array& x) { return std::pair{total + (w * x).astype(f32), none}; };
  return {bora::scan(body, constant(0, f32), full({n}, 1, w.dtype())).first, {}};
}
TEST(Halves, AScanSumsTheGradientsOfItsConstantsInF32) {
  for (auto [dtype, n] : {std::pair{bf16, 1024}, {f16, 4096}, {f32, 4096}})
    for (bool staged : {false, true}) {
      auto g = grad([n = n](const Array& w) { return looped(w, n).array(); });
      auto w = constant(2, dtype);
      auto got = staged ? jit(g)(w) : g(w);
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_EQ(got.astype(f64).item<double>(), n) << dtype;
      auto second = grad(grad([n = n](const Array& x) { return looped(x * x, n / 8).array(); }));
      EXPECT_EQ((staged ? jit(second)(w) : second(w)).astype(f64).item<double>(), n / 4) << dtype;
    }
}
TEST(Halves, RoundedSumsStayPending) {
  for (int ranks : {1, 2, 3})
    for (bool staged : {false, true})
      local_mesh({{"data", ranks}}, [&](const Mesh&) {
        auto x = rnd({6, 5}, 1).astype(f32);
        auto f = [](const Array& a) {
          auto y = rounded_sum(sum(a, 0), bf16);
          return Arrays{terms_of_sum(y, "data"), y};
        };
        auto split = shard(x, Spec{"data"});
        auto got = staged ? jit(f)(split) : f(split);
        EXPECT_EQ(got[0].dtype(), bf16);
        auto each = reshape(x, {ranks, 6 / ranks, 5});
        auto want = sum(each, 1).astype(bf16);  // each rank's, rounded by itself
        close({gathered({got[0]})[0].astype(f64)}, {want.astype(f64)}, 1.0 / 128, std::to_string(ranks) + " ranks");
        close({gathered({got[1]})[0].astype(f64)}, {sum(x, 0).astype(f64)}, 3.0 / 128, "their sum");
        auto g = grad([&](const Array& a) { return sum(rounded_sum(sum(a, 0), bf16).astype(f32)); })(split);
        close({gathered({g})[0].astype(f64)}, {ones({6, 5}, f64)}, 0, "its derivative");
      });
}
}  // namespace
}  // namespace bora::laws::halves_test
