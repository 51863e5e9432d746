// Rows of questions: the span of tokens that is learnt is the answer, whatever the tokenizer; long texts become several
// rows; what an answer may look like in a file. And rows of pairs of texts.
#include "bora/data/data.h"
#include "bora/text/tokenizer.h"
#include "corpus.h"
#include "support/places.h"

namespace bora::data::text_tasks_test {
namespace {
struct Questions : Corpus {
  Datasets open(const std::string& name, const std::string& lines, const std::string& task, const std::string& file,
                std::int64_t positions = 40) {
    write(name, lines);
    config::Choice<Data> data;
    auto text = "type: corpus\nsources: [{type: " + name.substr(name.find('.') + 1) +
                ", path: " + (folder / name).string() + "}]\nhold_out: 0\ntask: {type: qa" + task + "}\n";
    data.read(config::parse_yaml(text, "test"), "data", {});
    data.check("data");
    data->check_files(positions);
    tokenizer = text::open_tokenizer({"type=huggingface", "add_special_tokens=true",
                                      "path=" + test::source_dir() + "/tests/golden/tokenizer_" + file});
    return data->open({tokenizer, positions});
  }
  std::shared_ptr<const text::Tokenizer> tokenizer;
  /// The answer of a row; "" if it is the first token.
  std::string answer(const Datasets& d, std::int64_t index) const {
    auto r = row(d, index);
    EXPECT_EQ(r.weights[0], 0.5F);
    EXPECT_EQ(r.weights[1], 0.5F);
    EXPECT_EQ(std::count(r.weights.begin(), r.weights.end(), 0.0F), std::ssize(r.weights) - 2);
    if (r.targets[1] == 0) return "";
    EXPECT_EQ(r.token_types[static_cast<std::size_t>(r.targets[0])], 1);
    auto text = tokenizer->decode({r.tokens.data() + r.targets[0], r.tokens.data() + r.targets[1] + 1});
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  }
  static Rows row(const Datasets& d, std::int64_t index) {
    auto r = Rows::zeros(0, 1, d.shape);
    d.train.parts()[0].rows->at({index}, r.row(0));
    return r;
  }
};
std::string line(const std::string& context, const std::string& answers) {
  return "{\"question\": \"who met\", \"context\": \"" + context + "\", \"answers\": " + answers + "}\n";
}
}  // namespace

TEST_F(Questions, TheSpanIsTheAnswer) {
  auto lines = line("the ranks met", R"({"text": ["ranks"], "answer_start": [4]})") +
               line("ranks", R"({"text": ["ranks"], "answer_start": [0]})") +
               line("so, all \u00e4 ranks met.", R"([{"text": "all \u00e4 ranks", "answer_start": 4}])") +
               line("the rank2 met", R"({"text": "met", "answer_start": 10})") +
               line("nobody", R"({"text": [], "answer_start": []})") + line("nobody", "null");
  for (std::string file : {"word_piece.json", "gpt2.json", "llama3.json"}) {
    SCOPED_TRACE(file);
    auto d = open("q.jsonl", lines, "", file, 60);
    EXPECT_TRUE(d.shape.token_types && d.shape.in_place);
    ASSERT_EQ(d.train.size(), 6);
    EXPECT_EQ(answer(d, 0), "ranks");
    EXPECT_EQ(answer(d, 1), "ranks");
    EXPECT_NE(answer(d, 2).find("ranks"), std::string::npos);
    EXPECT_EQ(answer(d, 2).find("met"), std::string::npos);
    EXPECT_EQ(answer(d, 3), "met");
    EXPECT_EQ(answer(d, 4), "");
    EXPECT_EQ(answer(d, 5), "");
  }
}
TEST_F(Questions, APartOfATokenIsTheToken) {
  auto d = open("q.jsonl", line("the ranks met", R"({"text": "rank", "answer_start": 4})"), "", "word_piece.json");
  EXPECT_NE(answer(d, 0).find("rank"), std::string::npos);
  EXPECT_EQ(answer(d, 0).find("met"), std::string::npos);
}
TEST_F(Questions, LongTextsAreSeveralRows) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "the ranks meet ";
  text += "all";
  auto answers = "{\"text\": [\"all\"], \"answer_start\": [" + std::to_string(text.size() - 3) + "]}";
  auto whole = open("q.jsonl", line(text, answers), "", "word_piece.json", 400);
  ASSERT_EQ(whole.train.size(), 1);
  auto ids = row(whole, 0);
  auto type_of = [](const Rows& r, std::int64_t i) { return r.token_types[static_cast<std::size_t>(i)]; };
  std::int64_t first = 0;
  while (type_of(ids, first) == 0) ++first;
  auto n = ids.filled[0] - first - 1;  // of the text, without the last special token
  for (std::int64_t overlap : {0, 5, 1000}) {
    auto d = open("q.jsonl", line(text, answers), ", overlap: " + std::to_string(overlap), "word_piece.json", 24);
    auto room = 24 - first - 1, step = room - std::min(overlap, room / 2);
    EXPECT_EQ(d.train.size(), 1 + (n - room + step - 1) / step) << overlap;
    std::int64_t filled = 0;
    for (std::int64_t r = 0; r < d.train.size(); ++r) {
      auto part = row(d, r);
      filled += part.filled[0];
      EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.begin() + first, ids.tokens.begin())) << r;
      auto from = ids.tokens.begin() + first + r * step;
      EXPECT_TRUE(std::equal(part.tokens.begin() + first, part.tokens.begin() + part.filled[0] - 1, from)) << r;
      EXPECT_EQ(answer(d, r), r + 1 == d.train.size() ? "all" : "") << r;
    }
    EXPECT_EQ(filled, d.train.parts()[0].rows->filled());
  }
}
TEST_F(Questions, AnAnswerMayHaveFieldsOfItsOwn) {
  auto d = open("q.csv", "question,context,text,at\r\nwho,the ranks met,ranks,4\r\nwho,nobody,,\r\n",
                ", answers: text, answer_start: at", "word_piece.json");
  EXPECT_EQ(answer(d, 0), "ranks");
  EXPECT_EQ(answer(d, 1), "");
}
TEST_F(Questions, SayWhatIsWrong) {
  auto refused = [&](const std::string& lines, const std::string& words, std::int64_t positions = 40) {
    auto said = test::error_of([&] { (void)open("q.jsonl", lines, "", "word_piece.json", positions); });
    EXPECT_NE(said.find(words), said.npos) << said;
  };
  refused(line("the ranks met", R"({"text": "ranks", "answer_start": 5})"),
          "q.jsonl:1: the answer 'ranks' does not stand at character 5 of the field 'context'");
  refused(line("the ranks met", R"({"text": "ranks", "answer_start": 99})"), "does not stand at character 99");
  refused(line("the ranks met", "5"), "the field 'answers' is a number; answers are expected");
  refused(line("the", R"({"text": "the", "answer_start": 0})"), "model.positions: the 3 tokens around texts", 4);
}
/// Two texts a row, each as the tokenizer has it alone.
TEST(TextPairs, StandInTheHalvesOfARow) {
  test::TempFolder temp;
  auto path = temp.write("p.csv", "a,b,c\r\nthe ranks,met,4\r\nthe ranks met and the ranks met again,,1\r\n");
  auto tokenizer = text::open_tokenizer({"type=huggingface", "add_special_tokens=true",
                                         "path=" + test::source_dir() + "/tests/golden/tokenizer_word_piece.json"});
  for (std::string score : {"c, highest: 5", "''"}) {
    config::Choice<Data> data;
    auto yaml = "type: corpus\nsources: [{type: csv, path: " + path +
                "}]\nhold_out: 0\ntask: {type: pairs, first: a, second: b, score: " + score + "}\n";
    data.read(config::parse_yaml(yaml, "test"), "data", {});
    data.check("data");
    data->check_files(6);
    auto d = data->open({tokenizer, 6});
    EXPECT_TRUE(d.shape.pairs && d.shape.in_place);
    ASSERT_EQ(d.shape.positions, 12);
    auto rows = Rows::zeros(0, 2, d.shape);
    std::int64_t filled = 0;
    for (std::int64_t r : {0, 1}) d.train.parts()[0].rows->at({r}, rows.row(r)), filled += *rows.row(r).filled;
    EXPECT_EQ(filled, d.train.parts()[0].rows->filled());
    for (auto [text, at, whole] : {std::tuple("the ranks", 0, true), {"met", 6, true},
                                   {"the ranks met and the ranks met again", 12, false}, {"", 18, true}}) {
      auto ids = tokenizer->encode(text);
      auto n = std::min<std::size_t>(ids.size(), 6);
      EXPECT_EQ(ids.size() == n, whole);
      for (std::size_t i = 0; i < 6; ++i) {
        auto place = static_cast<std::size_t>(at) + i;
        EXPECT_EQ(rows.weights[place], i < n) << place;
        if (i + 1 < n) { EXPECT_EQ(rows.tokens[place], ids[i]) << place; }
        if (i + 1 == n) { EXPECT_EQ(rows.tokens[place], ids.back()) << place; }
      }
    }
    ASSERT_EQ(rows.values.empty(), score == "''");
    if (!rows.values.empty()) {
      EXPECT_FLOAT_EQ(rows.values[0], 0.8F);
      EXPECT_FLOAT_EQ(rows.values[12], 0.2F);
    }
  }
}
}  // namespace bora::data::text_tasks_test
