// The cache of `bora data` where it cannot be written, where its builder was stopped, and texts without one.
#include "data.h"

namespace fs = std::filesystem;
namespace cache_test {
using namespace bora;
using namespace bora::data_command;
using CacheTest = DataTest;

TEST_F(CacheTest, ACompleteCacheIsReadWhereItCannotBeWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "file systems and users change for root alone";
  fs::permissions(folder, fs::perms(0755));
  auto path = write("a.jsonl", records(0, 3000)), other = write("b.jsonl", records(0, 50));
  auto yaml = corpus("jsonl", "'" + folder + "/?.jsonl'");
  auto want = shown(good("data " + yaml));
  auto own = only_folder(cache);
  auto state = [&] {
    std::string all;
    for (auto& e : fs::directory_iterator(own))
      all += e.path().filename().string() + " " + std::to_string(e.last_write_time().time_since_epoch().count()) + "\n";
    return all;
  };
  auto before = state();
  const std::string readonly = "unshare -m sh -c 'mount --bind " + cache + " " + cache +
                               " && mount -o remount,ro,bind " + cache + " && shift && exec \"$@\"' x",
                    stranger = "cd /; setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'shift; exec \"$@\"' x";
  if (run("--version", {}, readonly).code != 0) GTEST_SKIP() << "no file system can be mounted here";
  for (auto& shell : {readonly, stranger}) {
    auto r = run("data " + yaml, {}, shell);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(shown(r), want);
    touch(path, 100);  // the bytes are the same
    EXPECT_EQ(shown(run("data " + yaml, {}, shell)), want);
    touch(path, -100);
    EXPECT_EQ(state(), before);
  }
  auto ranks = run("launch -n 2 train " + yaml + " steps=1 out=" + folder + "/run", {}, readonly);
  EXPECT_EQ(ranks.code, 0) << ranks.err;
  EXPECT_EQ(state(), before);
  fs::rename(own + "/done.json", folder + "/done.json");
  for (auto& shell : {readonly, stranger})
    is_bad_input("data " + yaml, "is not complete, or was made of other bytes, and cannot be made here: ", shell);
  fs::rename(folder + "/done.json", own + "/done.json");
  write("b.jsonl", records(7, 50));
  is_bad_input("data " + yaml, "cannot make the folder " + cache, readonly);
}
TEST_F(CacheTest, AStoppedBuilderIsWaitedForAMinute) {
  auto lines = records(0, 150000, 40);
  for (int f = 0; f < 3; ++f) write("lines/" + std::to_string(f) + ".jsonl", lines);
  auto yaml = corpus("jsonl", folder + "/lines");
  auto first = run("data " + yaml, [&](pid_t pid) {
    until([&] { return !chunk_paths(cache).empty(); });
    ::kill(pid, SIGSTOP);
    auto second = run("data " + yaml);
    EXPECT_EQ(second.code, 2) << second.out;
    auto holder = "is locked, and process " + std::to_string(pid) + " on ";
    for (auto words : {holder, std::string("has shown no sign of life for 60 s")})
      EXPECT_NE(second.err.find(words), std::string::npos) << second.err;
    EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
    EXPECT_LT(second.seconds, 100);
    ::kill(pid, SIGCONT);
  });
  EXPECT_EQ(first.code, 0) << first.err;
}
/// A file of a megabyte holds 300 MB: the process must not be killed for it.
TEST_F(CacheTest, TextsWithoutACacheEndBeforeTheMemoryDoes) {
  auto group = "/sys/fs/cgroup/memory/bora_test_" + std::to_string(::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
  std::ofstream(group + "/memory.limit_in_bytes") << (512 << 20);
  std::string line = "The same line of a text that holds much and needs little room.\n", text;
  for (int i = 0; i < 64; ++i) text += line;
  std::string whole;
  for (int i = 0; i < 75000; ++i) whole += text;
  write("text.gz", gzip(whole));
  auto shell = "echo $$ > " + group + "/cgroup.procs;";
  cache = "''";
  auto yaml = corpus("text", folder + "/text.gz");
  for (auto words : {"data " + yaml, "launch -n 2 train " + yaml + " out=" + folder + "/run"}) {
    auto r = run(words, {}, shell);
    EXPECT_EQ(r.code, 2) << r.err;
    auto said = "left in the cgroup " + group + "; give them a folder, data.cache";
    EXPECT_NE(r.err.find(said), r.err.npos) << r.err;  // below the line that says how much was read
  }
  cache = folder + "/cache";
  EXPECT_EQ(run("data " + corpus("text", folder + "/text.gz"), {}, shell).code, 0);
  until([&] { return ::rmdir(group.c_str()) == 0 || errno == ENOENT; });  // its last process goes a moment later
}
}  // namespace cache_test
