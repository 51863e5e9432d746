// A job's secret: ranks that have it take part, ranks with another one or none are refused and told so, and the test of
// that at the start can fail.
#include <fcntl.h>
#include <sys/stat.h>
#include <fstream>
#include "jobs.h"
#include "support/temp_folder.h"
#include "support/text.h"
#include "support/throws.h"
#include "wire/authenticator.h"

namespace bora::transport::secret_test {
namespace {
/// Two ranks with these settings on top; each one's error.
std::vector<std::string> meet(Carrier carrier, const std::string& secret0, const std::string& secret1) {
  int port = free_port();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      try {
        auto c = config_for(r, 2, port, carrier);
        c.join_timeout_s = 2;
        c.secret = r == 0 ? secret0 : secret1;
        auto context = join(c);
        std::vector<float> in(100000, 1), out(100000);
        context->run(everybody(2),
                     {.kind = CollectiveKind::all_reduce, .in = in.data(), .out = out.data(), .send_counts = {100000}});
        if (out != std::vector<float>(100000, 2)) errors[static_cast<std::size_t>(r)] = "wrong sum";
        context->leave();
      } catch (const ConfigError& e) { errors[static_cast<std::size_t>(r)] = std::string("config: ") + e.what();
      } catch (const std::exception& e) { errors[static_cast<std::size_t>(r)] = e.what(); }
    });
  for (auto& t : threads) t.join();
  return errors;
}
TEST(Secret, TheSameOnAllRanks) {
  for (auto carrier : {Carrier::tcp, Carrier::zmq, Carrier::shm})
    expect_no_errors(meet(carrier, "a secret of some length", "a secret of some length"));
}
TEST(Secret, AnotherOneOrNoneIsRefusedAndSaysSo) {
  auto e = meet(Carrier::zmq, "a secret of some length", "a secret of some lengtH");
  EXPECT_HAS(e[0], "rank 1 of 2 did not arrive");
  EXPECT_HAS(e[0], "had another secret");
  EXPECT_HAS(e[1], "config: refused by 127.0.0.1");
  e = meet(Carrier::zmq, "a secret of some length", "");
  EXPECT_HAS(e[0], "had another secret, or none");
  EXPECT_HAS(e[1], "this rank has none");
  e = meet(Carrier::zmq, "", "a secret of some length");
  EXPECT_HAS(e[0], "rank 1 of 2 did not arrive");
  EXPECT_HAS(e[1], "this rank's secret is not the job's");
}
TEST(Secret, KeysFollowFromItAlone) {
  auto a = derive_keys("a secret of some length"), b = derive_keys("a secret of some length"),
       c = derive_keys("a secret of some lengtH");
  EXPECT_EQ(a.client.secret, b.client.secret);
  EXPECT_EQ(a.server.open, b.server.open);
  EXPECT_NE(a.client.secret, a.server.secret);
  EXPECT_NE(a.client.open, c.client.open);
  EXPECT_NE(a.server.open, c.server.open);
}
/// A listening socket of a context with or without an authenticator.
void check_refusal(bool authenticated) {
  ZmqContext context;
  auto keys = derive_keys("a secret of some length");
  std::unique_ptr<Authenticator> authenticator;
  if (authenticated) authenticator = std::make_unique<Authenticator>(context, keys);
  Socket s(context, ZMQ_ROUTER);
  s.set(ZMQ_LINGER, 0);
  listen_with(s, keys);
  ASSERT_EQ(zmq_bind(s.get(), "tcp://127.0.0.1:*"), 0);
  check_that_strangers_are_refused(s.last_endpoint(), keys);
}
TEST(Secret, TheTestAtTheStartNoticesAMissingAuthenticator) {
  EXPECT_NO_THROW(check_refusal(true));
  EXPECT_THROW(check_refusal(false), TransportError);
}
TEST(Secret, ComesFromAFileOfItsOwnerOrADescriptor) {
  test::TempFolder temp;
  auto path = temp / "secret";
  auto from = [&](std::string name, std::string value) {
    return config_from_environment([=](const char* n) -> const char* { return name == n ? value.c_str() : nullptr; })
        .secret;
  };
  std::ofstream(path) << "sixteen bytes or more\n";
  chmod(path.c_str(), 0600);
  EXPECT_EQ(from("BORA_SECRET_FILE", path), "sixteen bytes or more");
  int fd = open(path.c_str(), O_RDONLY);
  for (int twice = 0; twice < 2; ++twice)
    EXPECT_EQ(from("BORA_SECRET_FD", std::to_string(fd)), "sixteen bytes or more");
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  close(fd);
  EXPECT_THROW(from("BORA_SECRET_FD", std::to_string(fd)), ConfigError);
  chmod(path.c_str(), 0640);
  EXPECT_THROW(from("BORA_SECRET_FILE", path), ConfigError);
  chmod(path.c_str(), 0600);
  std::ofstream(path) << "short\n";
  EXPECT_THROW(from("BORA_SECRET_FILE", path), ConfigError);
  unlink(path.c_str());
  EXPECT_THROW(from("BORA_SECRET_FILE", path), ConfigError);
}
TEST(Secret, WithoutOneNoRootListensEverywhere) {
  for (std::string host : {"0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]", "*", ""})
    for (int rank : {0, 1})
      for (std::string interface : {"", "lo"}) {
        auto c = config_for(rank, 2, free_port());
        c.root = host + c.root.substr(c.root.find(':'));
        c.interface = interface;
        c.join_timeout_s = 0.2;
        EXPECT_THROW(join(c), ConfigError) << host << " " << rank;
        if (host == "*" || host == "") continue;
        try {
          join(c);
        } catch (const std::exception& e) {
          EXPECT_HAS(e.what(), "without a secret");
          EXPECT_HAS(e.what(), "head -c 32 /dev/urandom");
        }
        if (interface.empty() && rank == 0) {
          c.secret = "a secret of some length";
          EXPECT_THROW(join(c), JoinTimeout) << host;
        }
      }
}
/// An address of this host for others, with the data plane on loopback: the root's port decides.
TEST(Secret, WithoutOneNothingListensBeyondThisHost) {
  // Any address that is not loopback will do; the check comes before the socket.
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in a{};
  socklen_t n = sizeof a;
  a.sin_family = AF_INET;
  a.sin_port = htons(9);
  a.sin_addr.s_addr = htonl(0xc6336401);  // 198.51.100.1, of a network for examples
  bool routed = connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 &&
                getsockname(fd, reinterpret_cast<sockaddr*>(&a), &n) == 0;
  close(fd);
  if (!routed) GTEST_SKIP() << "this host has no network but loopback";
  char ip[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &a.sin_addr, ip, sizeof ip);
  auto c = config_for(0, 2, free_port());
  c.root = std::string(ip) + c.root.substr(c.root.find(':'));
  c.join_timeout_s = 0.3;
  test::says<ConfigError>([&] { join(c); }, "without a secret");
  c.insecure_private_network = true;
  EXPECT_THROW(join(c), JoinTimeout);
  c.insecure_private_network = false;
  c.secret = "a secret of some length";
  EXPECT_THROW(join(c), JoinTimeout);
}
}  // namespace
}  // namespace bora::transport::secret_test
