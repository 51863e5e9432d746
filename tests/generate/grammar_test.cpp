// Grammars of JSON: every answer is a value of its schema, every value can be an answer, and masks are exact.
#include "bora/generate/grammar.h"
#include <gtest/gtest.h>
#include <unordered_map>
#include "bora/generate/choosing.h"
#include "bora/text/tokenizer.h"
#include "generate/api/grammar_matcher.h"
#include "generate/schemas.h"
#include "support/golden.h"
#include "support/throws.h"

namespace grammar_test {
using namespace bora;
using generate::Grammar;
using generate::Grammars;
using generate::grammar::Matcher;
using nlohmann::json;
using test::Dice;
using test::Schema;
namespace {
using Ids = std::vector<std::int32_t>;

struct Words {
  std::string name;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const Grammars> grammars = {};
  std::unordered_map<std::string, std::int32_t> ids = {};  // of bytes
  std::size_t longest = 0;
};
const std::vector<Words>& tokenizers() {
  static const auto all = [] {
    std::vector<Words> r{{"bytes", text::open_tokenizer({"type=bytes"})}};
    for (std::string name : {"gpt2.json", "llama3.json", "qwen2.json", "llama.model", "gemma.json", "mistral.json"})
      r.push_back({name, text::tokenizer_at(test::golden_path("tokenizer_" + name), false)});
    std::erase_if(r, [](auto& w) {  // some have few characters
      w.grammars = std::make_shared<const Grammars>(w.tokenizer);
      try {
        (void)w.grammars->json_object();
      } catch (const ValueError&) { return true; }
      Matcher any(w.grammars->json_object());
      for (std::int32_t id = 0; id < w.tokenizer->size(); ++id) {
        auto& bytes = any.bytes(id);
        if (!bytes.empty()) w.ids.emplace(bytes, id);
        w.longest = std::max(w.longest, bytes.size());
      }
      return false;
    });
    return r;
  }();
  return all;
}
bool allows(Matcher& m, std::int32_t id) {
  auto i = static_cast<std::size_t>(id);
  return m.mask().at(i / 64) >> (i % 64) & 1;
}
/// The text as tokens, in a random way.
Ids split(const Words& w, const std::string& text, Dice& d) {
  Ids ids;
  for (std::size_t at = 0; at < text.size();) {
    std::vector<std::pair<std::int32_t, std::size_t>> some;
    for (std::size_t n = 1; n <= std::min(w.longest, text.size() - at); ++n)
      if (auto found = w.ids.find(text.substr(at, n)); found != w.ids.end()) some.emplace_back(found->second, n);
    if (some.empty()) return {};
    auto [id, n] = d.one_in(2) ? some.back() : some[static_cast<std::size_t>(d.below(std::ssize(some)))];
    ids.push_back(id);
    at += n;
  }
  return ids;
}
/// An answer of random scores in which ends are likely; none: it is longer than `most` tokens.
std::optional<Ids> answer(const Words& w, std::shared_ptr<const Grammar> g, Dice& d, std::int64_t most, bool greedy) {
  generate::Choosing how{.temperature = greedy ? 0.0 : 1.0, .top_k = d.one_in(2) ? 40 : 0, .grammar = g};
  generate::Chooser chooser(how, {}, {0}, 0, d.bits(), 0);
  Matcher copy(g);
  Ids ids;
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> scores(static_cast<std::size_t>(w.tokenizer->size()) + 3);
  while (std::ssize(ids) < most && !chooser.over()) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = normal(d.bits);
      if (std::cmp_greater_equal(i, w.tokenizer->size())) continue;
      auto& bytes = copy.bytes(static_cast<std::int32_t>(i));
      if (bytes.find_first_of("\"}]") != std::string::npos) scores[i] += std::ssize(ids) > 20 ? 9 : 4;
    }
    scores[0] = 5;
    auto id = chooser.next(scores);
    EXPECT_TRUE(id) << w.name << ": no token";
    if (!id) return {};
    if (*id == 0) {
      EXPECT_TRUE(copy.whole());
      return ids;
    }
    EXPECT_TRUE(allows(copy, *id));
    copy.take(*id);
    ids.push_back(*id);
  }
  if (!chooser.over()) return {};
  return ids;
}
}  // namespace

TEST(Grammar, MostTokenizersCanWriteJson) {
  std::vector<std::string> names;
  for (auto& w : tokenizers()) names.push_back(w.name);
  EXPECT_GE(names.size(), 4U) << ::testing::PrintToString(names);
}
TEST(Grammar, EveryAnswerIsAValueOfItsSchema) {
  Dice d(1);
  int whole = 0, all = 0, bad = 0;
  for (int k = 0; k < 250; ++k) {
    auto schema = test::random_schema(d, 3);
    SCOPED_TRACE(schema.dump());
    auto& w = tokenizers()[static_cast<std::size_t>(k) % tokenizers().size()];
    std::shared_ptr<const Grammar> g;
    try {
      g = w.grammars->json_schema(schema.dump());
    } catch (const ValueError& e) {
      ++bad;
      EXPECT_NE(e.text().find("no value fits"), std::string::npos) << e.text();
      Dice other(static_cast<unsigned>(k));
      for (int i = 0; i < 20; ++i) {
        auto v = test::value_of(schema, other, schema);
        EXPECT_FALSE(v && test::fits(schema, json::parse(v->dump()), schema)) << v->dump();
      }
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      ++all;
      auto ids = answer(w, g, d, 150, i == 1);
      if (!ids) continue;
      ++whole;
      auto text = w.tokenizer->decode(*ids);
      auto v = json::parse(text, nullptr, false);
      ASSERT_FALSE(v.is_discarded()) << w.name << ": " << text;
      ASSERT_TRUE(test::fits(schema, v, schema)) << w.name << ": " << text;
    }
  }
  EXPECT_GT(whole, all * 8 / 10);
  EXPECT_LT(bad, 25);
}
TEST(Grammar, EveryValueCanBeAnAnswer) {
  Dice d(2);
  int tried = 0;
  for (int k = 0; k < 400; ++k) {
    auto schema = test::random_schema(d, 3);
    SCOPED_TRACE(schema.dump());
    auto& w = tokenizers()[static_cast<std::size_t>(k) % tokenizers().size()];
    for (int i = 0; i < 4; ++i) {
      auto v = test::value_of(schema, d, schema);
      if (!v) continue;
      auto text = v->dump();
      ASSERT_TRUE(test::fits(schema, json::parse(text), schema)) << text;
      Matcher m(w.grammars->json_schema(schema.dump()));
      auto ids = split(w, text, d);
      if (ids.empty()) continue;
      for (std::size_t t = 0; t < ids.size(); ++t) {
        ASSERT_TRUE(allows(m, ids[t])) << w.name << ": token " << t << ", " << m.bytes(ids[t]) << " of " << text;
        m.take(ids[t]);
      }
      ASSERT_TRUE(m.whole()) << w.name << ": " << text;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
}
/// A token fits exactly if its bytes fit one after another, and what fits leads on.
TEST(Grammar, MasksAreThoseOfBytes) {
  Dice d(3);
  auto& bytes = tokenizers()[0];
  ASSERT_EQ(bytes.name, "bytes");
  for (int k = 0; k < 500; ++k) {
    auto schema = k % 20 != 0 ? test::random_schema(d, 3)
                              : Schema::parse(R"({"type": "string", "minLength": 300, "maxLength": 700})");
    SCOPED_TRACE(schema.dump());
    auto& w = tokenizers()[1 + static_cast<std::size_t>(k) % (tokenizers().size() - 1)];
    auto v = test::value_of(schema, d, schema);
    if (!v) continue;
    auto text = v->dump(), begun = text.substr(0, static_cast<std::size_t>(d.below(std::ssize(text))));
    auto ids = split(w, begun, d);
    if (ids.empty() && !begun.empty()) continue;
    Matcher m(w.grammars->json_schema(schema.dump()));
    for (auto id : ids) m.take(id);
    auto g = bytes.grammars->json_schema(schema.dump());
    for (int i = 0; i < 60; ++i) {
      auto id = static_cast<std::int32_t>(d.below(w.tokenizer->size()));
      auto token = m.bytes(id);
      Matcher one(g);
      for (unsigned char c : begun) one.take(c);
      bool fits = !token.empty();
      for (unsigned char c : token)
        if (fits && (fits = allows(one, c))) one.take(c);
      ASSERT_EQ(allows(m, id), fits) << begun << " and " << token;
    }
  }
}
TEST(Grammar, ReferencesRecurAndObjectsAreOpen) {
  auto& w = tokenizers()[0];
  auto schema = Schema::parse(R"({"$defs": {"tree": {"type": "object", "properties": {"v": {"type": "integer"},
      "next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}, "required": ["v", "next"]}},
      "$ref": "#/$defs/tree"})");
  auto fits = [&](const std::shared_ptr<const Grammar>& g, const std::string& text) {
    Matcher m(g);
    for (unsigned char c : text) {
      if (!allows(m, c)) return false;
      m.take(c);
    }
    return m.whole();
  };
  auto tree = w.grammars->json_schema(schema.dump());
  EXPECT_TRUE(fits(tree, R"({"v":1,"next":{"v":2,"next":null}})"));
  EXPECT_TRUE(fits(tree, R"({"v": 1, "next": {"v": -2, "next": null}})"));
  for (auto bad : {R"({"v":1})", R"({"next":null,"v":1})", R"({"v":1,"next":{}})", R"({"v":1.5,"next":null})",
                   R"({ "v":1,"next":null})", R"({"v":1,"next":null} )", R"({"v":01,"next":null})",
                   R"({"v":  1,"next":null})"})
    EXPECT_FALSE(fits(tree, bad)) << bad;
  auto any = w.grammars->json_object();
  EXPECT_TRUE(fits(any, R"({"a": [1, -2.5e3, "x\u00e9\ud83d\ude00\/", {}, []], "b": {"c": null}})"));
  for (auto bad : {"[]", "1", R"({"a"})", R"({"a":1,})", R"({"a":"\ud83d"})", R"({"a":"\ude00"})", "{\"a\":\"\n\"}",
                   "{\"a\":\"\xc0\xaf\"}", "{\"a\":\"\xed\xa0\x80\"}", R"({"a":.5})", R"({"a":1e})", R"({"a":-})"})
    EXPECT_FALSE(fits(any, bad)) << bad;
  for (auto& [format, good, wrong] : std::initializer_list<std::tuple<std::string, std::string, std::string>>{
           {"date", "2024-02-29", "2024-13-01"},
           {"date-time", "2024-02-28T23:59:59.5+01:00", "2024-02-28"},
           {"time", "00:00:00Z", "24:00:00Z"},
           {"uuid", "01234567-89ab-cdef-0123-456789abcdef", "01234567"},
           {"ipv4", "255.0.99.1", "256.0.0.1"}}) {
    auto g = w.grammars->json_schema(R"({"type": "string", "format": ")" + format + "\"}");
    EXPECT_TRUE(fits(g, '"' + good + '"')) << good;
    EXPECT_FALSE(fits(g, '"' + wrong + '"')) << wrong;
  }
  auto other = w.grammars->json_schema(
      R"({"properties": {"ab": {"type": "null"}}, "additionalProperties": {"const": 1}})");
  for (auto good : {"{}", R"({"ab":null})", R"({"ab":null,"a":1,"abc":1})", R"({"":1})", R"({"é":1})"})
    EXPECT_TRUE(fits(other, good)) << good;
  for (auto bad : {R"({"ab":1})", R"({"a":1,"ab":1})", R"({"\u0061b":1})"}) EXPECT_FALSE(fits(other, bad)) << bad;
  auto words = w.grammars->json_schema(
      R"j({"type": "string", "pattern": "^\\S+\\s.\\u00e9[\\x41-C\\-\\]]?[^\\W_]{2,}?$"})j");
  for (auto good : {"\"a\u3000xéaa\"", "\"\U0001F600\u00a0\u8a9eéB12\"", "\"- \\\"é]ab\""})
    EXPECT_TRUE(fits(words, good)) << good;
  for (auto bad : {"\"a xé_a\"", "\"  xéaa\"", "\"a xéDa_\"", "\"a\\u0020xéaa\""})
    EXPECT_FALSE(fits(words, bad)) << bad;
  EXPECT_EQ(w.grammars->json_schema(schema.dump()), tree);  // compiled once
}
/// Numbers between bounds, all of those with few digits.
TEST(Grammar, BoundsHoldForEveryNumber) {
  auto& w = tokenizers()[0];
  Dice d(5);
  for (int k = 0; k < 40; ++k) {
    Schema s{{"type", k % 2 ? "integer" : "number"}};
    auto low = static_cast<double>(d.from(-130, 130)) / (k % 4 == 0 ? 10 : 1);
    auto high = low + static_cast<double>(d.below(120));
    if (!d.one_in(4)) s[d.one_in(2) ? "minimum" : "exclusiveMinimum"] = low;
    if (!d.one_in(4)) s[d.one_in(2) ? "maximum" : "exclusiveMaximum"] = high + 2;
    SCOPED_TRACE(s.dump());
    auto g = w.grammars->json_schema(s.dump());
    for (int i = -1999; i < 2000; ++i) {
      auto text = std::to_string(std::abs(i) / 10) + (i % 10 == 0 ? "" : "." + std::to_string(std::abs(i) % 10));
      if (i < 0) text = "-" + text;
      bool whole = i % 10 == 0, fits = test::fits(s, json::parse(text), s);
      Matcher m(g);
      bool taken = true;
      for (unsigned char c : text)
        if (taken && (taken = allows(m, c))) m.take(c);
      ASSERT_EQ(taken && m.whole(), fits && (whole || k % 2 == 0)) << text;
    }
  }
}
TEST(Grammar, BadSchemasAreRefusedWithTheirPlace) {
  struct Bad {
    std::string schema, words;
  };
  const Bad all[] = {
      {R"({"type": "integer", "multipleOf": 3})", "schema: the keyword \"multipleOf\" is not supported"},
      {R"({"properties": {"a": {"items": {"not": {}}}}})", "schema.properties.a.items: the keyword \"not\""},
      {R"({"type": "array", "uniqueItems": true})", "schema: the keyword \"uniqueItems\""},
      {R"({"type": "object", "patternProperties": {}})", "schema: the keyword \"patternProperties\""},
      {R"({"type": "text"})", "schema.type: must be object, array, string"},
      {R"({"type": []})", "schema.type: there must be a type"},
      {R"({"$ref": "#/$defs/a"})", "schema.$ref: there is no"},
      {R"({"$ref": "other.json"})", "schema.$ref: must be a place in this document"},
      {R"({"$ref": "#"})", "no value fits"},
      {R"({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}})", "the keyword \"type\" beside \"$ref\""},
      {R"({"anyOf": []})", "schema.anyOf: must be an array of schemas"},
      {R"({"anyOf": [{"type": "null"}, {"if": true}]})", "schema.anyOf[1]: the keyword \"if\""},
      {R"({"anyOf": [{}], "minimum": 1})", "the keyword \"minimum\" beside \"anyOf\""},
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", "schema.oneOf: a value may fit both 0 and 1"},
      {R"({"oneOf": [{"enum": [1, 2]}, {"enum": [3, 2]}]})", "schema.oneOf: a value may fit both 0 and 1"},
      {R"({"allOf": [{}, {}]})", "schema.allOf: of more than one"},
      {R"({"enum": []})", "schema.enum: must be an array of values"},
      {R"j({"type": "string", "pattern": "(?=a)"})j", "schema.pattern: of the groups"},
      {R"({"type": "string", "pattern": "a**"})", "schema.pattern: a repetition follows a repetition"},
      {R"({"type": "string", "pattern": "[a"})", "schema.pattern: a [ has no ]"},
      {R"j({"type": "string", "pattern": "(\\1)"})j", "schema.pattern: \\1 is not known"},
      {R"({"type": "string", "pattern": "a^"})", "schema.pattern: ^ is known at the ends"},
      {R"({"type": "string", "pattern": "a", "minLength": 3})", "only one is supported"},
      {R"({"type": "string", "format": "email"})", "schema.format: \"email\" is not supported"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})", "schema.minLength: 3 is above maxLength, 2"},
      {R"({"type": "string", "maxLength": -1})", "schema.maxLength: must be a whole number from 0"},
      {R"({"type": "string", "maxLength": 1e9})", "schema.maxLength: must be a whole number from 0"},
      {R"({"type": "array", "minItems": 3, "maxItems": 2})", "schema.minItems: 3 items are more than 2"},
      {R"({"type": "number", "minimum": "1"})", "schema.minimum: must be a number"},
      {R"({"type": "number", "minimum": 1, "exclusiveMinimum": 1})", "beside another bound"},
      {R"({"type": "integer", "minimum": 5, "maximum": 4})", "no value fits"},
      {R"({"required": ["b"], "properties": {"a": {}}})", "schema.required: \"b\" is none of the properties"},
      {R"({"required": "b"})", "schema.required: must be an array of names"},
      {R"({"properties": {"a": false}, "required": ["a"]})", "no value fits"},
      {R"({"properties": [1]})", "schema.properties: must be an object"},
      {R"({"items": 5})", "schema.items: must be an object, true or false, got number"},
      {R"({"type": "array", "items": {"type": "array", "minItems": 9999, "items": {"minLength": 20000}},
          "minItems": 20000, "prefixItems": [{"type": "string", "minLength": 20000},
          {"type": "string", "minLength": 19999}, {"minLength": 19998}, {"pattern": "(a{9999}){99}"}]})",
       "too large"},
      {"false", "no value fits"},
      {"5", "schema: must be an object"},
      {"{", "broken JSON"},
      {"", "schema: it is empty"}};
  auto& grammars = *tokenizers()[0].grammars;
  for (auto& bad : all) {
    auto e = test::error_of<ValueError>([&] { (void)grammars.json_schema(bad.schema); });
    EXPECT_NE(e.find(bad.words), std::string::npos) << bad.schema << ": " << e;
  }
  auto t5 = text::tokenizer_at(test::golden_path("tokenizer_t5.json"), false);
  EXPECT_MESSAGE(ValueError, Grammars(t5).json_object(), "no token for");
}
/// Texts that are nearly schemas give a grammar or a ValueError.
TEST(Grammar, BrokenSchemasAreRefused) {
  Dice d(7);
  int good = 0;
  for (int k = 0; k < 4000; ++k) {
    auto text = test::random_schema(d, 3).dump();
    static const std::string letters = R"({}[]",:0-9$#/\a*+?()|^.)";
    for (auto n = d.below(3); n >= 0 && !text.empty(); --n) {
      auto at = static_cast<std::size_t>(d.below(std::ssize(text)));
      if (d.one_in(2)) text[at] = letters[static_cast<std::size_t>(d.below(std::ssize(letters)))];
      else text.erase(at, 1);
    }
    try {
      Matcher m(tokenizers()[0].grammars->json_schema(text));
      (void)m.mask();
      ++good;
    } catch (const ValueError&) {}
  }
  EXPECT_GT(good, 50);
}
}  // namespace grammar_test
