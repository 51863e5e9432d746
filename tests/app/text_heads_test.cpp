// Answers in texts and vectors of texts by the command: training on one and two ranks, evaluation, what data shows,
// export and back; answers to questions, as transformers finds them; and what does not go together.
#include <nlohmann/json.hpp>
#include "bora/io/npy.h"
#include "command.h"

namespace text_heads_test {
using namespace bora;
namespace {
struct TextHeadsTest : CommandTest {
  std::string common = "train steps=4 warmup=0 batch=6 log_every=1 eval_every=0 checkpoint_every=4 data.hold_out=0.2 "
                       "tokenizer.type=bytes model.type=bert model.layers=1 model.embed=16 model.heads=2 "
                       "model.positions=40 \"data.sources=[{type: jsonl, path: " + folder + "/q.jsonl}]\" ";
  std::string answers = common + "model.head=qa data.task=qa ";
  std::string pairs(const std::string& score) const {
    return common + "model.head=embed \"data.task={type: pairs, first: question, second: context, score: " + score +
           "}\" ";
  }
  TextHeadsTest() {
    std::ofstream file(folder + "/q.jsonl");
    for (int i = 0; i < 60; ++i)
      file << R"({"question": "who )" << i << R"(", "context": "the )" << i * i << R"( met", "n": )" << i % 5 / 4.0
           << R"(, "answers": {"text": ["met"], "answer_start": [)" << 5 + std::to_string(i * i).size() << "]}}\n";
  }
  void same_on_two_ranks(const std::string& words, const std::string& name) const {
    auto one = run(words + "out=" + folder + "/" + name), two = run("launch -n 2 " + words + "out=" + folder + "/two");
    ASSERT_EQ(one.code, 0) << one.err;
    ASSERT_EQ(two.code, 0) << two.err;
    auto a = losses(folder + "/" + name), b = losses(folder + "/two");
    std::filesystem::remove_all(folder + "/two");
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * a[i]) << i;
  }
  void says(const std::string& words, const std::string& part) const {
    auto r = run(words);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find(part), r.out.npos) << r.out;
  }
};
}  // namespace

TEST_F(TextHeadsTest, AnswersAreTrainedAndMeasured) {
  same_on_two_ranks(answers, "a");
  says("eval " + folder + "/a", "eval/exact_match: ");
  says("eval " + folder + "/a", "eval/f1: ");
  says("data " + folder + "/a/config.yaml", "    + met\n");
  says("export " + folder + "/a " + folder + "/hf", "");
  EXPECT_NE(slurp(folder + "/hf/config.json").find("BertForQuestionAnswering"), std::string::npos);
  is_bad_input("classify " + folder + "/a", "predicts no classes");
  says("answer " + folder + "/a < " + folder + "/q.jsonl", R"({"index":59,"answer":")");
  is_bad_input(answers + "model.head=mlm out=" + folder + "/x", "its rows have spans of an answer to predict");
}
TEST_F(TextHeadsTest, AnswersAreThoseOfTransformers) {  // make_answers.py: with contexts of several parts
  using nlohmann::json;
  auto golden = test::source_dir() + "/tests/golden/";
  std::filesystem::copy(golden + "answers", folder + "/reader");
  std::filesystem::copy(golden + "tokenizer_word_piece.json", folder + "/reader/tokenizer.json");
  auto known = json::parse(slurp(golden + "answers/answers.json"));
  std::ofstream asked(folder + "/asked.jsonl");
  for (auto& item : known["items"]) asked << item.dump() << "\n\n";
  asked.close();
  auto r = run("answer " + folder + "/reader --overlap 5 < " + folder + "/asked.jsonl");
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::size_t n = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    auto got = json::parse(line), want = known["items"].at(n);
    EXPECT_EQ(got["index"], n);
    for (auto field : {"answer", "start", "end"}) EXPECT_EQ(got[field], want[field]) << want;
    EXPECT_NEAR(got["score"].get<double>(), want["score"].get<double>(), 1e-5) << want;
  }
  EXPECT_EQ(n, known["items"].size());
}
TEST_F(TextHeadsTest, QuestionsThatAreNoneAreOneLine) {
  std::filesystem::copy(test::source_dir() + "/tests/golden/answers", folder + "/reader");
  std::filesystem::copy(test::source_dir() + "/tests/golden/tokenizer_word_piece.json",
                        folder + "/reader/tokenizer.json");
  auto bad = [&](const std::string& line, const std::string& part) {
    std::ofstream(folder + "/asked.jsonl") << R"({"question": "a", "context": "b"})" << "\n" << line << "\n";
    is_bad_input("answer " + folder + "/reader < " + folder + "/asked.jsonl", part);
  };
  bad("what?", "answer: line 2");
  bad("[1]", "line 2: expected an object with the texts question and context; there is no 'question'");
  bad(R"({"question": "a", "context": 3})", "no text is 'context'");
  EXPECT_EQ(run("answer " + folder + "/reader < /dev/null").out, "");
}
TEST_F(TextHeadsTest, VectorsOfTextsAreTrainedOnPairs) {
  same_on_two_ranks(pairs("n"), "b");
  says("eval " + folder + "/b", "eval/spearman: ");
  says("data " + folder + "/b/config.yaml", "    + 0.25\n");
  auto contrast = pairs("''");
  same_on_two_ranks(contrast, "c");
  says("eval " + folder + "/c", "eval/accuracy: ");
  says("export " + folder + "/c " + folder + "/hf", "");
  EXPECT_NE(slurp(folder + "/hf/config.json").find("\"BertModel\""), std::string::npos);
  std::ofstream(folder + "/lines.txt") << "a text\nanother one\n";
  EXPECT_EQ(run("embed " + folder + "/c > " + folder + "/c.npy < " + folder + "/lines.txt").code, 0);
  EXPECT_EQ(load_npy(folder + "/c.npy").shape(), (Shape{2, 16}));
  is_bad_input("answer " + folder + "/c", "says not where answers stand");
  is_bad_input(contrast + "accumulate=2 out=" + folder + "/x", "accumulate: pairs without scores are compared");
  is_bad_input(pairs("n") + "model.head=mlm out=" + folder + "/x", "how texts go together to predict");
}
}  // namespace text_heads_test
