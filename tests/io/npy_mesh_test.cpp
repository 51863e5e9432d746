// Files of arrays that are split over a mesh: one rank writes them, they are whole when any rank goes on, and an error
// of the writer is one of all ranks.
#include <gtest/gtest.h>
#include <filesystem>
#include "bora/bora.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace npy_mesh_test {
namespace {
using namespace bora;
struct NpyOnAMesh : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path();
  /// f on each of n ranks; how many of them threw an IoError.
  int errors(int n, const std::function<void(const Mesh&)>& f) {
    std::atomic<int> thrown = 0;
    local_mesh({{"a", n}}, [&](const Mesh& mesh) {
      UseMesh scope(mesh);
      try {
        f(mesh);
      } catch (const IoError&) { ++thrown; }
    });
    return thrown;
  }
};
Array rows() { return reshape(arange(12), {6, 2}).astype(f32); }
/// Is the file another one than before? Who writes it anew in place keeps the inode, so a mark is left in it instead.
void expect_rows(const std::string& file) {
  EXPECT_EQ(load_npy(file).to_vector<float>(), rows().to_vector<float>()) << file;
}

TEST_F(NpyOnAMesh, OneRankWritesAndAllFindIt) {
  for (int n : {1, 2, 3}) {
    auto file = folder + "/" + std::to_string(n) + ".npy", several = folder + "/" + std::to_string(n) + ".npz";
    EXPECT_EQ(errors(n,
                     [&](const Mesh& mesh) {
                       for (int round = 0; round < 20; ++round) {
                         auto x = shard(rows() + round, Spec{"a"});
                         save_npy(file, x);
                         EXPECT_EQ(load_npy(file).to_vector<float>(), (rows() + round).to_vector<float>());
                         save_npz(several, {{"plain", arange(3)}, {"split", x}});
                         EXPECT_EQ(load_npz(several).at("split").to_vector<float>(),
                                   (rows() + round).to_vector<float>());
                         mesh.exchange("", "read");
                       }
                     }),
              0);
  }
}
/// Only the first rank may write: the others name a folder that is not there.
TEST_F(NpyOnAMesh, TheOthersWriteNothing) {
  EXPECT_EQ(errors(3,
                   [&](const Mesh& mesh) {
                     auto own = mesh.rank() == 0 ? folder : folder + "/not there";
                     auto x = shard(rows(), Spec{"a"}), sums = sum(shard(rows(), Spec{"a"}), 0);
                     save_npy(own + "/x.npy", x);
                     save_npy(own + "/sums.npy", sums);  // still to be added up
                     save_npz(own + "/x.npz", {{"x", x}});
                     lower([x](const Array& v) { return v + x; }, rows()).save(own + "/f.bora");
                   }),
            0);
  expect_rows(folder + "/x.npy");
  EXPECT_EQ(load_npy(folder + "/sums.npy").to_vector<float>(), sum(rows(), 0).to_vector<float>());
  EXPECT_EQ(load_npz(folder + "/x.npz").at("x").shape(), (Shape{6, 2}));
  EXPECT_TRUE(fs::exists(folder + "/f.bora"));
}
TEST_F(NpyOnAMesh, AnErrorOfTheWriterIsOneOfAllRanks) {
  using Save = std::function<void(const std::string& to, const Array& x)>;
  std::vector<std::pair<std::string, Save>> writers{
      {"x.npy", [](auto& to, auto& x) { save_npy(to, x); }},
      {"x.npz", [](auto& to, auto& x) { save_npz(to, {{"x", x}}); }},
      {"f.bora", [](auto& to, auto& x) { lower([x](const Array& v) { return v + x; }, rows()).save(to); }},
      {"x.safetensors", [](auto& to, auto& x) { save_safetensors(to, {{"x", x}}); }},
      {"tree", [](auto& to, auto& x) { save_tree(to, std::vector<Array>{x}); }}};
  std::ofstream(folder + "/a file") << "no folder";
  for (auto& [name, save] : writers)
    EXPECT_EQ(errors(3,
                     [&](const Mesh& mesh) {  // the writer's place is a file, the others' a folder
                       save((mesh.rank() == 0 ? folder + "/a file/" : folder + "/") + name, shard(rows(), Spec{"a"}));
                     }),
              3)
        << name;
}
/// What a rank has whole is its own, as is the file: it may write it alone.
TEST_F(NpyOnAMesh, ArraysThatAreWholeBelongToTheirRank) {
  EXPECT_EQ(errors(2,
                   [&](const Mesh& mesh) {
                     auto all = gather(shard(rows(), Spec{"a"}));
                     if (mesh.rank() == 1) {
                       save_npy(folder + "/of rank 1.npy", all);
                       save_npy(folder + "/made.npy", arange(12) * 2);
                       save_npz(folder + "/of rank 1.npz", {{"x", zeros({4})}});
                     }
                   }),
            0);
  expect_rows(folder + "/of rank 1.npy");
  EXPECT_EQ(load_npy(folder + "/made.npy").shape(), (Shape{12}));
  EXPECT_THROW(save_npy(folder + "/key.npy", random::key(1)), DtypeError);
  EXPECT_EQ(errors(2,
                   [&](const Mesh&) {
                     EXPECT_THROW(save_npy(folder + "/keys.npy", shard(random::split(random::key(1), 4), Spec{"a"})),
                                  DtypeError);
                   }),
            0);
}
}  // namespace
}  // namespace npy_mesh_test
