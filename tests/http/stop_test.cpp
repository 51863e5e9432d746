// The end of a server, and the ways in which it cannot begin.
#include <gtest/gtest.h>
#include <atomic>
#include "bora/base/error.h"
#include "http/client.h"
#include "support/throws.h"

namespace stop_test {
using namespace bora;
using namespace bora::test;

TEST(HttpStop, RunningAnswersEndAndNoOthersBegin) {
  Site site;
  Client running(site.port), idle(site.port), half(site.port);
  running.send(request("GET /stream") + request("GET /hello"));
  auto reply = site.reply();
  half.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_TRUE(comes([&] { return site.server->connections() == 3; }));
  std::this_thread::sleep_for(50ms);
  std::atomic<bool> stopped = false;
  std::thread stopping([&] {
    site.server->stop(20s);
    stopped = true;
  });
  EXPECT_TRUE(idle.closed());
  EXPECT_EQ(half.answer().status, 503);
  EXPECT_THROW(Client(site.port), std::system_error) << "nobody listens";
  reply.write("to the end");
  EXPECT_FALSE(stopped);
  reply.end();
  auto got = running.answer();
  EXPECT_EQ(got.body, "to the end");
  EXPECT_TRUE(got.whole);
  EXPECT_TRUE(running.closed()) << "the request behind it is not answered";
  EXPECT_TRUE(running.rest().empty());
  stopping.join();
}
TEST(HttpStop, AfterTheTimeTheRestIsCutOff) {
  Site site;
  Client c(site.port);
  c.send(request("GET /stream"));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  auto begin = Clock::now();
  site.server->stop(200ms);
  EXPECT_GE(seconds_since(begin), 0.19);
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(c.answer().whole);
  site.server->stop(200ms);  // again: nothing
}
TEST(HttpStop, AReplyOutlivesItsServer) {
  auto site = std::make_unique<Site>();
  Client c(site->port);
  c.send(request("GET /stream"));
  auto reply = site->reply();
  std::thread writer([reply] {
    for (int i = 0; i < 20'000; ++i) reply.write("x");
  });
  site.reset();
  writer.join();
  EXPECT_TRUE(reply.gone());
  reply.write("x");
  reply.end();
}
TEST(HttpStop, AHandlerCannotStopItsServer) {
  std::unique_ptr<http::Server> server;
  std::string text;
  server = std::make_unique<http::Server>(http::ServerOptions{}, [&](const http::Request&, const http::Reply& reply) {
    text = error_of<ValueError>([&] {
      server->stop(0ms);
      return 0;
    });
    reply.send({});
  });
  EXPECT_EQ(ask(server->port(), request("GET /")).status, 200);
  EXPECT_NE(text.find("would wait for itself"), text.npos) << text;
}
TEST(HttpStop, ServersComeAndGo) {
  { Site warm; }
  auto before = descriptors();
  int port = 0;
  for (int i = 0; i < 30; ++i) {
    Site site({}, [&](auto& o) { o.port = port; });
    port = site.port;  // free again at once
    Client c(site.port);
    c.send(request(i % 2 ? "GET /hello" : "GET /later"));
    if (i % 2) { EXPECT_EQ(c.answer().body, "hello"); }
  }
  EXPECT_EQ(descriptors(), before);
}
TEST(HttpStop, WhatCannotListen) {
  Site site;
  auto with = [](auto change) {
    return [change] {
      http::ServerOptions o;
      change(o);
      return http::Server(o, [](const auto&, const auto&) {}).port();
    };
  };
  auto taken = with([&](auto& o) { o.port = site.port; });
  says<IoError>(taken, "cannot listen on 127.0.0.1 port " + std::to_string(site.port));
  says<IoError>(taken, "Address already in use");
  says<IoError>(with([](auto& o) { o.host = "192.0.2.1"; }), "cannot listen on 192.0.2.1");
  says<IoError>(with([](auto& o) { o.host = "no such host."; }), "the address no such host. is not known");
  says<ValueError>(with([](auto& o) { o.host = ""; }), "the address to listen on is empty");
  says<ValueError>(with([](auto& o) { o.port = 70'000; }), "70000 is no port");
  says<ValueError>(with([](auto& o) { o.limits.body = 0; }), "the limit body is 0");
  says<ValueError>(with([](auto& o) { o.limits.silence = -1ms; }), "the limit silence is -1");
  says<ValueError>(with([](auto& o) { o.key = "k"; }), "the certificate is missing");
  EXPECT_GT(with([](auto& o) { o.host = "localhost"; })(), 0);
}
}  // namespace stop_test
