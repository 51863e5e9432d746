// Jinja: what jinja2 makes of the same templates, marks, limits, and chat templates that published models have.
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "bora/text/chat.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "text/api/jinja.h"

namespace fs = std::filesystem;
namespace jinja_test {
using namespace bora;
using bora::test::error_of;
using json = nlohmann::ordered_json;
using text::ChatTemplate, text::Jinja, text::Piece, text::Turn;
using text::jinja::kLearnt, text::jinja::kPlain, text::jinja::kSaid, text::jinja::Marked, text::jinja::Value;
namespace {
Value value_of(const json& j, char mark = kPlain) {
  if (j.is_null()) return nullptr;
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return Marked(j.get<std::string>(), mark);
  text::jinja::Values items;
  if (j.is_array()) {
    for (auto& item : j) items.push_back(value_of(item, mark));
    return Value::list(items);
  }
  std::vector<std::pair<Value, Value>> members;
  for (auto& [key, item] : j.items()) members.emplace_back(Marked(key), value_of(item, mark));
  return Value::dict(members);
}
Jinja::Names names_of(const json& j, char mark = kPlain) {
  Jinja::Names names;
  for (auto& [name, v] : j.items()) names.emplace_back(name, value_of(v, mark));
  return names;
}
Marked rendered(const std::string& source, const json& names = json::object(), char mark = kPlain) {
  return Jinja(source, "t").render(names_of(names, mark), 1700000000);
}
std::string error(const std::string& source, const json& names = json::object()) {
  return error_of([&] { (void)rendered(source, names); });
}
std::string times(int n, const std::string& s) {
  std::string r;
  for (int i = 0; i < n; ++i) r += s;
  return r;
}
}  // namespace

TEST(Jinja, GivesTheTextsOfJinja2) {
  static const auto golden = json::parse(std::ifstream(test::source_dir() + "/tests/golden/jinja.json"));
  int texts = 0, errors = 0;
  for (auto& c : golden["cases"]) {
    auto source = c[0].get<std::string>();
    if (c[1].is_null()) {
      ++errors;
      EXPECT_TRUE(error(source, golden["variables"]).starts_with("t:1: ")) << source;
      continue;
    }
    ++texts;
    std::string text;
    EXPECT_EQ(error_of([&] { text = rendered(source, golden["variables"]).text; }), "no error") << source;
    EXPECT_EQ(text, c[1].get<std::string>()) << source;
  }
  EXPECT_GE(texts, 270);
  EXPECT_GE(errors, 30);
}
// A byte that somebody said stays marked, wherever a template takes it, and nothing else is.
TEST(Jinja, WhatIsSaidStaysMarked) {
  const json names{{"u", " <|A|> b\n"}, {"l", {"<|A|>", "b"}}, {"d", {{"k", "<|A|>"}}}};
  for (auto expression :
       {"u", "u|trim", "u.strip()", "u|upper", "'x' + u + 'y'", "'x' ~ u", "u[1:4]", "u[::-1]",
        "u.split()|join('-')", "l|join('x')", "u|replace('b', 'bb')", "'xbx'|replace('b', u)", "l|tojson",
        "d|tojson(indent=1)", "d", "l", "[u]",
        "u|indent", "u|list|first", "u|reverse", "'{}!'.format(u)", "u * 2", "l|map('upper')|join", "d.k", "l[0]",
        "l|sort|last", "u|default('x')", "u|e"}) {
    auto source = "a{{ " + std::string(expression) + " }}z";
    auto plain = rendered(source, json{{"u", " __ b\n"}, {"l", {"__", "b"}}, {"d", {{"k", "__"}}}}, kSaid);
    auto out = rendered(source, names, kSaid);
    EXPECT_EQ(out.marks.size(), out.text.size());
    EXPECT_EQ(out.marks.front(), kPlain) << source;
    EXPECT_EQ(out.marks.back(), kPlain) << source;
    int said = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      said += out.marks[i] == kSaid;
      const bool from_names = std::string_view("<|>").find(out.text[i]) != std::string_view::npos;
      const bool from_template = std::string_view("az-{}!").find(out.text[i]) != std::string_view::npos;
      EXPECT_TRUE(from_names ? out.marks[i] == kSaid : !from_template || out.marks[i] == kPlain) << source << " " << i;
    }
    EXPECT_GT(said, 0) << source;
    EXPECT_EQ(rendered(source, names).marks, std::string(out.size(), kPlain)) << source;
    EXPECT_NE(plain.marks.find(kSaid), std::string::npos) << source;
  }
  auto learnt = rendered("a{% generation %}b{{ u }}{% endgeneration %}c", {{"u", "x"}}, kSaid);
  EXPECT_EQ(learnt.text, "abxc");
  EXPECT_EQ(learnt.marks, (std::string{kPlain, kLearnt, kLearnt | kSaid, kPlain}));
}
TEST(Jinja, NoTemplateRunsOrGrowsWithoutBound) {
  const int n = 20000;
  const std::pair<std::string, std::string> attacks[] = {
      {"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "more than 4000000 steps"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "lie in each other more than 2000 deep"},
      {"{% macro f() %}" + times(90, "{% if 1 %}") + "{{ f() }}" + times(90, "{% endif %}") +
           "{% endmacro %}{{ f() }}",
       "more than 2000 deep"},
      {"{% set s = namespace(x='a') %}{% for i in range(99) %}{% set s.x = s.x + s.x %}{% endfor %}",
       "above the limit"},
      {"{% set s = namespace(x=[]) %}{% for i in range(9999) %}{% set s.x = [s.x] %}{% endfor %}",
       "more than 150 deep"},
      {"{{ 'a' * 9223372036854775807 }}", "too long"},
      {"{{ [1] * 4000000000 }}", "more than 4000000 steps"},
      {"{{ range(1000000000000) }}", "range has more than"},
      {"{{ ('a' * 100000)|replace('a', 'b' * 1000) }}", "above the limit"},
      {"{{ ('a\\n' * 10000)|indent(1000) }}", "above the limit"},
      {"{{ range(100000)|join('x' * 10000) }}", "above the limit"},
      {"{{ [1]|batch(9223372036854775807, 0) }}", "more than 4000000 steps"},
      {"{{ 9223372036854775807 + 1 }}", "above 2^63"},
      {"{{ 2 ** 99999999999 }}", "above 2^63"},
      {"{{ " + times(n, "(") + "1" + times(n, ")") + " }}", "more than 100 deep"},
      {"{{ " + times(n, "[") + times(n, "]") + " }}", "more than 100 deep"},
      {"{{ " + times(n, "not ") + "1 }}", "more than 100 deep"},
      {"{{ " + times(n, "-") + "1 }}", "more than 100 deep"},
      {times(n, "{% if 1 %}") + times(n, "{% endif %}"), "more than 100 deep"},
      {"{{ " + times(n, "a + ") + "a }}", "a chain of more than 200"},
      {"{{ " + times(n, "a or ") + "a }}", "a chain of more than 200"},
      {"{{ a" + times(n, ".b") + " }}", "a chain of more than 200"},
      {"{{ a" + times(n, "()") + " }}", "a chain of more than 200"},
      {"{{ a" + times(n, "|trim") + " }}", "a chain of more than 200"},
      {"{{ 1 " + times(n, "is defined ") + "}}", "a chain of more than 200"},
      {"{{ 1 " + times(n, "if 1 ") + "}}", "a chain of more than 200"},
      {std::string(2 << 20, ' '), "above the limit"},
      {"{{ l.append(1) }}", "templates change no list"},
      {"{{ d.update({}) }}", "templates change no dict"},
      {"{% include 'x' %}", "chat templates do not use the tag 'include'"},
      {"{{ ''.__class__.__mro__ }}", "'__class__' is undefined"},
      {"{{ range.__globals__.x }}", "'__globals__' is undefined"}};
  for (auto& [source, want] : attacks) {
    auto said = error(source, {{"l", json::array()}, {"d", json::object()}});
    EXPECT_NE(said.find(want), std::string::npos) << source.substr(0, 60) << ": " << said;
  }
  // What holds itself is let go of.
  EXPECT_EQ(rendered("{% set s = namespace() %}{% set s.s = s %}{% macro f() %}{% endmacro %}{% set s.f = f %}"
                     "{% for i in [1] %}{{ loop.changed(loop) }}{% endfor %}").text, "True");
  EXPECT_EQ(error("a\n{% if true %}\n{{ missing.x }}\n{% endif %}"),
            "t:3: 'missing' is undefined; it has no 'x'");
  EXPECT_EQ(error_of([&] { (void)Jinja("{{ strftime_now('%Y') }}", "t").render({}); }),
            "t:1: the template writes the date (strftime_now), and no day is given; `date: YYYY-MM-DD` beside "
            "chat_template gives one");
}

// ---- conversations --------------------------------------------------------------------------------------------------
namespace {
struct JinjaChats : testing::Test {
  test::TempFolder temp;
  ChatTemplate chat(const std::string& source) const {
    temp.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null})");
    temp.write("chat_template.jinja", source);
    return text::chat_template_of("", temp.path());
  }
};
std::string learnt_of(const std::vector<Piece>& pieces) {
  std::string all;
  for (auto& p : pieces) all += p.learnt ? "[" + p.text + "]" : p.text;
  return all;
}
const std::vector<Turn> kTurns{{"system", "S"}, {"user", "u <|end|>"}, {"assistant", "a"}, {"user", "v"},
                               {"assistant", " b "}};
}  // namespace
TEST_F(JinjaChats, AnswersAreFound) {
  // Of a template without {% generation %} by what the turn adds to its prompt; the newline behind its end is not
  // learnt.
  auto plain = chat("{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content | trim }}<|end|>\n"
                    "{% endfor %}"
                    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}");
  auto want = "<s><|system|>\nS<|end|>\n<|user|>\nu <|end|><|end|>\n<|assistant|>\n[a<|end|>]\n<|user|>\nv<|end|>\n"
              "<|assistant|>\n[b<|end|>]\n";
  EXPECT_EQ(learnt_of(plain.render(kTurns)), want);
  EXPECT_EQ(plain.ask(std::span(kTurns).first(4)).text,
            "<s><|system|>\nS<|end|>\n<|user|>\nu <|end|><|end|>\n<|assistant|>\na<|end|>\n<|user|>\nv<|end|>\n"
            "<|assistant|>\n");
  // With it, by it: here one answer alone.
  auto marked = chat("{% for m in messages %}{% if m.role == 'assistant' and loop.last %}{% generation %}"
                     "{{ m.content }}{{ eos_token }}{% endgeneration %}{% else %}{{ m.content }};{% endif %}"
                     "{% endfor %}");
  EXPECT_EQ(learnt_of(marked.render(kTurns)), "S;u <|end|>;a;v;[ b </s>]");
  // Of a template that begins no answer (no add_generation_prompt) the assistant writes its role as well.
  auto bare = chat("{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}");
  EXPECT_EQ(learnt_of(bare.render(kTurns)),
            "system: S</s>\nuser: u <|end|></s>\n[assistant: a</s>]\nuser: v</s>\n[assistant:  b </s>]\n");
  // Of a template that leaves the thoughts of earlier answers out, and begins the last one with an empty thought.
  auto thoughts = chat("{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}"
                       "<think></think>{{ m.content }}{% else %}{{ m.content.split('|')[-1] }}{% endif %}<|end|>\n"
                       "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  std::vector<Turn> turns{{"user", "u"}, {"assistant", "t|a"}, {"user", "v"}, {"assistant", "t|b"}};
  EXPECT_EQ(learnt_of(thoughts.render(turns)),
            "<user>u<|end|>\n<assistant>[a<|end|>]\n<user>v<|end|>\n<assistant>[<think></think>t|b<|end|>]\n");
  turns[1].content = "", turns.pop_back();
  EXPECT_EQ(learnt_of(thoughts.render(turns)), "<user>u<|end|>\n<assistant>[<|end|>]\n<user>v<|end|>\n");
}
TEST_F(JinjaChats, OnlyTheTemplateMakesSpecialTokens) {
  auto t = chat("{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}");
  auto pieces = t.render(std::vector<Turn>{{"user", " <|end|> "}, {"assistant", "<|user|>"}});
  std::string said, rest;
  for (auto& p : pieces) {
    std::size_t at = 0;
    for (auto& [from, to] : p.said) {
      rest += p.text.substr(at, from - at);
      said += p.text.substr(from, to - from);
      at = to;
    }
    rest += p.text.substr(at);
  }
  EXPECT_EQ(said, "<|end|><|user|>");
  EXPECT_EQ(rest, "<|user|><|assistant|>");
  // A role that no template names is somebody's word.
  pieces = t.render(std::vector<Turn>{{"end|><|x", "a"}});
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].said, (std::vector<std::pair<std::size_t, std::size_t>>{{2, 10}, {12, 13}}));
}
TEST_F(JinjaChats, WhatDoesNotFitIsSaid) {
  auto place = temp.path() + "/chat_template.jinja";
  auto two = chat("{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}"
                  "{{ raise_exception('no ' + m.role) }}{% endif %}{{ m.content }}{% endfor %}");
  EXPECT_EQ(error_of([&] { (void)two.render(kTurns); }), place + ":1: no system");
  auto deaf = chat("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}");
  EXPECT_EQ(error_of([&] { (void)deaf.ask(kTurns).text; }),
            "chat template " + place + ": turn 1 has the role 'system', of which the template writes nothing");
  EXPECT_EQ(error_of([&] { (void)deaf.render({}); }), "chat template " + place + ": a conversation without turns");
  EXPECT_EQ(error_of([&] { (void)chat("{{ a\n}\n}}"); }), place + ":2: '}' closes nothing");
  auto dated = chat("{{ strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}");
  std::vector<Turn> one{{"user", "u"}};
  auto undated = error_of([&] { (void)dated.render(one); });
  EXPECT_NE(undated.find("writes the date (strftime_now), and no day is given"), undated.npos) << undated;
  EXPECT_EQ(dated.on("2024-02-29").ask(one).text, "29 Feb 2024u");
  EXPECT_NE(dated.on("2024-02-29").identity(), dated.on("2024-03-01").identity());
  EXPECT_EQ(dated.on("now").ask(one).text.size(), 12U);
  for (auto day : {"", "2024", "2023-02-29", "2024-13-01", "24-01-01", "2024-1-011", "2024_01_01", "today"})
    EXPECT_NE(error_of([&] { (void)dated.on(day); }).find("a day is written YYYY-MM-DD"), std::string::npos) << day;
}
}  // namespace jinja_test
