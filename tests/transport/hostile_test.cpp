// Strangers at the ports of a job whose processes may have few files open: hundreds connect and send nothing, nonsense,
// or a byte now and then, before, while and after the ranks meet. The job ends well, and soon.
#include <sys/resource.h>
#include <fstream>
#include "carrier/gate.h"
#include "jobs.h"
#include "strangers.h"
#include "support/temp_folder.h"
#include "wire/address.h"
#include "wire/authenticator.h"

namespace bora::transport::hostile_test {
namespace {
using namespace std::chrono_literals;
using test::Strangers;
using test::ports_of;
class Hostile : public testing::TestWithParam<std::tuple<std::string, bool>> {};
TEST_P(Hostile, StrangersNeitherEndNorStopAJobWithFewFiles) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 1500) limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1500), setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 1500) GTEST_SKIP() << "the strangers need 1500 open files";
  auto [carrier, secret] = GetParam();
  test::TempFolder temp;
  auto path = temp / "secret";
  std::ofstream(path) << "a secret of some length\n";
  ::chmod(path.c_str(), 0600);
  int port = free_port();
  Strangers strangers;
  strangers.come_to({port});
  std::vector<std::unique_ptr<Process>> ranks;
  for (int r = 0; r < 3; ++r) {
    std::vector<std::pair<std::string, std::string>> env{{"TEST_FILES", "96"},
                                                         {"TEST_SUMS", "60"},
                                                         {"TEST_OPENS", "1"},
                                                         {"BORA_CARRIER", carrier},
                                                         {"BORA_JOIN_TIMEOUT", "30"}};
    if (secret) env.emplace_back("BORA_SECRET_FILE", path);
    ranks.push_back(std::make_unique<Process>(r, 3, port, std::vector<std::string>{"lingers", "300"}, env));
    std::this_thread::sleep_for(300ms);
    for (auto& p : ranks) strangers.come_to(ports_of(p->pid()));
  }
  for (auto& p : ranks) EXPECT_EQ(p->finish(), 0) << p->output();
  EXPECT_GT(strangers.came(), 200);
}
INSTANTIATE_TEST_SUITE_P(, Hostile,
                         testing::Values(std::tuple{"auto", true}, std::tuple{"tcp", false}, std::tuple{"zmq", true}),
                         [](auto& info) {
                           return std::get<0>(info.param) + (std::get<1>(info.param) ? "_secret" : "_open");
                         });

/// A gate in front of an echo, with room for few strangers.
struct Guarded {
  ZmqContext context;
  Authenticator authenticator{context, std::nullopt};
  Socket router{context, ZMQ_ROUTER};
  int port = 0;
  std::unique_ptr<Gate> gate;
  explicit Guarded(std::size_t strangers, std::size_t ranks) {
    router.set(ZMQ_LINGER, 0);
    listen_with(router, std::nullopt);
    auto listener = listen_at("127.0.0.1", 0);
    port = bora::transport::port_of(listener.get());
    gate = std::make_unique<Gate>(std::move(listener), router, strangers, ranks, 10000);
  }
  ~Guarded() { router.close(); }
};
Descriptor connection(int port) {
  Descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto at = socket_address("127.0.0.1", port);
  EXPECT_EQ(::connect(s.get(), at.get(), at.size), 0);
  return s;
}
bool closed(const Descriptor& s) {
  char byte[256];
  ssize_t n = 0;
  while ((n = ::recv(s.get(), byte, sizeof byte, MSG_DONTWAIT)) > 0) {}
  return n == 0 || (errno != EAGAIN && errno != EINTR);
}
template <class F> bool soon(F f) {
  for (auto end = std::chrono::steady_clock::now() + 5s; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(2ms))
    if (f()) return true;
  return false;
}
TEST(GateTest, FewStrangersAtATimeAndThoseWhoAreKnownStay) {
  Guarded g(4, 1);
  ZmqContext context;
  Socket dealer(context, ZMQ_DEALER);
  dealer.set(ZMQ_LINGER, 0);
  ASSERT_EQ(zmq_connect(dealer.get(), ("tcp://127.0.0.1:" + std::to_string(g.port)).c_str()), 0);
  dealer.send(std::string(300000, 'a'), false);
  Frame id, f;
  ASSERT_TRUE(soon([&] { return g.router.receive(id); }));
  ASSERT_TRUE(g.router.receive(f));
  EXPECT_EQ(f.size(), 300000u);
  EXPECT_TRUE(g.gate->keep(f.connection()));
  std::vector<Descriptor> many;
  for (int k = 0; k < 40; ++k) {
    many.push_back(connection(g.port));
    ASSERT_EQ(::send(many.back().get(), "\xff\0\0\0\0\0\0\0\1\x7f", 10, MSG_NOSIGNAL), 10);
  }
  auto open = [&] { return many.size() - static_cast<std::size_t>(std::count_if(many.begin(), many.end(), closed)); };
  EXPECT_TRUE(soon([&] { return open() <= 4; })) << open();
  auto nonsense = connection(g.port);
  ASSERT_EQ(::send(nonsense.get(), "GET /", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(soon([&] { return closed(nonsense); }));
  // Large messages both ways, to a slow reader.
  std::string big(8 << 20, 'b');
  g.router.send(id.view(), true);
  g.router.send(big, false);
  std::this_thread::sleep_for(50ms);
  ASSERT_TRUE(soon([&] { return dealer.receive(f); }));
  EXPECT_TRUE(f.view() == big);
  g.gate->close();
  EXPECT_TRUE(soon([&] {
    Descriptor s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = socket_address("127.0.0.1", g.port);
    return ::connect(s.get(), at.get(), at.size) != 0 && errno == ECONNREFUSED;
  }));
  dealer.send("still here", false);
  ASSERT_TRUE(soon([&] { return g.router.receive(id); }));
  ASSERT_TRUE(g.router.receive(f));
  EXPECT_EQ(f.view(), "still here");
}
TEST(GateTest, RanksThatComeAtOnceDoNotDisplaceEachOther) {
  Guarded g(2, 5);
  std::vector<Descriptor> many;
  auto come = [&](std::size_t n) {
    while (many.size() < n) {
      many.push_back(connection(g.port));
      EXPECT_EQ(::send(many.back().get(), "\xff\0\0\0\0\0\0\0\1\x7f", 10, MSG_NOSIGNAL), 10);
    }
    std::this_thread::sleep_for(100ms);
    return std::count_if(many.begin(), many.end(), closed);
  };
  EXPECT_EQ(come(7), 0);
  EXPECT_EQ(come(9), 2);
}
TEST(GateTest, SaysWhetherAConnectionIsStillThere) {
  Guarded g(2, 1);
  ZmqContext context;
  Socket dealer(context, ZMQ_DEALER);
  dealer.set(ZMQ_LINGER, 0);
  ASSERT_EQ(zmq_connect(dealer.get(), ("tcp://127.0.0.1:" + std::to_string(g.port)).c_str()), 0);
  dealer.send("here", false);
  Frame f;
  ASSERT_TRUE(soon([&] { return g.router.receive(f); }));
  ASSERT_TRUE(g.router.receive(f));
  EXPECT_TRUE(g.gate->keep(f.connection()));
  dealer.close();
  EXPECT_TRUE(soon([&] { return !g.gate->keep(f.connection()); }));
  EXPECT_FALSE(g.gate->keep(-1));
}
}  // namespace
}  // namespace bora::transport::hostile_test
