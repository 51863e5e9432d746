// Processes that come to an elastic job and cannot take part in it are left out, alone, each with its own reason.
#include <sys/resource.h>
#include "elastic.h"

namespace fs = std::filesystem;
namespace newcomers_test {
using namespace bora;

namespace {
struct NewcomersTest : CommandTest {
  std::string out = folder + "/o";
  std::string settings = config + " steps=1000000 batch=12 checkpoint.minutes=60 checkpoint_every=100000 ";

  void further(std::size_t steps = 20) const {
    auto at = losses(out).size();
    until([&] { return losses(out).size() >= at + steps; });
  }
  /// What the job says on stderr while it runs.
  std::string said() const { return slurp(folder + "/" + std::to_string(runs) + ".err"); }
  void hears(const std::string& words) const {
    until([&] { return said().find(words) != std::string::npos; });
    EXPECT_NE(said().find(words), std::string::npos) << said();
  }
  /// Replaces the file by one that differs in one bit. Who has opened it keeps the old one.
  static void change_a_bit(const std::string& path) {
    auto text = slurp(path);
    text[text.size() / 2] ^= 1;
    std::ofstream(path + ".new", std::ios::binary) << text;
    fs::rename(path + ".new", path);
  }
  static pid_t rank_of(pid_t launcher, int rank) {
    for (auto pid : Hosts::ranks_of(launcher))
      if (slurp("/proc/" + std::to_string(pid) + "/environ").find("BORA_RANK=" + std::to_string(rank) + '\0') !=
          std::string::npos)
        return pid;
    return 0;
  }
};
}  // namespace

/// Each of these hosts lacks something else, and one lacks nothing.
TEST_F(NewcomersTest, EachHostHasItsOwnReason) {
  const std::map<std::string, std::pair<std::string, std::string>> bad = {
      {"h2", {"export BORA_INTERFACE=nope0", "no network interface 'nope0'"}},
      {"h3", {"export BORA_CARRIER=zmq", "'carrier of data: tcp (transport.carrier, BORA_CARRIER)'"}},
      {"h4", {"ulimit -n 20", "this process may have 20 files open"}},
      {"h5", {"export BORA_HEARTBEAT=soon", "BORA_HEARTBEAT"}}};
  Hosts hosts(folder, "h1\nh2\nh3\nh4\nh5\nh7\n");
  for (std::string host : {"h2", "h3", "h4", "h5", "h7"}) std::ofstream(hosts.folder + "/down-" + host).close();
  auto r = run("launch --elastic 1:4 " + hosts.words() + "--layout dp --out " + out + " train " + settings,
               [&](pid_t launcher) {
                 until([&] { return losses(out).size() >= 20; });
                 auto first = Hosts::ranks_of(launcher);
                 EXPECT_EQ(first.size(), 1U);
                 for (auto& [host, how] : bad) {
                   std::ofstream(hosts.folder + "/begin-" + host) << how.first << "\n";
                   hosts.come_back(host);
                 }
                 for (auto& [host, how] : bad) hears("elastic: without host " + host + " for 30 s: ");
                 further();
                 EXPECT_EQ(Hosts::ranks_of(launcher), first);
                 EXPECT_EQ(said().find("going on from"), std::string::npos) << said();
                 hosts.come_back("h7");
                 hears("elastic: host h7 joins\nelastic: 2 ranks instead of 1\n");
                 further();
                 ::kill(launcher, SIGTERM);
               });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  for (auto& [host, how] : bad) {
    auto at = r.err.find("elastic: without host " + host + " for 30 s: ");
    ASSERT_NE(at, r.err.npos) << r.err;
    auto line = r.err.substr(at, r.err.find('\n', at) - at);
    EXPECT_NE(line.find(how.second), line.npos) << line;
  }
}
/// One bit of the data, or a setting, is other there. The ranks that train do not hear of it.
TEST_F(NewcomersTest, AHostWithOtherDataOrSettingsIsLeftOut) {
  for (bool data : {true, false}) {
    SCOPED_TRACE(data);
    out = folder + (data ? "/data" : "/settings");
    Hosts hosts(folder, "h1\nh2\n");
    auto before = slurp(config);
    auto r = run("launch --elastic 1:2 " + hosts.words() + "--layout dp --out " + out + " train " + settings,
                 [&](pid_t launcher) {
                   until([&] { return losses(out).size() >= 20; });
                   hosts.lose("h2");
                   hears("elastic: 1 rank instead of 2\n");
                   further();
                   auto left = Hosts::ranks_of(launcher);
                   if (data) change_a_bit(folder + "/text");
                   else std::ofstream(config) << before << "seed: 7\n";
                   hosts.come_back("h2");
                   hears("elastic: without host h2 for 30 s: it does not fit the other ranks of the job: ");
                   further();
                   EXPECT_EQ(Hosts::ranks_of(launcher), left);
                   ::kill(launcher, SIGTERM);
                 });
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    EXPECT_NE(r.err.find(data ? "they have 'data: 1 file, " : "they have 'setting seed: "), r.err.npos) << r.err;
    std::ofstream(config) << before;
  }
}
/// A rank that is replaced here and cannot begin: the others go on without it.
TEST_F(NewcomersTest, ARankThatCannotBeginHereIsLeftOut) {
  for (rlim_t files : {rlim_t{0}, rlim_t{24}, rlim_t{14}}) {  // 0: it finds other data
    SCOPED_TRACE(files);
    out = folder + "/files" + std::to_string(files);
    double seconds = 0;
    auto r = run("launch --elastic 1:2 --layout dp --out " + out + " train " + settings, [&](pid_t launcher) {
      until([&] { return losses(out).size() >= 20; });
      ::rlimit most{files, files};
      if (files > 0) ASSERT_EQ(::prlimit(launcher, RLIMIT_NOFILE, &most, nullptr), 0);
      else change_a_bit(folder + "/text");
      auto first = rank_of(launcher, 0);
      auto begin = std::chrono::steady_clock::now();
      ::kill(rank_of(launcher, 1), SIGKILL);
      hears("elastic: without a rank for 30 s: ");
      further();
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      EXPECT_EQ(Hosts::ranks_of(launcher), std::vector<pid_t>{first});
      ::kill(launcher, SIGTERM);
    });
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    EXPECT_LT(seconds, 30);
    EXPECT_NE(r.err.find(files == 0    ? "it does not fit the other ranks of the job: they have 'data: "
                         : files == 24 ? "this process may have 24 files open"
                                       : "open files"),
              r.err.npos)
        << r.err;
  }
}
}  // namespace newcomers_test
