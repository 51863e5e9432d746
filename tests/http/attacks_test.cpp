// What broken and hostile clients send: each gets its status, takes bounded memory and time, and hurts nobody else.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include "http/client.h"

namespace attacks_test {
using namespace bora;
using namespace bora::test;
using namespace std::string_literals;

const http::Limits kSmall{.body = 64 << 10, .header = 4 << 10, .connections = 64, .unread = 64 << 10};

struct Bad {
  const char* name;
  int status;
  std::string bytes;
};
std::vector<Bad> bad_requests() {
  auto post = [](const std::string& headers, const std::string& body = "") {
    return "POST /echo HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body;
  };
  auto get = [](const std::string& headers) { return "GET /hello HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n"; };
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  return {
      {"Content-Length and chunked", 400, post("Content-Length: 3\r\n" + chunked, "0\r\n\r\n")},
      {"chunked and Content-Length", 400, post(chunked + "Content-Length: 3\r\n", "0\r\n\r\n")},
      {"two Content-Lengths", 400, post("Content-Length: 3\r\nContent-Length: 5\r\n", "abcde")},
      {"two equal Content-Lengths", 400, post("Content-Length: 3\r\ncontent-length: 3\r\n", "abc")},
      {"a list of Content-Lengths", 400, post("Content-Length: 3, 3\r\n", "abc")},
      {"a negative Content-Length", 400, post("Content-Length: -1\r\n")},
      {"a signed Content-Length", 400, post("Content-Length: +3\r\n", "abc")},
      {"a Content-Length in hex", 400, post("Content-Length: 0x3\r\n", "abc")},
      {"a Content-Length of two numbers", 400, post("Content-Length: 3 3\r\n", "abc")},
      {"an empty Content-Length", 400, post("Content-Length: \r\n", "abc")},
      {"a Content-Length above 2^64", 400, post("Content-Length: 18446744073709551616\r\n")},
      {"a Content-Length of 2^64 - 1", 413, post("Content-Length: 18446744073709551615\r\n")},
      {"a Content-Length of 99999999999", 413, post("Content-Length: 99999999999\r\n")},
      {"a chunk of -2", 400, post(chunked, "-2\r\nab\r\n0\r\n\r\n")},
      {"a chunk of 2^64 - 1", 413, post(chunked, "ffffffffffffffff\r\n")},
      {"a chunk of 2^63 - 1", 413, post(chunked, "7fffffffffffffff\r\n")},
      {"a chunk above 2^64", 400, post(chunked, "10000000000000000\r\n")},
      {"a chunk of no number", 400, post(chunked, "xyz\r\n")},
      {"a chunk without a line end behind it", 400, post(chunked, "3\r\nabcdef\r\n0\r\n\r\n")},
      {"a Content-Length in the trailer", 400, post(chunked, "1\r\na\r\n0\r\nContent-Length: 7\r\n\r\n")},
      {"another coding", 501, post("Transfer-Encoding: gzip\r\n")},
      {"another coding before chunked", 501, post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
      {"chunked before another coding", 501, post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n")},
      {"chunked with a letter too many", 501, post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")},
      {"chunked twice", 400, post(chunked + chunked, "0\r\n\r\n")},
      {"chunked in HTTP/1.0", 400, "POST /echo HTTP/1.0\r\n" + chunked + "\r\n0\r\n\r\n"},
      {"no Host", 400, "GET /hello HTTP/1.1\r\n\r\n"},
      {"two Hosts", 400, get("Host: i\r\n")},
      {"no request", 400, "\x16\x03\x01\x02\x01\x01 TLS to a plain port\r\n\r\n"},
      {"HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"HTTP/0.9", 400, "GET /hello\r\n\r\n"},
      {"a target that is no path", 400, "GET hello HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"a target with a user", 400, "GET http://a@b/hello HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"CONNECT", 400, "CONNECT other:443 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"a zero byte in the target", 400, "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"s},
      {"a zero byte in a header", 400, get("A: b\0c\r\n"s)},
      {"a blank before the colon", 400, get("Content-Length : 3\r\n")},
      {"a header without a name", 400, get(": a\r\n")},
      {"a header without a colon", 400, get("words\r\n")},
      {"a bare line feed", 400, "GET /hello HTTP/1.1\nHost: h\n\n"},
      {"a bare carriage return", 400, get("A: b\rC: d\r\n")},
      {"a long target", 431, "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"a long header", 431, get("A: " + std::string(1 << 20, 'b') + "\r\n")},
      {"a long header without its end", 431, "GET /hello HTTP/1.1\r\nA: " + std::string(1 << 20, 'b')},
      {"many headers", 431, get([] {
         std::string all;
         for (int i = 0; i < 50'000; ++i) all += "A: b\r\n";
         return all;
       }())},
      {"a long line before a chunk", 431, post(chunked, "1;" + std::string(1 << 20, 'e'))},
      {"a long trailer", 431, post(chunked, "0\r\nA: " + std::string(1 << 20, 'b'))},
      {"a long body", 413, post("Content-Length: 70000\r\n", std::string(70'000, 'b'))},
      {"a long body in chunks", 413,
       [&] {
         auto all = post(chunked);
         for (int i = 0; i < 2'000; ++i) all += "400\r\n" + std::string(1024, 'b') + "\r\n";
         return all;
       }()},
  };
}
TEST(HttpAttacks, BadRequestsGetTheirStatusAndTheConnectionEnds) {
  Site site(kSmall);
  auto before = resident_bytes();
  for (auto& bad : bad_requests()) {
    Client c(site.port);
    std::thread sender([&] { c.send(bad.bytes); });
    auto got = c.answer();
    EXPECT_EQ(got.status, bad.status) << bad.name;
    EXPECT_TRUE(got.whole) << bad.name;
    EXPECT_FALSE(got.body.empty()) << bad.name;
    EXPECT_EQ(got.header("Connection"), "close") << bad.name;
    EXPECT_TRUE(c.closed()) << bad.name << ": what follows may be another request than the client meant";
    sender.join();
  }
  EXPECT_TRUE(site.requests().empty()) << "none of them is for a handler";
  EXPECT_LT(resident_bytes(), before + (16 << 20) + kSlack);
  EXPECT_EQ(ask(site.port, request("GET /hello")).body, "hello");
}
TEST(HttpAttacks, IdleConnectionsKeepNobodyOut) {
  Site site(kSmall);
  std::vector<Client> idle;
  for (int i = 0; i < 300; ++i) idle.emplace_back(site.port);
  EXPECT_EQ(ask(site.port, request("GET /hello")).body, "hello");
  EXPECT_LE(site.server->connections(), 64);
}
TEST(HttpAttacks, BusyConnectionsStayAndMoreAreToldSo) {
  auto limits = kSmall;
  limits.connections = 8;
  Site site(limits);
  std::vector<Client> busy;
  for (int i = 0; i < 8; ++i) busy.emplace_back(site.port).send(request("GET /later"));
  site.reply(7);
  auto got = ask(site.port, request("GET /hello"));
  EXPECT_EQ(got.status, 503);
  EXPECT_EQ(got.header("Retry-After"), "1");
  for (std::size_t i = 0; i < 8; ++i) site.reply(i).send({.body = std::to_string(i)});
  std::string all;
  for (auto& c : busy) all += c.answer().body;
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(ask(site.port, request("GET /hello")).body, "hello") << "idle ones make room";
}
TEST(HttpAttacks, SlowSendersKeepNobodyWaiting) {
  auto limits = kSmall;
  limits.headers = limits.body_time = 700ms;
  Site site(limits);
  std::vector<Client> slow;
  auto text = request("POST /echo", "", std::string(2000, 'b'));
  for (int i = 0; i < 40; ++i) slow.emplace_back(site.port).send(text.substr(0, static_cast<std::size_t>(i) * 5));
  double longest = 0;
  std::size_t at = 195;
  int open = 40;
  for (auto begin = Clock::now(); seconds_since(begin) < 5 && open > 0; ++at) {
    open = 0;
    for (auto& c : slow) open += c.send(text.substr(at % text.size(), 1));
    auto asked = Clock::now();
    EXPECT_EQ(ask(site.port, request("GET /hello")).body, "hello");
    longest = std::max(longest, seconds_since(asked));
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(open, 0) << "they are closed although each sends a byte now and then";
  EXPECT_LT(longest, 2);
}
TEST(HttpAttacks, RequestsThatStopGetA408) {
  auto limits = kSmall;
  limits.headers = 100ms;
  limits.idle = 300ms;
  Site site(limits);
  for (std::string part : {"GET /hello HT", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"}) {
    Client c(site.port);
    c.send(part);
    EXPECT_EQ(c.answer().status, 408);
    EXPECT_TRUE(c.closed());
  }
  Client silent(site.port);
  EXPECT_TRUE(silent.closed());
  Client kept(site.port);
  kept.send(request("GET /hello"));
  EXPECT_EQ(kept.answer().body, "hello");
  EXPECT_TRUE(kept.closed()) << "an idle connection";
  EXPECT_TRUE(kept.rest().empty());
}
TEST(HttpAttacks, AnAnswerReachesAClientThatIsStillSending) {
  Site site(kSmall);
  Client c(site.port);
  c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + std::string(50'000, 'b'));
  EXPECT_EQ(c.answer().status, 413);
  EXPECT_FALSE(c.was_reset()) << "a reset may take the answer from a client before it has read it";
}
TEST(HttpAttacks, AllBodiesTogetherHaveABound) {
  auto limits = kSmall;
  limits.bodies = 3 * limits.body;
  auto errors = [](int status, const std::string&) { return http::Response{status, {{"Retry-After", "9"}}, ""}; };
  Site site(limits, [&](auto& o) { o.errors = errors; });
  std::vector<Client> senders;
  auto half = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n" + std::string(59'999, 'b');
  for (int i = 0; i < 4; ++i) senders.emplace_back(site.port).send(half);
  int refused = 0;
  EXPECT_TRUE(comes([&] {
    for (auto& c : senders) {
      ::pollfd p{c.fd(), POLLIN, 0};
      if (::poll(&p, 1, 0) <= 0) continue;
      auto got = c.answer();
      refused += got.status == 503;
      EXPECT_EQ(std::ranges::count(got.headers, "Retry-After", [](auto& h) { return h.first; }), 1);
    }
    return refused == 1;
  }));
  int answered = 0;
  for (auto& c : senders)
    if (c.send("b")) answered += c.answer().body.size() == 60'006;
  EXPECT_EQ(answered, 3);
  EXPECT_EQ(ask(site.port, half + "b").body.size(), 60'006U) << "what they took is free again";
}
TEST(HttpAttacks, ASlowReaderOfAStreamIsCutOff) {
  Site site(kSmall);
  Client slow(site.port), fast(site.port);
  int small = 4096;
  ::setsockopt(slow.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  slow.send(request("GET /stream"));
  auto reply = site.reply();
  fast.send(request("GET /stream"));
  auto other = site.reply(1);
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  auto before = resident_bytes();
  std::size_t written = 0;
  std::string piece(1000, 'p');
  for (; !reply.gone() && written < (64 << 20); written += piece.size()) reply.write(piece);
  EXPECT_LT(written, 4U << 20) << "64 KiB, and what the system's buffers take";
  EXPECT_TRUE(comes([&] { return gone == 1; }));
  EXPECT_LT(resident_bytes(), before + (4 << 20) + kSlack);
  reply.write(piece);
  reply.end();
  other.write("well");
  other.end();
  EXPECT_EQ(fast.answer().body, "well");
  EXPECT_EQ(gone, 1);
}
TEST(HttpAttacks, AReaderThatStopsIsCutOff) {
  auto limits = kSmall;
  limits.reader = 200ms;
  Site site(limits);
  Client whole(site.port), stream(site.port), reads(site.port);
  int small = 4096;
  for (auto* c : {&whole, &stream}) ::setsockopt(c->fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  whole.send(request("GET /big?8000000"));  // a whole answer, or one piece of a stream, has no bound
  reads.send(request("GET /big?8000000"));
  stream.send(request("GET /stream"));
  auto reply = site.reply();
  std::atomic<int> gone = 0;
  reply.on_gone([&] { ++gone; });
  reply.write(std::string(8'000'000, 'x'));
  EXPECT_EQ(reads.answer().body.size(), 8'000'000U);
  EXPECT_TRUE(comes([&] { return gone == 1; }));
  EXPECT_TRUE(comes([&] { return site.server->connections() == 1; }));
}
/// Seconds in which the thread of this schedstat ran or waited for a core, however busy the machine is.
double seconds_ready(std::ifstream& file) {
  double ran = 0, waited = 0;
  file.clear();
  file.seekg(0);
  file >> ran >> waited;
  return (ran + waited) / 1e9;
}
std::ifstream statistics_of_the_server() {
  std::ifstream found;
  auto look = [&] {
    for (auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(thread.path() / "comm") >> name;
      if (name == "bora-http") found.open(thread.path() / "schedstat");
    }
    return found.is_open();
  };
  EXPECT_TRUE(comes(look));
  return found;
}
TEST(HttpAttacks, DescriptorsRunOut) {
  Site site({.connections = 100});
  auto statistics = statistics_of_the_server();  // now: there will be no descriptor for it
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  auto few = limit;
  few.rlim_cur = descriptors() + 20;
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<Client> clients;
  int fd = 0;
  for (int i = 0; i < 50 && (fd = Client::socket()) >= 0; ++i) clients.emplace_back(site.port, fd);
  EXPECT_LT(fd, 0) << "descriptors have not run out";
  auto begin = Clock::now();
  auto ready = seconds_ready(statistics);
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(seconds_ready(statistics) - ready, 0.5 * seconds_since(begin)) << "it tries again without a break";
  auto last = std::move(clients.back());
  clients.clear();
  last.send(request("GET /hello"));
  EXPECT_EQ(last.answer().body, "hello");
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(ask(site.port, request("GET /hello")).body, "hello");
}
TEST(HttpAttacks, NothingIsLeftOpen) {
  Site site(kSmall);
  ask(site.port, request("GET /hello"));
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    Client c(site.port);
    c.send(request(i % 2 ? "GET /hello" : "GET /later").substr(0, static_cast<std::size_t>(i)));
    if (i % 3 == 0) c.reset();
  }
  EXPECT_TRUE(comes([&] { return site.server->connections() == 0; }));
  EXPECT_EQ(descriptors(), before);
}
}  // namespace attacks_test
