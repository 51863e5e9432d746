// Rows of pairs of answers: texts, chats, and what is learnt of them.
#include "bora/data/data.h"
#include "bora/text/tokenizer.h"
#include "corpus.h"

namespace bora::data::preference_test {
namespace {
struct Preferences : Corpus {
  Datasets open(const std::string& lines, const std::string& task, std::int64_t positions = 24) {
    write("pairs.jsonl", lines);
    config::Choice<Data> data;
    auto text = "type: corpus\nsources: [{type: jsonl, path: " + (folder / "pairs.jsonl").string() +
                "}]\nhold_out: 0\ntask: {type: preference" + task + "}\n";
    data.read(config::parse_yaml(text, "test"), "data", {});
    data.check("data");
    data->check_files(positions);
    config::Choice<text::TokenizerKind> tokenizer;  // bytes
    return data->open({tokenizer->open(), positions});
  }
  /// What the first or second half of a row says, and of it what is learnt.
  struct Half {
    std::string text, learnt;
  };
  static Half half(const Datasets& d, std::int64_t index, std::int64_t which) {
    auto rows = Rows::zeros(0, 1, d.shape);
    d.train.parts()[0].rows->at({index}, rows.row(0));
    auto n = d.shape.positions / 2;
    Half h;
    bool ends = false;
    for (auto i = static_cast<std::size_t>(which * n); i < static_cast<std::size_t>((which + 1) * n); ++i) {
      if (h.text.empty()) h.text += static_cast<char>(rows.tokens[i]);
      ends = ends || rows.targets[i] == 0;
      if (ends) break;
      h.text += static_cast<char>(rows.targets[i]);
      if (rows.weights[i] > 0) h.learnt += static_cast<char>(rows.targets[i]);
    }
    return h;
  }
};
TEST_F(Preferences, TextsShareTheirPrompt) {
  auto d = open("{\"prompt\": \"ab\", \"chosen\": \"cd\", \"rejected\": \"xyz\"}\n"
                "{\"prompt\": \"q\", \"chosen\": \"0123456789\", \"rejected\": \"r\"}\n",
                "", 6);
  EXPECT_TRUE(d.shape.pairs);
  EXPECT_EQ(d.shape.positions, 12);
  ASSERT_EQ(d.train.size(), 2);
  EXPECT_EQ(half(d, 0, 0).text, "abcd\n");
  EXPECT_EQ(half(d, 0, 0).learnt, "cd\n");
  EXPECT_EQ(half(d, 0, 1).text, "abxyz\n");
  EXPECT_EQ(half(d, 0, 1).learnt, "xyz\n");
  EXPECT_EQ(half(d, 1, 0).learnt, "012345");  // its end is cut
  EXPECT_EQ(half(d, 1, 1).learnt, "r\n");
  EXPECT_EQ(d.train.parts()[0].rows->filled(), 4 + 5 + 6 + 2);
  EXPECT_EQ(open("{\"prompt\": \"ab\", \"chosen\": \"cd\", \"rejected\": \"xyz\"}\n"
                 "{\"prompt\": \"q\", \"chosen\": \"0123456789\", \"rejected\": \"r\"}\n",
                 ", too_long: drop", 6)
                .train.size(),
            1);
}
TEST_F(Preferences, ChatsLearnTheAnswersTurnsAlone) {
  const std::string said = "{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": \"Yo\"}, "
                           "{\"role\": \"user\", \"content\": \"More\"}";
  auto turn = [](const std::string& text) { return "{\"role\": \"assistant\", \"content\": \"" + text + "\"}"; };
  auto apart = open("{\"prompt\": [" + said + "], \"chosen\": [" + turn("good") + "], \"rejected\": [" + turn("bad") +
                        "]}\n",
                    ", chat_template: chatml", 256);
  auto whole = open("{\"chosen\": [" + said + ", " + turn("good") + "], \"rejected\": [" + said + ", " + turn("bad") +
                        "]}\n",
                    ", prompt: '', chat_template: chatml", 256);
  for (auto* d : {&apart, &whole}) {
    EXPECT_NE(half(*d, 0, 0).text.find("Yo"), std::string::npos);
    EXPECT_EQ(half(*d, 0, 0).learnt.substr(0, 4), "good");
    EXPECT_EQ(half(*d, 0, 1).learnt.substr(0, 3), "bad");
    EXPECT_EQ(half(*d, 0, 0).learnt.find("Yo"), std::string::npos);
  }
  EXPECT_EQ(half(apart, 0, 0).text, half(whole, 0, 0).text);
  EXPECT_EQ(half(apart, 0, 1).learnt, half(whole, 0, 1).learnt);
}
TEST_F(Preferences, BadPairsAreNamed) {
  auto error = [&](const std::string& line, const std::string& task, std::int64_t positions = 24) {
    return test::error_of<ConfigError>([&] { (void)open(line, task, positions); });
  };
  EXPECT_NE(error("{\"prompt\": \"a\", \"chosen\": \"b\"}\n", "").find("pairs.jsonl:1: "), std::string::npos);
  EXPECT_NE(error("{\"chosen\": [{\"role\": \"user\", \"content\": \"a\"}], \"rejected\": [{\"role\": \"user\", "
                  "\"content\": \"a\"}]}\n",
                  ", chat_template: chatml")
                .find("pairs.jsonl:1: chosen and rejected are the same"),
            std::string::npos);
  EXPECT_NE(error("{\"prompt\": \"abcdefgh\", \"chosen\": \"b\", \"rejected\": \"c\"}\n", "", 4)
                .find("its prompt has 8 tokens and leaves none of model.positions, 4"),
            std::string::npos);
  EXPECT_NE(error("{\"prompt\": \"ab\", \"chosen\": \"bcde\", \"rejected\": \"c\"}\n", ", too_long: error", 4)
                .find("more than model.positions, 4"),
            std::string::npos);
  EXPECT_NE(error("{\"prompt\": \"ab\", \"chosen\": \"b\", \"rejected\": \"c\"}\n", ", prompt: ''").find("prompt"),
            std::string::npos);
}
}  // namespace
}  // namespace bora::data::preference_test
