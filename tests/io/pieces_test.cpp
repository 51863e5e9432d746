// Files that several threads read and write in pieces: the same numbers and errors as on one thread.
#include <array>
#include "io/blocks.h"
#include "bora/base/parallel.h"
#include "bora/io/npy.h"
#include "bora/io/safetensors.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "testing.h"

namespace pieces_test {
namespace {
using namespace bora;
using io::Folder, io::edit, io::kChunk, test::error_of;
struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};
TEST(Pieces, CoverTheirBoxInOrder) {
  for (std::int64_t rows : {0, 1, 2, 7, 100})
    for (std::int64_t columns : {0, 1, 30})
      for (std::int64_t most : {1, 29, 31, 200, 5000}) {
        io::Box box{{3, 3 + rows}, {2, 2 + columns}};
        auto at = box[0].begin;
        for (auto& piece : io::pieces(box, most)) {
          EXPECT_EQ(piece[0].begin, at);
          EXPECT_EQ(piece[1], box[1]);
          EXPECT_TRUE(io::elements(piece) <= most || piece[0].size() == 1);
          at = piece[0].end;
        }
        EXPECT_EQ(at, box[0].end);
      }
  EXPECT_EQ(io::pieces({}, 1).size(), 1U);
}
/// f on one thread and on three.
template <class F> auto on_threads(const F& f) {
  auto on = [&](int n) {
    Threads limit(n);
    return f();
  };
  return std::array{on(1), on(3)};
}
TEST(Pieces, LargeTensorsAreReadAlikeOnAnyNumberOfThreads) {
  Folder f;
  auto x = reshape(arange(12e6, f32), {30'000, 400}) / 7;  // 48 MB
  std::map<std::string, Array> all{{"x", x}, {"half", x.astype(bf16)}, {"small", arange(5., f32)}};
  save_safetensors(f.path + ".safetensors", all);
  auto files = Safetensors::open(f.path + ".safetensors");
  auto again = on_threads([&] { return load_safetensors(files, all); });
  auto turned = on_threads([&] { return files.read({.name = "half", .order = {1, 0}}); });
  for (int i = 0; i < 2; ++i) {
    for (auto& [name, value] : all) EXPECT_TRUE(array_equal(again[static_cast<std::size_t>(i)][name], value)) << name;
    EXPECT_TRUE(array_equal(turned[static_cast<std::size_t>(i)], transpose(all["half"])));
  }
  for (auto& r : on_threads([&] { return files.read({.name = "x", .begin = {11'000, 0}, .end = {29'999, 400}}); }))
    EXPECT_TRUE(array_equal(r, slice_in_dim(x, 0, 11'000, 29'999)));
  edit(f.path + ".safetensors", [](std::string& bytes) { bytes.resize(bytes.size() - 40'000'000); });
  auto errors = on_threads([&] { return error_of([&] { (void)load_safetensors(files, all); }); });
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[0].find("half: the file became shorter while it was read"), std::string::npos) << errors[0];
}
/// Leaves of several pieces, split by rows; an element's value follows from its place.
struct Large {
  std::vector<std::vector<float>> memory;
  std::vector<io::Leaf> leaves;
  Large(const io::Place& place, bool fill) {
    for (auto [rows, columns] : {std::pair{9'000, 1'001}, {5, 1}, {8'000, 1'024}}) {
      Type type{{rows, columns}, f32};
      auto box = io::block_of_rank(type, {"data", none}, place.mesh, place.rank);
      auto& x = memory.emplace_back(static_cast<std::size_t>(io::elements(box)));
      if (fill)
        for (std::size_t e = 0, first = static_cast<std::size_t>(box[0].begin * columns); e < x.size(); ++e)
          x[e] = static_cast<float>((first + e) % 65'521);
      leaves.push_back({"leaf" + std::to_string(rows), type, {"data", none}, x.data()});
    }
  }
};
void save(const MeshShape& mesh, const std::string& root) {
  io::run_ranks(mesh, [&](const io::Place& place) {
    Large x(place, true);
    io::save_checkpoint(root, 1, x.leaves, place);
  });
}
std::string restore(const MeshShape& mesh, const std::string& folder) {
  std::string problem;
  io::run_ranks(mesh, [&](const io::Place& place) {
    Large x(place, false);
    auto mine = error_of([&] { io::restore_checkpoint(folder, x.leaves, place); });
    EXPECT_TRUE(mine != "no error" || x.memory == Large(place, true).memory);
    if (place.rank == 0) problem = mine;
  });
  return problem;
}
TEST(Pieces, LargeCheckpointsAreTheSameOnAnyNumberOfThreads) {
  std::array<std::string, 2> bytes;
  Folder f;
  for (int i = 0; i < 2; ++i) {
    Threads limit(i == 0 ? 1 : 3);
    save(io::mesh_of(2, 1), f.path);
    for (auto name : {"manifest", "rank-0", "rank-1"}) {
      std::ifstream in(f.path + "/step-1/" + name, std::ios::binary);
      bytes[static_cast<std::size_t>(i)] += std::string((std::istreambuf_iterator<char>(in)), {});
    }
  }
  EXPECT_TRUE(bytes[0] == bytes[1]);
  for (int readers : {1, 3})
    for (auto& error : on_threads([&] { return restore(io::mesh_of(readers, 1), f.path + "/step-1"); }))
      EXPECT_EQ(error, "no error");
}
TEST(Pieces, DamageIsReportedAlikeOnAnyNumberOfThreads) {
  Folder f;
  save(io::mesh_of(1, 1), f.path);
  auto folder = f.path + "/step-1";
  auto all = [&] {
    return on_threads([&] {
      return error_of([&] { (void)io::verify_checkpoint(folder); }) + "\n" + restore(io::mesh_of(1, 1), folder);
    });
  };
  std::string before;
  for (auto at : {60 * kChunk, 33 * kChunk - 1, kChunk}) {  // the first of them is named
    edit(folder + "/rank-0", [&](std::string& bytes) { bytes[static_cast<std::size_t>(at)] ^= 1; });
    auto errors = all();
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_NE(errors[0].find("is damaged"), std::string::npos) << errors[0];
    EXPECT_NE(errors[0], before);
    before = errors[0];
  }
  edit(folder + "/rank-0", [](std::string& bytes) { bytes.pop_back(); });  // behind the damage
  for (auto& error : all()) EXPECT_EQ(error, before);
}
TEST(Pieces, DamagedArraysOfAnNpzFileAreReportedAlike) {
  Folder f;
  std::map<std::string, Array> arrays;
  for (int i = 0; i < 6; ++i) arrays["a" + std::to_string(i)] = full({500'000}, i, f32);
  auto file = f.path + ".npz";
  save_npz(file, arrays);
  for (auto& r : on_threads([&] { return load_npz(file); }))
    for (auto& [name, x] : arrays) EXPECT_TRUE(array_equal(r[name], x)) << name;
  edit(file, [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1, bytes[bytes.size() * 3 / 4] ^= 1; });
  auto errors = on_threads([&] { return error_of([&] { (void)load_npz(file); }); });
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[0].find("its checksum is wrong"), std::string::npos) << errors[0];
}
}  // namespace
}  // namespace pieces_test
