#include "base/api/crc32c.h"
#include "base/api/sha256.h"
#include "testing.h"

namespace checkpoint_test {
using namespace bora;
using namespace bora::io;

/// Every mesh of `to` reads what each of `from` wrote.
void read_by(const std::vector<MeshShape>& from_meshes, const std::vector<MeshShape>& to_meshes) {
  for (auto& from : from_meshes) {
    Folder f;
    save_on(from, f.path, 12);
    for (auto& to : to_meshes)
      for (auto& spec : {Spec{"data", "model"}, Spec{none, {"data", "model"}}, Spec{}, Spec{{"model", "data"}, none}})
        run_ranks(to, [&](const Place& place) {
          auto s = make_state(shapes(spec), place, false);
          restore_checkpoint(f.path + "/step-12", s.leaves, place);
          EXPECT_TRUE(holds_expected(shapes(spec), place, s))
              << to_string(from) << " -> " << to_string(to) << " " << spec;
        });
  }
}
TEST(Checkpoint, AnyMeshReadsWhatAnyMeshWrote) {
  const std::vector<MeshShape> meshes{mesh_of(1, 1), mesh_of(1, 3), mesh_of(5, 1), mesh_of(3, 2), mesh_of(9, 1)};
  read_by(meshes, meshes);
}
TEST(Checkpoint, AnySharesReadWhatAnySharesWrote) {
  auto along_data = shares_of({{3, 3, 2, 1}, {1}}), along_both = shares_of({{1, 3}, {2, 1}});
  read_by({along_data, along_both}, {along_both, shares_of({{1, 9}, {1}}), mesh_of(3, 1)});
  read_by({mesh_of(2, 2)}, {along_data, along_both});
}
TEST(Checkpoint, EveryByteIsWrittenOnceAndByItsHolder) {
  Folder f;
  save_on(mesh_of(2, 2), f.path, 1);
  auto m = read_manifest(f.path + "/step-1");
  EXPECT_EQ(m.mesh, "data=2,model=2");
  EXPECT_EQ(m.notes.at("step"), "1");
  std::int64_t stored = 0, wanted = 0;
  std::vector<int> writers(4);
  for (auto& leaf : m.leaves) {
    wanted += static_cast<std::int64_t>(leaf.type.nbytes());
    for (auto& b : leaf.blocks) stored += b.bytes, ++writers[static_cast<std::size_t>(b.file)];
  }
  EXPECT_EQ(stored, wanted);
  EXPECT_EQ(verify_checkpoint(f.path + "/step-1"), wanted);
  for (int r = 0; r < 4; ++r) EXPECT_GT(writers[static_cast<std::size_t>(r)], 0);
  std::int64_t on_disk = 0;
  for (int r = 0; r < 4; ++r)
    on_disk += static_cast<std::int64_t>(fs::file_size(f.path + "/step-1/rank-" + std::to_string(r)));
  EXPECT_EQ(on_disk, wanted);
}
TEST(Checkpoint, ThePreviousOneIsKept) {
  Folder f;
  for (int step : {5, 10, 15}) save_on(mesh_of(2, 1), f.path, step);
  auto found = list_checkpoints(f.path);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].step, 10);
  EXPECT_EQ(found[1].step, 15);
  save_on(mesh_of(1, 1), f.path, 15);  // once more: replaced as a whole
  EXPECT_EQ(restore_alone(f.path + "/step-15"), "no error");
  EXPECT_FALSE(fs::exists(f.path + "/step-15/rank-1"));
  // Remains of a crash are no checkpoint, and go away with the next one.
  fs::create_directories(f.path + "/.step-20.tmp");
  std::ofstream(f.path + "/step-40") << "a file";
  for (auto name : {"/step-07", "/step--1", "/step-x", "/step-"}) fs::create_directories(f.path + name);
  EXPECT_EQ(newest_checkpoint(f.path)->step, 15);
  EXPECT_EQ(list_checkpoints(f.path).size(), 2U);
  save_on(mesh_of(1, 1), f.path, 25);
  EXPECT_FALSE(fs::exists(f.path + "/.step-20.tmp"));
  EXPECT_EQ(newest_checkpoint(f.path)->step, 25);
  EXPECT_FALSE(newest_checkpoint("/no/such/folder"));
}
TEST(Checkpoint, AFolderWithoutItsManifestIsDamaged) {
  Folder f;
  save_on(mesh_of(1, 1), f.path, 5);
  save_on(mesh_of(1, 1), f.path, 10);
  fs::remove(f.path + "/step-10/manifest");
  EXPECT_EQ(
      error_of<CheckpointError>([&] { newest_checkpoint(f.path); }),
      "checkpoint " + f.path + "/step-10 is damaged: it has no manifest; remove the folder, or choose another out");
  fs::remove_all(f.path + "/step-10");
  EXPECT_EQ(newest_checkpoint(f.path)->step, 5);
  std::ofstream(f.path + "/file") << "x";
  EXPECT_EQ(error_of<IoError>([&] { newest_checkpoint(f.path + "/file"); }),
            "cannot read " + f.path + "/file: Not a directory");
}
TEST(Checkpoint, AFailedRankLeavesNothingBehindAndEveryRankSaysSo) {
  Folder f;
  save_on(mesh_of(3, 1), f.path, 1);
  // A folder in the way of rank 1's file, made when the temporary folder appears.
  run_ranks(mesh_of(3, 1), [&](const Place& place) {
    auto s = make_state(shapes(), place, true);
    auto sabotaged = place;
    sabotaged.exchange = [&](const std::string& mine, std::string_view what) {
      if (place.rank == 0 && what == "checkpoint: make its folder")
        fs::create_directory(f.path + "/.step-2.tmp/rank-1");
      return place.exchange(mine, what);
    };
    auto error = error_of<IoError>([&] { save_checkpoint(f.path, 2, s.leaves, sabotaged); });
    EXPECT_TRUE(error.starts_with("checkpoint: rank 1: cannot write " + f.path + "/.step-2.tmp/rank-1: ")) << error;
  });
  EXPECT_EQ(list_checkpoints(f.path).size(), 1U);
  EXPECT_FALSE(fs::exists(f.path + "/.step-2.tmp"));
  EXPECT_EQ(restore_alone(f.path + "/step-1"), "no error");
}
TEST(Checkpoint, AFlippedBitNamesTheLeaf) {
  Folder f;
  save_on(mesh_of(2, 1), f.path, 3);
  auto folder = f.path + "/step-3";
  auto m = read_manifest(folder);
  for (auto& leaf : m.leaves)
    for (auto& block : leaf.blocks) {
      auto file = folder + "/rank-" + std::to_string(block.file);
      auto flip = [&](std::string& bytes) { bytes[static_cast<std::size_t>(block.offset + block.bytes - 1)] ^= 4; };
      edit(file, flip);
      auto error = restore_alone(folder);
      EXPECT_NE(error.find("leaf '" + leaf.path + "': file rank-" + std::to_string(block.file) + " is damaged"),
                std::string::npos)
          << error;
      EXPECT_THROW(verify_checkpoint(folder), CheckpointError);
      edit(file, flip);
    }
  EXPECT_EQ(restore_alone(folder), "no error");
  // Every rank gets the error, also those whose own blocks are whole.
  edit(folder + "/rank-1", [](std::string& bytes) { bytes.back() ^= 1; });
  run_ranks(mesh_of(2, 1), [&](const Place& place) {
    auto s = make_state(shapes(), place, false);
    EXPECT_NE(
        error_of<CheckpointError>([&] { restore_checkpoint(folder, s.leaves, place); }).find("leaf 'params.leaf6'"),
        std::string::npos);
  });
}
TEST(Checkpoint, TruncatedAndMissingFiles) {
  Folder f;
  save_on(mesh_of(2, 1), f.path, 3);
  auto folder = f.path + "/step-3";
  auto size = fs::file_size(folder + "/rank-1");
  fs::resize_file(folder + "/rank-1", size - 10);
  EXPECT_NE(
      restore_alone(folder).find("leaf 'params.leaf6': file rank-1 is truncated: it has " + std::to_string(size - 10)),
      std::string::npos);
  fs::remove(folder + "/rank-1");
  EXPECT_NE(restore_alone(folder).find("leaf 'params.leaf0': cannot read " + folder + "/rank-1: "), std::string::npos)
      << restore_alone(folder);
  for (std::size_t at : {0, 9, 30}) {
    auto flip = [&](std::string& bytes) { bytes[at] ^= 1; };
    edit(folder + "/manifest", flip);
    EXPECT_TRUE(error_of<CheckpointError>([&] { read_manifest(folder); }).starts_with("checkpoint " + folder + ": "))
        << at;
    edit(folder + "/manifest", flip);
  }
  edit(folder + "/manifest",
       [](std::string& bytes) { bytes.replace(16, 8, std::string(7, '\xff') + '\xf0'); });  // its size, near 2^64
  EXPECT_EQ(error_of<CheckpointError>([&] { read_manifest(folder); }),
            "checkpoint " + folder + ": the manifest is damaged: it is truncated");
  fs::resize_file(folder + "/manifest", fs::file_size(folder + "/manifest") - 1);
  EXPECT_EQ(error_of<CheckpointError>([&] { read_manifest(folder); }),
            "checkpoint " + folder + ": the manifest is damaged: it is truncated");
  fs::resize_file(folder + "/manifest", 5);
  EXPECT_EQ(error_of<CheckpointError>([&] { read_manifest(folder); }),
            "checkpoint " + folder + ": the manifest is damaged: it is truncated");
  EXPECT_TRUE(error_of<CheckpointError>([&] { read_manifest("/none"); }).starts_with("no checkpoint at /none: "));
}
TEST(Checkpoint, AnotherModelIsNamedByItsFirstLeaf) {
  Folder f;
  save_on(mesh_of(1, 1), f.path, 3);
  auto folder = f.path + "/step-3";
  auto begin = "checkpoint " + folder + " is of another model: ";
  auto changed = shapes();
  changed[1].first = {{3, 11, 5}, bf16};
  changed[2].first = {{13}, bf16};
  EXPECT_EQ(restore_alone(folder, changed),
            begin + "leaf 'params.leaf1' is bf16[3, 11, 4] there, bf16[3, 11, 5] is wanted");
  changed = shapes();
  changed[2].first.dtype = bf16;
  EXPECT_EQ(restore_alone(folder, changed), begin + "leaf 'params.leaf2' is f32[13] there, bf16[13] is wanted");
  changed = shapes();
  changed.push_back({{{1}, f32}, {}});
  EXPECT_EQ(restore_alone(folder, changed), begin + "it has no leaf 'params.leaf7' (f32[1] is wanted)");
  changed = shapes();
  changed.pop_back();
  EXPECT_EQ(restore_alone(folder, changed), begin + "it has a leaf 'params.leaf6' (f32[310, 900]) that is not wanted");
}
TEST(Checkpoint, ARankReadsOnlyWhatItNeeds) {
  Folder f;
  Shapes rows{{{{700, 900}, f32}, Spec{"data"}}};
  save_on(mesh_of(4, 1), f.path, 3, rows);
  fs::remove(f.path + "/step-3/rank-3");
  for (int rank = 0; rank < 3; ++rank) {  // rank 0 of 3 needs rows 0..233: files 0 and 1
    Place place{mesh_of(3, 1), rank};
    auto s = make_state(rows, place, false);
    auto error = error_of<CheckpointError>([&] { restore_checkpoint(f.path + "/step-3", s.leaves, place); });
    if (rank < 2) EXPECT_TRUE(holds_expected(rows, place, s)) << error;
    else EXPECT_NE(error.find("leaf 'params.leaf0': cannot read"), std::string::npos) << error;
  }
}

TEST(Checkpoint, ASubtreeCanBeReadAlone) {
  Folder f;
  save_on(mesh_of(2, 1), f.path, 3, {{{{4, 4}, f32}, Spec{"data"}}, {{{5}, f32}, {}}});
  Place alone{mesh_of(1, 1)};
  auto s = make_state({{{{4, 4}, f32}, {}}}, alone, false);
  EXPECT_THROW(restore_checkpoint(f.path + "/step-3", s.leaves, alone), CheckpointError);
  EXPECT_THROW(restore_checkpoint(f.path + "/step-3", s.leaves, alone, "params"),
               CheckpointError);  // leaf1 is below it too
  auto both = make_state({{{{4, 4}, f32}, {}}, {{{5}, f32}, {}}}, alone, false);
  restore_checkpoint(f.path + "/step-3", both.leaves, alone, "params");
  EXPECT_TRUE(holds_expected({{{{4, 4}, f32}, {}}, {{{5}, f32}, {}}}, alone, both));
  restore_checkpoint(f.path + "/step-3", {}, alone, "optimizer");
}

TEST(Digest, OfShardedLeavesIsThatOfTheGlobalBytes) {
  Shapes types{{{{7, 5}, f32}, Spec{"data", "model"}},
               {{{13}, f32}, Spec{{"data", "model"}}},
               {{{}, f32}, {}},
               {{{1, 3}, f32}, Spec{"data"}},
               {{{3, 11, 4}, f32}, Spec{none, "model", "data"}},
               {{{3, 1500, 1000}, f32}, Spec{none, "data"}},
               {{{6}, bf16}, Spec{"data"}}};
  Sha256 all;
  for (std::size_t l = 0; l < types.size(); ++l) {
    std::vector<char> bytes(types[l].first.nbytes());
    for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = expected(l, static_cast<std::int64_t>(b));
    if (types[l].first.dtype == f32) {
      all.update(bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < bytes.size(); i += 2) {
        bfloat16 x;
        std::memcpy(&x.bits, &bytes[i], 2);
        float y = x;
        all.update(&y, 4);
      }
    }
  }
  auto want = all.hex();
  for (auto& mesh : {mesh_of(1, 1), mesh_of(2, 2), mesh_of(5, 1), mesh_of(1, 3)}) {
    std::barrier sync(mesh.size());
    std::vector<std::pair<const char*, std::int64_t>> shared(static_cast<std::size_t>(mesh.size()));
    run_ranks(mesh, [&](const Place& place) {
      auto s = make_state(types, place, true);
      std::swap(s.leaves[0], s.leaves[3]);  // the order of the paths counts, not that of the list
      auto gather = [&](const void* in, std::int64_t n, void* out, const std::vector<std::int64_t>& counts) {
        EXPECT_LE(n, 16 << 20);
        shared[static_cast<std::size_t>(place.rank)] = {static_cast<const char*>(in), n};
        sync.arrive_and_wait();
        auto to = static_cast<char*>(out);
        for (std::size_t r = 0; r < counts.size(); to += counts[r], ++r) {
          EXPECT_EQ(counts[r], shared[r].second);
          std::memcpy(to, shared[r].first, static_cast<std::size_t>(counts[r]));
        }
        sync.arrive_and_wait();
      };
      EXPECT_EQ(digest_leaves(s.leaves, place, gather), want) << to_string(mesh);
    });
  }
}
TEST(Digest, Crc32c) {
  const char* text = "123456789";
  EXPECT_EQ(crc32c(text, 9), 0xe3069283U);  // RFC 3720's check value
  std::vector<char> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i);
  for (std::size_t n : {0, 1, 7, 8, 9, 63, 1000}) {
    EXPECT_EQ(crc32c(bytes.data() + n / 2, n - n / 2, crc32c(bytes.data(), n / 2)), crc32c(bytes.data(), n));
  }
}
TEST(Digest, Sha256InPieces) {
  Sha256 a, b;
  a.update("abc", 3);
  EXPECT_EQ(a.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2
  b.update("a", 1);
  b.update("bc", 2);
  EXPECT_EQ(b.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
}  // namespace checkpoint_test
