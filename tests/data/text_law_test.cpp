// The law of texts: every token of every row, to train on or to evaluate, stands in the source at that place; nothing
// is lost or doubled; and where two pieces of a source meet there is a sign of it. For every kind of source, tokenizer
// and share that is held out.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include "bora/base/text.h"
#include "bora/data/around.h"
#include "bora/data/data.h"
#include "bora/data/windows.h"
#include "bora/shard/mesh.h"
#include "data/corpus.h"
#include "support/files.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace bora::data::text_law_test {
namespace {
using Ids = std::vector<std::int32_t>;
const std::string kGolden = test::source_dir() + "/tests/golden/";
std::string repeated(const std::string& s, int n) {
  std::string all;
  while (n-- > 0) all += s;
  return all;
}
std::string counted(int n, const std::string& before, const std::string& behind) {
  std::string all;
  for (int i = 0; i < n; ++i) all += before + std::to_string(i) + behind;
  return all;
}
/// A source: the files of a folder, by name. Texts are hard to cut.
struct Sample {
  std::string name;
  std::map<std::string, std::string> files = {};
  bool ids = false;  // a text of ids
};
std::vector<Sample> samples() {
  std::string words, chinese, mixed;
  for (int i = 0; i < 90; ++i) words += i % 3 == 0 ? "alpha " : i % 3 == 1 ? "beta " : "gamma delta ";
  for (int i = 0; i < 300; ++i) chinese += i % 2 ? "\u7f51\u7edc" : "\u5f88\u6162\u3002";
  for (int i = 0; i < 60; ++i)
    mixed += "e\u0301\u0323 \u0928\u092e\u0938\u094d\u0924\u0947 \U0001f469\u200d\U0001f467 na\u00efve ";
  auto digits = counted(400, "", " ");
  return {{"words", {{"t", words}}},
          {"words without a last blank", {{"t", words.substr(0, words.size() - 1)}}},
          {"a few words", {{"t", "alpha beta gamma delta alpha beta gamma delta alpha beta gamma delta and the last"}}},
          {"chinese", {{"t", chinese}}},
          {"marks and joiners", {{"t", mixed}}},
          {"carriage returns", {{"t", counted(80, "line ", " ends so\r\n")}}},
          {"old carriage returns", {{"t", counted(80, "line ", " ends so\r")}}},
          {"lines", {{"t", counted(200, "line ", " of a text\n")}}},
          {"paragraphs", {{"t", counted(100, "paragraph ", " of a text\nin two lines\n\n")}}},
          {"entries", {{"t", counted(120, "entry ", " of some words\n%\n")}}},
          {"one long word", {{"t", repeated("acgtacca", 400)}}},
          {"a long word", {{"t", words + repeated("acgt", 500) + " " + words}}},
          {"zeros", {{"t", repeated(std::string("a\0b \0c ", 7), 150)}}},
          {"a byte order mark", {{"t", "\xef\xbb\xbf" + words}}},
          {"files without a last newline", {{"a", words + "end"}, {"b", "begin " + words}, {"c", "x"}, {"d", words}}},
          {"a tab", {{"t", counted(200, "a\tb", "\t")}}},
          {"ids", {{"t", digits}}, true},
          {"ids to 30", {{"t", counted(31, "", " ")}}, true},
          {"sixties", {{"t", repeated("60 ", 2000)}}, true},
          {"ids in lines", {{"t", counted(300, "1", " 7\n")}}, true},
          {"ids in lines and files", {{"a", "1 2 3 " + digits + "4"}, {"b", "5 " + digits + "6"}}, true}};
}
struct Kind {
  std::string name, file = {};  // of the tokenizer
  bool exact = true;            // it decodes what it encoded
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{{"bytes"},
                                     {"bpe", "gpt2.json"},
                                     {"bpe", "qwen2.json", false},  // NFC
                                     {"huggingface", "llama3.json"},
                                     {"huggingface", "unigram.json", false},
                                     {"huggingface", "bert.json", false},
                                     {"huggingface", "words.json", false},
                                     {"sentencepiece", "llama.model", false},
                                     {"sentencepiece", "t5.model", false}};
  return all;
}
std::shared_ptr<const text::Tokenizer> tokenizer_of(const Kind& k, bool special = false) {
  static std::map<std::pair<std::string, bool>, std::shared_ptr<const text::Tokenizer>> opened;
  auto& t = opened[{k.file, special}];
  if (t) return t;
  std::vector<std::string> words{"type=" + k.name};
  if (!k.file.empty()) words.push_back("path=" + kGolden + "tokenizer_" + k.file);
  if (special) words.push_back("add_special_tokens=true");
  return t = text::open_tokenizer(words);
}
std::shared_ptr<const text::Tokenizer> ids_tokenizer(int size = 5000) {
  return text::open_tokenizer({"type=ids", "size=" + std::to_string(size)});
}
std::string bytes_of(const Stream& s, const Stream::Piece& p) {
  std::string all(static_cast<std::size_t>(p.bytes), '\0');
  s.read(p.start, p.bytes, reinterpret_cast<std::uint8_t*>(all.data()));
  return all;
}
bool is_blank(char c) { return std::string_view(" \t\n\r\v\f").find(c) != std::string_view::npos; }

struct TextLaw : Corpus {
  std::string place(const Sample& s) const {
    fs::remove_all(folder / "s");
    for (auto& [name, text] : s.files) write("s/" + name, text);
    return (folder / "s").string();
  }
  static Datasets open(const std::string& yaml, const std::shared_ptr<const text::Tokenizer>& t, std::int64_t positions,
                       const Crew& crew = {}, const std::string& cache = {}) {
    config::Choice<Data> choice;
    choice.read(config::parse_yaml(yaml, "data.yaml"), "data", {});
    choice.check("data");
    if (auto at = choice.edit().cache()) *at = cache;
    choice->check_files(positions);
    return choice->open({t, positions, 3, crew});
  }
};
/// The tokens of a stream, made here from its pieces, and where a piece begins that no token of the one before ends.
struct Expected {
  Ids tokens = {};
  std::set<std::int64_t> seams = {};
};
Expected expected(const Stream& s, const text::Tokenizer& t, bool exact) {
  Expected e;
  auto end = t.end_of_text();
  for (auto& p : s.pieces()) {
    auto text = bytes_of(s, p);
    auto ids = t.encode(text);
    if (exact) { EXPECT_EQ(t.decode(ids), text); }
    if (!end && t.encode("\n").empty() && !ids.empty()) e.seams.insert(static_cast<std::int64_t>(e.tokens.size()));
    e.tokens.insert(e.tokens.end(), ids.begin(), ids.end());
    if (end && (ids.empty() || ids.back() != *end)) e.tokens.push_back(*end);
    if (!end && !text.ends_with('\n'))
      for (auto id : t.encode("\n")) e.tokens.push_back(id);
  }
  return e;
}
/// Rows of a pass are the tokens from somewhere on, without a gap; a target has weight 0 at a seam, and only there.
void check_rows(const Dataset& rows, std::int64_t positions, const Expected& e, std::int64_t pass, bool ring) {
  auto n = static_cast<std::int64_t>(e.tokens.size());
  ASSERT_EQ(rows.size(), (n - !ring) / positions);
  auto shift = pass_shift({0, pass, 5}, positions);
  for (std::int64_t r = 0; r < rows.size(); r += pass == 0 ? 1 : 9) {
    auto row = Rows::zeros(0, 1, {positions});
    rows.at({r, pass, 5}, row.row(0));
    Ids tokens, targets;
    std::vector<float> weights;
    for (std::int64_t i = 0; i < positions; ++i) {
      auto at = (shift + r * positions + i) % n, next = (at + 1) % n;
      tokens.push_back(e.tokens[static_cast<std::size_t>(at)]);
      targets.push_back(e.tokens[static_cast<std::size_t>(next)]);
      weights.push_back(e.seams.contains(next) ? 0.0F : 1.0F);
    }
    ASSERT_EQ(row.tokens, tokens) << r;
    ASSERT_EQ(row.targets, targets) << r;
    ASSERT_EQ(row.weights, weights) << r;
  }
}
/// The pieces of both streams are the text, each byte once, and are cut between words, or where no blank is near
/// between characters.
void check_pieces(const Text& t, const Sample& s) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> all;  // by file and place
  for (auto* stream : {&t.train, &t.held_out})
    for (auto& p : stream->pieces()) {
      auto text = bytes_of(*stream, p);
      EXPECT_EQ(p.line, text.ends_with('\n'));
      EXPECT_TRUE(all.emplace(std::pair(p.file, p.offset), text).second);
    }
  std::int64_t file = 0;
  for (auto& [name, text] : s.files) {
    std::string joined;
    for (auto at = all.lower_bound({file, 0}); at != all.end() && at->first.first == file; ++at) {
      ASSERT_EQ(at->first.second, static_cast<std::int64_t>(joined.size()));
      auto& piece = at->second;
      EXPECT_EQ(first_not_utf8(piece), piece.npos) << "a cut in a character";
      if (!joined.empty() && !is_blank(joined.back()) && !is_blank(piece.front())) {
        auto from = joined.size() < 1024 ? 0 : joined.size() - 1024;
        auto near = text.substr(from, joined.size() + 1024 - from);
        EXPECT_TRUE(std::none_of(near.begin(), near.end(), is_blank)) << "'" << joined << "|" << piece << "'";
      }
      if (!joined.empty()) { EXPECT_FALSE(joined.back() == '\r' && piece.front() == '\n'); }
      joined += piece;
    }
    EXPECT_EQ(joined, text);
    ++file;
  }
}
}  // namespace

TEST_F(TextLaw, OfOneTextEveryTokenStandsInTheSource) {
  int cut = 0;
  for (auto& s : samples()) {
    auto path = place(s);
    for (double hold_out : {0.0, 0.02, 0.05, 0.2, 0.5, 0.9})
      for (std::int64_t positions : {5, 16}) {
        if (positions == 5 && hold_out != 0.05) continue;
        SCOPED_TRACE(s.name + " " + std::to_string(hold_out) + " " + std::to_string(positions));
        auto text = open_text(path, hold_out, positions + 1);
        check_pieces(text, s);
        cut += text.train.pieces().size() > s.files.size();
        auto yaml = "type: text\npath: " + path + "\nhold_out: " + std::to_string(hold_out) + "\n";
        auto check = [&](const std::shared_ptr<const text::Tokenizer>& t, bool exact) {
          auto train = expected(text.train, *t, exact), held = expected(text.held_out, *t, exact);
          if (static_cast<std::int64_t>(train.tokens.size()) < positions ||
              (hold_out > 0 && static_cast<std::int64_t>(held.tokens.size()) <= positions))
            return;  // too little of so large tokens
          auto data = open(yaml, t, positions);
          for (std::int64_t pass : {0, 2}) check_rows(*data.train.parts()[0].rows, positions, train, pass, true);
          EXPECT_EQ(data.held_out != nullptr, hold_out > 0);
          if (data.held_out) check_rows(*data.held_out, positions, held, 0, false);
        };
        if (s.ids) check(ids_tokenizer(), false);
        for (auto& k : kinds())
          if (k.file.empty() || (positions == 5 && hold_out == 0.05)) check(tokenizer_of(k), k.exact);
      }
  }
  EXPECT_GT(cut, 50);
}
/// Texts of random characters, however short and however much of them is held out: none is cut, lost or doubled.
TEST_F(TextLaw, RandomTextsAreCutBetweenCharacters) {
  std::mt19937 random(7);
  const std::vector<std::string> parts{"a", "\u8a9e", " ", "\n", "%\n", "word", "verylongwordwithoutblanks",
                                       "\r\n", "\U0001f600", "  ", "12 ", "\t"};
  for (int round = 0; round < 800; ++round) {
    std::vector<std::string> some;
    for (auto& p : parts)
      if (random() % 2) some.push_back(p);
    if (some.empty()) continue;
    auto text = random_text(random, some, 1 + static_cast<int>(random() % 120));
    auto path = write("random", text);
    auto most = static_cast<std::int64_t>(text.size() / 2);
    auto window = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random()) % (most + 1);
    auto hold_out = static_cast<double>(random() % 1000) / 1000;
    auto t = open_text(path, hold_out, window);
    SCOPED_TRACE(one_line(text) + " " + std::to_string(hold_out) + " " + std::to_string(window));
    std::map<std::int64_t, std::string> all;
    for (auto* stream : {&t.train, &t.held_out})
      for (auto& p : stream->pieces()) EXPECT_TRUE(all.emplace(p.offset, bytes_of(*stream, p)).second);
    std::string joined;
    for (auto& [offset, piece] : all) {
      EXPECT_EQ(offset, static_cast<std::int64_t>(joined.size()));
      EXPECT_EQ(first_not_utf8(piece), piece.npos) << "a cut in a character";
      joined += piece;
    }
    EXPECT_EQ(joined, text);
    // A text of two windows may have no cut between characters that leaves one on both sides.
    EXPECT_GE(t.train.size() + 3, window);
    if (hold_out > 0) { EXPECT_GE(t.held_out.size() + 3, window); }
  }
}
/// With the tokens of add_special_tokens each piece stands between them.
TEST_F(TextLaw, PiecesStandBetweenSpecialTokens) {
  auto path = place(samples()[0]);
  for (auto& k : kinds()) {
    if (k.file.empty() || k.name == "bpe") continue;
    SCOPED_TRACE(k.file);
    auto t = tokenizer_of(k, true);
    auto text = open_text(path, 0.1, 9);
    ASSERT_GT(text.train.pieces().size(), 1U);
    Ids want;
    Around around(*t);
    for (auto& p : text.train.pieces()) {
      auto ids = t->encode(bytes_of(text.train, p));
      around.append_end(ids);
      want.insert(want.end(), ids.begin(), ids.end());
    }
    auto tokens = encoded_tokens(text.train, *t);
    Ids got(static_cast<std::size_t>(tokens->size()));
    tokens->read(0, tokens->size(), got.data());
    EXPECT_EQ(got, want);
  }
}
/// What was seen before: ids 232 and 600, words such as 'gammata', U+FFFD.
TEST_F(TextLaw, NothingIsReadThatTheTextLacks) {
  auto seen = [](const Datasets& d) {
    std::set<std::int32_t> all;
    for (auto& set : {d.train.parts()[0].rows, d.held_out})
      for (std::int64_t r = 0; r < set->size(); ++r) {
        auto row = Rows::zeros(0, 1, d.shape);
        set->at({r, 0, 1}, row.row(0));
        all.insert(row.tokens.begin(), row.tokens.end());
        all.insert(row.targets.begin(), row.targets.end());
      }
    return all;
  };
  auto of = [&](const std::string& text, const std::shared_ptr<const text::Tokenizer>& t, double hold_out,
                std::int64_t positions) {
    auto path = write("one", text);
    return open("type: text\npath: " + path + "\nhold_out: " + std::to_string(hold_out) + "\n", t, positions);
  };
  for (double hold_out : {0.2, 0.25, 0.3, 0.5, 0.7}) {
    for (int size : {31, 1000}) {
      auto all = seen(of(counted(31, "", " "), ids_tokenizer(size), hold_out, 3));
      EXPECT_LE(*all.rbegin(), 30) << hold_out;
    }
    EXPECT_EQ(seen(of(repeated("60 ", 6000), ids_tokenizer(1000), hold_out, 16)), std::set<std::int32_t>{60});
    // Of bytes and of pieces alike: each word of a row that has both ends there is one of the text.
    for (auto& k : {kinds()[0], kinds()[1]}) {
      auto t = tokenizer_of(k);
      auto data = of(repeated("alpha beta gamma delta ", 40), t, hold_out, 32);
      for (auto& set : {data.train.parts()[0].rows, data.held_out})
        for (std::int64_t r = 0; r < set->size(); ++r) {
          auto row = Rows::zeros(0, 1, data.shape);
          set->at({r, 0, 1}, row.row(0));
          std::istringstream words(t->decode(row.tokens));
          std::vector<std::string> all;
          for (std::string word; words >> word;) all.push_back(word);
          for (std::size_t i = 1; i + 1 < all.size(); ++i) {
            auto word = all[i].substr(0, all[i].find("<|endoftext|>"));
            EXPECT_TRUE(std::set<std::string>({"alpha", "beta", "gamma", "delta", ""}).contains(word)) << all[i];
          }
        }
      auto chinese = of(samples()[3].files.at("t"), t, hold_out, 30);
      if (!k.file.empty())
        for (auto& set : {chinese.train.parts()[0].rows, chinese.held_out})
          for (std::int64_t r = 0; r < set->size(); ++r) {
            auto row = Rows::zeros(0, 1, chinese.shape);
            set->at({r, 0, 1}, row.row(0));
            auto replaced = t->encode("\ufffd");
            EXPECT_EQ(std::search(row.tokens.begin(), row.tokens.end(), replaced.begin(), replaced.end()),
                      row.tokens.end());
          }
    }
  }
}

/// Documents of sources are their texts, cut only where they are longer than a document may be.
TEST_F(TextLaw, OfSourcesEveryTokenStandsInItsDocument) {
  std::map<std::string, std::vector<std::string>> texts;  // of the documents, by source
  std::string json, csv = "id,text\n";
  for (auto& s : samples())
    for (auto& [name, text] : s.files) {
      if (s.ids || s.name == "lines" || s.name == "paragraphs" || s.name == "a tab") continue;  // few are enough
      if (text.find('\0') != text.npos || text.starts_with("\xef\xbb\xbf") || text.find('\r') != text.npos) continue;
      std::string escaped, quoted;
      for (char c : text) escaped += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
      json += "{\"text\": \"" + escaped + "\"}\n";
      csv += "1,\"" + text + "\"\n";
      texts["jsonl"].push_back(text);
      texts["csv"].push_back(text);
      if (s.name != "entries") texts["text"].push_back(text);
      else
        for (int i = 0; i < 120; ++i) texts["text"].push_back("entry " + std::to_string(i) + " of some words");
      write("texts/" + std::to_string(1000 + texts["csv"].size()), text);
    }
  std::map<std::string, std::string> paths{{"jsonl", write("a.jsonl", json)},
                                           {"csv", write("a.csv", csv)},
                                           {"text", (folder / "texts").string()}};
  for (auto& [source, path] : paths)
    for (auto& k : kinds())
      for (std::string how : {"concat", "first_fit", "best_fit", "none"}) {
        if (k.file == "words.json") continue;  // no end of text
        if (&k > &kinds()[1] && how != (source == "text" ? "first_fit" : source == "csv" ? "none" : "concat")) continue;
        SCOPED_TRACE(source + " " + k.name + " " + k.file + " " + how);
        auto t = tokenizer_of(k);
        auto yaml = "type: corpus\nsources: [{type: " + source + ", path: " + path +
                    "}]\nhold_out: 0.2\npack: {how: " + how + "}\n";
        constexpr std::int64_t positions = 24;
        auto data = open(yaml, t, positions);
        std::map<Ids, int> documents;
        std::int64_t tokens = 0, inside = 0, seen = 0;  // inside: but for each document's last, which is a target
        for (auto& text : texts[source]) {
          auto ids = t->encode(text);
          Around(*t).append_end(ids);
          tokens += static_cast<std::int64_t>(ids.size());
          inside += std::max<std::int64_t>(0, static_cast<std::int64_t>(ids.size()) - 1);
          ++documents[ids];
        }
        for (auto& set : {data.train.parts()[0].rows, data.held_out})
          for (std::int64_t r = 0; r < set->size(); ++r) {
            auto row = Rows::zeros(0, 1, data.shape);
            set->at({r, 0, 1}, row.row(0));
            for (std::int64_t begin = 0, end; begin < row.filled[0]; begin = end) {
              auto segment = [&](std::int64_t i) {
                return data.shape.segments ? row.segments[static_cast<std::size_t>(i)] : 1;
              };
              for (end = begin; end < row.filled[0] && segment(end) == segment(begin);) ++end;
              Ids part(row.tokens.begin() + begin, row.tokens.begin() + end);
              if (row.weights[static_cast<std::size_t>(end - 1)] > 0)
                part.push_back(row.targets[static_cast<std::size_t>(end - 1)]);
              seen += end - begin;
              EXPECT_TRUE(std::any_of(documents.begin(), documents.end(), [&](auto& d) {
                return std::search(d.first.begin(), d.first.end(), part.begin(), part.end()) != d.first.end();
              })) << t->decode(part);
            }
          }
        // Of concat the tokens behind the last whole row are left to later passes.
        if (how == "concat") EXPECT_NEAR(static_cast<double>(seen), static_cast<double>(tokens), 2 * positions);
        else EXPECT_EQ(seen, inside);
      }
}
/// A document of a megabyte and more is cut at a blank; and cut ones are no begins of lines.
TEST_F(TextLaw, LongDocumentsAreCutAtBlanks) {
  auto ids = counted(400'000, "", " ");
  auto path = write("long.txt", ids);
  auto data = open("type: corpus\nsources: [{type: text, path: " + path + "}]\nhold_out: 0\n", ids_tokenizer(400'000),
                   1000);
  EXPECT_EQ(data.train.parts()[0].facts.documents, 3);
  EXPECT_EQ(data.train.parts()[0].facts.tokens, 400'000);
  std::int32_t next = 0;
  for (std::int64_t r = 0; r < 400; ++r) {
    auto row = Rows::zeros(0, 1, data.shape);
    data.train.parts()[0].rows->at({r, 0, 1}, row.row(0));
    for (auto id : row.tokens) ASSERT_EQ(id, next++);
  }
  auto texts = [&](const std::string& text, std::int64_t most) {
    std::vector<std::string> all;
    for (auto& r : records(file("f", text), Format::text, {}, {.document = most})) all.push_back(r.bytes);
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts("aaa bbbb cc ddd", 12), (Texts{"aaa bbbb cc", " ddd"}));
  EXPECT_EQ(texts("aaaa bbbb  ccc", 12), (Texts{"aaaa bbbb", "  ccc"}));
  EXPECT_EQ(texts("aaaa\rbbbb\rccc", 12), (Texts{"aaaa\rbbbb\r", "ccc"}));
  EXPECT_EQ(texts("aaaabbbbcccd\r\nx", 13), (Texts{"aaaabbbbcccd", "\r\nx"}));
  EXPECT_EQ(texts("aaaabbbb%\ncc\n%\nd", 8), (Texts{"aaaabbbb", "%\ncc", "d"})) << "no mark: no line begins there";
  EXPECT_EQ(texts("aa\n\n%\nbb\r\n%\r\n\n%\n%\ncc\n", 99), (Texts{"aa\n", "bb", "cc\n"}));
}
TEST_F(TextLaw, BytesThatAreNoTextAreTold) {
  auto data = [&](const std::string& type, const std::string& bytes, const std::string& on_error,
                  const std::shared_ptr<const text::Tokenizer>& t, std::vector<std::string>* said = nullptr) {
    auto path = write("f." + type, bytes);
    return open("type: corpus\nsources: [{type: " + type + ", path: " + path + "}]\nhold_out: 0\npack: {how: none}\n" +
                    on_error,
                t, 8, {.say = [said](auto& line) {
                         if (said) said->push_back(line);
                       }});
  };
  auto texts = [&](const Datasets& d, const text::Tokenizer& t) {
    std::string all;
    for (std::int64_t r = 0; r < d.train.size(); ++r) {
      auto row = Rows::zeros(0, 1, d.shape);
      d.train.parts()[0].rows->at({r, 0, 1}, row.row(0));
      all += t.decode(Ids(row.tokens.begin(), row.tokens.begin() + row.filled[0])) + "|";
    }
    return all;
  };
  auto gpt2 = tokenizer_of(kinds()[1]), bytes = tokenizer_of(kinds()[0]);
  const std::string good = "{\"text\": \"good\"}\n", latin = "{\"text\": \"caf\xe9\"}\n",
                    half = "{\"text\": \"x\\ud83d\"}\n", whole = "{\"text\": \"\\ud83d\\ude00\"}\n";
  auto name = (folder / "f.").string();
  const std::string advice = "; mend it, or set data.on_error to skip or replace";
  for (auto& t : {gpt2, bytes}) {
    EXPECT_EQ(error_of([&] { data("jsonl", good + latin, "", t); }),
              name + "jsonl:2: the field 'text' is not UTF-8: byte 4 is 0xe9" + advice);
    EXPECT_EQ(error_of([&] { data("jsonl", good + half, "", t); }),
              name + "jsonl:2: the field 'text' has half of a surrogate pair, which stands for no character" + advice);
    EXPECT_EQ(error_of([&] { data("jsonl", half, "", t); }).substr(0, name.size() + 8), name + "jsonl:1:")
        << "the first record is read before the run";
    std::vector<std::string> said;
    EXPECT_EQ(texts(data("jsonl", good + latin + half + whole, "on_error: skip\n", t, &said), *t), "good|\U0001f600|");
    EXPECT_EQ(said, std::vector<std::string>{"data: " + name + "jsonl: 2 malformed records were left out"});
    EXPECT_EQ(texts(data("jsonl", latin + half + whole, "on_error: replace\n", t), *t),
              "caf\ufffd|x\ufffd|\U0001f600|");
    EXPECT_NE(error_of([&] { data("jsonl", good + "no json\n", "on_error: replace\n", t); }), "no error");
    EXPECT_NE(error_of([&] { data("jsonl", "no json\n", "on_error: replace\n", t); }), "no error");
  }
  // Bytes of documents and of CSV are tokens as they are, if tokens are bytes.
  EXPECT_EQ(texts(data("text", "ab\xff", "", bytes), *bytes), "ab\xff|");
  EXPECT_EQ(texts(data("csv", "text\nab\xff\n", "", bytes), *bytes), "ab\xff|");
  EXPECT_EQ(error_of([&] { data("text", "first\n%\na\nab\xff\n", "", gpt2); }),
            name + "text:4: the text is not UTF-8: byte 3 of the line is 0xff" + advice);
  EXPECT_EQ(error_of([&] { data("csv", "text\nok\nab\xff\n", "", gpt2); }),
            name + "csv:3: the field 'text' is not UTF-8: byte 3 is 0xff" + advice);
  EXPECT_EQ(texts(data("text", "first\n%\na\xff\n%\n", "on_error: skip\n", gpt2), *gpt2), "first|");
  EXPECT_EQ(texts(data("text", "first\n%\na\xff\xe2\x82x\n%\n", "on_error: replace\n", gpt2), *gpt2),
            "first|a\ufffd\ufffdx|");
  // A text in windows has no records that could be left out.
  auto path = write("w", repeated("words ", 20) + "\xe9t\xe9 " + repeated("words ", 20));
  EXPECT_EQ(error_of([&] { open("type: text\npath: " + path + "\n", gpt2, 8); }),
            "data: " + path +
                " is not UTF-8: byte 121 of it belongs to no character. Write it as UTF-8 (iconv -t utf-8), choose "
                "tokenizer=bytes, or give it as a source with data.on_error=skip or replace");
  EXPECT_EQ(error_of([&] { open("type: text\npath: " + path + "\n", bytes, 8); }), "no error");
  // Conversations and names.
  auto chat = write("c.jsonl", R"({"m": [{"role": "user", "content": "a"},)"
                               R"( {"role": "assistant", "content": "\udc00"}]})");
  EXPECT_EQ(error_of([&] {
              open("type: corpus\nsources: [{type: jsonl, path: " + chat +
                       "}]\nhold_out: 0\ntask: {type: chat, messages: m, chat_template: chatml}\n",
                   gpt2, 80);
            }),
            chat + ":1: 'content' of turn 2 of the field 'm' has half of a surrogate pair, which stands for no " +
                "character" + advice);
}
/// A cache of an earlier version is not read: its folder has another name, and keeps its files.
TEST_F(TextLaw, ACacheOfAnEarlierVersionIsNotRead) {
  auto path = write("t", counted(120, "entry ", " of some words\n%\n")), cache = (folder / "cache").string();
  auto yaml = "type: corpus\nsources: [{type: text, path: " + path + "}]\nhold_out: 0.1\n";
  auto t = tokenizer_of(kinds()[1]);
  auto first = open(yaml, t, 8, {}, cache);
  std::string made;
  for (auto& e : fs::directory_iterator(cache)) made = e.path().string();
  auto plan = test::slurp(made + "/plan.json");
  ASSERT_NE(plan.find("documents 2"), plan.npos) << plan;
  EXPECT_NE(plan.find("rows 2"), plan.npos) << plan;
  plan.replace(plan.find("documents 2"), 11, "documents 1");
  std::ofstream(made + "/plan.json") << plan;
  fs::rename(made, cache + "/t-0123456789abcdef");
  std::vector<std::string> said;
  auto again = open(yaml, t, 8, {.say = [&](auto& line) { said.push_back(line); }}, cache);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0], "data: " + cache + "/t-0123456789abcdef was made by another version; the documents of " + path +
                         " are made anew in " + made);
  EXPECT_EQ(again.train.size(), first.train.size());
  EXPECT_EQ(test::slurp(cache + "/t-0123456789abcdef/plan.json"), plan);
}
/// The rows are those of one rank, whoever shares the work.
TEST_F(TextLaw, RanksReadTheSameRows) {
  std::vector<std::string> yamls;
  for (auto& s : samples()) {
    if (s.name != "files without a last newline" && s.name != "entries" && s.name != "chinese") continue;
    for (auto& [name, text] : s.files) write(s.name.substr(0, 5) + "/" + name, text);
    auto path = (folder / s.name.substr(0, 5)).string();
    yamls.push_back("type: text\npath: " + path + "\nhold_out: 0.2\n");
    yamls.push_back("type: corpus\nsources: [{type: text, path: " + path + "}]\nhold_out: 0\n");
  }
  auto t = tokenizer_of(kinds()[1]);
  auto columns = [](const Datasets& d) {
    auto r = training_rows(d.train, d.shape, 2, 7, 0, 7, 3);
    return std::tuple(r.tokens, r.targets, r.weights, r.segments);
  };
  for (auto& yaml : yamls) {
    auto want = columns(open(yaml, t, 8));
    for (int ranks : {1, 2, 3, 4}) {
      std::vector<int> same(static_cast<std::size_t>(ranks));
      auto cache = (folder / ("cache" + std::to_string(ranks))).string();
      local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
        Crew crew{.rank = mesh.rank(), .size = mesh.size(), .exchange = [&](auto& mine, auto what) {
                    return mesh.exchange(mine, what);
                  }};
        same[static_cast<std::size_t>(mesh.rank())] = columns(open(yaml, t, 8, crew, cache)) == want;
      });
      EXPECT_EQ(same, std::vector<int>(same.size(), 1)) << yaml;
    }
  }
}
}  // namespace bora::data::text_law_test
