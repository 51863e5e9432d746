// Checkpoints on the disks of hosts that share no folder: any hosts that have each block once restore all of it, on any
// number of ranks; old files never win over newer ones; of a damaged file the copy is taken.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include "bora/bora.h"
#include "bora/io/tree.h"
#include "bora/train/trainer.h"
#include "io/api/stores.h"
#include "laws/effort.h"
#include "support/files.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "shard/api/agree.h"
#include "train/api/memory_checkpoint.h"
#include "train/api/resume.h"
#include "train/api/stores.h"
#include "train/memory_checkpoint_state.h"

namespace fs = std::filesystem;
namespace hosts_test {
using namespace bora;
using Hosts = std::vector<int>;  // of each rank

namespace {
using test::kSplit;
using test::numbers;
using test::slurp;
constexpr std::int64_t kLong = 300'001;
test::State state(float base) { return test::state_of(base, kLong); }
constexpr std::string_view kOffer = "--resume good continues from there";

/// Hosts with a disk each; ranks are threads.
struct Disks {
  test::TempFolder temp;
  std::string disk(int host) const { return temp / ("host-" + std::to_string(host)); }
  std::string root(int host) const { return disk(host) + "/checkpoints"; }
  std::string step(int host, int step) const { return root(host) + "/step-" + std::to_string(step); }

  void each_rank(const Hosts& hosts, const AxisMapping& split,
                 const std::function<void(const Mesh&, const io::Stores&, const std::string& root)>& f) const {
    local_mesh({{"data", static_cast<int>(hosts.size())}}, [&](const Mesh& mesh) {
      UseMapping by(split);
      auto host = hosts[static_cast<std::size_t>(mesh.rank())];
      f(mesh, training::find_stores(mesh, disk(host)), root(host));
    });
  }
  void save(const Hosts& hosts, const AxisMapping& split, std::int64_t step, float base) const {
    each_rank(hosts, split, [&](const Mesh& mesh, const io::Stores& stores, const std::string& root) {
      auto s = state(base);
      Arrays keep;
      auto place = place_of(mesh);
      place.stores = stores;
      (void)io::save_checkpoint(root, step, io::leaves_of(tree::node(s), "", keep), place);
    });
  }
  /// The step that ranks on these hosts find, and all they then say; -1: none. Its state must be that of `base`.
  struct Found {
    std::int64_t step = -1;
    std::string error = {}, said = {};
  };
  Found find(const Hosts& hosts, const AxisMapping& split, const std::function<float(std::int64_t)>& base,
             Resume resume = Resume::latest) const {
    Found all;
    each_rank(hosts, split, [&](const Mesh& mesh, const io::Stores& stores, const std::string& root) {
      Found mine;
      auto say = [&](const std::string& line) { mine.said += line + "\n"; };
      (void)training::settle_checkpoints(mesh, stores, root);
      mine.error = error_of([&] {
        auto found = training::find_checkpoint(mesh, stores, root, resume, kOffer, say);
        if (!found.checkpoint) return;
        mine.step = found.checkpoint->step;
        auto s = state(0);
        EXPECT_FALSE(training::restore_state(mesh, found.checkpoint->folder, tree::node(s)));
        EXPECT_EQ(numbers(s), numbers(state(base(mine.step))));
      });
      if (mesh.rank() == 0) all = mine;
    });
    return all;
  }
};
/// Whether these hosts have each file: those of their ranks, and copies of those of the host before. Of three leaves
/// that are not split, the first three ranks write one each.
bool whole_on(const Hosts& hosts, const std::vector<int>& left, bool split) {
  std::vector<std::string> names;
  for (auto h : hosts) names.push_back(std::to_string(h));
  auto copier = training::holders_of_copies(names);
  auto has = [&](int host) { return std::find(left.begin(), left.end(), host) != left.end(); };
  for (std::size_t r = 0; r < (split ? hosts.size() : std::min<std::size_t>(3, hosts.size())); ++r)
    if (!has(hosts[r]) && !has(hosts[static_cast<std::size_t>(copier[r])])) return false;
  return true;
}
}  // namespace

TEST(Hosts, AnyThatHaveEachBlockOnceRestoreBitForBitOnAnyRanks) {
  const AxisMapping splits[] = {kSplit, AxisMapping{}};
  for (auto& split : splits)
    for (auto& hosts : {Hosts{0, 0, 1, 2}, Hosts{0, 1}, Hosts{0, 1, 2, 3}}) {
      if (hosts[1] == 1 && laws::effort() != laws::Effort::full) continue;
      Disks disks;
      disks.save(hosts, split, 10, 3);
      disks.save(hosts, split, 20, 7);
      auto base = [](std::int64_t step) { return step == 20 ? 7.F : 3.F; };
      const int n = hosts.back() + 1;
      for (int subset = 1; subset < 1 << n; ++subset) {
        std::vector<int> left;
        for (int h = 0; h < n; ++h)
          if (subset >> h & 1) left.push_back(h);
        for (std::size_t extra : {0U, 2U}) {
          auto now = left;  // their ranks in another order, some more of them
          std::reverse(now.begin(), now.end());
          for (std::size_t i = 0; i < extra; ++i) now.push_back(left[0]);
          if (left.size() == 1 && n > 1) now.push_back(9);  // an empty disk beside it
          SCOPED_TRACE(testing::PrintToString(hosts) + " then " + testing::PrintToString(now));
          auto found = disks.find(now, split, base);
          if (whole_on(hosts, left, &split == &splits[0])) {
            EXPECT_EQ(found.step, 20) << found.error;
          } else {
            EXPECT_EQ(found.step, -1);
            EXPECT_NE(found.error.find("step-20 is not whole on the hosts that came"), std::string::npos)
                << found.error;
          }
          fs::remove_all(disks.disk(9));
        }
      }
    }
}
TEST(Hosts, EachHasItsRanksBlocksAndThoseOfAnother) {
  Disks disks;
  disks.save({0, 1, 2}, kSplit, 5, 7);
  for (int h = 0; h < 3; ++h)
    for (int r = 0; r < 3; ++r)
      EXPECT_EQ(fs::exists(disks.step(h, 5) + "/rank-" + std::to_string(r)), r == h || r == (h + 2) % 3) << h << r;
  EXPECT_EQ(slurp(disks.step(0, 5) + "/manifest"), slurp(disks.step(1, 5) + "/manifest"));
  EXPECT_EQ(slurp(disks.step(0, 5) + "/rank-2"), slurp(disks.step(2, 5) + "/rank-2"));
  auto why = test::error_of<CheckpointError>([&] { io::verify_checkpoint(disks.step(0, 5)); });
  EXPECT_NE(why.find("each host keeps a part of this checkpoint on its own disk"), std::string::npos) << why;
}
TEST(Hosts, AnOldOneThatComesBackNeverWins) {
  for (auto& split : {kSplit, AxisMapping{}}) {
    Disks disks;
    disks.save({0, 1, 2}, split, 10, 3);
    disks.save({0, 1, 2}, split, 30, 4);  // which host 2 alone knows of later
    for (int h : {0, 1}) fs::remove_all(disks.step(h, 30));
    auto base = [](std::int64_t step) { return step == 20 ? 7.F : 3.F; };
    EXPECT_EQ(disks.find({0, 1}, split, base).step, 10);
    disks.save({0, 1}, split, 20, 7);
    EXPECT_EQ(disks.find({2, 0, 1}, split, base).step, 20);
    EXPECT_EQ(disks.find({0, 2, 1, 1}, split, base).step, 20);
    // The same step twice: the later one counts, wherever rank 0 is.
    Disks twice;
    twice.save({0, 1}, split, 20, 5);
    fs::rename(twice.disk(1), twice.disk(2));
    twice.save({0, 1}, split, 20, 7);
    auto found = twice.find({2, 0, 1}, split, [](std::int64_t) { return 7.F; });
    EXPECT_EQ(found.step, 20) << found.error;
    EXPECT_NE(found.said.find("has another save of this step, which is kept as " + twice.root(2)), std::string::npos)
        << found.said;
  }
}
TEST(Hosts, OfADamagedFileTheCopyIsTaken) {
  auto seven = [](std::int64_t) { return 7.F; };
  for (int rank = 0; rank < 3; ++rank)
    for (std::string damage : {"a bit", "the end", "all"}) {
      if (rank > 0 && damage != "a bit") continue;
      Disks disks;
      disks.save({0, 1, 2}, kSplit, 5, 7);
      auto spoil = [&](int host) {
        auto file = disks.step(host, 5) + "/rank-" + std::to_string(rank);
        auto bytes = slurp(file);
        if (damage == "a bit") bytes[bytes.size() / 2] ^= 1;
        if (damage == "the end") bytes.pop_back();
        if (damage == "all") fs::remove(file);
        else std::ofstream(file, std::ios::binary) << bytes;
      };
      spoil(rank);
      SCOPED_TRACE(damage + " of " + std::to_string(rank));
      auto found = disks.find({0, 1, 2}, kSplit, seven);
      EXPECT_EQ(found.step, 5) << found.error;
      EXPECT_EQ(found.said.find("rank-" + std::to_string(rank)) == found.said.npos, damage == "all") << found.said;
      spoil((rank + 1) % 3);
      found = disks.find({0, 1, 2}, kSplit, seven);
      EXPECT_NE(found.error.find("the blocks of rank " + std::to_string(rank) + " are missing"), found.error.npos)
          << found.error;
    }
}
TEST(Hosts, ADamagedManifestIsTakenFromAnother) {
  Disks disks;
  disks.save({0, 1, 2}, kSplit, 5, 7);
  std::ofstream(disks.step(0, 5) + "/manifest") << "nothing";
  auto found = disks.find({0, 1, 2}, kSplit, [](std::int64_t) { return 7.F; });
  EXPECT_EQ(found.step, 5) << found.error;
  EXPECT_EQ(slurp(disks.step(0, 5) + "/manifest"), slurp(disks.step(1, 5) + "/manifest"));
}
TEST(Hosts, WhereTheNewestIsNotWholeAnOlderOneIsOffered) {
  Disks disks;
  disks.save({0, 1, 2}, kSplit, 10, 3);
  disks.save({0, 1, 2}, kSplit, 20, 7);
  for (int h : {0, 1}) fs::remove(disks.step(h, 20) + "/rank-0");
  auto three = [](std::int64_t) { return 3.F; };
  auto found = disks.find({0, 1, 2}, kSplit, three);
  EXPECT_NE(found.error.find("/step-10 is whole: --resume good continues from there"), found.error.npos)
      << found.error;
  found = disks.find({0, 1, 2}, kSplit, three, Resume::good);
  EXPECT_EQ(found.step, 10) << found.error;
}
/// A save is cut off at every point between its manifests and its names.
TEST(Hosts, WhatIsCutOffIsOldOrNewOnAllHosts) {
  for (int manifests = 0; manifests <= 3; ++manifests)
    for (int named = 0; named <= (manifests == 3 ? 3 : 0); ++named) {
      SCOPED_TRACE(std::to_string(manifests) + " manifests, " + std::to_string(named) + " names");
      Disks disks;
      disks.save({0, 1, 2}, kSplit, 10, 3);
      disks.save({0, 1, 2}, kSplit, 20, 7);
      for (int h = 0; h < 3; ++h) {
        if (h >= named) fs::rename(disks.step(h, 20), disks.root(h) + "/.step-20.tmp");
        if (h >= manifests) fs::remove(disks.root(h) + "/.step-20.tmp/manifest");
      }
      auto found = disks.find({0, 1, 2}, kSplit, [](std::int64_t step) { return step == 20 ? 7.F : 3.F; });
      // Two of three hosts have all blocks between them.
      EXPECT_EQ(found.step, manifests >= 2 ? 20 : 10) << found.error;
      for (int h = 0; h < 3; ++h)
        for (auto& e : fs::directory_iterator(disks.root(h)))
          EXPECT_FALSE(e.path().filename().string().starts_with('.')) << e.path();
    }
}
TEST(Hosts, GatheredItIsOneFolder) {
  for (auto& split : {kSplit, AxisMapping{}}) {
    Disks disks;
    disks.save({0, 1, 2}, split, 5, 7);
    fs::remove_all(disks.disk(1));
    auto to = disks.temp / "all";
    disks.each_rank({2, 0}, split, [&](const Mesh& mesh, const io::Stores& stores, const std::string& root) {
      auto found = training::find_checkpoint(mesh, stores, root, Resume::latest, kOffer, [](auto&) {});
      ASSERT_TRUE(found.checkpoint);
      EXPECT_EQ(io::gather_checkpoint(*found.checkpoint, to, place_of(mesh)), to + "/step-5");
    });
    EXPECT_GT(io::verify_checkpoint(to + "/step-5"), 4 * kLong);
    local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
      UseMapping by(split);
      auto s = state(0);
      training::restore_state(mesh, to + "/step-5", tree::node(s));
      EXPECT_EQ(numbers(s), numbers(state(7)));
    });
    disks.each_rank({2, 0}, split, [&](const Mesh& mesh, const io::Stores&, const std::string& root) {
      EXPECT_THROW(io::gather_checkpoint({5, root + "/step-5"}, to, place_of(mesh)), ConfigError);
    });
  }
}
TEST(Hosts, OneFolderForAllIsNoSeveral) {
  Disks disks;
  disks.each_rank({0, 0, 0}, kSplit, [&](const Mesh& mesh, const io::Stores& stores, const std::string&) {
    EXPECT_TRUE(stores.shared());
    EXPECT_EQ(stores.leads(mesh.rank()), mesh.rank() == 0);
  });
}
}  // namespace hosts_test
