// Meshes of processes, as a program asks for them.
#include "bora/shard/mesh.h"
#include <gtest/gtest.h>
#include <cstdlib>
#include "bora/compile/stage.h"
#include "bora/fx/control.h"
#include "bora/fx/jit.h"
#include "bora/shard/transforms.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/shard.h"
#include "support/throws.h"

namespace mesh_test {
using namespace bora;
TEST(MeshOfAJob, OneProcessHasEveryAxisOfSizeOne) {
  struct Case {
    std::vector<MeshAxis> axes;
    std::string shape, said;
  };
  for (auto& c : std::vector<Case>{{{{"data", -1}, {"model", 2}}, "data=1,model=1", "instead of data=-1,model=2"},
                                   {{{"data", 3}}, "data=1", "instead of data=3"},
                                   {{{"data", -1}, {"model", 1}}, "data=1,model=1", ""},
                                   {{}, "", ""}}) {
    testing::internal::CaptureStderr();
    {
      auto mesh = Mesh::from_environment(c.axes);
      UseMesh scope(mesh);
      EXPECT_EQ(to_string(mesh.shape()), c.shape);
      EXPECT_EQ(sum(with_sharding_constraint(ones({5}), c.axes.empty() ? Spec{} : Spec{"data"})).item<float>(), 5.F);
    }
    auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.empty(), c.said.empty()) << said;
    EXPECT_NE(said.find(c.said), std::string::npos) << said;
  }
  auto error = [](const std::vector<MeshAxis>& axes) {
    return test::error_of<ConfigError>([&] { (void)Mesh::from_environment(axes); });
  };
  EXPECT_EQ(error({{"data", 0}}),
            "mesh data=0: axis 'data' must have a name and a size of at least 1 (or -1 for what is left)");
  EXPECT_EQ(error({{"data", 2}, {"data", 2}}), "mesh data=2,data=2: axis 'data' is named twice");
  EXPECT_EQ(error({{"data", -1}, {"model", -1}}), "mesh data=-1,model=-1: only one axis may be -1");
  ::setenv("BORA_RANK", "0", 1);  // a job of three is what it is; nobody is waited for
  ::setenv("BORA_SIZE", "3", 1);
  ::setenv("BORA_ROOT", "127.0.0.1:9", 1);
  EXPECT_EQ(error({{"data", -1}, {"model", 2}}), "mesh data=-1,model=2 needs a multiple of 2 ranks, but the job has 3");
  for (auto name : {"BORA_RANK", "BORA_SIZE", "BORA_ROOT"}) ::unsetenv(name);
}
TEST(MeshOfAJob, MoreRanksThanThereAreNumbersAreAnError) {
  std::vector<MeshAxis> axes{{"a", 65536}, {"b", 65536}, {"c", 1}};
  EXPECT_EQ(test::error_of<ConfigError>([&] { local_mesh(axes, [](const Mesh&) {}); }),
            "mesh a=65536,b=65536,c=1: too many ranks");
}
/// What is kept on a Program must not keep the Program.
TEST(Programs, OfAMeshEndWithTheirFunctions) {
  std::weak_ptr<const Program> staged, inner;
  local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
    auto x = with_sharding_constraint(ones({4, 3}), Spec{"data"});
    auto added = [](const Array& c, const Array& row) { return std::pair{c + row, tanh(c)}; };
    auto body = jit([&](const Array& a) { return scan(added, zeros({3}), a).first; });
    auto f = jit([&](const Array& a) {
      return with_sharding_constraint(matmul(a, transpose(a)) * sum(body(a)), Spec{});
    });
    (void)f(x);
    EXPECT_NE(explain(f, x), "");
    if (mesh.rank() == 0) staged = f.program(x), inner = body.program(x);
  });
  EXPECT_TRUE(staged.expired());
  EXPECT_TRUE(inner.expired());
}
}  // namespace mesh_test
