// One verdict for all ranks lists every difference: builds, sizes, protocols, dtypes.
#include "bytes.h"
#include "header.h"
#include "jobs.h"
#include "hello.h"
#include "star.h"

namespace bora::transport {
namespace {
void has(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << words << " in: " << text;
}
/// A rank of another build: it says `hello` and waits for the verdict.
std::string verdict_for(int port, const std::string& hello) {
  ZmqContext context;
  Socket s(context, ZMQ_DEALER);
  s.set(ZMQ_LINGER, 0);
  zmq_connect(s.get(), ("tcp://127.0.0.1:" + std::to_string(port)).c_str());
  s.send(hello, false);
  auto start = std::chrono::steady_clock::now();
  for (Frame f; seconds_since(start) < 10; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    while (s.receive(f)) {
      Reader r(f.view());
      if (r.num<JoinMessage>() == JoinMessage::refused) return r.text();
    }
  return "no verdict";
}
std::string hello(std::uint32_t protocol, int rank, int size, const std::string& dtypes) {
  Writer w;
  w.num(JoinMessage::hello).num(kMagic).num(protocol).num(rank).num(size).num(std::int32_t{4711});
  if (protocol != kProtocol) return w.text("something else").num(1.5).take();
  for (std::string text : {"", "", "elsewhere", "machine", "data://127.0.0.1:1", "nonce", "", ""}) w.text(text);
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
      if (r == 1) c.build = "other";
      try {
        join(c);
      } catch (const ConfigError& e) { said[static_cast<std::size_t>(r)] = e.what(); }
    });
  threads.emplace_back([&] { said[2] = verdict_for(port, hello(99, 2, 4, "")); });
  threads.emplace_back([&] { said[3] = verdict_for(port, hello(kProtocol, 3, 5, "f32")); });
  for (auto& t : threads) t.join();
  for (auto& text : said) {
    has(text, "the ranks do not fit together: ");
    has(text, "build: rank 0 has '', rank 1 'other'");
    has(text, "protocol: rank 0 has '" + std::to_string(kProtocol) + "', rank 2 '99'");
    has(text, "size: rank 0 has '4', rank 3 '5'");
    has(text, "dtypes: rank 0 has 'bool u8 i32 i64 u32 bf16 f32 f64', rank 3 'f32'");
    has(text, "rank 3 (host elsewhere, pid 4711) listens on loopback");
  }
}
TEST(Handshake, GreetingsThatEndTooEarlyAreNobody) {
  int port = free_port();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    try {
      join(config_for(0, 2, port))->leave();
    } catch (const std::exception& e) { errors[0] = e.what(); }
  });
  auto whole = hello(kProtocol, 1, 2, "f32");
  {
    ZmqContext context;
    Socket s(context, ZMQ_DEALER);
    zmq_connect(s.get(), ("tcp://127.0.0.1:" + std::to_string(port)).c_str());
    for (std::size_t n = 0; n < whole.size(); n += 3) s.send(std::string_view(whole).substr(0, n), false);
    auto far = hello(kProtocol, -1, 2, "f32");
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
}  // namespace bora::transport
