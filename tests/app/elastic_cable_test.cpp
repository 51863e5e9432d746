// The law of elastic jobs (elastic_history.h), of hosts on an emulated Ethernet whose cables are cut and mended, both
// ways or one, whose interfaces go down and up, and that start anew. Needs root and /dev/net/tun.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <array>
#include <atomic>
#include <cstring>
#include "elastic_history.h"
#include "net/network.h"
#include "support/places.h"

namespace elastic_cable_test {
using namespace bora;

namespace {
constexpr int kHosts = 3;
constexpr int kDescriptors = 200;  // of this process: the hosts' networks and names
/// Host 0 of the network is where the launcher reaches the others from, as `bora launch --hosts kubernetes` does: each
/// of them listens, and starts an agent for who knows the job's secret. `aside`: the launcher reaches them without that
/// network, which is the ranks' alone.
struct CabledHosts : Hosts {
  net::Network network{kHosts + 1, {.mbit = 1000, .delay_us = 50}};
  std::string secret = folder + "/secret";
  std::array<pid_t, kHosts + 1> listeners = {};
  std::array<std::atomic<bool>, kHosts + 1> cut = {};  // also while it is down

  CabledHosts(const std::string& below, bool aside) : Hosts(below, "h1 slots=2\nh2 slots=1\nh3 slots=1\n") {
    network.publish(kDescriptors);
    std::ofstream(secret) << "a secret of some length\n";
    ::chmod(secret.c_str(), 0600);
    auto files = "/proc/" + std::to_string(::getpid()) + "/fd/";
    auto number = [](int first) { return "$((2 * ${host#h} + " + std::to_string(first) + "))"; };
    std::ofstream reach(folder + "/reach");
    reach << "#!/bin/sh\nhost=$1\naddress=10.77.0.$((${host#h} + 1))\nshift\n";
    if (aside)
      reach << "export SSH_CONNECTION=\"10.77.0.1 1 $address 22\" BORA_HOST_ID=$host BORA_TEST_HOSTS=" << folder
            << "\nexec nsenter --net=" << files << number(kDescriptors) << " --uts=" << files
            << number(kDescriptors + 1) << " sh -c \"$*\"\n";
    else
      reach << "export BORA_SECRET_FILE=" << secret << "\nexec nsenter --net=" << files << kDescriptors
            << " " + test::command() + " agent --reach $address\n";
    reach.close();  // before processes inherit it
    for (int h = 1; h <= kHosts && !aside; ++h) start(h);
  }
  ~CabledHosts() override {
    for (int h = 1; h <= kHosts; ++h)
      if (listeners[static_cast<std::size_t>(h)] != 0) stop(h);
  }
  static std::string name(int h) { return "h" + std::to_string(h); }
  void start(int h) {
    auto& pid = listeners[static_cast<std::size_t>(h)];
    auto parent = ::getpid();
    pid = ::fork();
    if (pid != 0) return;
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    network.enter(h);
    for (auto& [variable, value] : std::map<std::string, std::string>{{"JOB_COMPLETION_INDEX", std::to_string(h)},
                                                                      {"HOSTNAME", "pod-" + std::to_string(h)},
                                                                      {"BORA_SIZE", std::to_string(kHosts + 1)},
                                                                      {"BORA_SERVICE", "nowhere"},
                                                                      {"BORA_SECRET_FILE", secret},
                                                                      {"BORA_HOST_ID", name(h)},
                                                                      {"BORA_TEST_HOSTS", folder}})
      ::setenv(variable.c_str(), value.c_str(), 1);
    auto said = ::open((folder + "/" + name(h) + ".said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(said, 1), ::dup2(said, 2);
    // A listener gives up when its launcher is gone, and something starts it again.
    auto again = "while :; do " + test::command() + " launch --hosts kubernetes -- comm; sleep 0.2; done";
    ::execl("/bin/sh", "sh", "-c", again.c_str(), nullptr);
    ::_exit(127);
  }
  /// All that runs there, at once.
  void stop(int h) {
    auto& pid = listeners[static_cast<std::size_t>(h)];
    for (auto of : on(name(h))) ::kill(of, SIGKILL);
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (auto of : on(name(h))) ::kill(of, SIGKILL);
  }
  void interface(int h, const std::string& state) const {
    auto command = "nsenter --net=/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(kDescriptors + 2 * h) +
                   " ip link set net0 " + state;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
};
struct CableTest : HistoryTest {
  std::unique_ptr<CabledHosts> all = {};
  bool aside = false;
  int sound = 1;  // the host that nothing happens to in this job, so that there always is one

  void SetUp() override {
    if (auto why = net::missing(); !why.empty()) GTEST_SKIP() << why;
    all = std::make_unique<CabledHosts>(folder, aside);
  }
  void TearDown() override { wake(); }  // before the hosts are gone
  Hosts& hosts() override { return *all; }
  void begins() override { sound = 1 + static_cast<int>(below(kHosts)); }
  void happens(const Kind&, pid_t launcher) override {
    std::vector<int> connected;
    for (int h = 1; h <= kHosts; ++h)
      if (h != sound && !all->cut[static_cast<std::size_t>(h)]) connected.push_back(h);
    auto what = aside ? 2 + below(4) : below(10);
    if (connected.empty() || what > 7) return happens_to_ranks(launcher, what == 9, below(4) == 0);
    auto h = one_of(connected);
    auto& cut = all->cut[static_cast<std::size_t>(h)];
    story.back() += CabledHosts::name(h);
    auto& hosts = *all;
    if (what == 6) {
      story.back() += " starts anew";
      hosts.stop(h);
      hosts.start(h);
    } else if (what == 7) {
      story.back() += " sleeps";
      sleep(hosts.on(CabledHosts::name(h)), 25'000);
    } else if (cut = true; what == 5) {
      story.back() += "'s interface is down";
      hosts.interface(h, "down");
      later(30'000, [&cut, &hosts, h] { hosts.interface(h, "up"), cut = false; });
    } else {
      bool sends = what == 4, hears = what == 3;
      story.back() += sends ? " hears nothing" : hears ? " cannot be heard" : "'s cable is cut";
      hosts.network.cut(h, !sends, !hears);
      later(aside ? 60'000 : 30'000, [&cut, &hosts, h] { hosts.network.cut(h, false, false), cut = false; });
    }
  }
};
/// Ranks on both sides of a cut cable live, and their launcher reaches all of them: the job goes on on one side.
struct ApartTest : CableTest {
  ApartTest() { aside = true; }
};
}  // namespace

TEST_F(ApartTest, NoCableOfTheRanksAloneChangesARun) {
  histories({{"virtual", "--layout dp reproducible=4 elastic.snapshot=5 ", true, true},
             {"virtual_disk", "--layout dp reproducible=4 ", true, true}});
}
/// The launcher hears nothing of the host either, so the ranks need not wait for `transport.dead`.
TEST_F(CableTest, WhatTheLauncherMissesTooIsLostSooner) {
  auto out = folder + "/sooner";
  double seconds = 0;
  constexpr std::int64_t far = 10'000;
  auto words = config + " batch=8 checkpoint_every=1000 transport.heartbeat=0.5 transport.suspect=1.5 "
               "transport.dead=60 transport.calibrate=off layout=dp reproducible=4 elastic.snapshot=5 steps=" +
               std::to_string(far);
  auto r = run("launch --elastic 1:4 " + all->words() + "--out " + out + " train " + words, [&](pid_t launcher) {
    ASSERT_TRUE(soon(launcher, [&] { return step_of(out) >= 20; }));
    all->network.cut(3, true, true);
    auto begin = std::chrono::steady_clock::now();
    auto at = step_of(out) + 3;  // what was under way
    EXPECT_TRUE(soon(launcher, [&] { return step_of(out) > at; }));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ::kill(launcher, SIGTERM);
  });
  all->network.cut(3, false, false);
  auto said = r.err.find("no sign of life for ");
  ASSERT_NE(said, r.err.npos) << r.err;
  EXPECT_LE(std::atoi(r.err.c_str() + said + std::strlen("no sign of life for ")), 8) << r.err;
  EXPECT_EQ(r.code, 130) << r.err;
  std::cout << "further after " << seconds << " s\n";
}
TEST_F(CableTest, NoCableChangesARun) {
  histories({{"replicas", "--mesh replica=-1 local=diloco local.every=7 local.replicas=4 elastic.snapshot=4 ", true,
              true},
             {"replicas_disk", "--mesh replica=-1 local=diloco local.every=7 local.replicas=4 ", true, true},
             {"virtual", "--layout dp reproducible=4 elastic.snapshot=5 ", true, true},
             {"virtual_disk", "--layout dp reproducible=4 ", true, true},
             {"every_step", "--layout dp reproducible=4 elastic.snapshot=1 checkpoint_every=1000 ", true, true},
             {"split", "--layout fsdp elastic.snapshot=3 ", true, false},
             {"shrinking", "--layout dp ", true, false}});
}
}  // namespace elastic_cable_test
