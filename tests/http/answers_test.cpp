// Answers of each kind, as HTTP/1.1 (RFC 9112) has them.
#include <gtest/gtest.h>
#include <cstdio>
#include <fstream>
#include "bora/base/error.h"
#include "http/client.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace answers_test {
using namespace bora;
using namespace bora::test;

TEST(Http, AWholeAnswer) {
  Site site;
  auto got = ask(site.port, request("GET /hello"));
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(got.header("content-length"), "5");
  EXPECT_NE(got.header("date").find(" GMT"), std::string::npos);
  EXPECT_EQ(ask(site.port, request("GET /nothing")).status, 404);
}
TEST(Http, MethodQueryAndBodyReachTheHandler) {
  Site site;
  EXPECT_EQ(ask(site.port, request("POST /echo?a=b?c", "", "words")).body, "POST a=b?c words");
  EXPECT_EQ(ask(site.port, request("PUT http://other:80/echo?x")).header("x-host"), "other:80");
  auto chunked =
      request("POST /echo", "Transfer-Encoding: chunked\r\n") + "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n";
  EXPECT_EQ(ask(site.port, chunked).body, "POST  abcde");
  EXPECT_TRUE(site.requests().back().header("X").empty()) << "a trailer must not become a header";
}
TEST(Http, ConnectionsAreKept) {
  Site site;
  Client c(site.port);
  for (int i = 0; i < 3; ++i) {
    c.send(request("GET /echo?" + std::to_string(i)));
    EXPECT_EQ(c.answer().body, "GET " + std::to_string(i) + " ");
  }
  c.send(request("GET /hello", "Connection: close\r\n"));
  EXPECT_EQ(c.answer().header("Connection"), "close");
  EXPECT_TRUE(c.closed());
}
TEST(Http, RequestsInAdvanceAreAnsweredInOrder) {
  Site site;
  Client c(site.port);
  std::string all;
  for (int i = 0; i < 200; ++i) all += request("POST /echo?" + std::to_string(i), "", std::string(1000, 'b'));
  std::thread sender([&] { c.send(all); });
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(c.answer().body, "POST " + std::to_string(i) + " " + std::string(1000, 'b')) << i;
  sender.join();
}
TEST(Http, HeadHasNoBody) {
  Site site;
  Client c(site.port);
  c.send(request("HEAD /hello") + request("GET /hello"));
  auto head = c.answer(true);
  EXPECT_EQ(head.header("Content-Length"), "5");
  EXPECT_EQ(c.answer().body, "hello");
  c.send(request("HEAD /stream"));
  auto reply = site.reply();
  reply.write("nothing of this");
  reply.end();
  EXPECT_EQ(c.answer(true).header("Transfer-Encoding"), "chunked");
  c.send(request("GET /hello"));
  EXPECT_EQ(c.answer().body, "hello");
}
TEST(Http, Version10) {
  Site site;
  Client c(site.port);
  c.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(c.answer().header("Connection"), "keep-alive");
  c.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto reply = site.reply();
  reply.write("a");
  reply.write("b");
  reply.end();
  auto got = c.answer();
  EXPECT_EQ(got.header("Transfer-Encoding"), "");
  EXPECT_EQ(got.body, "ab") << "its end is that of the connection";
  EXPECT_EQ(ask(site.port, "GET /hello HTTP/1.0\r\n\r\n").header("Connection"), "close");
}
TEST(Http, ExpectContinue) {
  Site site({}, [](auto& o) {
    o.admit = [](const http::Request& r) -> std::optional<http::Response> {
      EXPECT_TRUE(r.body.empty());
      if (r.target == "/refused") return http::Response{.status = 401, .body = "no"};
      return {};
    };
  });
  Client c(site.port);
  auto head = [](const char* path) {
    return std::string("POST ") + path + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  };
  c.send(head("/echo"));
  ASSERT_TRUE(c.sees("HTTP/1.1 100 Continue\r\n\r\n"));
  c.send("body");
  EXPECT_EQ(c.answer().body, "POST  body");
  Client refused(site.port);
  refused.send(head("/refused"));
  EXPECT_EQ(refused.answer().status, 401) << "without its body";
  EXPECT_TRUE(refused.closed());
  EXPECT_EQ(ask(site.port, request("GET /hello", "Expect: money\r\n")).status, 417);
}
TEST(Http, ARefusedRequestWithoutABodyKeepsItsConnection) {
  Site site({}, [](auto& o) {
    o.admit = [](const http::Request& r) -> std::optional<http::Response> {
      if (r.target == "/refused") return http::Response{.status = 401};
      return {};
    };
  });
  Client c(site.port);
  c.send(request("GET /refused") + request("GET /hello"));
  EXPECT_EQ(c.answer().status, 401);
  EXPECT_EQ(c.answer().body, "hello");
}
TEST(Http, AStreamComesAsItIsWritten) {
  Site site;
  Client c(site.port);
  c.send(request("GET /stream"));
  auto reply = site.reply();
  reply.write(http::event("one"));
  EXPECT_TRUE(c.sees("data: one\n\n"));
  reply.write(http::event("two\nlines"));
  reply.write("");  // an empty chunk would be the last one
  reply.end();
  reply.write("after the end");
  auto got = c.answer();
  EXPECT_EQ(got.body, "data: one\n\ndata: two\ndata: lines\n\n");
  EXPECT_TRUE(got.whole);
  EXPECT_EQ(got.header("Content-Type"), "text/event-stream; charset=utf-8");
  c.send(request("GET /hello"));
  EXPECT_EQ(c.answer().body, "hello");
}
TEST(Http, SilenceGetsAComment) {
  Site site({.silence = 50ms});
  Client c(site.port);
  c.send(request("GET /stream"));
  EXPECT_TRUE(c.sees(": \n\n"));
  site.reply().end();
  auto body = c.answer().body;
  EXPECT_EQ(body.find_first_not_of(": \n"), body.npos) << body;
  Client plain(site.port);
  plain.send(request("GET /later"));
  site.reply(1).begin(200, {{"Content-Type", "text/plain"}});
  std::this_thread::sleep_for(200ms);
  site.reply(1).end();
  EXPECT_EQ(plain.answer().body, "") << "only event streams have comments";
}
TEST(Http, AnAbortedAnswerIsNotWhole) {
  Site site;
  for (std::string version : {"1.1", "1.0"}) {
    Client c(site.port);
    c.send("GET /stream HTTP/" + version + "\r\nHost: h\r\n\r\n");
    auto reply = site.reply();
    reply.write("part");
    EXPECT_TRUE(c.sees("part"));
    reply.abort();
    EXPECT_TRUE(version == "1.1" ? !c.answer().whole : c.was_reset());
    site.forget();
  }
}
TEST(Http, AnswersThatNobodyGives) {
  Site site;
  auto thrown = ask(site.port, request("GET /thrown"));
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(thrown.body, "a mistake\n");
  EXPECT_EQ(ask(site.port, request("GET /left")).status, 500);
  Client c(site.port);
  c.send(request("GET /stream"));
  site.reply();
  site.forget();
  EXPECT_FALSE(c.answer().whole);
}
TEST(Http, ErrorsHaveTheFormOfTheOptions) {
  Site site({}, [](auto& o) {
    o.errors = [](int status, const std::string& why) {
      return http::Response{status, {{"Content-Type", "application/json"}}, "{\"why\": \"" + why + "\"}"};
    };
  });
  auto got = ask(site.port, request("GET /thrown"));
  EXPECT_EQ(got.body, "{\"why\": \"a mistake\"}");
  EXPECT_EQ(ask(site.port, "bad\r\n\r\n").header("Content-Type"), "application/json");
  Site wrong({}, [](auto& o) {
    o.errors = [](int status, const std::string&) { return http::Response{status, {{"A\r\nB", "c"}}, ""}; };
  });
  EXPECT_EQ(ask(wrong.port, request("GET /thrown")).status, 500);
  EXPECT_EQ(ask(wrong.port, "bad\r\n\r\n").status, 500);
}
TEST(Http, MistakesOfAHandler) {
  Site site;
  Client c(site.port);
  c.send(request("GET /later"));
  auto reply = site.reply();
  says<ValueError>([&] { reply.send({.headers = {{"A", "b\r\nSet-Cookie: c"}}}); }, "a header cannot hold");
  says<ValueError>([&] { reply.send({.headers = {{"A b", "c"}}}); }, "a header cannot hold");
  says<ValueError>([&] { reply.send({.headers = {{"content-length", "7"}}}); }, "is set by the server");
  says<ValueError>([&] { reply.send({.status = 100}); }, "100 is no status");
  says<ValueError>([&] { reply.write("x"); }, "begins with begin");
  says<ValueError>([&] { reply.end(); }, "begins with begin");
  reply.begin(202, {});
  says<ValueError>([&] { reply.send({}); }, "has begun");
  says<ValueError>([&] { reply.begin(200, {}); }, "has begun");
  reply.end();
  reply.send({});  // after the end: nothing
  EXPECT_EQ(c.answer().status, 202);
}
TEST(Http, ManyThreadsAnswer) {
  Site site;
  std::vector<Client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(site.port).send(request("GET /stream"));
  site.reply(7);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      auto reply = site.reply(i);
      for (int k = 0; k < 300; ++k) reply.write(std::to_string(k) + " ");
      reply.end();
    });
  std::string expected;
  for (int k = 0; k < 300; ++k) expected += std::to_string(k) + " ";
  for (auto& c : clients) {
    auto got = c.answer();
    EXPECT_TRUE(got.whole);
    EXPECT_EQ(got.body, expected);
  }
  for (auto& t : threads) t.join();
}
TEST(Http, NoContent) {
  Site site;
  Client c(site.port);
  c.send(request("GET /later") + request("GET /hello"));
  site.reply().send({.status = 204});
  auto got = c.answer();
  EXPECT_EQ(got.header("Content-Length"), "");
  EXPECT_EQ(c.answer().body, "hello");
}
TEST(Http, Curl) {
  if (std::system("curl --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no curl";
  Site site({.body = 100'000});
  TempFolder folder;
  folder.write("body", std::string(70'000, 'b'));
  auto at = " http://127.0.0.1:" + std::to_string(site.port);
  auto run = [&](const std::string& words) {
    EXPECT_EQ(std::system(("curl -s --max-time 20 -o " + folder / "out" + " " + words).c_str()), 0);
    std::ifstream in(folder / "out");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(run(at + "/hello"), "hello");
  EXPECT_EQ(run("--data-binary @" + folder / "body" + " -H 'Expect: 100-continue'" + at + "/echo"),
            "POST  " + std::string(70'000, 'b'));
  EXPECT_EQ(run("-H 'Transfer-Encoding: chunked' --data-binary @" + folder / "body" + at + "/echo"),
            "POST  " + std::string(70'000, 'b'));
  EXPECT_EQ(run("-0" + at + "/hello"), "hello");
  auto twice = " --data-binary @" + folder / "body";
  EXPECT_EQ(run("-H 'Transfer-Encoding: chunked'" + twice + twice + at + "/echo").substr(0, 12), "the body has");
}
}  // namespace answers_test
