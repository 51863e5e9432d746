// A draw with a Spec is born split, and its numbers are those of one rank.
#include <gtest/gtest.h>
#include "bora/random/random.h"
#include "bora/shard/mesh.h"

namespace bora {
namespace {
TEST(Sharded, DrawsAreThoseOfOneRank) {
  auto k = random::key(11);
  auto alone = random::normal(k, {5, 4, 3}).to_vector<float>();
  auto wide = random::bits(k, {5, 7}, i64).to_vector<std::int64_t>();
  auto gammas = random::gamma(k, random::uniform(k, {7}, f32, 0.5, 3.0)).to_vector<float>();
  for (auto& axes : std::vector<std::vector<MeshAxis>>{{{"data", 2}}, {{"data", 4}}, {{"data", 3}, {"model", 2}}}) {
    local_mesh(axes, [&](const Mesh& mesh) {
      std::vector<Spec> specs{Spec{"data"}, Spec{none, "data"}, Spec{none, none, "data"}};
      if (mesh.shape().has(AxisName("model")))
        specs.insert(specs.end(), {Spec{"data", "model"}, Spec{{"model", "data"}}, Spec{"model", none, "data"}});
      for (auto& spec : specs) {
        auto x = random::normal(k, {5, 4, 3}, f32, {.spec = spec});
        EXPECT_FALSE(is_buffer(x)) << "not split: " << spec;
        EXPECT_EQ(x.to_vector<float>(), alone) << spec;
      }
      EXPECT_EQ(random::bits(k, {5, 7}, i64, {.spec = Spec{"data"}}).to_vector<std::int64_t>(), wide);
      EXPECT_EQ(random::gamma(k, random::uniform(k, {7}, f32, 0.5, 3.0), none, f32, {.spec = Spec{"data"}})
                    .to_vector<float>(),
                gammas);
      EXPECT_THROW((void)random::bits(k, {5}, u32, {.spec = Spec{none, "data"}}), ShardError);
    });
  }
}
}  // namespace
}  // namespace bora
