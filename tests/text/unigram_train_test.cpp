// Training of unigram models by SentencePiece: the pieces of the .model, and texts that cannot give enough.
#include "bora/text/unigram_train.h"
#include <gtest/gtest.h>
#include <set>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "support/throws.h"

namespace unigram_train_test {
using namespace bora;
namespace {
struct Piece {
  std::string text;
  std::uint64_t kind = 1;  // 1 normal, 2 unknown, 3 control, 4 user's, 6 a byte
};
std::uint64_t number(std::string_view& s) {
  std::uint64_t n = 0;
  for (int shift = 0;; shift += 7) {
    auto c = static_cast<unsigned char>(s.at(0));
    s.remove_prefix(1);
    n |= static_cast<std::uint64_t>(c & 0x7f) << shift;
    if (c < 0x80) return n;
  }
}
/// Calls f(field, number, bytes) for each field of a protobuf message.
template <class F> void each_field(std::string_view s, F&& f) {
  while (!s.empty()) {
    auto tag = number(s);
    std::uint64_t n = 0;
    std::string_view bytes;
    if ((tag & 7) == 0) n = number(s);
    else {
      auto size = (tag & 7) == 2 ? number(s) : (tag & 7) == 1 ? 8 : 4;
      bytes = s.substr(0, size);
      s.remove_prefix(bytes.size());
    }
    f(tag >> 3, n, bytes);
  }
}
std::vector<Piece> pieces_of(const std::string& model) {
  std::vector<Piece> pieces;
  each_field(model, [&](auto field, auto, auto bytes) {
    if (field != 1) return;
    auto& piece = pieces.emplace_back();
    each_field(bytes, [&](auto part, auto n, auto text) {
      if (part == 1) piece.text = text;
      if (part == 3) piece.kind = n;
    });
  });
  return pieces;
}
text::Lines lines_of(std::string_view content) {
  text::Lines lines;
  lines.add(content);
  return lines;
}
/// Sentences of some words, with a character that is rare now and then.
std::string prose() {
  const std::vector<std::string> words{"the",  "rank",    "of",     "a",   "mesh", "meet",  "before",  "first", "step",
                                       "they", "address", "change", "ing", "s",    "er",    "ed",      "un",    "re",
                                       "able", "ment",    "block",  "sum", "loss", "token", "gradient"};
  std::string text;
  unsigned x = 1;
  auto draw = [&](std::size_t n) { return (x = x * 1664525 + 1013904223) >> 8 & 0xffff ? (x >> 8) % n : 0; };
  for (unsigned i = 0; i < 8000; ++i) {
    for (auto n = 1 + draw(3); n > 0; --n) text += words[draw(words.size())];
    text += i % 11 == 10 ? ".\n" : " ";
    if (i % 997 == 0) text += "é語" + std::to_string(i) + "😀 ";
  }
  return text;
}
std::string problem_with(const text::Lines& lines, const text::UnigramTraining& options) {
  return test::error_of<ConfigError>([&] { (void)text::train_unigram(lines, options); });
}
}  // namespace

TEST(UnigramTraining, HasPiecesBytesAndSpecials) {
  auto lines = lines_of(prose());
  for (std::int64_t vocab : {261, 300, 400}) {
    auto pieces = pieces_of(text::train_unigram(lines, {vocab, {}}));
    ASSERT_EQ(pieces.size(), static_cast<std::size_t>(vocab));
    EXPECT_EQ(pieces[0].text, "<unk>");
    EXPECT_EQ(pieces[1].text, "<s>");
    EXPECT_EQ(pieces[2].text, "</s>");
    std::set<std::string> texts;
    int bytes = 0, longer = 0;
    for (auto& p : pieces) {
      texts.insert(p.text);
      bytes += p.kind == 6;
      longer += p.kind == 1 && p.text.size() > 4;
    }
    EXPECT_EQ(texts.size(), pieces.size());
    EXPECT_EQ(bytes, 256);
    EXPECT_TRUE(texts.contains("\u2581"));
    // Half of the pieces of a small vocabulary are not characters; rare characters are left to the bytes.
    EXPECT_TRUE(vocab < 300 || longer > 5) << longer;
    EXPECT_EQ(texts.contains("😀"), vocab == 400);
    EXPECT_EQ(texts.contains("\u2581the"), vocab > 261);
  }
  auto pieces = pieces_of(text::train_unigram(lines, {300, {"<|im_start|>", "<|im_end|>"}}));
  ASSERT_EQ(pieces.size(), 300U);
  EXPECT_EQ(pieces[3].text, "<|im_start|>");
  EXPECT_EQ(pieces[4].text, "<|im_end|>");
  EXPECT_EQ(pieces[4].kind, 4U);
}
TEST(UnigramTraining, IsTheSameEveryTime) {
  auto lines = lines_of(prose());
  auto model = text::train_unigram(lines, {350, {}});
  ThreadScope scope(1);
  EXPECT_EQ(text::train_unigram(lines, {350, {}}), model);
}
TEST(UnigramTraining, SaysWhatIsPossible) {
  for (auto content : {"a small text\n", "héllo wörld, 語", "aaaa bbbb aaaa", "x"}) {
    auto few = lines_of(content);
    const std::string begin = "the text has too few pieces for a unigram vocabulary of 1000; ";
    auto error = problem_with(few, {1000, {}});
    ASSERT_TRUE(error.starts_with(begin) && error.ends_with(" are possible")) << error;
    auto most = std::stoll(error.substr(begin.size()));
    EXPECT_EQ(problem_with(few, {most, {}}), "no error") << content << " " << most;
    EXPECT_EQ(problem_with(few, {most + 1, {}}).find("; " + std::to_string(most) + " are possible") != error.npos, true)
        << content;
  }
  EXPECT_EQ(problem_with(lines_of("a"), {260, {}}),
            "a unigram vocabulary of 260 is too small: there are 259 tokens besides pieces");
  EXPECT_EQ(problem_with({}, {300, {}}), "the texts have only empty lines: there is nothing to train on");
}
TEST(UnigramTraining, LinesAreShortWholeAndUtf8) {
  EXPECT_EQ(lines_of("a\r\n\n b\nc").all(), (std::vector<std::string>{"a", " b", "c"}));
  EXPECT_EQ(lines_of("\n\r\n").all(), std::vector<std::string>{});
  EXPECT_EQ(lines_of("a\xff z").all(), std::vector<std::string>{"a\uFFFD z"});
  std::string words, signs;
  while (words.size() < 10000) words += " word" + std::to_string(words.size());
  while (signs.size() < 10000) signs += "語";
  for (auto& text : {words, signs}) {
    std::string all;
    auto lines = lines_of(text);
    for (auto& line : lines.all()) {
      EXPECT_LE(line.size(), 4000U);
      EXPECT_TRUE(line[0] == ' ' || line.starts_with("語"));
      all += line;
    }
    EXPECT_EQ(all, text);
  }
}
}  // namespace unigram_train_test
