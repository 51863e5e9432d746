// Random damage to requests over real sockets: no crash, no hang, nothing left open, and others are served meanwhile.
#include <gtest/gtest.h>
#include <atomic>
#include "http/client.h"
#include "laws/effort.h"

namespace random_bytes_test {
using namespace bora;
using namespace bora::test;

struct Random {
  std::uint64_t state;
  std::size_t operator()(std::size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>((state >> 33) % n);
  }
};
std::string damaged(Random& draw) {
  const std::vector<std::string> good{request("GET /hello"),
                                      request("HEAD /hello"),
                                      request("POST /echo?q", "", "some bytes"),
                                      request("GET /left"),
                                      request("POST /echo", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n",
                                      request("GET /thrown"),
                                      request("POST /echo", "Expect: 100-continue\r\n", std::string(3000, 'b')),
                                      request("GET /big?100000")};
  std::string text;
  for (auto n = 1 + draw(3); n-- > 0;) text += good[draw(good.size())];
  for (auto n = draw(4); n-- > 0 && !text.empty();) {
    auto at = draw(text.size());
    switch (draw(4)) {
      case 0: text[at] = static_cast<char>(draw(256)); break;
      case 1: text.erase(at, 1 + draw(20)); break;
      case 2: text.insert(at, text.substr(draw(text.size()), draw(100))); break;
      case 3: text.insert(at, std::string(draw(3000), static_cast<char>(draw(256)))); break;
    }
  }
  return text;
}
TEST(HttpRandomBytes, OverSockets) {
  Site site({.body = 8 << 10, .header = 2 << 10, .headers = 60ms, .reader = 200ms, .idle = 60ms, .body_time = 150ms});
  ask(site.port, request("GET /hello"));
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  auto open = descriptors(), memory = resident_bytes();
  std::atomic<bool> ended = false;
  std::atomic<int> served = 0, wrong = 0;
  std::thread beside([&] {
    while (!ended) {
      auto got = ask(site.port, request("GET /echo?x"));
      (got.status == 200 && got.body == "GET x " ? served : wrong) += 1;
    }
  });
  std::vector<std::thread> attackers;
  for (std::uint64_t t = 0; t < 4; ++t)
    attackers.emplace_back([&, t] {
      Random draw{t + 1};
      for (int round = 0; round < (laws::effort() == laws::Effort::full ? 20'000 : 150); ++round) {
        Client c(site.port);
        auto text = damaged(draw);
        for (std::size_t at = 0; at < text.size();) {
          auto n = 1 + draw(draw(3) == 0 ? 4 : 4000);
          if (!c.send(std::string_view(text).substr(at, n))) break;
          at += n;
          if (draw(10) == 0) std::this_thread::sleep_for(1ms);
        }
        switch (draw(4)) {
          case 0: c.close(); break;
          case 1: c.reset(); break;
          case 2: c.half_close(); [[fallthrough]];
          default: EXPECT_TRUE(c.closed()) << text;
        }
      }
    });
  for (auto& a : attackers) a.join();
  ended = true;
  beside.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(served, 20);
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  EXPECT_EQ(descriptors(), open);
  EXPECT_LT(resident_bytes(), memory + (32 << 20) + kSlack);
}
}  // namespace random_bytes_test
