// Jobs of bora_transport_soak: random collectives, every result checked, stalls, memory that does not grow; few ranks
// and many.
#include "jobs.h"

namespace bora::transport {
namespace {
void soak(int ranks, const std::string& carrier, const std::string& seconds, const std::string& stall) {
  int port = free_port();
  std::vector<std::unique_ptr<Process>> all;
  for (int r = 0; r < ranks; ++r)
    all.push_back(
        std::make_unique<Process>(r, ranks, port, std::vector<std::string>{seconds, std::to_string(port), stall},
                                  std::vector<std::pair<std::string, std::string>>{{"BORA_CARRIER", carrier}},
                                  std::function<void()>{}, test::transport_soak()));
  for (auto& p : all) {
    EXPECT_EQ(p->finish(), 0) << p->output();
    EXPECT_NE(p->output().find("collectives right"), std::string::npos) << "seed " << port << ": " << p->output();
  }
}
TEST(Soak, ThreeRanksThroughMemory) { soak(3, "shm", "15", "50"); }
TEST(Soak, ThreeRanksOverTcp) { soak(3, "tcp", "15", "50"); }
TEST(Soak, ThreeRanksOverZeroMQ) { soak(3, "zmq", "15", "50"); }
TEST(Soak, FiveRanksInAHurry) { soak(5, "auto", "10", "0"); }
TEST(Soak, SixtyFourRanks) { soak(64, "auto", "3", "5"); }
}  // namespace
}  // namespace bora::transport
