// Chat templates: texts and learnt parts as `transformers` gives them, files, Jinja, and what is refused.
#include "bora/text/chat.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "laws/effort.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "text/api/chat_layout.h"

namespace fs = std::filesystem;
namespace chat_test {
using namespace bora;
using nlohmann::json;
using text::ChatTemplate, text::chat_template_of, text::Piece, text::Turn;
namespace {
const json& golden() {
  static const auto all = json::parse(std::ifstream(test::source_dir() + "/tests/golden/chat.json"));
  return all;
}
std::vector<Turn> turns_of(const json& c) {
  std::vector<Turn> turns;
  for (auto& t : c["turns"]) turns.push_back({t[0], t[1]});
  return turns;
}
using bora::test::error_of;
std::string text_of(const std::vector<Piece>& pieces) {
  std::string all;
  for (auto& p : pieces) all += p.text;
  return all;
}
struct ChatFiles : testing::Test {
  test::TempFolder temp;
  fs::path folder = temp.path();
  std::string write(const std::string& name, const std::string& text) const { return temp.write(name, text); }
  /// The error of a file of lines, from the number of its line on.
  std::string file_error(const std::string& text) const {
    auto path = write("t.chat", text);
    auto e = error_of([&] { (void)chat_template_of(path); });
    return e.starts_with(path + ":") ? e.substr(path.size() + 1) : e;
  }
};
/// That a template gives all golden texts of a family. Templates in Jinja refuse less than layouts do.
void is_family(const ChatTemplate& t, const std::string& family, bool jinja = false) {
  int given = 0, refused = 0;
  for (auto& c : golden()["cases"]) {
    auto turns = turns_of(c);
    auto& row = c[family];
    if (row.is_null()) {
      EXPECT_TRUE(jinja || error_of([&] { (void)t.render(turns); }) != "no error") << family << " " << c["turns"];
      ++refused;
      continue;
    }
    auto pieces = t.render(turns);
    std::string all;
    std::vector<std::vector<std::size_t>> learnt;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_FALSE(pieces[i].text.empty());
      EXPECT_TRUE(i == 0 || pieces[i].learnt != pieces[i - 1].learnt);
      if (pieces[i].learnt) learnt.push_back({all.size(), all.size() + pieces[i].text.size()});
      all += pieces[i].text;
    }
    EXPECT_EQ(all, row["text"].get<std::string>()) << family << " " << c["turns"];
    // Neighbours are one piece: an assistant that answers itself without a text between.
    std::vector<std::vector<std::size_t>> ranges;
    for (auto& r : row["learnt"]) {
      if (!ranges.empty() && ranges.back()[1] == r[0]) ranges.back()[1] = r[1];
      else ranges.push_back(r.get<std::vector<std::size_t>>());
    }
    EXPECT_EQ(learnt, ranges) << family << " " << c["turns"];
    if (row.contains("prompt")) EXPECT_EQ(t.ask(turns).text, all + row["prompt"].get<std::string>()) << c["turns"];
    else EXPECT_TRUE(jinja || error_of([&] { (void)t.ask(turns).text; }) != "no error") << family << " " << c["turns"];
    ++given;
  }
  EXPECT_GE(given + refused, 60);
  EXPECT_GE(given, 40) << family;
}
}  // namespace

TEST(Chat, EveryKnownNameGivesTheTextsOfTransformers) {
  EXPECT_EQ(text::chat_template_names().size(), golden()["families"].size());
  for (auto& name : text::chat_template_names()) {
    ASSERT_TRUE(golden()["families"].contains(name)) << name;
    auto t = chat_template_of(name);
    EXPECT_EQ(t.name(), name);
    is_family(t, name);
  }
}
TEST(Chat, ALearntPieceContinuesThePrompt) {
  for (auto& name : text::chat_template_names()) {
    auto t = chat_template_of(name);
    std::vector<Turn> turns{{"user", " a\n"}, {"assistant", "b"}, {"user", "</s>"}, {"assistant", ""}, {"user", "e"}};
    auto pieces = t.render(turns);
    std::string before;
    std::size_t k = 0;
    for (auto& p : pieces) {
      if (p.learnt) {
        k += 2;
        EXPECT_EQ(t.ask(std::span(turns).first(k - 1)).text, before) << name;
      }
      before += p.text;
    }
    EXPECT_EQ(k, 4U) << name;
  }
}
TEST(Chat, TurnsThatDoNotFitAreNamed) {
  auto error = [](const std::string& name, std::vector<Turn> turns) {
    return error_of([&] { (void)chat_template_of(name).render(turns); });
  };
  auto asked = [](const std::string& name, std::vector<Turn> turns) {
    return error_of([&] { (void)chat_template_of(name).ask(turns).text; });
  };
  EXPECT_EQ(error("chatml", {}), "chat template chatml: a conversation without turns");
  EXPECT_EQ(
      error("llama-2", {{"user", ""}, {"assistant", ""}, {"assistant", ""}}),
      "chat template llama-2: turn 3 has the role 'assistant', expected user: user and assistant must take turns, "
      "after at most one system turn");
  EXPECT_EQ(
      error("mistral", {{"assistant", ""}}),
      "chat template mistral: turn 1 has the role 'assistant', expected user: user and assistant must take turns");
  EXPECT_EQ(error("gemma", {{"system", ""}}),
            "chat template gemma: turn 1 has the role 'system'; there are user, "
            "assistant");
  EXPECT_EQ(error("alpaca", {{"system", ""}, {"system", ""}}),
            "chat template alpaca: turn 2 has the role 'system', expected user: user and assistant must take turns, "
            "after at most one system turn");
  EXPECT_EQ(error("zephyr", {{"user", ""}, {"tool", ""}}),
            "chat template zephyr: turn 2 has the role 'tool'; there are system, user, assistant");
  EXPECT_EQ(asked("llama-2", {{"system", ""}, {"user", ""}, {"assistant", ""}}),
            "chat template llama-2: there is nothing to answer after turn 3: the next one is the user's");
  EXPECT_EQ(asked("gemma", {{"user", ""}}), "no error");
}

// ---- templates in Jinja ---------------------------------------------------------------------------------------------
TEST_F(ChatFiles, JinjaGivesTheTextsOfTransformers) {
  for (auto& [name, family] : golden()["families"].items()) {
    auto config = json{{"chat_template", family["jinja"]}};
    for (auto token : {"bos", "eos"})
      if (family[token] != "") config[std::string(token) + "_token"] = family[token];
    write("tokenizer_config.json", config.dump());
    is_family(chat_template_of("", folder.string()), name, true);
  }
}
TEST_F(ChatFiles, TheFolderIsAsked) {
  auto said = [&](const std::string& setting = "") {
    return text_of(chat_template_of(setting, folder.string()).render(std::vector<Turn>{{"user", "a"}}));
  };
  auto where = folder.string();
  EXPECT_NE(error_of([&] { (void)chat_template_of(""); }).find("no tokenizer's folder"), std::string::npos);
  EXPECT_TRUE(error_of([&] { said(); }).starts_with(where + " has no chat template (no chat_template.jinja, "));
  EXPECT_EQ(said("chatml"), "<|im_start|>user\na<|im_end|>\n");
  EXPECT_EQ(said("mistral"), "<s>[INST] a [/INST]");
  auto mistral = golden()["families"]["mistral"]["jinja"], chatml = golden()["families"]["chatml"]["jinja"];
  write("tokenizer_config.json",
        json{{"bos_token", {{"content", "<B>"}}}, {"eos_token", "<E>"}, {"chat_template", mistral}}.dump());
  EXPECT_EQ(said(), "<B>[INST] a [/INST]");
  EXPECT_EQ(said("zephyr"), "<|user|>\na<E>\n");
  EXPECT_EQ(text_of(chat_template_of("", where + "/tokenizer.json").render(std::vector<Turn>{{"user", "a"}})), said());
  write(
      "tokenizer_config.json",
      json{{"bos_token", nullptr},
           {"eos_token", "<E>"},
           {"chat_template", {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", mistral}}}}}
          .dump());
  EXPECT_EQ(said(), "[INST] a [/INST]");
  write("chat_template.jinja", chatml.get<std::string>());
  EXPECT_EQ(said(), "<|im_start|>user\na<|im_end|>\n");
  write("chat_template.jinja", "{% for m in messages %}{{ bos_token }}{{ m.content }}{% endfor %}");
  EXPECT_EQ(said(), "a");
  EXPECT_EQ(said(where + "/chat_template.jinja"), "a");
  fs::remove(folder / "chat_template.jinja");
  auto config = [&](const json& j) {
    write("tokenizer_config.json", j.dump());
    auto e = error_of([&] { said(); });
    EXPECT_TRUE(e.starts_with(where + "/tokenizer_config.json: ") || e.starts_with("chat_template: ")) << e;
    return e.substr(e.find(": ") + 2);
  };
  EXPECT_EQ(config(3), "expected a JSON object");
  EXPECT_EQ(config({{"bos_token", 3}}), "bos_token: expected a text");
  EXPECT_EQ(config({{"chat_template", 3}}), "chat_template: expected a text, or a list with one that is named default");
  EXPECT_EQ(config({{"chat_template", json::array()}}).substr(0, 31), "chat_template: expected a text,");
  EXPECT_TRUE(error_of([&] {
                said("mistrall");
              }).starts_with("chat_template=mistrall: there is no such file and no such template; known are chatml"));
  EXPECT_NE(error_of([&] { said(where); }).find("cannot read " + where + ": it is a folder"), std::string::npos);
}

// ---- templates in files ---------------------------------------------------------------------------------------------
TEST_F(ChatFiles, LinesOfRoles) {
  auto path = write("t.chat",
                    "# mine\n\nbegin: <s>\\s\r\n  user :  U\\n{user}\\t\\{\\}\\\\#\\n  \n"
                    "assistant: A{assistant}</s>{stop}\\n\ntool: T{tool}\nstrip: yes");
  auto t = chat_template_of(path);
  EXPECT_EQ(t.name(), path);
  std::vector<Turn> turns{{"user", " {user}\n"}, {"tool", "7"}, {"assistant", "b "}, {"assistant", ""}};
  std::vector<Piece> want{
      {"<s> U\n{user}\t{}\\#\nT7A", false, {{6, 12}, {19, 20}}}, {"b</s>", true, {{0, 1}}}, {"\nA"}, {"</s>", true},
      {"\n"}};
  EXPECT_EQ(t.render(turns), want);
  EXPECT_EQ(t.ask(turns).text, text_of(want) + "A");
  turns.push_back({"system", ""});
  EXPECT_EQ(error_of([&] { (void)t.render(turns); }),
            "chat template " + path + ": turn 5 has the role 'system'; there are user, assistant, tool");
  // The families that a file can say are the same by a file.
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  path = write("alpaca.chat",
               "begin: {bos}\nalternate: on\nuser: ### Instruction:\\n{user}\\n\\n\n"
               "assistant: ### Response:\\n{assistant}{eos}{stop}\\n\\n\nsystem: {system}\\n\\n\n");
  auto mine = chat_template_of(path, folder.string()), known = chat_template_of("alpaca");
  turns = {{"system", "s"}, {"user", "a"}, {"assistant", "b"}, {"user", "c"}};
  EXPECT_EQ(mine.render(turns), known.render(turns));
  EXPECT_EQ(mine.ask(turns).text, known.ask(turns).text);
  turns.push_back({"user", "d"});
  EXPECT_NE(error_of([&] { (void)mine.render(turns); }).find("turn 5 has the role 'user', expected assistant"),
            std::string::npos);
}
TEST_F(ChatFiles, MistakesHaveTheirLines) {
  const std::string good = "user: {user}\nassistant: {assistant}\n";
  EXPECT_EQ(file_error(good), "no error");
  EXPECT_EQ(file_error(""), " there is no line 'user: ...'");
  EXPECT_EQ(file_error("user: {user}\n"), " there is no line 'assistant: ...'");
  EXPECT_EQ(file_error(good + "\nwhat"), "4: expected `role: text`, got 'what'");
  EXPECT_EQ(file_error("a b: x"), "1: expected `role: text`, got 'a b: x'");
  EXPECT_EQ(file_error(good + "user: {user}"), "3: there is a line 'user' already");
  EXPECT_EQ(file_error(good + "strip: maybe"), "3: strip must be yes or no, got 'maybe'");
  EXPECT_EQ(file_error("user: x"), "1: the text of 'user' needs {user}, the place of what is said");
  EXPECT_EQ(file_error("user: {user}{user}"), "1: {user} stands there twice");
  EXPECT_EQ(file_error("user: {usr}"), "1: unknown placeholder {usr}; for a brace as it is write \\{");
  EXPECT_EQ(file_error("begin: {user}"), "1: unknown placeholder {user}; for a brace as it is write \\{");
  EXPECT_EQ(file_error("user: {user"), "1: '{' has no '}'; for a brace as it is write \\{");
  EXPECT_EQ(file_error("user: \\q"), "1: '\\q': there are \\n \\t \\s \\\\ \\{ \\}");
  EXPECT_EQ(file_error("user: \\"), "1: '\\': there are \\n \\t \\s \\\\ \\{ \\}");
  EXPECT_EQ(file_error("user: {stop}{user}"),
            "1: {stop} stands once, behind {assistant}, in the line of the assistant");
  EXPECT_EQ(file_error("assistant: {stop}{assistant}"),
            "1: {stop} stands once, behind {assistant}, in the line of the assistant");
  EXPECT_EQ(file_error("user: {user}{eos}"),
            "1: {eos}: the tokenizer's folder has no tokenizer_config.json with eos_token; write the token out");
  EXPECT_EQ(file_error("user: \xff"), "1: the file is not UTF-8");
}
}  // namespace chat_test
