// A disk that fills up: what is saved already stays, what may go goes, and the end of the run waits for room.
#include "command.h"

namespace full_disk_test {
namespace {
namespace fs = std::filesystem;
using namespace bora;
struct FullDisk : CommandTest {
  std::string out = folder + "/o", words = "train --out " + out + " " + config + " steps=6 checkpoint.every=2 ";
  /// Bytes that a checkpoint takes, in whole pages.
  std::int64_t bytes = 0;
  void SetUp() override {
    if (run("--version", {}, disk(1 << 20)).code != 0) GTEST_SKIP() << "this Linux mounts no file system here";
    ASSERT_EQ(run("train --out " + folder + "/calm " + config).code, 0);
    for (auto& file : fs::directory_iterator(folder + "/calm/checkpoints/step-6"))
      bytes += (static_cast<std::int64_t>(file.file_size()) + 4095) / 4096 * 4096;
  }
  /// Runs the command with a disk of so many bytes as its folder; `before` is done in it first, `after` at the end.
  std::string disk(std::int64_t size, const std::string& before = "true", const std::string& after = "") const {
    fs::create_directories(out);
    return "unshare -m sh -c 'mount -t tmpfs -o size=" + std::to_string(size) + " none " + out + " && cd " + out +
           " && " + before + " && shift && " +
           (after.empty() ? "exec \"$@\"" : "{ \"$@\"; code=$?; " + after + "; exit $code; }") + "' x";
  }
  /// Beside the checkpoints.
  static constexpr std::int64_t kOthers = 128 << 10;
};
TEST_F(FullDisk, AnOldCheckpointGoesBeforeTheLastOneIsThere) {
  for (std::string async : {"off", "on"}) {
    auto r = run(words + "steps=8 checkpoint.keep=3 checkpoint.async=" + async, {},
                 disk(3 * bytes + bytes / 4 + kOthers));
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    auto said = "no room for the checkpoint of step 8: " + out + "/checkpoints/step-2 goes before it is there";
    // Beside the steps a save may be left out, and then there is room.
    EXPECT_TRUE(async == "on" || r.out.find(said) != std::string::npos) << r.out;
    EXPECT_NE(r.out.find("checkpoints that this run keeps"), std::string::npos) << r.out;
  }
}
TEST_F(FullDisk, TheEndWaitsForRoom) {
  auto filled = "head -c " + std::to_string(2 * bytes) + " /dev/zero > filler";
  for (bool freed : {true, false}) {
    auto frees = " && { (until grep -q no.room.for.the.checkpoint.of.step.6 /proc/self/fd/1 || ! kill -0 $$; do "
                 "sleep .1; done; rm filler) 2> /dev/null & }";
    auto later = freed ? filled + frees : filled;
    auto r = run(words + "checkpoint.wait=" + (freed ? "60" : "1s"), {},
                 disk(3 * bytes + bytes / 2 + kOthers, later));
    EXPECT_EQ(r.code, freed ? 0 : 2) << r.out << r.err;
    EXPECT_NE(r.out.find("alert: the checkpoint of step 4 is not there: checkpoint: rank 0: cannot write " + out),
              std::string::npos)
        << r.out;
    EXPECT_NE(r.out.find("; the run goes on, and its newest one is of step 2, "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("no room for the checkpoint of step 6, "), std::string::npos) << r.out;
    if (freed) continue;
    EXPECT_NE(r.err.find("No space left on device; "), std::string::npos) << r.err;
    EXPECT_NE(r.err.find(" are missing after 1s (checkpoint.wait)"), std::string::npos) << r.err;
  }
}
/// The lines of steps that are made meanwhile come when there is room.
TEST_F(FullDisk, NoLineOfAStepIsLost) {
  auto steps = " steps=6000 batch=2 checkpoint.every=1000 checkpoint.wait=60 trackers=[jsonl,tensorboard]";
  ASSERT_EQ(run("train " + config + steps + " --out " + folder + "/all").code, 0);
  auto fills = "{ (until grep -q step.:.300, metrics.jsonl || ! kill -0 $$; do sleep .01; done; "
               "cat /dev/zero > filler; sleep 1; rm filler) 2> /dev/null & }";
  auto kept = folder + "/kept";
  fs::create_directories(kept);
  auto r = run("train --out " + out + " " + config + steps, {},
               disk(8 * bytes + (32 << 20), fills, "cp metrics.jsonl " + kept));
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find(": the disk of " + out + " is full; records wait in memory"), r.out.npos) << r.out;
  EXPECT_NE(r.out.find("the disk has room again; what waited is written"), r.out.npos) << r.out;
  EXPECT_EQ(losses(kept), losses(folder + "/all"));
}
}  // namespace
}  // namespace full_disk_test
