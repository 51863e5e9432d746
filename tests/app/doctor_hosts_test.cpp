// `bora doctor --hosts` on hosts of an emulated Ethernet: faults of links, and hosts that differ. Needs root and
// /dev/net/tun.
#include "command.h"
#include "net/network.h"
#include "support/places.h"
#include "support/text.h"

namespace fs = std::filesystem;
namespace doctor_hosts_test {
using namespace bora;
namespace {
constexpr int kDescriptors = 200;  // of this process: the hosts' networks and names
struct DoctorHostsTest : CommandTest {
  std::unique_ptr<net::Network> network = {};
  void SetUp() override {
    if (auto why = net::missing(); !why.empty()) GTEST_SKIP() << why;
  }
  /// Hosts h1, h2, ... of a network, which a script reaches in ssh's place; `before` runs there, with $host.
  void hosts(int n, const net::Wire& wire, const std::string& before = {}, const std::string& net = "10.77.0.") {
    network = std::make_unique<net::Network>(n, wire);
    network->publish(kDescriptors);
    std::ofstream list(folder + "/hosts"), reach(folder + "/reach");
    for (int h = 1; h <= n; ++h) list << "h" << h << "\n";
    auto files = "/proc/" + std::to_string(::getpid()) + "/fd/";
    auto number = [](int first) { return "$((2 * (${host#h} - 1) + " + std::to_string(first) + "))"; };
    reach << "#!/bin/sh\nhost=$1\naddress=" << net << "${host#h}\nshift\n" << before
          << "\nexport SSH_CONNECTION=\"" << net << "9 1 $address 22\" BORA_HOST_ID=$host\nexec nsenter --net=" << files
          << number(kDescriptors) << " --uts=" << files << number(kDescriptors + 1) << " sh -c \"$*\"\n";
    list.close(), reach.close();
    fs::permissions(folder + "/reach", fs::perms::owner_all);
  }
  Result doctor(const std::string& words = {}) const {
    auto r = run("doctor --hosts " + folder + "/hosts --ssh " + folder + "/reach " + words);
    bool problems = test::has(r.out, "problem: ") || test::has(r.out, "\"level\":\"problem\"");
    EXPECT_EQ(r.code, problems ? 2 : 0) << r.out << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), problems) << r.err;
    return r;
  }
  void on(int host, const std::string& command) const {
    auto words = "nsenter --net=/proc/" + std::to_string(::getpid()) + "/fd/" +
                 std::to_string(kDescriptors + 2 * host) + " " + command;
    ASSERT_EQ(std::system(words.c_str()), 0) << words;
  }
};
}  // namespace

TEST_F(DoctorHostsTest, HostsInOrderAreAlike) {
  hosts(2, {.mbit = 1000, .delay_us = 50});
  auto r = doctor("--out " + folder + "/run");
  for (auto part : {"host      node0: ", "host      node1: ", "hosts     ok: 2 are alike", "dates     ok: ",
                    "slowest   "})
    EXPECT_HAS(r.out, part);
  for (auto part : {"mtu       problem", "locks     problem", "shared    problem"})
    EXPECT_FALSE(test::has(r.out, part)) << part << "\n" << r.out;
  EXPECT_FALSE(fs::exists(folder + "/run"));
  for (auto& entry : fs::directory_iterator(folder))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".bora")) << entry.path();
  r = doctor("--json");
  EXPECT_TRUE(r.out.starts_with("{\"problems\":")) << r.out;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 4) << r.out;
}
TEST_F(DoctorHostsTest, ASlowLinkIsFound) {
  hosts(2, {.mbit = 20, .delay_us = 15000});
  auto r = doctor();
  EXPECT_HAS(r.out, "links     problem: the slowest link, node");
  EXPECT_HAS(r.out, "trips     problem: a round trip takes up to ");
}
TEST_F(DoctorHostsTest, LostPacketsAreFound) {
  hosts(2, {.mbit = 200, .delay_us = 50, .loss_percent = 3});
  EXPECT_HAS(doctor().out, "lost      problem: ");
}
TEST_F(DoctorHostsTest, PacketsThatDoNotArriveAreFound) {
  hosts(2, {}, "", "10.79.0.");  // a cable between the two, whose other end takes smaller packets
  auto other = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(kDescriptors + 2);
  on(0, "ip link add v0 type veth peer name v1");
  on(0, "ip link set v1 netns " + other);
  for (int h : {0, 1}) {
    auto name = "v" + std::to_string(h);
    on(h, "ip link set " + name + " mtu " + (h == 0 ? "4000" : "1500") + " up");
    on(h, "ip addr add 10.79.0." + std::to_string(h + 1) + "/24 dev " + name);
  }
  auto r = doctor();
  EXPECT_HAS(r.out, "mtu       problem: node0: packets of 4000 bytes on v0 do not arrive at node1, small ones do");
  EXPECT_HAS(r.out, "hosts     problem: mtu differs: 1500 on node1; 4000 on node0");
}
TEST_F(DoctorHostsTest, AHostWithOtherSettingsIsFound) {
  hosts(3, {.mbit = 1000}, "[ $host = h3 ] && exit 3\n");
  auto r = run("doctor --hosts " + folder + "/hosts --ssh " + folder + "/reach");
  EXPECT_EQ(r.code, 2);
  EXPECT_HAS(r.err, "h3");  // it cannot be reached
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  hosts(2, {.mbit = 1000}, "[ $host = h2 ] && ulimit -n 900\n");
  EXPECT_HAS(doctor().out, "limits    note: node1: a process may have at most 900 open files");
}
TEST_F(DoctorHostsTest, AFolderThatHostsDoNotShareIsFound) {
  auto disk = folder + "/disk";
  fs::create_directory(disk);
  hosts(2, {.mbit = 1000}, "[ $host = h2 ] && set -- \"unshare -m sh -c 'mount -t tmpfs none " + disk +
                               " && exec " + test::command() + " agent'\"\n");
  auto r = doctor("--out " + disk);
  EXPECT_HAS(r.out, "shared    problem: node1: what node0 makes in " + disk + " is not seen here after 10 s");
  EXPECT_HAS(r.out, "hosts     note: folder differs: ");
}
}  // namespace doctor_hosts_test
