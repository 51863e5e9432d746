// Clients that leave: they are seen at once in every phase, and nobody else notices.
#include <gtest/gtest.h>
#include <atomic>
#include "http/client.h"

namespace clients_test {
using namespace bora;
using namespace bora::test;

enum class How { close, reset, half_close };
void leave(Client& c, How how) {
  if (how == How::close) c.close();
  else if (how == How::reset) c.reset();
  else c.half_close();
}
class Leaving : public testing::TestWithParam<How> {};
INSTANTIATE_TEST_SUITE_P(Http, Leaving, testing::Values(How::close, How::reset, How::half_close));

TEST_P(Leaving, InTheMiddleOfARequest) {
  Site site;
  for (auto* part : {"", "GET /he", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab"}) {
    Client c(site.port);
    c.send(part);
    EXPECT_TRUE(comes([&] { return site.server->connections() == 1; }));
    leave(c, GetParam());
    EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  }
  EXPECT_TRUE(site.requests().empty());
}
TEST_P(Leaving, WhileItsRequestIsQueued) {
  Site site;
  Client c(site.port), stays(site.port);
  c.send(request("GET /later"));
  auto reply = site.reply();
  stays.send(request("GET /later"));
  auto other = site.reply(1);
  std::atomic<int> gone = 0, late = 0;
  reply.on_gone([&] { ++gone; });
  other.on_gone([&] { ADD_FAILURE() << "this client is still there"; });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(gone, 0);
  EXPECT_FALSE(reply.gone());
  leave(c, GetParam());
  EXPECT_TRUE(comes([&] { return gone == 1; })) << "although nothing is written to it";
  EXPECT_TRUE(reply.gone());
  reply.on_gone([&] { ++late; });
  EXPECT_EQ(late, 1) << "at once";
  reply.send({.body = "to nobody"});
  other.send({.body = "still here"});
  EXPECT_EQ(stays.answer().body, "still here");
  EXPECT_EQ(gone, 1);
}
TEST_P(Leaving, InAStream) {
  Site site;
  Client c(site.port);
  c.send(request("GET /stream"));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  reply.write("a");
  EXPECT_TRUE(c.sees("a"));
  leave(c, GetParam());
  EXPECT_TRUE(comes([&] { return gone == 1; }));
  for (int i = 0; i < 10; ++i) reply.write("more");
  reply.end();
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  EXPECT_EQ(gone, 1);
}
TEST(HttpClients, OneThatHasSentItsNextRequestsLeaves) {
  Site site({.header = 1024});
  Client c(site.port);
  c.send(request("GET /later") + request("POST /echo", "", std::string(100'000, 'b')));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(gone, 0);
  c.close();
  EXPECT_TRUE(comes([&] { return gone == 1; })) << "although not all that it sent can be read";
}
TEST(HttpClients, AfterTheEndNobodyIsGone) {
  Site site;
  Client c(site.port);
  c.send(request("GET /later"));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  reply.send({.body = "all"});
  EXPECT_EQ(c.answer().body, "all");
  c.close();
  Client leaves(site.port);
  leaves.send(request("GET /later"));
  reply = site.reply(1);
  reply.on_gone([&] { ++gone; });
  reply.send({.body = std::string(8'000'000, 'x')});  // more than is on its way when it leaves
  leaves.close();
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  EXPECT_EQ(gone, 0);
}
TEST(HttpClients, AnAnswerThatHasEndedReachesAClientThatClosedItsSide) {
  Site site;
  Client c(site.port);
  c.send(request("GET /big?3000000", "Connection: close\r\n"));
  c.half_close();
  EXPECT_EQ(c.answer().body.size(), 3'000'000U);
}
TEST(HttpClients, ManyThatLeaveAtRandomTimes) {
  Site site;
  std::atomic<int> gone = 0, wrong = 0;
  unsigned state = 1;
  auto draw = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
  std::thread stays([&] {
    Client c(site.port);
    for (int i = 0; i < 200; ++i) {
      c.send(request("GET /echo?" + std::to_string(i)));
      wrong += c.answer().body != "GET " + std::to_string(i) + " ";
    }
  });
  for (int round = 0; round < 100; ++round) {
    site.forget();
    Client c(site.port);
    bool stream = draw() % 2;
    c.send(request(stream ? "GET /stream" : "GET /later"));
    auto reply = site.reply();
    reply.on_gone([&] { ++gone; });
    std::thread writer([&, reply] {
      for (int i = 0; stream && i < 200 && !reply.gone(); ++i) reply.write("piece ");
    });
    std::this_thread::sleep_for(std::chrono::microseconds(draw() % 2000));
    leave(c, static_cast<How>(draw() % 2));
    writer.join();
    EXPECT_TRUE(comes([&] { return gone == round + 1; }));
  }
  stays.join();
  EXPECT_EQ(wrong, 0);
}
TEST(HttpClients, OneAnswerIsAllWhereLimitsSaySoAndThoseWhoHaveItMakeRoom) {
  http::Limits limits{.connections = 4};
  limits.keep_alive = false;
  Site site(limits);
  std::vector<Client> had;
  for (int i = 0; i < 20; ++i) {  // that stay open
    auto& c = had.emplace_back(site.port);
    c.send(request("GET /hello") + request("GET /hello"));
    auto got = c.answer();
    EXPECT_EQ(got.status, 200) << i;
    EXPECT_EQ(got.header("Connection"), "close");
    EXPECT_TRUE(c.closed());
  }
}
}  // namespace clients_test
