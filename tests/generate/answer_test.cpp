// The text of an answer as its tokens come, with every tokenizer of the registry.
#include "bora/generate/answer.h"
#include <gtest/gtest.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include "bora/base/text.h"
#include "bora/text/tokenizer.h"
#include "support/golden.h"
#include "support/throws.h"

namespace answer_test {
using namespace bora;
using namespace bora::generate;
namespace {
using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;
using TokenizerPtr = std::shared_ptr<const text::Tokenizer>;

const std::map<std::string, std::vector<std::string>>& samples() {
  static const auto all = [] {
    auto golden = [](const std::string& file) { return "path=" + test::golden_path("tokenizer_" + file); };
    std::map<std::string, std::vector<std::string>> r{
        {"bytes", {"type=bytes"}},
        {"ids", {"type=ids", "size=300"}},
        {"llama_model", {"type=sentencepiece", golden("llama.model")}},
        {"t5_model", {"type=sentencepiece", golden("t5.model")}}};
    for (std::string name : {"gpt2", "llama3", "qwen2", "odd"}) r[name] = {"type=bpe", golden(name + ".json")};
    for (std::string name : {"llama2", "mistral", "gemma", "t5", "unigram", "words", "bert"})
      r[name] = {"type=huggingface", golden(name + ".json")};
    return r;
  }();
  return all;
}
struct EveryTokenizer : testing::TestWithParam<std::string> {
  TokenizerPtr t = text::open_tokenizer(samples().at(GetParam()));
  std::mt19937 draw{7};
  Ids random_ids(std::size_t n) {
    Ids ids(n);
    for (auto& id : ids) id = static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(t->size()));
    return ids;
  }
  Ids text_ids() {
    static const auto cases = nlohmann::json::parse(std::ifstream(test::golden_path("tokenizers.json")))["cases"];
    if (GetParam() == "ids") return random_ids(draw() % 20);
    return t->encode(cases[draw() % cases.size()]["text"].get<std::string>().substr(0, 200));
  }
};
/// The text that may have left of `text`: without what may become a stop string.
std::string sent(const std::string& text, const Texts& stops) {
  std::size_t keep = 0;
  for (auto& stop : stops)
    for (std::size_t n = 1; n < stop.size() && n <= text.size(); ++n)
      if (text.ends_with(std::string_view(stop).substr(0, n))) keep = std::max(keep, n);
  return text.substr(0, text.size() - keep);
}
/// The text before the stop string that is complete first, and that string.
std::pair<std::string, std::string> cut(const std::string& text, const Texts& stops) {
  auto end = std::string::npos, begin = end;
  for (auto& stop : stops) {
    auto at = text.find(stop);
    if (at == text.npos) continue;
    if (at + stop.size() < end || (at + stop.size() == end && at < begin)) begin = at, end = at + stop.size();
  }
  return begin == text.npos ? std::pair{text, std::string()} : std::pair{text.substr(0, begin),
                                                                         text.substr(begin, end - begin)};
}
/// Checks an answer of these ids after a prompt, up to the first stop.
void obeys(const TokenizerPtr& t, const Ids& prompt, const Ids& ids, const Texts& stops) {
  Answer answer(t, prompt, {.texts = stops, .special = true});
  text::StreamDecoder decoder(t);
  for (auto id : prompt) (void)decoder.next(id);
  std::string given, decoded;
  for (auto id : ids) {
    auto piece = answer.next(id);
    decoded += decoder.next(id);
    given += piece;
    if (answer.ended()) break;
    ASSERT_EQ(given, sent(decoded, stops));
    EXPECT_EQ(cut(decoded, stops).second, "");
  }
  bool by_text = answer.ended();
  given += answer.finish();
  decoded += by_text ? "" : decoder.finish();
  auto [text, stop] = cut(decoded, stops);
  EXPECT_EQ(given, text);
  EXPECT_EQ(answer.end(), stop);
  EXPECT_EQ(answer.ended(), !stop.empty());
  EXPECT_EQ(answer.finish(), "");
}
}  // namespace

TEST(Answers, LawsCoverTheRegistry) {
  for (auto& row : config::rows<text::TokenizerKind>())
    EXPECT_TRUE(std::any_of(samples().begin(), samples().end(), [&](auto& s) {
      return s.second[0] == "type=" + std::string(row.type);
    })) << row.type;
}
TEST_P(EveryTokenizer, PiecesAreTheTextUpToTheFirstStop) {
  for (int k = 0; k < 60; ++k) {
    auto ids = k % 2 ? text_ids() : random_ids(draw() % 30), prompt = k % 3 ? random_ids(draw() % 4) : Ids();
    auto whole = t->decode(ids, {.special = true});
    obeys(t, prompt, ids, {});
    std::vector<std::string> places;  // parts of the text that may be stops
    for (int n = 0; n < 12 && !whole.empty(); ++n) {
      auto part = whole.substr(draw() % whole.size(), 1 + draw() % 6);
      if (first_not_utf8(part) == part.npos) places.push_back(part);
      if (n % 3 == 0) places.push_back(places.empty() ? "zz" : places.back() + "!");  // begins in the text, and differs
    }
    for (auto& stop : places) obeys(t, prompt, ids, {stop});
    for (std::size_t n = 2; n + 1 < places.size(); n += 2)
      obeys(t, prompt, ids, {places[n], places[n - 1], places[n - 2]});
  }
}
TEST_P(EveryTokenizer, StopsAreFoundAtEveryPlace) {
  auto ids = GetParam() == "ids" ? Ids{1, 22, 130} : t->encode("The caf\u00e9 of \U0001f600 is shut, and so on.");
  auto whole = t->decode(ids);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (std::size_t n = 1; at + n <= whole.size(); ++n)
      if (auto part = whole.substr(at, n); first_not_utf8(part) == part.npos) obeys(t, {}, ids, {part});
}
TEST_P(EveryTokenizer, AnEndGivesAllThatWasHeld) {
  for (int k = 0; k < 40; ++k) {
    auto ids = random_ids(1 + draw() % 12);
    auto end = static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(t->size()));
    std::erase(ids, end);
    auto whole = t->decode(ids);
    // It may begin at the end of the text, which it then never becomes.
    Texts stops;
    if (auto tail = whole.substr(whole.size() / 2); first_not_utf8(tail) == tail.npos) stops = {tail + "\x01"};
    Answer answer(t, {}, {.ids = {end}, .texts = stops, .special = true});
    std::string given;
    for (auto id : ids) given += answer.next(id);
    EXPECT_FALSE(answer.ended());
    given += answer.next(end);
    EXPECT_TRUE(answer.ended());
    EXPECT_EQ(answer.end(), "");
    EXPECT_EQ(given, whole);
    EXPECT_EQ(answer.finish(), "");
    EXPECT_THROW((void)answer.next(ids.empty() ? end : ids[0]), ValueError);
  }
}
TEST_P(EveryTokenizer, TokensHaveTextsInUtf8) {
  std::map<std::string, int> texts;
  for (std::int32_t id = 0; id < t->size(); ++id) {
    auto x = token_text(*t, id);
    EXPECT_EQ(first_not_utf8(x.text), x.text.npos);
    EXPECT_EQ(x.bytes, t->bytes_of(id));
    EXPECT_TRUE(x.text == x.bytes || x.text.starts_with("bytes:\\x")) << x.text;
    EXPECT_TRUE(++texts[x.text] == 1 || (!t->bytes() && GetParam() != "ids")) << x.text;
  }
  for (auto id : {-1, static_cast<std::int32_t>(t->size())}) {
    EXPECT_THROW((void)token_text(*t, id), ValueError);
    EXPECT_THROW((void)Answer(t, {}, {}).next(id), ValueError);
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryTokenizer, testing::ValuesIn([] {
                           Texts names;
                           for (auto& sample : samples()) names.push_back(sample.first);
                           return names;
                         }()),
                         [](auto& info) { return info.param; });

TEST(Answers, PartsOfCharactersDoNotCollide) {
  auto t = text::open_tokenizer(samples().at("gpt2"));
  std::map<std::string, std::int32_t> texts;
  for (std::int32_t id = 0; id < t->size(); ++id) {
    auto x = token_text(*t, id).text;
    EXPECT_TRUE(texts.emplace(x, id).second) << x << " is the text of " << texts[x] << " and " << id;
  }
  EXPECT_TRUE(texts.contains("bytes:\\xe2"));
  auto llama = text::open_tokenizer(samples().at("llama_model"));
  std::string all;
  auto ids = llama->encode("So \u8a9e it is");
  for (auto id : ids) all += token_text(*llama, id).bytes;
  EXPECT_EQ(all, " So \u8a9e it is");
}
TEST(Answers, TheStopThatIsCompleteFirstCounts) {
  auto t = text::open_tokenizer({"type=bytes"});
  auto said = [&](const std::string& text, const Texts& stops) {
    Answer answer(t, {}, {.texts = stops});
    std::string given;
    for (auto id : t->encode(text)) {
      if (answer.ended()) break;
      given += answer.next(id);
    }
    return given + answer.finish() + "|" + answer.end();
  };
  EXPECT_EQ(said("xabcd", {"abcd", "c"}), "xab|c");
  EXPECT_EQ(said("xabcd", {"c", "abc"}), "x|abc");
  EXPECT_EQ(said("ababac", {"abac"}), "ab|abac");
  EXPECT_EQ(said("aaaaab", {"aab"}), "aaa|aab");
  EXPECT_EQ(said("no end in sig", {"sight", "nd in sight"}), "no end in sig|");
  EXPECT_EQ(said("ab", {"a", "a"}), "|a");
}
TEST(Answers, SpecialTokensAreNoText) {
  auto t = text::open_tokenizer(samples().at("llama3"));
  auto eot = t->id_of("<|eot_id|>").value();
  auto ids = t->encode("a<|eot_id|>b");
  auto said = [&](Answer::Ends ends) {
    Answer answer(t, {}, std::move(ends));
    std::string given;
    for (auto id : ids)
      if (!answer.ended()) given += answer.next(id);
    return given + answer.finish();
  };
  EXPECT_EQ(said({}), "ab");
  EXPECT_EQ(said({.special = true}), "a<|eot_id|>b");
  EXPECT_EQ(said({.ids = {eot}}), "a");
  EXPECT_EQ(said({.ids = {eot}, .special = true}), "a");
}
TEST(Answers, StopsThatAreNoTextAreRefused) {
  auto t = text::open_tokenizer({"type=bytes"});
  EXPECT_EQ(test::error_of<ValueError>([&] { Answer(t, {}, {.texts = {"a", ""}}); }),
            "stop: a stop string is empty; leave it out");
  EXPECT_EQ(test::error_of<ValueError>([&] { Answer(t, {}, {.texts = {"\xe2\x82"}}); }),
            "stop: a stop string is not UTF-8");
}
TEST(Answers, LongStopsTakeNoLongTime) {
  auto t = text::open_tokenizer({"type=bytes"});
  std::string stop(1 << 16, 'a');
  stop += 'b';
  Answer answer(t, {}, {.texts = {stop}});
  std::size_t given = 0;
  for (int k = 0; k < 1 << 17; ++k) given += answer.next('a').size();
  EXPECT_EQ(given, std::size_t{1} << 16);
  EXPECT_EQ(answer.next('b'), "");
  EXPECT_EQ(answer.end(), stop);
}
}  // namespace answer_test
