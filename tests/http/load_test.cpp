// The load generator against a server whose answers are known.
#include <gtest/gtest.h>
#include <atomic>
#include <cstdio>
#include "http/client.h"
#include "support/places.h"

namespace load_test {
using namespace bora;
using namespace bora::test;

std::int64_t number(const std::string& body, const std::string& name) {
  auto at = body.find("\"" + name + "\": ");
  return at == body.npos ? 0 : std::stoll(body.substr(at + name.size() + 4));
}
/// Streams max_tokens pieces of text that depend on the seed; every `wrong`-th answer differs, every `broken`-th ends
/// before its end.
struct Model {
  std::atomic<int> wrong = 0, broken = 0, refused = 0;
  std::atomic<int> answers = 0, gone = 0;
  http::Server server{{}, [this](const http::Request& r, http::Reply reply) { take(r, reply); }};
  void take(const http::Request& r, const http::Reply& reply) {
    if (r.target == "/v1/models") return reply.send({.body = R"({"data": [{"id": "the model"}]})"});
    EXPECT_NE(r.body.find(R"("model": "the model")"), r.body.npos);
    int n = ++answers;
    if (refused && n % refused == 0) return reply.send({.status = 429, .body = "later"});
    reply.on_gone([this] { ++gone; });
    reply.begin(200, http::event_stream());
    auto tokens = number(r.body, "max_tokens");
    for (std::int64_t k = 0; k < tokens; ++k) {
      bool differs = wrong && n % wrong == 0 && k == tokens - 1;
      auto text = differs ? "other" : std::to_string(number(r.body, "seed") * (k + 1)) + " ";
      reply.write(http::event(R"({"choices": [{"index": 0, "text": ")" + text + R"(", "finish_reason": null}]})"));
    }
    if (broken && n % broken == 0) return reply.abort();
    reply.write(http::event(R"({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})"));
    reply.write(http::event(R"({"choices": [], "usage": {"completion_tokens": )" + std::to_string(tokens) + "}}"));
    reply.write(http::event("[DONE]"));
    reply.end();
  }
  /// The exit code of the generator, and what it prints.
  std::pair<int, std::string> load(const std::string& options) {
    auto command = "python3 " + test::source_dir() + "/perf/serve/load http://127.0.0.1:" +
                   std::to_string(server.port()) + " --json --timeout 60 " + options + " 2>/dev/null";
    auto* pipe = ::popen(command.c_str(), "r");
    std::string out(4096, '\0');
    out.resize(std::fread(out.data(), 1, out.size(), pipe));
    return {WEXITSTATUS(::pclose(pipe)), out};
  }
};
TEST(Load, CountsAnswersAndTokens) {
  Model model;
  auto [code, out] = model.load("--clients 4 --requests 30 --max-tokens 5 --check");
  EXPECT_EQ(code, 0) << out;
  EXPECT_EQ(number(out, "answered"), 30);
  EXPECT_EQ(number(out, "tokens"), 150);
  EXPECT_EQ(number(out, "errors"), 0);
  EXPECT_EQ(number(out, "different"), 0);
  EXPECT_NE(out.find("between_tokens_p99"), out.npos);
  EXPECT_EQ(model.answers, 60) << "each alone, and beside others";
}
TEST(Load, SeesAnswersThatDiffer) {
  Model model;
  model.wrong = 10;
  auto [code, out] = model.load("--clients 1 --requests 35 --max-tokens 5 --check");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(number(out, "different"), 7) << "each tenth of 70 answers, to two for each request: " << out;
}
TEST(Load, CountsWhatBreaksOff) {
  Model model;
  model.broken = 7;
  model.refused = 11;
  auto [code, out] = model.load("--rate 500 --requests 40 --max-tokens 5");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(number(out, "errors"), 5) << out;
  EXPECT_EQ(number(out, "refused_429"), 3) << out;
  EXPECT_EQ(number(out, "answered"), 32) << out;
}
}  // namespace load_test
