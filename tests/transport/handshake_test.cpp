// One verdict for all ranks lists every difference: builds, sizes, protocols, dtypes. A process may say its handshake
// again, on other connections and on one.
#include <fstream>
#include "base/api/bytes.h"
#include "control/control_plane.h"
#include "control/coordinator.h"
#include "control/handshake.h"
#include "jobs.h"
#include "support/text.h"
#include "wire/header.h"

namespace bora::transport::handshake_test {
namespace {
/// A rank's machine, as join describes it.
std::string machine() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot + host;
}
/// A rank of another build.
struct Stranger {
  ZmqContext context;
  Socket s{context, ZMQ_DEALER};
  explicit Stranger(int port) {
    s.set(ZMQ_LINGER, 0);
    zmq_connect(s.get(), ("tcp://127.0.0.1:" + std::to_string(port)).c_str());
  }
  /// Sends `handshake` and waits for the verdict: why it is refused, or "accepted".
  std::string verdict(const std::string& handshake) {
    s.send(handshake, false);
    auto start = std::chrono::steady_clock::now();
    for (Frame f; seconds_since(start) < 10; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      while (s.receive(f)) {
        ByteReader r(f.view());
        auto type = r.num<JoinMessage>();
        if (type == JoinMessage::refused) return r.text();
        if (type == JoinMessage::accepted) return "accepted";
      }
    return "no verdict";
  }
};
const std::string all_dtypes = [] {
  std::string r;
  for (auto& d : dtype_table)
    if (d.kind != Kind::key) r.append(r.empty() ? "" : " ").append(d.name);
  return r;
}();
std::string handshake(std::uint32_t protocol, int rank, int size, const std::string& dtypes,
                      const std::string& on = "machine", const std::string& address = "data://127.0.0.1:1",
                      const std::string& process = "nonce") {
  ByteWriter w;
  w.num(JoinMessage::handshake).num(kMagic).num(protocol).num(rank).num(size).num(std::int32_t{4711});
  if (protocol != kProtocol) return w.text("something else").num(1.5).take();
  for (std::string text : {"", "", "elsewhere", on.c_str(), address.c_str(), process.c_str(), "", ""}) w.text(text);
  return w.text(dtypes).text("").take();
}
TEST(Handshake, OneVerdictAlsoNamesOtherProtocolsAndDtypes) {
  int port = free_port();
  std::vector<std::string> said(4);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      auto c = config_for(r, 4, port);
      c.carrier = "tcp";
      c.build = "setting optimizer.lr\t0." + std::to_string(r + 1) + "\nsetting batch\t8" + (r == 1 ? "\nother" : "");
      try {
        join(c);
      } catch (const ConfigError& e) { said[static_cast<std::size_t>(r)] = e.what(); }
    });
  threads.emplace_back([&] { said[2] = Stranger(port).verdict(handshake(99, 2, 4, "")); });
  threads.emplace_back([&] { said[3] = Stranger(port).verdict(handshake(kProtocol, 3, 5, "f32")); });
  for (auto& t : threads) t.join();
  for (auto& text : said) {
    EXPECT_HAS(text, "the ranks do not fit together: ");
    EXPECT_HAS(text, "setting optimizer.lr: rank 0 has '0.1', rank 1 '0.2'; build: rank 0 has '', rank 1 'other'");
    EXPECT_EQ(text.find("rank 1 '8'"), text.npos) << text;
    EXPECT_HAS(text, "protocol: rank 0 has '" + std::to_string(kProtocol) + "', rank 2 '99'");
    EXPECT_HAS(text, "size: rank 0 has '4', rank 3 '5'");
    EXPECT_HAS(text, "dtypes: rank 0 has '" + all_dtypes + "', rank 3 'f32'");
    EXPECT_HAS(text, "rank 3 (host elsewhere, pid 4711) listens on loopback");
  }
}
TEST(Handshake, NonsenseOnTheControlPlaneIsTheEndOfItsRank) {
  auto cut = ByteWriter().num(Control::waiting).num(std::uint64_t{1}).take();
  auto many = ByteWriter().num(Control::leave).num(~std::uint64_t{0}).take();
  auto nobody = ByteWriter()
                    .num(Control::mismatch)
                    .num(std::int32_t{-7})
                    .num(std::uint32_t{1})
                    .num(std::uint64_t{1})
                    .text("x")
                    .take();
  auto unknown = ByteWriter().num(std::uint8_t{99}).take();
  for (auto& nonsense : {cut, many, nobody, unknown}) {
    int port = free_port();
    std::string error;
    std::thread root([&] {
      try {
        auto c = join(config_for(0, 2, port, Carrier::zmq));
        c->barrier(everybody(2));
      } catch (const RankLost& e) {
        error = e.what();
        EXPECT_EQ(e.rank, 1);
      }
    });
    Stranger rank(port);
    EXPECT_EQ(rank.verdict(handshake(kProtocol, 1, 2, all_dtypes, machine(), "tcp://127.0.0.1:1")), "accepted");
    rank.s.send(nonsense, true);
    rank.s.send("and another frame", false);
    root.join();
    EXPECT_HAS(error, "rank 1 (host elsewhere, pid 4711) lost: said what makes no sense: ");
  }
}
TEST(Handshake, OneProcessMaySayItAgainAndAnotherMayNot) {
  int port = free_port();
  std::string error;
  std::thread root([&] {
    try {
      join(config_for(0, 3, port, Carrier::zmq))->barrier(everybody(3));
    } catch (const RankLost& e) { error = e.what(); }
  });
  auto first = handshake(kProtocol, 1, 3, all_dtypes, machine(), "tcp://127.0.0.1:1", "first");
  auto other = handshake(kProtocol, 1, 3, all_dtypes, machine(), "tcp://127.0.0.1:1", "other");
  auto last = handshake(kProtocol, 2, 3, all_dtypes, machine(), "tcp://127.0.0.1:1", "last");
  Stranger once(port), again(port), twin(port), third(port);
  auto missing = [](Stranger& s) {
    Frame f;
    while (!s.s.receive(f)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return static_cast<JoinMessage>(f.view()[0]) == JoinMessage::missing;
  };
  once.s.send(first, false);
  once.s.send(first, false);
  EXPECT_TRUE(missing(once));
  EXPECT_HAS(twin.verdict(other), "rank 1 was started twice: rank 1 (host elsewhere, pid 4711) and rank 1 (host ");
  again.s.send(first, false);  // while rank 0 still holds the connection before it for alive
  EXPECT_TRUE(missing(again));
  once.s.close();  // which does not count any more
  again.s.send(first, false);
  third.s.send(last, false);
  EXPECT_EQ(again.verdict(first), "accepted");
  EXPECT_EQ(third.verdict(last), "accepted");
  again.s.send(first, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  again.s.close();
  root.join();
  EXPECT_HAS(error, "rank 1 (host elsewhere, pid 4711) lost: connection closed");
}
TEST(Handshake, HandshakesThatEndTooEarlyAreIgnored) {
  int port = free_port();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    try {
      join(config_for(0, 2, port))->leave();
    } catch (const std::exception& e) { errors[0] = e.what(); }
  });
  auto whole = handshake(kProtocol, 1, 2, "f32");
  {
    ZmqContext context;
    Socket s(context, ZMQ_DEALER);
    zmq_connect(s.get(), ("tcp://127.0.0.1:" + std::to_string(port)).c_str());
    for (std::size_t n = 0; n < whole.size(); n += 3) s.send(std::string_view(whole).substr(0, n), false);
    auto far = handshake(kProtocol, -1, 2, "f32");
    s.send(far, false);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  threads.emplace_back([&] {
    try {
      join(config_for(1, 2, port))->leave();
    } catch (const std::exception& e) { errors[1] = e.what(); }
  });
  for (auto& t : threads) t.join();
  expect_no_errors(errors);
}
}  // namespace
}  // namespace bora::transport::handshake_test
