// The transport between hosts of an emulated Ethernet: slow, far, lossy, cut and tampered with. Needs root and
// /dev/net/tun.
#include "network.h"
#include <sys/stat.h>
#include <atomic>
#include <memory>
#include <thread>
#include "../transport/jobs.h"
#include "support/temp_folder.h"

namespace bora::transport {
namespace {
using net::Network;
using net::Wire;
using Environment = std::vector<std::pair<std::string, std::string>>;

class Job {
 public:
  Job(const Network& network, std::string command, const Environment& more = {}, bool ipv6 = false) {
    for (int r = 0; r < network.size(); ++r) {
      auto env = more;
      env.emplace_back("BORA_ROOT", (ipv6 ? "[" + Network::address6(0) + "]" : Network::address(0)) + ":29650");
      env.emplace_back("BORA_CALIBRATE", "off");  // hosts of the same names have another wire in every test
      if (more.empty()) env.emplace_back("BORA_INSECURE_PRIVATE_NETWORK", "1");
      ranks_.push_back(std::make_unique<Process>(r, network.size(), 29650, std::vector{command}, env,
                                                 [&network, r] { network.enter(r); }));
    }
  }
  Process& operator[](int r) { return *ranks_[static_cast<std::size_t>(r)]; }
  void expect_right() {
    for (auto& p : ranks_) {
      EXPECT_EQ(p->finish(), 0) << p->output();
      EXPECT_NE(p->output().find("everything is right"), std::string::npos) << p->output();
    }
  }
  void wait_until_ready() {
    for (auto& p : ranks_) ASSERT_TRUE(p->wait_for_text("ready")) << p->output();
  }
  /// All leave with 86 before `limit_s`, and all but `except` name `lost` first.
  void expect_lost(const std::string& lost, int except, double limit_s) {
    auto start = std::chrono::steady_clock::now();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto& p = *ranks_[r];
      EXPECT_EQ(p.finish(), 86) << p.output();
      bool named = p.output().find("bora: " + lost) != std::string::npos;
      EXPECT_TRUE(named || static_cast<int>(r) == except) << "rank " << r << ": " << p.output();
    }
    EXPECT_LT(seconds_since(start), limit_s);
  }

 private:
  std::vector<std::unique_ptr<Process>> ranks_;
};
class Networks : public testing::Test {
 protected:
  void SetUp() override {
    if (auto why = net::missing(); !why.empty()) GTEST_SKIP() << why;
  }
};
/// A secret as a file that only its owner reads.
struct SecretFile {
  test::TempFolder temp;
  std::string path = temp / "secret";
  SecretFile() {
    FILE* f = std::fopen(path.c_str(), "w");
    chmod(path.c_str(), 0600);
    std::fputs("a secret of some length\n", f);
    std::fclose(f);
  }
};
// A silent rank counts as lost after 1 s.
const Environment kHasty = {{"TEST_HEARTBEAT", "0.1"}, {"BORA_INSECURE_PRIVATE_NETWORK", "1"}};

TEST_F(Networks, EveryCollectiveOnEveryWire) {
  for (int hosts : {2, 4})
    for (double mbit : {100, 1000})
      for (int delay_us : {25, 1000})
        for (double loss : {0, 1}) {
          SCOPED_TRACE(testing::Message()
                       << hosts << " hosts, " << mbit << " Mbit/s, " << delay_us << " us, loss " << loss << " %");
          Network network(hosts, {.mbit = mbit, .delay_us = delay_us, .loss_percent = loss});
          Job(network, "everything").expect_right();
        }
}
TEST_F(Networks, SmallQueuesLargePacketsIPv6AndASecret) {
  SecretFile secret;
  const Environment with_secret{{"BORA_SECRET_FILE", secret.path}};
  Job(Network(4, {.queue_kb = 64}), "everything").expect_right();
  Job(Network(3, {.mtu = 9000}), "everything").expect_right();
  Job(Network(3, {.loss_percent = 0.1}), "everything", with_secret).expect_right();
  Job(Network(2, {}), "everything", with_secret, true).expect_right();
  Job(Network(2, {.mbit = 10000, .delay_us = 25}), "everything", {}, true).expect_right();
  Job(Network(2, {}), "everything", {{"BORA_CARRIER", "zmq"}, {"BORA_SECRET_FILE", secret.path}}, true).expect_right();
}
TEST_F(Networks, CreditsOvertakeSealedData) {
  SecretFile secret;
  Network network(4, {});
  Job job(network, "large", {{"BORA_SECRET_FILE", secret.path}});
  for (int r = 0; r < 4; ++r) EXPECT_EQ(job[r].finish(), 0) << job[r].output();
}
TEST_F(Networks, ACutCableIsTheHostsLoss) {
  Network network(4, {});
  Job job(network, "loop", kHasty);
  job.wait_until_ready();
  network.cut(3, true, true);
  job.expect_lost("rank 3 (host node3, ", 3, 5);
  EXPECT_NE(job[3].output().find("bora: rank 0 (host node0, "), std::string::npos) << job[3].output();
}
TEST_F(Networks, AHostThatIsNotHeardIsLost) {
  Network network(3, {});
  Job job(network, "loop", kHasty);
  job.wait_until_ready();
  network.cut(1, true, false);
  // Nor does it hear anybody for long: tcp wants its acknowledgements.
  job.expect_lost("rank 1 (host node1, ", 1, 5);
}
TEST_F(Networks, AHostThatHearsNothingIsLost) {
  Network network(3, {});
  Job job(network, "loop", kHasty);
  job.wait_until_ready();
  network.cut(2, false, true);
  job.expect_lost("rank 2 (host node2, ", 2, 5);
}
TEST_F(Networks, ACableThatIsMendedInTimeIsNoLoss) {
  Network network(3, {});
  Job job(network, "loop_5s", {{"TEST_HEARTBEAT", "0.4"}, {"BORA_INSECURE_PRIVATE_NETWORK", "1"}});
  job.wait_until_ready();
  network.cut(2, true, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  network.cut(2, false, false);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(job[r].finish(), 0) << job[r].output();
}
TEST_F(Networks, AnInjectedResetEndsTheJobEverywhere) {
  for (int host : {0, 1, 2}) {
    Network network(3, {});
    Job job(network, "loop", kHasty);
    job.wait_until_ready();
    // A reset in place of a packet that comes out of order is ignored (RFC 5961): another one follows.
    std::atomic<bool> over{false};
    std::thread resets([&] {
      for (int i = 0; !over; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
        if (i % 100 == 0) network.reset_a_connection(host);
    });
    job.expect_lost("rank ", -1, 5);
    over = true;
    resets.join();
  }
}
TEST_F(Networks, AKilledRankIsNamedAtOnce) {
  Network network(4, {.delay_us = 1000});
  Job job(network, "loop", kHasty);
  job.wait_until_ready();
  job[2].signal(SIGKILL);
  auto start = std::chrono::steady_clock::now();
  for (int r : {0, 1, 3}) {
    EXPECT_EQ(job[r].finish(), 86);
    EXPECT_NE(job[r].output().find("bora: rank 2 (host node2, "), std::string::npos) << job[r].output();
  }
  EXPECT_LT(seconds_since(start), 2);
}
}  // namespace
}  // namespace bora::transport
