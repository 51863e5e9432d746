// Runs whose hosts share no folder of checkpoints: each has a disk of its own.
#include "elastic.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace local_disks_test {
using namespace bora;

namespace {
struct LocalDisksTest : CommandTest {
  std::string words = " batch=12 log_every=100 transport.calibrate=off checkpoint_every=4 "
                      "optimizer.schedule.shape=constant ";
  std::string out = folder + "/out", disks = folder + "/disk-";
  /// On `ranks` ranks, of which rank r has the disk with the r-th letter of `letters`.
  Result train(const std::string& letters, const std::string& more, const std::string& own_out = {}) const {
    auto ranks = std::to_string(letters.size());
    auto own = "$(echo " + letters + " | cut -c $((BORA_RANK + 1)))";
    auto at = own_out.empty() ? "--out " + out + " checkpoint.local=" + disks + own : "--out " + own_out + own;
    return run("launch -n " + ranks + " -- /bin/sh -c 'exec " + test::command() + " train " + config + " " + at +
               words + more + "'");
  }
  std::vector<double> calm(const std::string& more, int ranks = 3) const {
    auto r = run("launch -n " + std::to_string(ranks) +
                 " train " + config + " --out " + folder + "/calm" + words + more);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    return losses(folder + "/calm");
  }
};
}  // namespace

TEST_F(LocalDisksTest, ARunGoesOnWithoutOneOfThem) {
  for (std::string layout : {"layout=fsdp ", "layout=dp "}) {
    SCOPED_TRACE(layout);
    for (auto name : {"/calm", "/out", "/disk-a", "/disk-b", "/disk-c", "/disk-d"}) fs::remove_all(folder + name);
    auto wanted = calm(layout + "steps=12");
    auto r = train("abc", layout + "steps=8");
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_FALSE(fs::exists(out + "/checkpoints"));
    for (std::string disk : {"a", "b", "c"}) EXPECT_TRUE(fs::exists(disks + disk + "/checkpoints/step-8/manifest"));
    fs::remove_all(disks + "b");
    r = train("cda", layout + "steps=12");  // one is new, and the ranks are on others
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_NE(r.out.find("continuing from step 8 (" + disks + "c/checkpoints/step-8)"), std::string::npos) << r.out;
    EXPECT_EQ(losses(out), wanted);
    fs::remove_all(disks + "c");
    fs::remove_all(disks + "d");
    r = train("a", layout + "steps=13");
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_NE(r.err.find("each host keeps a part of this checkpoint on its own disk"), std::string::npos) << r.err;
    r = train("ax", layout + "steps=13");
    EXPECT_EQ(r.code, 2);
    EXPECT_NE(r.err.find("is not whole on the hosts that came"), std::string::npos) << r.err;
  }
}
TEST_F(LocalDisksTest, AnotherNumberOfRanksReadsThem) {
  words += "reproducible=4 layout=dp ";
  auto wanted = calm("steps=12", 4);
  ASSERT_EQ(train("aabb", "steps=8").code, 0);
  fs::remove_all(disks + "a");
  auto r = train("cb", "steps=12");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(out), wanted);
}
TEST_F(LocalDisksTest, AnOutThatIsNotSharedIsFoundOutAndUsedSo) {
  auto wanted = calm("layout=fsdp steps=12");
  auto r = train("abc", "layout=fsdp steps=8", folder + "/out-");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("is not one folder on all hosts"), std::string::npos) << r.out;
  for (std::string own : {"a", "b", "c"}) {
    EXPECT_TRUE(fs::exists(folder + "/out-" + own + "/checkpoints/step-8/manifest"));
    EXPECT_TRUE(fs::exists(folder + "/out-" + own + "/config.yaml"));
  }
  fs::remove_all(folder + "/out-c");
  r = train("abc", "layout=fsdp steps=12", folder + "/out-");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(folder + "/out-a"), wanted);
}
TEST_F(LocalDisksTest, OneThatHoldsAnotherRunsIsRefused) {
  ASSERT_EQ(train("ab", "steps=4").code, 0);
  auto first = out;
  out = folder + "/other";
  auto r = train("ab", "steps=6");
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_NE(r.err.find("checkpoint.local: " + disks + "a holds checkpoints of the run " + first), std::string::npos)
      << r.err;
  fs::rename(first, folder + "/moved");
  out = folder + "/moved";
  r = train("ab", "steps=6");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("continuing from step 4"), std::string::npos) << r.out;
}
TEST_F(LocalDisksTest, APinIsOfOneHost) {
  ASSERT_EQ(train("abc", "layout=fsdp steps=4").code, 0);  // each disk has two files of three
  auto r = run("checkpoints " + disks + "a pin 4");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("files are on other hosts, which do not see this pin"), r.out.npos) << r.out;
  EXPECT_TRUE(fs::exists(disks + "a/checkpoints/step-4/PINNED"));
}
/// Hosts go and come; each sees its own disk at the same path.
TEST_F(LocalDisksTest, AnElasticJobGoesOnFromWhatItsHostsHave) {
  if (std::system("unshare -m true 2> /dev/null") != 0) GTEST_SKIP() << "this Linux has no mount namespaces here";
  auto settings = config + " --layout dp steps=4000 batch=12 reproducible=4 log_every=100 transport.heartbeat=0.5 " +
                  "transport.suspect=1.5 transport.dead=4 transport.calibrate=off ";
  auto r = run("launch -n 4 --out " + folder + "/calm train " + settings);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n");
  fs::create_directories(folder + "/disk");
  for (std::string host : {"h1", "h2"}) {
    fs::create_directories(disks + host);
    std::ofstream(hosts.folder + "/begin-" + host)
        << "exec unshare -m sh -c 'mount --bind " << disks << host << " " << folder
        << "/disk; exec sh -c \"$*\"' sh \"$@\"\n";
  }
  r = run("launch " + hosts.words() + "--elastic 1:4 --out " + out + " train " + settings + "checkpoint_every=100 " +
              "checkpoint.local=" + folder + "/disk",
          [&](pid_t job) {
            until([&] { return losses(out).size() > 150; });
            hosts.lose("h2");
            until([&] { return Hosts::ranks_of(job).size() == 2; });
            hosts.come_back("h2");
            until_warned("elastic: 4 ranks instead of 2");
            auto at = losses(out).size();
            until([&] { return losses(out).size() > at + 20; });
            hosts.lose("h1");
          });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm")) << r.out << r.err;
  EXPECT_FALSE(fs::exists(out + "/checkpoints"));
  EXPECT_TRUE(fs::exists(disks + "h2/checkpoints/step-4000/manifest"));
  EXPECT_TRUE(fs::is_empty(folder + "/disk"));
}
TEST_F(LocalDisksTest, TheBestIsOnThemToo) {
  ASSERT_EQ(train("abc", "layout=fsdp steps=8 eval.every=2 checkpoint.best=true").code, 0);
  for (std::string disk : {"a", "b", "c"}) {
    std::vector<std::string> names;
    for (auto& e : fs::directory_iterator(disks + disk + "/best")) names.push_back(e.path().filename());
    EXPECT_EQ(names.size(), 1U) << disk;
    EXPECT_TRUE(names[0].starts_with("step-")) << names[0];
  }
}
}  // namespace local_disks_test
