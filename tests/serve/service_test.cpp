// Answers: whole ones and streams, by an engine that is a function.
#include <gtest/gtest.h>
#include <filesystem>
#include <set>
#include <thread>
#include "models.h"
#include "support/places.h"

namespace service_test {
using namespace bora;
using test::json;
namespace {
struct Server {
  test::LetterEngine engine = {};
  serve::ServiceOptions options = {};
  serve::Model model = test::byte_model();
  /// The answer, when all work has been done.
  std::shared_ptr<test::RecordedReply> ask(const std::string& method, const std::string& path,
                                           const std::string& body = "") {
    auto reply = std::make_shared<test::RecordedReply>();
    serve::Service service(model, engine.functions(), options);
    service.answer({method, path, body}, reply);
    return reply;
  }
  std::shared_ptr<test::RecordedReply> complete(const std::string& fields) {
    return ask("POST", "/v1/completions", R"({"prompt": "ab", "seed": 3)" + fields + "}");
  }
  std::shared_ptr<test::RecordedReply> chat(const std::string& fields) {
    return ask("POST", "/v1/chat/completions",
               R"({"messages": [{"role": "user", "content": "hi"}], "seed": 3)" + fields + "}");
  }
};
std::vector<json> chunks(const test::RecordedReply& r) {
  EXPECT_EQ(r.begins, 1);
  EXPECT_EQ(r.ends, 1);
  EXPECT_EQ(r.events.back(), "[DONE]");
  std::vector<json> all;
  for (std::size_t i = 0; i + 1 < r.events.size(); ++i) all.push_back(json::parse(r.events[i]));
  for (auto& c : all) {
    EXPECT_EQ(c["id"], all[0]["id"]);
    EXPECT_EQ(c["created"], all[0]["created"]);
  }
  return all;
}
}  // namespace

TEST(Answers, ACompletionHasOpenAIsForm) {
  Server s;
  auto r = s.complete(R"(, "max_tokens": 3, "n": 2)");
  EXPECT_EQ(r->status, 200);
  EXPECT_EQ(r->header("Content-Type"), "application/json");
  auto a = r->answer();
  EXPECT_TRUE(a["id"].get<std::string>().starts_with("cmpl-"));
  EXPECT_EQ(a["object"], "text_completion");
  EXPECT_EQ(a["model"], "tiny");
  EXPECT_EQ(a["system_fingerprint"], "f1");
  EXPECT_EQ(a["seed"], 3);
  ASSERT_EQ(a["choices"].size(), 2U);
  EXPECT_EQ(a["choices"][0], json::parse(R"({"index": 0, "text": "cde", "logprobs": null, "finish_reason": "length",
                                             "stop_reason": null})"));
  EXPECT_EQ(a["choices"][1]["index"], 1);
  EXPECT_EQ(a["usage"], json::parse(R"({"prompt_tokens": 2, "completion_tokens": 6, "total_tokens": 8,
                                        "prompt_tokens_details": {"cached_tokens": 1}})"));
  s.engine.finish = generate::Finish::stop;
  EXPECT_EQ(s.complete("")->answer()["choices"][0]["finish_reason"], "stop");
}
TEST(Answers, ChoicesOfSeveralPromptsAreNumberedThrough) {
  Server s;
  auto a = s.ask("POST", "/v1/completions", R"({"prompt": ["a", "b", "c"], "n": 2, "max_tokens": 1})")->answer();
  ASSERT_EQ(a["choices"].size(), 6U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(a["choices"][i]["index"], i);
    EXPECT_EQ(a["choices"][i]["text"].get<std::string>()[0], 'a' + (i % 2 + ('a' + i / 2) % 3) % 26);
  }
  EXPECT_EQ(a["usage"]["prompt_tokens"], 3);
  EXPECT_TRUE(a["seed"].is_number_unsigned());
  EXPECT_EQ(s.engine.requests[0].seed, a["seed"]);
}
TEST(Answers, LogprobsOfPromptAndAnswer) {
  Server s;
  auto l = s.complete(R"(, "max_tokens": 2, "logprobs": 2, "echo": true)")->answer()["choices"][0]["logprobs"];
  EXPECT_EQ(l["tokens"], json::parse(R"(["a", "b", "c", "d"])"));
  EXPECT_EQ(l["text_offset"], json::parse("[0, 1, 2, 3]"));
  EXPECT_TRUE(l["token_logprobs"][0].is_null() && l["top_logprobs"][0].is_null());
  for (std::size_t i = 1; i < 4; ++i) {
    auto& top = l["top_logprobs"][i];
    EXPECT_EQ(top[l["tokens"][i].get<std::string>()], l["token_logprobs"][i]);  // the same number
    EXPECT_EQ(top.size(), 2U);
  }
  auto none = s.complete(R"(, "max_tokens": 2, "logprobs": 0)")->answer()["choices"][0]["logprobs"];
  EXPECT_EQ(none["top_logprobs"][0].size(), 1U);  // the chosen one
  EXPECT_EQ(none["text_offset"], json::parse("[0, 1]"));
  auto echo = s.complete(R"(, "max_tokens": 0, "echo": true)")->answer()["choices"][0];
  EXPECT_EQ(echo["text"], "ab");
  EXPECT_TRUE(echo["logprobs"].is_null());
  auto content = s.chat(R"(, "max_tokens": 1, "logprobs": true, "top_logprobs": 2)")->answer()["choices"][0];
  auto token = content["logprobs"]["content"][0];
  EXPECT_EQ(token["bytes"], json::array({token["token"].get<std::string>()[0]}));
  EXPECT_EQ(token["top_logprobs"].size(), 2U);
  EXPECT_EQ(token["top_logprobs"][0]["logprob"], token["logprob"]);
}
TEST(Answers, StreamsSayNullUntilTheLast) {
  Server s;
  for (bool usage : {false, true}) {
    auto options = usage ? R"(, "stream_options": {"include_usage": true})" : "";
    auto r = s.complete(std::string(R"(, "max_tokens": 3, "n": 2, "stream": true)") + options);
    auto all = chunks(*r);
    std::string texts[2];
    std::size_t ended = 0;
    for (std::size_t i = 0; i < all.size() - (usage ? 1 : 0); ++i) {
      auto& c = all[i];
      EXPECT_EQ(c.contains("usage"), usage);
      if (usage) { EXPECT_TRUE(c["usage"].is_null()); }
      ASSERT_EQ(c["choices"].size(), 1U);
      auto& choice = c["choices"][0];
      texts[choice["index"].get<int>()] += choice["text"].get<std::string>();
      ASSERT_TRUE(choice.contains("finish_reason"));
      if (!choice["finish_reason"].is_null()) ++ended;
    }
    EXPECT_EQ(ended, 2U);
    EXPECT_EQ(texts[0], "cde");
    EXPECT_EQ(texts[1], "def");
    if (!usage) continue;
    EXPECT_EQ(all.back()["choices"], json::array());
    EXPECT_EQ(all.back()["usage"]["completion_tokens"], 6);
  }
  auto r = s.chat(R"(, "max_tokens": 2, "stream": true)");
  auto all = chunks(*r);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(all[0]["choices"][0]["delta"], json::parse(R"({"role": "assistant", "content": ""})"));
  EXPECT_EQ(all[1]["choices"][0]["delta"].size(), 1U);
  EXPECT_EQ(all[3]["choices"][0]["delta"], json::object());
  EXPECT_EQ(all[3]["choices"][0]["finish_reason"], "length");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(all[static_cast<std::size_t>(i)]["choices"][0]["finish_reason"].is_null());
  auto echo = chunks(*s.complete(R"(, "max_tokens": 1, "stream": true, "echo": true, "logprobs": 1)"));
  EXPECT_EQ(echo[0]["choices"][0]["text"], "ab");
  EXPECT_EQ(echo[0]["choices"][0]["logprobs"]["tokens"].size(), 2U);
  EXPECT_EQ(echo[1]["choices"][0]["logprobs"]["text_offset"], json::array({2}));
}
TEST(Answers, PartsOfCharactersHaveNamesOfTheirOwn) {
  serve::Names names(text::open_tokenizer({"type=bytes"}));
  std::set<std::string> all;
  for (int i = 0; i < 256; ++i) {
    EXPECT_TRUE(all.insert(names.name(i)).second) << i;
    EXPECT_EQ(names.bytes(i), std::string(1, static_cast<char>(i)));
  }
  EXPECT_EQ(names.name('A'), "A");
  EXPECT_EQ(names.name(0xe2), "bytes:\\xe2");
  EXPECT_EQ(names.name(300), "token_id:300");  // a score beyond the tokenizer's tokens
  EXPECT_EQ(names.bytes(300), "");
}
TEST(Answers, NoTwoTokensOfATokenizerHaveOneName) {
  int tokenizers = 0;
  for (auto& file : std::filesystem::directory_iterator(test::source_dir() + "/tests/golden")) {
    auto name = file.path().filename().string();
    bool is_one = name.starts_with("tokenizer_") && !name.ends_with("digests.json") && !name.ends_with("bert.json");
    if (!is_one) continue;
    auto tokenizer = text::tokenizer_at(file.path().string(), false);
    serve::Names names(tokenizer);
    std::set<std::string> all;
    for (std::int32_t id = 0; id < tokenizer->size(); ++id)
      EXPECT_TRUE(all.insert(names.name(id)).second) << name << " " << id << " " << names.name(id);
    ++tokenizers;
  }
  EXPECT_GE(tokenizers, 10);
}
TEST(Answers, OtherEndpoints) {
  Server s;
  EXPECT_EQ(s.ask("GET", "/v1/models")->answer()["data"][0]["id"], "tiny");
  EXPECT_EQ(s.ask("GET", "/v1/models")->answer()["data"][0]["max_model_len"], 100);
  EXPECT_EQ(s.ask("GET", "/v1/models/tiny")->answer()["object"], "model");
  EXPECT_EQ(s.ask("GET", "/v1/models/ti%6Ey")->answer()["object"], "model");
  EXPECT_EQ(s.ask("GET", "/v1/models/other")->status, 404);
  EXPECT_EQ(s.ask("GET", "/v1/models/tiny%")->status, 404);
  EXPECT_EQ(s.ask("POST", "/tokenize", R"({"prompt": "ab"})")->answer()["tokens"], json::parse("[97, 98]"));
  EXPECT_EQ(s.ask("POST", "/tokenize", R"({"messages": [{"role": "user", "content": ""}]})")->answer()["count"], 50);
  EXPECT_EQ(s.ask("POST", "/detokenize", R"({"tokens": [97, 98]})")->answer()["prompt"], "ab");
  EXPECT_EQ(s.ask("POST", "/detokenize", R"({"tokens": [256]})")->status, 400);
  EXPECT_EQ(s.ask("GET", "/tokenizer_info")->answer()["vocab_size"], 256);
  EXPECT_EQ(s.ask("GET", "/health")->status, 200);
  auto metrics = s.ask("GET", "/metrics")->body;
  for (std::string line : {"bora_num_requests_running{model_name=\"tiny\"} 2\n",
                           "bora_kv_cache_usage_perc{model_name=\"tiny\"} 0.25\n",
                           "bora_spec_decode_num_draft_tokens_total{model_name=\"tiny\"} 9\n",
                           "bora_spec_decode_num_accepted_tokens_total{model_name=\"tiny\"} 5\n",
                           "bora_time_to_first_token_seconds_bucket{model_name=\"tiny\",le=\"+Inf\"} 0\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
  EXPECT_EQ(s.ask("GET", "/v1/nothing")->status, 404);
  auto wrong = s.ask("GET", "/v1/completions");
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->header("Allow"), "POST");
  EXPECT_EQ(s.ask("POST", "/v1/completions", "{")->answer()["error"]["type"], "invalid_request_error");
  auto page = s.ask("GET", "/");
  EXPECT_NE(page->body.find("</html>"), std::string::npos);
  EXPECT_EQ(page->header("Content-Security-Policy").find("unsafe"), std::string::npos);
}
TEST(Answers, AFullQueueIsSaidAndHoldsNothing) {
  Server s;
  s.engine.places = 2;
  auto r = s.ask("POST", "/v1/completions", R"({"prompt": ["a", "b", "c"], "stream": true})");
  EXPECT_EQ(r->status, 429);
  EXPECT_EQ(r->header("Retry-After"), "1");
  EXPECT_EQ(r->answer()["error"]["type"], "rate_limit_error");
  EXPECT_EQ(r->ends, 1);
  EXPECT_EQ(s.engine.cancelled, (std::vector<generate::Engine::Id>{1, 2}));
}
TEST(Answers, AFailureIsAnErrorOnce) {
  Server s;
  s.engine.finish = generate::Finish::failed;
  s.engine.error = "the scores are not finite";
  auto r = s.complete(R"(, "n": 2)");
  EXPECT_EQ(r->status, 500);
  EXPECT_EQ(r->header("x-should-retry"), "false");
  EXPECT_EQ(r->answer()["error"]["message"], "the scores are not finite");
  auto stream = s.complete(R"(, "n": 2, "stream": true)");
  EXPECT_EQ(stream->ends, 1);
  EXPECT_EQ(json::parse(stream->events.back())["error"]["type"], "server_error");
}
TEST(Answers, AClosedServiceTakesNoRequests) {
  test::LetterEngine engine;
  engine.waits = true;
  auto running = std::make_shared<test::RecordedReply>(), late = std::make_shared<test::RecordedReply>(),
       health = std::make_shared<test::RecordedReply>();
  {
    serve::Service service(test::byte_model(), engine.functions());
    service.answer({"POST", "/v1/completions", R"({"prompt": "a", "max_tokens": 2})"}, running);
    {
      std::unique_lock lock(engine.mutex);
      engine.came.wait(lock, [&] { return !engine.waiting.empty(); });
    }
    service.close("the server is shutting down");
    service.answer({"POST", "/v1/completions", R"({"prompt": "a"})"}, late);
    service.answer({"GET", "/health", ""}, health);
    engine.waiting[0]();
  }
  EXPECT_EQ(running->status, 200);
  EXPECT_EQ(health->status, 503);
  EXPECT_EQ(late->status, 503);
  EXPECT_EQ(late->header("Retry-After"), "1");
  EXPECT_EQ(late->answer()["error"]["message"], "the server is shutting down");
}
TEST(Answers, AClientThatLeavesCancelsItsRequest) {
  test::LetterEngine engine;
  engine.waits = true;
  auto r = std::make_shared<test::RecordedReply>();
  {
    serve::Service service(test::byte_model(), engine.functions());
    service.answer({"POST", "/v1/completions", R"({"prompt": ["a", "b"], "max_tokens": 2})"}, r);
    std::unique_lock lock(engine.mutex);
    engine.came.wait(lock, [&] { return engine.waiting.size() == 2; });
    lock.unlock();
    r->when_gone();
    engine.waiting[0]();  // what comes all the same goes nowhere
    engine.waiting[1]();
  }
  EXPECT_EQ(engine.cancelled, (std::vector<generate::Engine::Id>{1, 2}));
  EXPECT_EQ(r->ends, 0);
}
TEST(Answers, AnotherCheckpointHasAnotherFingerprint) {
  test::LetterEngine engine;
  auto r = std::make_shared<test::RecordedReply>();
  {
    serve::Service service(test::byte_model(), engine.functions());
    service.renew("f2");
    service.answer({"POST", "/v1/completions", R"({"prompt": "a"})"}, r);
  }
  EXPECT_EQ(r->answer()["system_fingerprint"], "f2");
}
}  // namespace service_test
