// Manifests whose checksum is right and whose contents are not: every one is refused, and names its leaf.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include "base/api/crc32c.h"
#include "io/blocks.h"
#include "io/manifest.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace manifest_test {
using namespace bora;
using namespace bora::io;
using bora::test::error_of;
namespace {
constexpr std::int64_t kHuge = std::int64_t{1} << 60;
Manifest two_leaves() {
  auto block = [](Box box, std::int64_t file, std::int64_t offset, std::int64_t bytes) {
    return StoredBlock{std::move(box), file, offset, bytes,
                       std::vector<std::uint32_t>(static_cast<std::size_t>((bytes - 1) / kChunk + 1))};
  };
  return {"data=2,model=1",
          {{"step", "4"}},
          {{"w", {{6, 4}, f32}, {block({{0, 3}, {0, 4}}, 0, 0, 48), block({{3, 6}, {0, 4}}, 1, 0, 48)}},
           {"b", {{}, i64}, {block({}, 1, 48, 8)}},
           {"none", {{0, 3}, f32}, {}}}};
}
std::string problem_of(const Manifest& m) {
  return error_of<CheckpointError>([&] { parse_manifest(manifest_bytes(m)); });
}
std::string problem_after(const std::function<void(Manifest&)>& change) {
  auto m = two_leaves();
  change(m);
  return problem_of(m);
}
std::string with_checksum(std::string bytes) {
  auto crc = crc32c(bytes.data() + 24, bytes.size() - 24);
  bytes.replace(12, 4, reinterpret_cast<const char*>(&crc), 4);
  return bytes;
}
}  // namespace

TEST(Manifest, WhatIsWrittenIsRead) {
  auto m = parse_manifest(manifest_bytes(two_leaves()));
  EXPECT_EQ(manifest_bytes(m), manifest_bytes(two_leaves()));
  EXPECT_EQ(m.notes.at("step"), "4");
  EXPECT_EQ(m.leaves[0].blocks[1].box, (Box{{3, 6}, {0, 4}}));
  EXPECT_EQ(manifest_bytes({}), manifest_bytes(parse_manifest(manifest_bytes({}))));
}
TEST(Manifest, EverythingIsCheckedAgainstEverything) {
  using M = Manifest&;
  auto begins = [](const std::string& text, const std::string& begin) { EXPECT_TRUE(text.starts_with(begin)) << text; };
  begins(problem_after([](M m) { m.leaves[0].blocks[0].box = {}; }),
         "leaf 'w': a block has 0 dimensions, the shape [6, 4] has 2");
  begins(problem_after([](M m) { m.leaves[1].blocks[0].box = {{0, 1}}; }), "leaf 'b': a block has 1 dimensions");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].bytes = 1 << 20; }),
         "leaf 'w': a block has 1048576 bytes, its box 48");
  begins(problem_after([](M m) { m.leaves[0].type.dtype = f64; }), "leaf 'w': a block has 48 bytes, its box 96");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].box[0] = {0, 7}; }), "leaf 'w': a block is 0:7 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].box[0] = {-1, 3}; }),
         "leaf 'w': a block is -1:3 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].box[0] = {3, 3}; }), "leaf 'w': a block is 3:3 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].box[0] = {3, 0}; }), "leaf 'w': a block is 3:0 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks[1].box[0] = {2, 5}; }),
         "leaf 'w': its blocks overlap or leave a gap at 2 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks.pop_back(); }), "leaf 'w': its blocks end at 3 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks.clear(); }), "leaf 'w': its blocks end at 0 in dimension 0");
  begins(problem_after([](M m) { m.leaves[0].blocks.push_back(m.leaves[0].blocks[1]); }),
         "leaf 'w': it has 3 blocks, not 2");
  begins(problem_after([](M m) { m.leaves[1].blocks.clear(); }), "leaf 'b': it has 0 blocks, not 1");
  begins(problem_after([](M m) { m.leaves[2].blocks = m.leaves[1].blocks, m.leaves[2].type.shape = {0}; }),
         "leaf 'none': a block has 0");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].crc.push_back(1); }),
         "leaf 'w': a block of 48 bytes has 2 checksums, not 1");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].crc.clear(); }),
         "leaf 'w': a block of 48 bytes has 0 checksums");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].file = -1; }), "leaf 'w': a block lies 0 bytes into file -1");
  begins(problem_after([](M m) { m.leaves[0].blocks[0].offset = INT64_MAX; }),
         "leaf 'w': a block lies 9223372036854775807 bytes");
  begins(problem_after([](M m) { m.leaves[1].blocks[0].offset = 40; }),
         "leaf 'b': its block at 40 of file rank-1 does not follow");
  begins(problem_after([](M m) { m.leaves[1].blocks[0].offset = 56; }),
         "leaf 'b': its block at 56 of file rank-1 does not follow");
  begins(problem_after([](M m) { m.leaves[1].path = "w"; }), "leaf 'w': it is listed twice");
  begins(problem_after([](M m) { m.leaves[2].type.shape = {-1, 3}; }), "leaf 'none': its shape is [-1, 3]");
  begins(problem_after([](M m) { m.leaves[0].type.shape = {kHuge, 4}; }),
         "leaf 'w': its shape [1152921504606846976, 4] has more bytes");
  // No elements, however large the other dimensions are.
  begins(problem_after([](M m) { m.leaves[2].type.shape = {kHuge, kHuge, 0}; }), "no error");
  begins(problem_after([](M m) {  // four cells of which one is there twice and one not at all
    auto& w = m.leaves[0];
    w.blocks = {{{{0, 3}, {0, 2}}, 0, 0, 24, {1}},
                {{{0, 3}, {2, 4}}, 0, 24, 24, {1}},
                {{{3, 6}, {0, 2}}, 0, 48, 24, {1}},
                {{{3, 6}, {0, 2}}, 0, 72, 24, {1}}};
    m.leaves[1].blocks[0].offset = 0;
  }), "leaf 'w': two of its blocks have the same box");
}
TEST(Manifest, CountsAreCheckedBeforeMemoryIsTaken) {
  auto bytes = manifest_bytes(two_leaves());
  // Eight bytes of all ones, and of 2^60, wherever a length may stand: refused, or read as the number it is.
  for (auto word : {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{1} << 33})
    for (std::size_t at = 25; at + 8 <= bytes.size(); ++at) {
      auto bad = bytes;
      bad.replace(at, 8, reinterpret_cast<const char*>(&word), 8);
      try {
        parse_manifest(with_checksum(bad));
      } catch (const CheckpointError&) {}
    }
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(parse_manifest(std::string_view(bytes).substr(0, n)), CheckpointError) << n;
  auto longer = with_checksum(bytes + "x");
  EXPECT_THROW(parse_manifest(longer), CheckpointError);
  longer[16]++;  // and says so
  EXPECT_THROW(parse_manifest(longer), CheckpointError);
  auto dtype = bytes;
  dtype.replace(dtype.find("f32"), 3, "f31");
  auto problem = error_of<CheckpointError>([&] { parse_manifest(with_checksum(dtype)); });
  EXPECT_TRUE(problem.starts_with("leaf 'w': no dtype named 'f31'")) << problem;
}
TEST(Manifest, WhatIsNoFileIsRefusedAndNotWaitedFor) {
  bora::test::TempFolder temp;
  auto folder = temp.path();
  ASSERT_EQ(::mkfifo((folder + "/manifest").c_str(), 0600), 0);
  EXPECT_EQ(error_of<CheckpointError>([&] { read_manifest(folder); }),
            "no checkpoint at " + folder + ": cannot read " + folder + "/manifest: it is a FIFO, a file is expected");
  fs::remove(folder + "/manifest");
  std::ofstream(folder + "/manifest").close();
  fs::resize_file(folder + "/manifest", std::uintmax_t{1} << 40);  // of no bytes on the disk
  EXPECT_THROW(read_manifest(folder), CheckpointError);
}
}  // namespace manifest_test
