// Which checkpoints stay, which one is continued from, and what interrupted work leaves.
#include "testing.h"

namespace retention_test {
using namespace bora;
using namespace bora::io;

TEST(Checkpoint, TheNewestThatIsWholeIsFound) {
  Folder f;
  EXPECT_FALSE(good_checkpoint(f.path).checkpoint);
  for (int step : {5, 10}) save_on(mesh_of(2, 1), f.path, step);
  EXPECT_EQ(good_checkpoint(f.path).checkpoint->step, 10);
  fs::copy(f.path + "/step-5", f.path + "/step-20", fs::copy_options::recursive);
  EXPECT_EQ(error_of<CheckpointError>([&] { newest_checkpoint(f.path); }),
            "checkpoint " + f.path +
                "/step-20 is a copy of step 5, as its manifest says; give it that name, or move it away");
  edit(f.path + "/step-10/rank-1", [](std::string& bytes) { bytes += 'x'; });
  auto found = good_checkpoint(f.path);
  EXPECT_EQ(found.checkpoint->step, 5);
  ASSERT_EQ(found.damaged.size(), 2U);
  EXPECT_EQ(found.damaged[0].first.step, 20);
  EXPECT_NE(found.damaged[1].second.find("file rank-1 has "), std::string::npos) << found.damaged[1].second;
}
TEST(Checkpoint, WhatIsInterruptedIsCleanedAndAnExchangeUndone) {
  Folder f;
  for (int step : {5, 10}) save_on(mesh_of(1, 1), f.path, step);
  fs::create_directories(f.path + "/.step-3.tmp/deep");
  fs::copy(f.path + "/step-5", f.path + "/.step-5.tmp.old", fs::copy_options::recursive);
  fs::rename(f.path + "/step-10", f.path + "/.step-10.tmp.old");  // its place was to be taken by the next
  fs::create_directories(f.path + "/.step-10.tmp");
  EXPECT_EQ(clean_checkpoints(f.path), "");
  std::vector<std::string> names;
  for (auto& e : fs::directory_iterator(f.path)) names.push_back(e.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-10", "step-5"}));
  EXPECT_EQ(restore_alone(f.path + "/step-10"), "no error");
  EXPECT_EQ(clean_checkpoints("/no/such/folder"), "");
}
TEST(Checkpoint, AnOldOneThatCannotBeRemovedIsAWarning) {
  Folder f;
  for (int step : {5, 10}) save_on(mesh_of(1, 1), f.path, step);
  auto locked = f.path + "/step-5/locked";
  fs::create_directories(locked + "/deep");
  fs::permissions(locked, fs::perms::owner_read | fs::perms::owner_exec);
  bool root = ::geteuid() == 0;  // nothing is forbidden to root
  if (root) {
    for (auto& e : fs::recursive_directory_iterator(f.path)) ASSERT_EQ(::lchown(e.path().c_str(), 65534, 65534), 0);
    for (auto& path : {f.path, f.temp.path()}) ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  for (int step : {15, 20}) {
    Place alone{mesh_of(1, 1)};
    auto s = make_state(shapes(), alone, true);
    std::string warning;
    save_checkpoint(f.path, step, s.leaves, alone, {}, 2, &warning);
    EXPECT_EQ(warning.starts_with("an old checkpoint stays: "), step == 15) << warning;
    EXPECT_EQ(newest_checkpoint(f.path)->step, step);
  }
  EXPECT_EQ(list_checkpoints(f.path).size(), 2U);
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  auto stays = locked;
  for (std::string name : {".step-5.tmp", ".step-5.tmp.gone"})
    if (fs::exists(f.path + "/" + name + "/locked")) stays = f.path + "/" + name + "/locked";
  fs::permissions(stays, fs::perms::owner_all);
  EXPECT_EQ(clean_checkpoints(f.path), "");
  for (auto& e : fs::directory_iterator(f.path)) EXPECT_TRUE(e.path().filename().string().starts_with("step-"));
}
/// A process that sleeps anywhere in a save, while another takes its folder over and saves the same step there, gives
/// nothing its name and spoils nothing.
TEST(Checkpoint, WhoWakesTooLateSavesNothing) {
  for (std::string moment : {"before", "make its folder", "write blocks", "check", "never"}) {
    SCOPED_TRACE(moment);
    Folder f;
    save_on(mesh_of(1, 1), f.path, 5);
    bool taken = false;
    auto s = make_state(shapes(), {mesh_of(1, 1)}, true);
    auto take_over = [&] {
      taken = true;
      EXPECT_EQ(clean_checkpoints(f.path), "");
      EXPECT_EQ(list_checkpoints(f.path).size(), 1U);
      // It has written a part of that step itself when the other one wakes.
      fs::create_directories(f.path + "/.step-10.new.tmp/rank-0");
    };
    Place slow{mesh_of(1, 1)};
    slow.exchange = [&](const std::string& mine, std::string_view what) {
      if (what == "checkpoint: " + moment) take_over();
      return std::vector<std::string>{mine};
    };
    FolderOwner old{.name = "old", .check = [&] {
                 check<IoError>(!taken, "taken over");
                 if (moment == "check") take_over();  // behind it
               }};
    if (moment == "before") take_over();
    auto error = error_of<IoError>([&] { save_checkpoint(f.path, 10, s.leaves, slow, {}, 2, nullptr, old); });
    EXPECT_EQ(error == "no error", moment == "never") << error;
    std::vector<std::string> names;
    for (auto& e : fs::directory_iterator(f.path)) names.push_back(e.path().filename());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, moment == "never" ? (std::vector<std::string>{"step-10", "step-5"})
                                       : (std::vector<std::string>{".step-10.new.tmp", "step-5"}));
    EXPECT_EQ(fs::exists(f.path + "/.step-10.new.tmp/rank-0"), moment != "never");
  }
}
}  // namespace retention_test
