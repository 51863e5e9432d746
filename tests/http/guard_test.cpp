// Keys, Host, Origin.
#include "http/api/guard.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include "bora/base/error.h"
#include "http/client.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace guard_test {
using namespace bora;
using namespace bora::test;
using http::Guard;

http::Request asked(http::Headers headers, const std::string& target = "/v1/models",
                    const std::string& method = "GET") {
  return {method, target, "", std::move(headers), ""};
}
int status(const Guard& g, http::Headers headers, const std::string& target = "/v1/models") {
  auto refusal = g.refusal(asked(std::move(headers), target));
  return refusal ? refusal->status : 200;
}
TEST(HttpGuard, KeysOfAFile) {
  TempFolder folder;
  auto path = folder.write("keys", "sk-one\n\n  # a comment\nsk-two\r\n  sk-three  ");
  auto mode = [&](::mode_t m) { ::chmod(path.c_str(), m); };
  for (auto m : {0644, 0640, 0602, 0660, 0601}) {
    mode(static_cast<::mode_t>(m));
    says<IoError>([&] { return http::read_keys(path); }, "may be opened by others than its owner; chmod 600 it");
  }
  mode(0600);
  EXPECT_EQ(http::read_keys(path), (std::vector<std::string>{"sk-one", "sk-two", "sk-three"}));
  mode(0400);
  EXPECT_EQ(http::read_keys(path).size(), 3U);
  auto wrong = [&](const std::string& text) {
    path = folder.write("other", text);
    mode(0600);
    return error_of<IoError>([&] { return http::read_keys(path); });
  };
  EXPECT_NE(wrong("a\nb c\n").find("line 2"), std::string::npos);
  EXPECT_NE(wrong("k\xc3\xa9y").find("line 1"), std::string::npos);
  EXPECT_NE(wrong("\n# none\n").find("has no key"), std::string::npos);
  says<IoError>([&] { return http::read_keys(folder / "missing"); }, "cannot read");
  says<IoError>([&] { return http::read_keys(folder.path()); }, "a folder");
}
TEST(HttpGuard, BearerKeys) {
  Guard g({.keys = {"sk-one", "sk-two"}, .open = {"/", "/health"}, .loopback = false});
  auto with = [&](const std::string& value) { return status(g, {{"Authorization", value}}); };
  EXPECT_EQ(with("Bearer sk-one"), 200);
  EXPECT_EQ(with("bearer   sk-two "), 200);
  for (auto* bad : {"", "Bearer", "Bearer ", "Bearer sk-on", "Bearer sk-one1", "Bearer SK-ONE", "Basic sk-one",
                    "sk-one", "Bearer sk-one sk-two", "Bearer sk-one,sk-two"})
    EXPECT_EQ(with(bad), 401) << bad;
  EXPECT_EQ(status(g, {}), 401);
  EXPECT_EQ(status(g, {}, "/health"), 200);
  EXPECT_EQ(status(g, {}, "/"), 200);
  for (auto* path : {"/health/", "//health", "/HEALTH", "/health%2f", "/v1/health"})
    EXPECT_EQ(status(g, {}, path), 401) << path;
  EXPECT_EQ(status(g, {{"Authorization", "Bearer wrong"}, {"authorization", "Bearer sk-one"}}), 400);
  EXPECT_EQ(g.refusal(asked({}))->headers.at(0).first, "WWW-Authenticate");
  EXPECT_EQ(status(g, {{"Authorization", "Bearer sk-one"}, {"Host", "anything"}, {"Origin", "http://else"}}), 200)
      << "beyond loopback keys decide";
}
TEST(HttpGuard, HostsOnLoopback) {
  Guard g({.hosts = {"box.local"}});
  for (auto* host : {"localhost", "LocalHost:8000", "127.0.0.1", "127.0.0.1:8000", "127.8.9.1", "[::1]", "[::1]:8000",
                     "box.local:8000"})
    EXPECT_EQ(status(g, {{"Host", host}}), 200) << host;
  for (auto* host :
       {"", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
        "0.0.0.0", "[::2]", "[::1", "127.1", "2130706433", "[::ffff:10.0.0.1]", "evil.example:localhost"})
    EXPECT_EQ(status(g, {{"Host", host}}), 403) << host;
  EXPECT_EQ(status(g, {}), 403);
  EXPECT_EQ(status(g, {{"Host", "localhost"}, {"Host", "evil"}}), 400);
}
TEST(HttpGuard, OriginsOnLoopback) {
  Guard g({.origins = {"https://page.example"}});
  auto from = [&](const std::string& origin) { return status(g, {{"Host", "127.0.0.1:8000"}, {"Origin", origin}}); };
  EXPECT_EQ(from("http://127.0.0.1:8000"), 200) << "its own page";
  EXPECT_EQ(from("https://page.example"), 200);
  for (auto* origin : {"null", "http://localhost:8000", "http://127.0.0.1:9000", "https://page.example.evil",
                       "http://page.example", "https://page.example:444", "file://", "http://evil/127.0.0.1:8000",
                       "http://x@127.0.0.1:8000", "127.0.0.1:8000"})
    EXPECT_EQ(from(origin), 403) << origin;
  EXPECT_EQ(Guard({.origins = {"*"}}).refusal(asked({{"Host", "localhost"}, {"Origin", "null"}})), std::nullopt);
}
TEST(HttpGuard, CorsOnlyForNamedOrigins) {
  Guard none({}), one({.keys = {"k"}, .origins = {"https://page.example"}});
  http::Headers named{{"Host", "localhost"}, {"Origin", "https://page.example"}};
  EXPECT_TRUE(none.cors(asked(named)).empty());
  EXPECT_TRUE(one.cors(asked({{"Origin", "https://other.example"}})).empty());
  EXPECT_EQ(one.cors(asked(named)).at(0),
            std::pair(std::string("Access-Control-Allow-Origin"), std::string("https://page.example")));
  auto ask_first = named;
  ask_first.emplace_back("Access-Control-Request-Method", "POST");
  EXPECT_EQ(one.preflight(asked(ask_first, "/v1/completions", "OPTIONS"))->status, 204);
  EXPECT_FALSE(none.preflight(asked(ask_first, "/v1/completions", "OPTIONS")));
  EXPECT_FALSE(one.preflight(asked(ask_first, "/v1/completions", "POST")));
  EXPECT_FALSE(one.preflight(asked(named, "/v1/completions", "OPTIONS")));
  for (auto* bad : {"", "page.example", "https://", "https://a/", "://a", "https://a b"})
    says<ValueError>([&] { return Guard({.origins = {bad}}).cors({}).size(); }, "is no origin");
}
TEST(HttpGuard, BeforeTheBodyIsRead) {
  auto guard = std::make_shared<Guard>(http::GuardOptions{.keys = {"k"}});
  Site site({}, [&](auto& o) {
    o.admit = [guard](const http::Request& r) -> std::optional<http::Response> {
      auto refusal = guard->refusal(r);
      if (!refusal) return {};
      return http::Response{refusal->status, refusal->headers, refusal->why};
    };
  });
  Client c(site.port);
  c.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(c.answer().status, 401);
  EXPECT_EQ(ask(site.port, request("POST /echo", "Authorization: Bearer k\r\n", "b")).body, "POST  b");
}
}  // namespace guard_test
