// bora score: log-likelihoods of continuations on runs and folders, alone and on a mesh; and what bora eval says.
#include <cmath>
#include <numeric>
#include <nlohmann/json.hpp>
#include "bora/bora.h"
#include "command.h"
#include "support/places.h"

namespace score_test {
using namespace bora;
using nlohmann::json;
namespace {
using Ids = std::vector<std::int32_t>;
constexpr auto kLaunch = "launch -n 2 -- ";
const std::string kModels = test::source_dir() + "/tests/golden/models/";

struct ScoreTest : CommandTest {
  std::string pairs(const std::vector<json>& lines, const std::string& name = "pairs.jsonl") const {
    std::ofstream out(folder + "/" + name);
    for (auto& line : lines) out << line.dump() << "\n";
    return folder + "/" + name;
  }
  static json pair(const std::string& context, const std::string& continuation) {
    return {{"context", context}, {"continuation", continuation}};
  }
  std::vector<json> scores(const std::string& words, const std::string& launch = {}) const {
    auto r = run(launch + "score " + words);
    EXPECT_EQ(r.code, 0) << words << "\n" << r.err;
    std::vector<json> all;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
      all.push_back(json::parse(line));
      EXPECT_EQ(all.back()["index"], all.size() - 1);
    }
    return all;
  }
  void near(const std::vector<json>& a, const std::vector<json>& b, double far = 1e-4) const {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i]["logprob"].get<double>(), b[i]["logprob"].get<double>(), far) << i;
      EXPECT_EQ(a[i]["tokens"], b[i]["tokens"]);
      EXPECT_EQ(a[i]["greedy"], b[i]["greedy"]);
    }
  }
  /// The scores of ids, by bora logits, f32 [position, vocabulary].
  Array logits(const std::string& words, const Ids& ids) const {
    save_npy(folder + "/ids.npy", asarray(ids, Shape{1, std::ssize(ids)}));
    EXPECT_EQ(run("logits " + words + " --ids " + folder + "/ids.npy --out " + folder + "/l.npy").code, 0);
    return view(load_npy(folder + "/l.npy"), 0);
  }
};
std::string texts(const Ids& ids, const std::string& before = "") {
  std::string all;
  for (auto id : ids) all += (all.empty() ? before : " ") + std::to_string(id);
  return all;
}
}  // namespace

TEST_F(ScoreTest, IsTheSumOverTheContinuationOnEveryMesh) {
  // Contexts of many lengths, one beyond the model's 16 positions; a folder whose texts are ids.
  auto words = kModels + "gpt2_plain";
  std::vector<json> lines;
  std::vector<Ids> contexts, continuations;
  for (int k = 0; k < 12; ++k) {
    Ids context, continuation;
    for (int i = 0; i <= 2 * k; ++i) context.push_back((i * i + 7 * k) % 96);
    for (int i = 0; i <= k % 4; ++i) continuation.push_back((i * 31 + k) % 96);
    lines.push_back(pair(texts(context), texts(continuation, " ")));
    contexts.push_back(context), continuations.push_back(continuation);
  }
  // The likeliest continuation is greedy.
  auto after = logits(words, {5, 6, 7});
  auto likeliest = argmax(view(after, 2)).item<std::int64_t>();
  lines.push_back(pair("5 6 7", " " + std::to_string(likeliest)));
  contexts.push_back({5, 6, 7}), continuations.push_back({static_cast<std::int32_t>(likeliest)});
  auto found = scores(words + " " + pairs(lines));
  ASSERT_EQ(found.size(), lines.size());
  EXPECT_EQ(found.back()["greedy"], true);
  for (std::size_t k = 0; k < found.size(); k += 3) {
    auto ids = contexts[k];
    ids.insert(ids.end(), continuations[k].begin(), continuations[k].end() - 1);
    if (ids.size() > 16) ids.erase(ids.begin(), ids.end() - 16);
    auto x = log_softmax(logits(words, ids));
    double sum = 0;
    auto n = std::ssize(continuations[k]);
    for (std::int64_t i = 0; i < n; ++i)
      sum += view(x, std::ssize(ids) - n + i, continuations[k][static_cast<std::size_t>(i)]).item<double>();
    EXPECT_NEAR(found[k]["logprob"].get<double>(), sum, 1e-5) << k;
    EXPECT_EQ(found[k]["tokens"], n);
    auto bytes = static_cast<double>(texts(continuations[k], " ").size());
    EXPECT_NEAR(found[k]["bits_per_byte"].get<double>(), -sum / std::log(2.0) / bytes, 1e-5);
  }
  for (auto more : {"", " layout=dp", " layout=tp mesh=data=1,model=2"})
    near(scores(words + " " + folder + "/pairs.jsonl" + more, kLaunch), found);
  is_bad_input("score " + words + " " + folder + "/pairs.jsonl layout=fsdp", "layout: fsdp");
  // Weights of 8 bits are near, and say so: other numbers, the same tokens.
  auto rounded = scores(words + " " + folder + "/pairs.jsonl --weights int8");
  near(rounded, found, 0.2);
  EXPECT_NE(rounded[3]["logprob"], found[3]["logprob"]);
  // Alone as among others.
  near(scores(words + " " + pairs({lines[7]}, "one.jsonl")), {found[7]}, 1e-5);
}
TEST_F(ScoreTest, AnEncoderReadsTheContext) {
  auto words = kModels + "t5_v1_0";
  auto golden = Safetensors::open(words + "/golden.safetensors");
  auto row = [&](const char* name) { return view(golden.read(name), 0).astype(i32).to_vector<std::int32_t>(); };
  auto ids = row("ids"), mask = row("mask"), labels = row("labels");
  Ids context, continuation;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (mask[i]) context.push_back(ids[i]);
  for (auto id : labels)
    if (id >= 0) continuation.push_back(id);
    else break;
  auto found = scores(words + " " + pairs({pair(texts(context), texts(continuation)), pair("4", "5 6")}));
  auto x = log_softmax(view(golden.read("logits"), 0).astype(f32));
  double sum = 0;
  for (std::size_t i = 0; i < continuation.size(); ++i)
    sum += view(x, static_cast<std::int64_t>(i), continuation[i]).item<double>();
  EXPECT_NEAR(found.at(0)["logprob"].get<double>(), sum, 1e-3);
  near(scores(words + " " + folder + "/pairs.jsonl", kLaunch), found);
}
TEST_F(ScoreTest, ARunScoresItsOwnText) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train --out " + out + " " + config + " steps=60 lr=0.02 eval_every=0").code, 0);
  auto found = scores(out + " " + pairs({pair("The wind ", "number"), pair("The wind", " number"),
                                          pair("The wind", " xyzzyx"), pair("", "The wind"),
                                          pair(std::string(500, 'x') + "The wind", " number")}));
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0], [&] {
    auto same = found[1];
    same["index"] = 0;
    return same;
  }());
  EXPECT_EQ(found[0]["tokens"], 7);
  EXPECT_EQ(found[3]["tokens"], 8);
  EXPECT_GT(found[1]["logprob"].get<double>(), found[2]["logprob"].get<double>());
  // Perplexity and bits per byte of eval: a byte is a token.
  auto eval = run("eval " + out);
  ASSERT_EQ(eval.code, 0) << eval.err;
  auto loss = std::stod(eval.line("val loss: "));
  EXPECT_NEAR(std::stod(eval.line("perplexity: ")), std::exp(loss), 1e-4 * std::exp(loss));
  EXPECT_NEAR(std::stod(eval.line("eval/bits_per_byte: ")), loss / std::log(2.0), 1e-5);
}
TEST_F(ScoreTest, TasksAreScoredByTheHarnesssDefinitions) {
  auto words = kModels + "gpt2_plain";  // its texts are ids
  std::vector<json> lines, all;
  std::vector<std::size_t> right;
  for (int k = 0; k < 10; ++k) {
    std::vector<std::string> choices;
    for (int c = 0; c < 3; ++c) {
      Ids ids;
      for (int i = 0; i <= (k + c) % 3; ++i) ids.push_back((17 * k + 29 * c + 5 * i) % 96);
      choices.push_back(texts(ids));
      all.push_back(pair(texts({k, 2 * k + 1, 3}), " " + choices.back()));
    }
    right.push_back(static_cast<std::size_t>(k % 3));
    json answer = right.back();
    if (k == 4) answer = choices[right.back()];  // the text of the choice is its number
    lines.push_back({{"context", texts({k, 2 * k + 1, 3})}, {"choices", choices}, {"answer", answer}});
  }
  auto scored = scores(words + " " + pairs(all));
  std::vector<double> acc, norm;
  for (std::size_t k = 0; k < 10; ++k) {
    std::size_t plain = 0, normed = 0;
    auto of = [&](std::size_t c, bool by_length) {
      auto x = scored[3 * k + c]["logprob"].get<double>();
      return by_length ? x / static_cast<double>(lines[k]["choices"][c].get<std::string>().size()) : x;
    };
    for (std::size_t c = 1; c < 3; ++c) {
      if (of(c, false) > of(plain, false)) plain = c;
      if (of(c, true) > of(normed, true)) normed = c;
    }
    acc.push_back(plain == right[k]), norm.push_back(normed == right[k]);
  }
  // Greedy continuations, of which two are right.
  auto greedy = [&](const std::string& context) {
    auto r = run("generate " + words + " --temperature 0 --length 3 --json --prompt '" + context + "'");
    EXPECT_EQ(r.code, 0) << r.err;
    return json::parse(r.out)["choices"][0]["text"].get<std::string>();
  };
  auto first = greedy("1 2 3"), second = greedy("4 5");
  auto stripped = [](const std::string& t) { return t.substr(t.find_first_not_of(' ')); };
  lines.push_back({{"context", "1 2 3"}, {"answer", stripped(first)}, {"length", 3}});
  lines.push_back({{"context", "4 5"}, {"answer", {"none", stripped(second) + "."}}, {"length", 3},
                   {"ignore_punctuation", true}});
  lines.push_back({{"context", "4 5"}, {"answer", "none"}, {"length", 3}});
  lines.push_back({{"context", "1 2 3"}, {"answer", ""}, {"length", 3}, {"until", {stripped(first).substr(0, 1)}}});
  auto file = pairs(lines, "made_up.jsonl"), other = pairs({lines[0]}, "one.jsonl");
  auto of = [&](const std::string& more, const std::string& launch = {}) {
    auto r = run(launch + "score " + words + more + " --tasks " + file + " --tasks " + other);
    EXPECT_EQ(r.code, 0) << r.err;
    std::vector<json> found;
    std::istringstream out(r.out);
    for (std::string line; std::getline(out, line);) found.push_back(json::parse(line));
    return found;
  };
  auto found = of("");
  ASSERT_EQ(found.size(), 2U);
  auto mean = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / 10; };
  EXPECT_EQ(found[0]["task"], "made_up");
  EXPECT_EQ(found[0]["items"], 14);
  EXPECT_NEAR(found[0]["acc"].get<double>(), mean(acc), 1e-9);
  EXPECT_NEAR(found[0]["acc_norm"].get<double>(), mean(norm), 1e-9);
  EXPECT_NEAR(found[0]["acc_stderr"].get<double>(), std::sqrt(mean(acc) * (1 - mean(acc)) / 9), 1e-9);
  EXPECT_NEAR(found[0]["exact_match"].get<double>(), 0.75, 1e-9);
  EXPECT_EQ(found[1]["task"], "one");
  EXPECT_EQ(found[1]["acc_stderr"], 0);
  EXPECT_FALSE(found[1].contains("exact_match"));
  EXPECT_EQ(of(" layout=tp mesh=data=1,model=2", kLaunch), found);
  is_bad_input("score " + words + " " + file + " --tasks " + file, "not both");
}
/// tests/golden/make_harness.py: the same items and the same model, by lm-evaluation-harness.
TEST_F(ScoreTest, TasksAndPairsHaveTheNumbersOfTheHarness) {
  auto golden = json::parse(std::ifstream(test::source_dir() + "/tests/golden/harness.json"));
  auto words = kModels + "gpt2_plain";
  auto choose = golden["choose"].get<std::vector<json>>(), write = golden["write"].get<std::vector<json>>();
  auto r = run("score " + words + " --tasks " + pairs(choose, "choose.jsonl") + " --tasks " +
               pairs(write, "write.jsonl"));
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  for (std::string name : {"choose", "write"}) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    auto found = json::parse(line), want = golden["results"][name];
    ASSERT_GE(want.size(), 2U);
    for (auto& [metric, value] : want.items())
      EXPECT_NEAR(found.at(metric).get<double>(), value.get<double>(), 1e-9) << name << " " << metric;
  }
  std::vector<json> all;
  for (auto& item : choose)
    for (auto& choice : item["choices"]) all.push_back(pair(item["context"], " " + choice.get<std::string>()));
  auto found = scores(words + " " + pairs(all));
  std::size_t at = 0;
  double firsts = 0, greedy = 0;
  for (auto& item : golden["logprobs"]) {
    firsts += found.at(at)["logprob"].get<double>(), greedy += found[at]["greedy"].get<bool>();
    for (auto& logprob : item) EXPECT_NEAR(found.at(at++)["logprob"].get<double>(), logprob.get<double>(), 1e-4);
  }
  ASSERT_EQ(at, found.size());
  // The harness's perplexity is that of a pair, not that of a token.
  auto n = static_cast<double>(choose.size()), want = golden["results"]["pairs"]["perplexity"].get<double>();
  EXPECT_NEAR(std::exp(-firsts / n), want, 1e-4 * want);
  EXPECT_NEAR(greedy / n, golden["results"]["pairs"]["acc"].get<double>(), 1e-9);
}
TEST_F(ScoreTest, ABadItemIsNamedBeforeAnythingIsComputed) {
  auto model = kModels + "gpt2_plain";
  auto refused = [&](const std::string& line, const std::string& part) {
    std::ofstream(folder + "/bad.jsonl") << R"({"context": "1", "choices": ["2", "3"], "answer": 0})" << "\n"
                                         << line << "\n";
    is_bad_input("score " + model + " --tasks " + folder + "/bad.jsonl", "bad.jsonl: line 2: " + part);
  };
  refused("nonsense", "");
  refused("[1]", "expected an object with context, got array");
  refused(R"({"choices": ["2", "3"], "answer": 0})", "context: there is none");
  refused(R"({"context": "1"})", "answer: there is none, and there are no choices");
  refused(R"({"context": "1", "choices": ["2"], "answer": 0})", "choices: expected a list of two texts or more");
  refused(R"({"context": "1", "choices": ["2", "3"], "answer": 2})", "answer: expected the number of a choice, 0 to 1");
  refused(R"({"context": "1", "choices": ["2", "3"], "answer": "4"})", "answer: '4' is none of the choices");
  refused(R"({"context": "1", "choices": ["2", "3"], "answer": 0, "until": "x"})", "'until' is no field of this item");
  refused(R"({"context": "1", "answer": "2", "length": 0})", "length: expected a number of tokens");
  refused(R"({"context": "1", "answer": "2", "length": 16})", "length: 16 tokens leave none of the model's 16");
  refused(R"({"context": "1", "answer": [], "length": 1})", "answer: expected a text or a list of texts");
}
TEST_F(ScoreTest, ABadLineIsNamedBeforeAnythingIsComputed) {
  auto model = kModels + "gpt2_plain";
  auto refused = [&](const std::string& lines, const std::string& part) {
    std::ofstream(folder + "/bad.jsonl") << lines;
    is_bad_input("score " + model + " " + folder + "/bad.jsonl", part);
  };
  const std::string good = "{\"context\": \"1\", \"continuation\": \" 2\"}\n";
  refused("", "bad.jsonl: it has no line");
  refused(good + "nonsense\n", "bad.jsonl: line 2: ");
  refused(good + "\n" + good, "bad.jsonl: line 2: ");
  refused(good + "[1]\n", "bad.jsonl: line 2: expected an object with context and continuation, got array");
  refused(good + good + "{\"context\": \"1\"}", "bad.jsonl: line 3: continuation: expected a text, got nothing");
  refused("{\"context\": 1, \"continuation\": \"2\"}", "line 1: context: expected a text, got number");
  refused("{\"context\": \"1\", \"continuation\": \"\"}", "line 1: continuation: it is empty");
  refused("{\"context\": \"1\", \"continuation\": \" \"}", "line 1: the continuation has no token of its own");
  refused("{\"context\": \"1\", \"continuation\": \"2\", \"x\": 1}", "line 1: 'x' is no field of a pair");
  refused("{\"context\": \"1\", \"context\": \"1\", \"continuation\": \"2\"}", "line 1: ");
  refused(good + "{\"context\": \"1\", \"continuation\": \"\xff\"}\n", "line 2: ");
  refused(good + "{\"context\": \"1\", \"continuation\": \"x\"}", "line 2: '1x' is no id from 0 to 95");
  refused(good + "{\"context\": \"\", \"continuation\": \"1\"}", "line 2: the context is empty, and the tokenizer has");
  refused(good + "{\"context\": \"1\", \"continuation\": \"" + texts(Ids(17, 3), " ") + "\"}",
          "line 2: the continuation has 17 tokens, but the model sees at most 16");
  is_bad_input("score " + model + " " + folder + "/none.jsonl", "none.jsonl");
  is_bad_input("score " + model, "PAIRS is required");
  is_bad_input("score " + folder + " " + pairs({pair("1", " 2")}), "is no folder of a run");
  is_bad_input(std::string(kLaunch) + "score " + model + " " + folder + "/bad.jsonl", "bad.jsonl: line 2: ");
}
}  // namespace score_test
