// Requests: every field that is honoured, and the refusal of everything else.
#include <gtest/gtest.h>
#include "models.h"
#include "support/throws.h"

namespace request_test {
using namespace bora;
using serve::Call;
using serve::Kind;
using Ids = std::vector<std::int32_t>;
namespace {
constexpr auto kDrawn = [] { return std::uint64_t{77}; };
const serve::Model& model() {
  static const auto m = test::byte_model();
  return m;
}
Call completion(const std::string& fields, const serve::Model& m = model()) {
  return serve::read_call(Kind::completion, R"({"prompt": "hi")" + fields + "}", m, kDrawn);
}
Call chat(const std::string& fields, const std::string& messages = R"([{"role": "user", "content": "hi"}])") {
  return serve::read_call(Kind::chat, R"({"messages": )" + messages + fields + "}", model(), kDrawn);
}
Ids ids(std::string_view text) { return {text.begin(), text.end()}; }
}  // namespace

TEST(Requests, FieldsOfACompletion) {
  auto c = completion("");
  auto& r = c.prompts.at(0).request;
  EXPECT_EQ(r.prompt, ids("hi"));
  EXPECT_EQ(r.max_tokens, 16);
  EXPECT_EQ(r.choosing.temperature, 1);
  EXPECT_EQ(r.n, 1);
  EXPECT_EQ(r.seed, 77U);
  EXPECT_FALSE(c.stream || c.echo || c.include_usage || c.logprobs);
  auto all = completion(R"(, "model": "tiny", "max_tokens": 7, "temperature": 0, "top_p": 0.5, "n": 3,
      "stop": ["x", "yz"], "seed": -5, "logprobs": 2, "echo": true, "best_of": 4,
      "logit_bias": {"65": -100, "66": 1.5}, "top_k": 9,
      "presence_penalty": -2, "frequency_penalty": 2, "min_p": 0.25, "typical_p": 0.75, "repetition_penalty": 1.5,
      "min_tokens": 2, "stop_token_ids": [3], "ignore_eos": true, "user": "u", "metadata": {"a": "b"}, "store": false,
      "suffix": null, "stream": false)");
  auto& a = all.prompts.at(0).request;
  EXPECT_EQ(a.max_tokens, 7);
  EXPECT_EQ(a.choosing.temperature, 0);
  EXPECT_EQ(a.choosing.top_p, 0.5);
  EXPECT_EQ(a.n, 3);
  EXPECT_EQ(a.best_of, 4);
  EXPECT_EQ(a.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(a.seed, static_cast<std::uint64_t>(-5));
  EXPECT_EQ(a.logprobs, 2);
  EXPECT_EQ(a.prompt_logprobs, 2);
  EXPECT_EQ(a.choosing.logit_bias, (std::vector<std::pair<std::int32_t, float>>{{65, -100.F}, {66, 1.5F}}));
  EXPECT_EQ(a.choosing.top_k, 9);
  EXPECT_EQ(a.choosing.presence_penalty, -2);
  EXPECT_EQ(a.choosing.frequency_penalty, 2);
  EXPECT_EQ(a.choosing.min_p, 0.25);
  EXPECT_EQ(a.choosing.typical_p, 0.75);
  EXPECT_EQ(a.choosing.repetition_penalty, 1.5);
  EXPECT_EQ(a.choosing.min_tokens, 2);
  EXPECT_EQ(a.stop_ids, Ids{3});
  EXPECT_TRUE(a.ignore_eos);
  EXPECT_EQ(all.prompts[0].text, "hi");
  EXPECT_TRUE(completion(R"(, "stream": true, "stream_options": {"include_usage": true})").include_usage);
  EXPECT_EQ(completion(R"(, "stop": "x")").prompts[0].request.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(completion(R"(, "echo": true, "max_tokens": 0, "logprobs": 1)").prompts[0].request.max_tokens, 0);
  EXPECT_EQ(completion(R"(, "top_k": -1)").prompts[0].request.choosing.top_k, 0);
}
TEST(Requests, PromptsAreTextsOrIdsOrListsOfEither) {
  auto prompts = [](const std::string& prompt) {
    std::vector<Ids> all;
    auto call = serve::read_call(Kind::completion, R"({"echo": true, "prompt": )" + prompt + "}", model(), kDrawn);
    for (auto& p : call.prompts) {
      EXPECT_EQ(ids(p.text), p.request.prompt);
      all.push_back(p.request.prompt);
    }
    return all;
  };
  EXPECT_EQ(prompts(R"("ab")"), std::vector<Ids>{ids("ab")});
  EXPECT_EQ(prompts("[97, 98]"), std::vector<Ids>{ids("ab")});
  EXPECT_EQ(prompts(R"(["ab", "c"])"), (std::vector<Ids>{ids("ab"), ids("c")}));
  EXPECT_EQ(prompts("[[97, 98], [99]]"), (std::vector<Ids>{ids("ab"), ids("c")}));
  EXPECT_EQ(prompts(R"(["ab", [99]])"), (std::vector<Ids>{ids("ab"), ids("c")}));
}
TEST(Requests, TurnsOfAChat) {
  auto prompt = [](const std::string& messages, const std::string& fields = "") {
    auto id = chat(fields, messages).prompts.at(0).request.prompt;
    return std::string(id.begin(), id.end());
  };
  const std::string user = "<|im_start|>user\n", bot = "<|im_start|>assistant\n", end = "<|im_end|>\n";
  EXPECT_EQ(prompt(R"([{"role": "user", "content": "hi"}])"), user + "hi" + end + bot);
  EXPECT_EQ(prompt(R"([{"role": "developer", "content": "d"},
                       {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])"),
            "<|im_start|>system\nd" + end + user + "a\nb" + end + bot);
  const std::string begun = R"([{"role": "user", "content": "a"},
                                {"role": "assistant", "content": "so", "refusal": null, "tool_calls": []}])";
  EXPECT_EQ(prompt(begun, R"(, "continue_final_message": true)"), user + "a" + end + bot + "so");
  EXPECT_EQ(prompt(begun), user + "a" + end + bot + "so" + end + bot);
  EXPECT_EQ(prompt(begun, R"(, "add_generation_prompt": false)"), user + "a" + end + bot + "so" + end);
  auto c = chat(R"(, "logprobs": true, "top_logprobs": 3, "max_completion_tokens": 5, "stop": "x")");
  EXPECT_EQ(c.logprobs, 3);
  EXPECT_EQ(c.prompts[0].request.logprobs, 3);
  EXPECT_EQ(c.prompts[0].request.max_tokens, 5);
  // Bytes have no such token: its text ends an answer.
  EXPECT_EQ(c.prompts[0].request.stop, (std::vector<std::string>{"x", "<|im_end|>"}));
  EXPECT_EQ(chat(R"(, "max_tokens": 4)").prompts[0].request.max_tokens, 4);
  auto whole = chat("").prompts[0].request;
  EXPECT_EQ(whole.max_tokens, 100 - std::ssize(whole.prompt));
  EXPECT_TRUE(chat(R"(, "ignore_eos": true)").prompts[0].request.stop.empty());
}
TEST(Requests, AFormatIsAGrammar) {
  EXPECT_FALSE(chat(R"(, "response_format": {"type": "text"})").prompts[0].request.choosing.grammar);
  EXPECT_TRUE(chat(R"(, "response_format": {"type": "json_object"})").prompts[0].request.choosing.grammar);
  const std::string format = R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "n",
      "strict": true, "description": "d", "schema": {"properties": {"b": {"const": 1}, "a": {"const": 2}},
      "required": ["b", "a"]}}})";
  for (auto& call : {chat(format + R"(, "temperature": 0)"), completion(format + R"(, "temperature": 0)")}) {
    auto& r = call.prompts[0].request;
    generate::Chooser chooser(r.choosing, r.prompt, {}, 0, 0, 0);
    std::string text;
    std::vector<float> scores(256);
    scores[' '] = 1;
    while (!chooser.over()) text += static_cast<char>(chooser.next(scores).value());
    EXPECT_EQ(text, R"({"b": 1, "a": 2})");  // in the schema's order
  }
}
TEST(Requests, ALineIsACompletionOrAChat) {
  auto kind = [](const std::string& body) { return serve::read_call({}, body, model(), kDrawn).kind; };
  EXPECT_EQ(kind(R"({"prompt": "a"})"), Kind::completion);
  EXPECT_EQ(kind(R"({"messages": [{"role": "user", "content": "a"}]})"), Kind::chat);
  EXPECT_MESSAGE(serve::Refused, kind("{}"), "one of them");
  EXPECT_MESSAGE(serve::Refused, kind(R"({"prompt": "a", "messages": []})"), "one of them");
}
TEST(Requests, APromptIsNeverCut) {
  auto refused = [](const std::string& fields, std::size_t length) {
    auto body = R"({"prompt": ")" + std::string(length, 'x') + "\"" + fields + "}";
    return test::caught<serve::Refused>([&] { return serve::read_call(Kind::completion, body, model(), kDrawn); });
  };
  EXPECT_FALSE(refused("", 84));
  for (auto [fields, length, words] : {std::tuple{"", 85, "85 tokens in its prompt and asks for 16 more"},
                                       {R"(, "max_tokens": 1)", 100, "100 tokens in its prompt and asks for 1 more"}}) {
    auto e = refused(fields, static_cast<std::size_t>(length));
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code, "context_length_exceeded");
    EXPECT_EQ(e->status, 400);
    EXPECT_EQ(e->field, "prompt");
    EXPECT_NE(e->text().find("maximum context length is 100 tokens"), std::string::npos) << e->text();
    EXPECT_NE(e->text().find(words), std::string::npos) << e->text();
  }
  auto e = test::caught<serve::Refused>(
      [] { return chat("", R"([{"role": "user", "content": ")" + std::string(200, 'x') + "\"}]"); });
  EXPECT_TRUE(e && e->code == "context_length_exceeded" && e->field == "messages");
}
TEST(Requests, BadFieldsAreRefusedByName) {
  struct Bad {
    std::string fields, field, words;
  };
  const Bad of_completions[] = {
      {R"(, "max_tokens": "7")", "max_tokens", "must be a whole number"},
      {R"(, "max_tokens": 1.5)", "max_tokens", "got 1.5"},
      {R"(, "max_tokens": -1)", "max_tokens", "from 0"},
      {R"(, "max_tokens": 0)", "max_tokens", "belongs to echo"},
      {R"(, "max_tokens": 18446744073709551615)", "max_tokens", "whole number"},
      {R"(, "max_tokens": true)", "max_tokens", "got true"},
      {R"(, "temperature": -0.1)", "temperature", "0 or more"},
      {R"(, "temperature": "hot")", "temperature", "got \"hot\""},
      {R"(, "top_p": 0)", "top_p", "above 0"},
      {R"(, "top_p": 1.01)", "top_p", "from 0 to 1"},
      {R"(, "n": 0)", "n", "from 1 to 16"},
      {R"(, "n": 17)", "n", "from 1 to 16"},
      {R"(, "n": 3, "best_of": 2)", "best_of", "below n"},
      {R"(, "best_of": 2, "stream": true)", "best_of", "leave out stream"},
      {R"(, "stop": 5)", "stop", "string"},
      {R"(, "stop": ["a", ""])", "stop", "not empty"},
      {R"(, "seed": 1.5)", "seed", "whole number"},
      {R"(, "logprobs": true)", "logprobs", "whole number"},
      {R"(, "logprobs": 21)", "logprobs", "from 0 to 20"},
      {R"(, "logit_bias": [1])", "logit_bias", "object"},
      {R"(, "logit_bias": {"x": 1})", "logit_bias", "no token's id"},
      {R"(, "logit_bias": {"256": 1})", "logit_bias", "from 0 to 255"},
      {R"(, "logit_bias": {"1": 101})", "logit_bias", "-100 to 100"},
      {R"(, "presence_penalty": 2.1)", "presence_penalty", "from -2 to 2"},
      {R"(, "frequency_penalty": -3)", "frequency_penalty", "from -2 to 2"},
      {R"(, "repetition_penalty": 0)", "repetition_penalty", "above 0"},
      {R"(, "min_p": 2)", "min_p", "from 0 to 1"},
      {R"(, "typical_p": 0)", "typical_p", "above 0"},
      {R"(, "stop_token_ids": [256])", "stop_token_ids", "from 0 to 255"},
      {R"(, "stop_token_ids": 5)", "stop_token_ids", "array of ids"},
      {R"(, "stream": 1)", "stream", "true or false"},
      {R"(, "stream_options": {"include_usage": true})", "stream_options", "belongs to stream"},
      {R"(, "stream": true, "stream_options": {"other": 1})", "stream_options.other", "no such field"},
      {R"(, "suffix": "x")", "suffix", "not supported"},
      {R"(, "tools": [])", "tools", "no such field"},
      {R"(, "response_format": "text")", "response_format", "must be an object"},
      {R"(, "response_format": {"type": "xml"})", "response_format.type", "got \"xml\""},
      {R"(, "response_format": {"type": "text", "json_schema": {}})", "response_format.json_schema", "belongs to"},
      {R"(, "temprature": 0)", "temprature", "no such field"},
      {R"(, "messages": [])", "messages", "no such field"}};
  for (auto& bad : of_completions) {
    auto e = test::caught<serve::Refused>([&] { return completion(bad.fields); });
    ASSERT_TRUE(e) << bad.fields;
    EXPECT_EQ(e->status, 400) << bad.fields;
    EXPECT_EQ(e->field, bad.field);
    EXPECT_NE(e->text().find(bad.words), std::string::npos) << e->text();
    EXPECT_TRUE(e->text().starts_with(bad.field + ": ")) << e->text();
  }
  auto other = test::caught<serve::Refused>([] { return completion(R"(, "model": "gpt-4")"); });
  EXPECT_TRUE(other && other->status == 404 && other->code == "model_not_found");
  for (auto& [prompt, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"null", "is missing"}, {"5", "got 5"}, {"[]", "empty array"}, {"{}", "an object"}, {"[1.5]", "got 1.5"},
           {"[256]", "0 to 255"}, {"[-1]", "got -1"}, {"[[97], 5]", "got 5"}, {"[[]]", "no token"},
           {"\"\"", "no token"},
           {"[true]", "got true"}, {"[1, \"a\"]", "got \"a\""}}) {
    auto e = test::caught<serve::Refused>(
        [&] { return serve::read_call(Kind::completion, R"({"prompt": )" + prompt + "}", model(), kDrawn); });
    ASSERT_TRUE(e) << prompt;
    EXPECT_EQ(e->field, "prompt");
    EXPECT_NE(e->text().find(words), std::string::npos) << e->text();
  }
  std::string many = "[\"a\"";
  for (int i = 0; i < 64; ++i) many += ", \"a\"";
  EXPECT_MESSAGE(serve::Refused,
                 serve::read_call(Kind::completion, R"({"prompt": )" + many + "]}", model(), kDrawn), "65 prompts");
}
TEST(Requests, BadChatsAreRefusedByName) {
  struct Bad {
    std::string fields, messages, field, words;
  };
  const std::string hi = R"([{"role": "user", "content": "hi"}])";
  const Bad all[] = {
      {R"(, "tools": [{"type": "function"}])", hi, "tools", "not supported"},
      {R"(, "tool_choice": "auto")", hi, "tool_choice", "except \"none\""},
      {R"(, "response_format": {"type": "json_schema"})", hi, "response_format.json_schema", "is missing"},
      {R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "a"}})", hi,
       "response_format.json_schema.schema", "is missing"},
      {R"(, "response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"not": {}}}}}})",
       hi, "response_format", "schema.properties.a: the keyword \"not\" is not supported"},
      {R"(, "modalities": ["text", "audio"])", hi, "modalities", "not supported"},
      {R"(, "audio": {"voice": "x"})", hi, "audio", "not supported"},
      {R"(, "reasoning_effort": "low")", hi, "reasoning_effort", "not supported"},
      {R"(, "logprobs": 5)", hi, "logprobs", "true or false"},
      {R"(, "top_logprobs": 2)", hi, "top_logprobs", "belongs to"},
      {R"(, "top_logprobs": 21, "logprobs": true)", hi, "top_logprobs", "from 0 to 20"},
      {R"(, "max_tokens": 2, "max_completion_tokens": 3)", hi, "max_tokens", "says otherwise"},
      {R"(, "echo": true)", hi, "echo", "no such field"},
      {R"(, "continue_final_message": true)", hi, "continue_final_message", "must be of the assistant"},
      {R"(, "continue_final_message": true, "add_generation_prompt": true)", hi, "continue_final_message", "exclude"},
      {"", "null", "messages", "is missing"},
      {"", "[]", "messages", "empty array"},
      {"", "[5]", "messages[0]", "object"},
      {"", R"([{"content": "x"}])", "messages[0].role", "missing"},
      {"", R"([{"role": "tool", "content": "x"}])", "messages[0].role", "\"tool\""},
      {"", R"([{"role": "user"}])", "messages[0].content", "missing"},
      {"", R"([{"role": "user", "content": 5}])", "messages[0].content", "got 5"},
      {"", R"([{"role": "user", "content": "a", "name": "bob"}])", "messages[0].name", "not supported"},
      {"", R"([{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "image_url"}]}])",
       "messages[1].content[0].type", "\"image_url\""},
      {"", R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text", "missing"}};
  for (auto& bad : all) {
    auto e = test::caught<serve::Refused>([&] { return chat(bad.fields, bad.messages); });
    ASSERT_TRUE(e) << bad.fields << bad.messages;
    EXPECT_EQ(e->status, 400);
    EXPECT_EQ(e->field, bad.field) << e->text();
    EXPECT_NE(e->text().find(bad.words), std::string::npos) << e->text();
  }
  auto none = model();
  none.chat = {};
  none.no_chat = "give --chat-template";
  EXPECT_MESSAGE(serve::Refused,
                 serve::read_call(Kind::chat, R"({"messages": )" + hi + "}", none, kDrawn), "give --chat-template");
}
TEST(Requests, BrokenDocumentsAreRefused) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "[";
  for (auto& [body, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "broken JSON"}, {"{", "broken JSON"}, {"[]", "an array"}, {"\"x\"", "must be a JSON object"},
           {R"({"prompt": "\ud800"})", "broken JSON"}, {"{\"prompt\": \"\xff\"}", "broken JSON"},
           {R"({"prompt": "a", "prompt": "b"})", "given twice"}, {deep, "nested deeper"},
           {R"({"prompt": "a"} x)", "broken JSON"}, {R"({"temperature": 1e999, "prompt": "a"})", "broken JSON"}}) {
    auto e = test::caught<serve::Refused>([&] { return serve::read_call(Kind::completion, body, model(), kDrawn); });
    ASSERT_TRUE(e) << body.substr(0, 50);
    EXPECT_EQ(e->status, 400);
    EXPECT_NE(e->text().find(words), std::string::npos) << e->text();
    EXPECT_TRUE(test::json::parse(serve::error_body(*e))["error"]["param"].is_null());
  }
}
TEST(Requests, AnEncoderReadsThePrompt) {
  auto m = model();
  m.start = 0;
  auto c = completion("", m);
  EXPECT_EQ(c.prompts[0].request.inputs, ids("hi"));
  EXPECT_EQ(c.prompts[0].request.prompt, Ids{0});
  EXPECT_MESSAGE(serve::Refused, completion(R"(, "echo": true)", m), "cannot echo");
}
}  // namespace request_test
