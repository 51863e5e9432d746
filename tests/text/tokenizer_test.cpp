// The laws of every tokenizer of the registry, the ids of Hugging Face's library, and what is refused in a file.
#include "bora/text/tokenizer.h"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include "bora/base/text.h"
#include "laws/effort.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "text/api/byte_level.h"
#include "text/tokenizers/pattern.h"
#include "text/unicode.h"

namespace tokenizer_test {
using namespace bora;
using nlohmann::json;
namespace {
const std::string kGolden = test::source_dir() + "/tests/golden/";
std::string file(const std::string& name) { return kGolden + "tokenizer_" + name + ".json"; }
json read_json(const std::string& path) { return json::parse(std::ifstream(path)); }
using Ids = std::vector<std::int32_t>;

struct Sample {
  std::string name;
  std::vector<std::string> settings;
  bool exact = true;  // whether decode(encode(x)) == x
};
void PrintTo(const Sample& s, std::ostream* out) { *out << s.name; }
/// Settings of every type; a type without any fails LawsCoverTheRegistry. The texts of `ids` are ids alone.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"bytes", {"type=bytes"}},
      {"gpt2", {"type=bpe", "path=" + file("gpt2")}},
      {"llama3", {"type=bpe", "path=" + file("llama3")}},
      {"qwen2", {"type=bpe", "path=" + file("qwen2")}, false},
      {"odd", {"type=bpe", "path=" + file("odd")}, false},
      {"llama2", {"type=huggingface", "path=" + file("llama2")}, false},
      {"mistral", {"type=huggingface", "path=" + file("mistral")}, false},
      {"gemma", {"type=huggingface", "path=" + file("gemma")}, false},
      {"t5", {"type=huggingface", "path=" + file("t5")}, false},
      {"unigram", {"type=huggingface", "path=" + file("unigram")}, false},
      {"words", {"type=huggingface", "path=" + file("words")}, false},
      {"word_piece", {"type=huggingface", "path=" + file("word_piece")}, false},
      {"bert", {"type=huggingface", "path=" + file("bert")}, false},
      {"llama_model", {"type=sentencepiece", "path=" + kGolden + "tokenizer_llama.model"}, false},
      {"t5_model", {"type=sentencepiece", "path=" + kGolden + "tokenizer_t5.model"}, false},
  };
  return all;
}
/// Texts of all kinds, and bytes that are no text.
const std::vector<std::string>& texts() {
  static const auto all = [] {
    std::vector<std::string> list;
    auto golden = read_json(kGolden + "tokenizers.json");
    for (auto& c : golden["cases"]) list.push_back(c["text"]);
    std::mt19937 draw(5);
    auto valid = list;
    for (int k = 0; k < 300; ++k) {
      std::string s;
      for (auto n = draw() % 40; n-- > 0;) {
        if (draw() % 3 == 0) s += valid[draw() % valid.size()].substr(0, draw() % 9);
        else s += static_cast<char>(draw() % (k % 2 == 0 ? 256 : 64) + (k % 4 == 1 ? 0x80 : 0));
      }
      list.push_back(s);
    }
    for (int b = 0; b < 256; ++b) list.emplace_back(1, static_cast<char>(b));
    for (auto s : {"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xe2\x82", "a\xe2\x82z", "\xff\xfe \xf0\x9f\x98",
                   " \x80 \x80"})
      list.emplace_back(s);
    return list;
  }();
  return all;
}
class EveryTokenizer : public testing::TestWithParam<Sample> {
 protected:
  std::shared_ptr<const text::Tokenizer> t = text::open_tokenizer(GetParam().settings);
};
std::string error(const std::vector<std::string>& settings) {
  return test::error_of([&] { text::open_tokenizer(settings); });
}
/// The error of a file with this text, without the path.
std::string error_of_file(const std::string& content) {
  test::TempFolder temp;
  auto path = temp / "tokenizer.json";
  std::ofstream(path) << content;
  auto text = test::error_of<IoError>([&] {
    text::open_tokenizer({"type=bpe", "path=" + path, "add_special_tokens=true"});
  });
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}
std::string error_of_file(const json& j) { return error_of_file(j.dump()); }
}  // namespace

// ---- laws -----------------------------------------------------------------------------------------------------------
TEST(Tokenizers, LawsCoverTheRegistry) {
  for (auto& row : config::rows<text::TokenizerKind>()) {
    auto covers = [&](auto& s) { return s.settings[0] == "type=" + std::string(row.type); };
    EXPECT_TRUE(row.type == "ids" || std::any_of(samples().begin(), samples().end(), covers)) << row.type;
  }
}
TEST(Tokenizers, IdsAreTextsOfNumbers) {
  auto t = text::open_tokenizer({"type=ids", "size=50"});
  EXPECT_EQ(t->encode("17 4\n 49\t0"), (Ids{17, 4, 49, 0}));
  EXPECT_EQ(t->decode(Ids{17, 4, 49, 0}), "17 4 49 0");
  EXPECT_EQ(t->encode(" \n"), Ids{});
  for (auto bad : {"50", "-1", "four", "1.5", "1,2", "99999999999"}) EXPECT_THROW(t->encode(bad), ValueError) << bad;
  EXPECT_THROW(t->decode(Ids{50}), ValueError);
  EXPECT_EQ(error({"type=ids"}), "size: must be from 1 to 2^31 - 1, got 0");
}
TEST_P(EveryTokenizer, AnyTextComesBack) {
  for (auto& text : texts()) {
    std::string copy, s(t->bytes() ? text : text::valid_utf8(text, copy));
    auto ids = t->encode(text);
    EXPECT_EQ(ids, t->encode(s));
    for (auto id : ids) ASSERT_TRUE(id >= 0 && id < t->size()) << id;
    auto again = t->decode(ids);
    EXPECT_TRUE(!GetParam().exact || again == s) << one_line(s) << " became " << one_line(again);
  }
}
TEST_P(EveryTokenizer, EveryIdHasAText) {
  for (std::int32_t id = 0; id < t->size(); ++id) {
    std::int32_t twice[] = {id, id};  // the first space of a text may be none of it
    bool only_space = GetParam().name == "t5_model" && id == t->id_of("\u2581");  // all first spaces are none
    EXPECT_EQ(t->decode(twice).empty(), only_space) << id;
  }
  EXPECT_EQ(t->decode({}), "");
  EXPECT_EQ(t->encode(""), Ids());
  for (std::int32_t id : {-1, static_cast<std::int32_t>(t->size())})
    EXPECT_THROW(t->decode(std::span(&id, 1)), ValueError) << id;
}
TEST_P(EveryTokenizer, ThreadsGetTheSameIds) {
  auto fresh = text::open_tokenizer(GetParam().settings);
  std::vector<Ids> expected;
  for (auto& s : texts()) expected.push_back(t->encode(s));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t k = 0; k < wrong.size(); ++k)
    threads.emplace_back([&, k] {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        auto at = (i + k * expected.size() / wrong.size()) % expected.size();
        wrong[k] += fresh->encode(texts()[at]) != expected[at];
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}
TEST_P(EveryTokenizer, AStreamIsTheWholeText) {
  std::mt19937 draw(9);
  auto stream = [&](const Ids& ids, bool is_utf8) {
    text::StreamDecoder decoder(t);
    std::string all;
    for (auto id : ids) {
      auto part = decoder.next(id);
      EXPECT_TRUE(!is_utf8 || first_not_utf8(part) == part.npos) << one_line(part);
      all += part;
    }
    EXPECT_EQ(all + decoder.finish(), t->decode(ids));
    EXPECT_EQ(decoder.finish(), "");
  };
  for (auto& s : texts()) stream(t->encode(s), !t->bytes() || first_not_utf8(s) == s.npos);
  for (int k = 0; k < 300; ++k) {
    Ids ids(draw() % 40);
    for (auto& id : ids) id = static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(t->size()));
    stream(ids, !t->bytes());
  }
}
TEST_P(EveryTokenizer, BytesOfTokensAreTheText) {
  for (auto& s : texts()) {
    if (first_not_utf8(s) != s.npos) continue;
    std::string bytes;
    auto ids = t->encode(s);
    for (auto id : ids) bytes += t->bytes_of(id);
    auto text = t->decode(ids);  // without spaces at its beginning, perhaps
    EXPECT_TRUE(bytes.ends_with(text) && std::string_view(bytes).substr(0, bytes.size() - text.size())
                .find_first_not_of(' ') == text.npos) << one_line(bytes) << " and " << one_line(text);
  }
  EXPECT_THROW(t->bytes_of(-1), ValueError);
  EXPECT_THROW(t->bytes_of(static_cast<std::int32_t>(t->size())), ValueError);
}
TEST_P(EveryTokenizer, LongTextsTakeNoLongTime) {
  auto bytes = std::size_t{1} << (laws::effort() == laws::Effort::full ? 20 : 16);
  // libsentencepiece takes the square of a run of unknown characters.
  if (GetParam().name == "t5_model") bytes = std::min(bytes, std::size_t{1} << 16);
  for (std::string piece :
       {"a", " ", "\n", " a", "\xcc\x81", "\xcc\x81\xcc\xa3", "\xe8\xaa\x9e", "\xff", "1", "!", "'"}) {
    std::string s = "x";
    while (s.size() < bytes) s += piece;
    auto ids = t->encode(s);
    EXPECT_TRUE(!GetParam().exact || (piece == "\xff" && !t->bytes()) || t->decode(ids) == s) << piece;
  }
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryTokenizer, testing::ValuesIn(samples()),
                         [](auto& info) { return info.param.name; });

// ---- Hugging Face's library -----------------------------------------------------------------------------------------
TEST(Bpe, IdsOfTheRealSystem) {
  auto golden = read_json(kGolden + "tokenizers.json");
  for (std::string name : {"gpt2", "llama3", "qwen2", "odd", "word_piece"}) {
    auto type = std::string("type=") + (name == "word_piece" ? "huggingface" : "bpe");
    auto t = text::open_tokenizer({type, "path=" + file(name)});
    auto whole = text::open_tokenizer({type, "path=" + file(name), "add_special_tokens=true"});
    int wholes = 0;
    for (auto& c : golden["cases"]) {
      std::string s = c["text"];
      auto ids = t->encode(s);
      EXPECT_EQ(ids, c[name].get<Ids>()) << name << ": " << c["text"];
      auto other = c.find(name + " text");  // null: the library decodes added tokens of Latin-1 letters as bytes
      if (other == c.end() || !other->is_null()) {
        EXPECT_EQ(t->decode(ids), other == c.end() ? s : other->get<std::string>()) << name;
      }
      if (!c.contains(name + " whole")) continue;
      EXPECT_EQ(whole->encode(s), c[name + " whole"].get<Ids>()) << name << ": " << c["text"];
      ++wholes;
    }
    EXPECT_EQ(wholes > 20, name == "llama3" || name == "odd" || name == "word_piece");
  }
}
TEST(Bpe, SpecialTokens) {
  auto t = text::open_tokenizer({"type=bpe", "path=" + file("llama3")});
  std::string s = "a<|eot_id|>";
  auto ids = t->encode(s), plain = t->encode(s, {.special = false});
  EXPECT_EQ(ids, (Ids{64, 704}));
  EXPECT_GT(plain.size(), 2u);
  EXPECT_EQ(t->decode(plain), s);
  EXPECT_EQ(t->decode(ids, {.special = false}), "a");
  EXPECT_EQ(t->id_of("<|eot_id|>"), 704);
  EXPECT_EQ(t->id_of("\u0120"), t->encode(" ")[0]);
  EXPECT_EQ(t->id_of("no such"), std::nullopt);
  auto identity = [](std::vector<std::string> settings) { return text::open_tokenizer(settings)->identity(); };
  std::set<std::string> all;
  for (auto& sample : samples()) all.insert(identity(sample.settings));
  EXPECT_EQ(all.size(), samples().size());
  EXPECT_NE(identity({"type=bpe", "path=" + file("odd")}),
            identity({"type=bpe", "path=" + file("odd"), "add_special_tokens=true"}));
}
TEST(SentencePiece, SpecialTokens) {
  auto path = kGolden + "tokenizer_llama.model";
  auto t = text::open_tokenizer({"type=sentencepiece", "path=" + path});
  EXPECT_EQ(t->end_of_text(), 2);
  EXPECT_EQ(t->padding(), std::nullopt);
  EXPECT_EQ(t->id_of("<s>"), 1);
  auto ids = t->encode("a</s>b"), plain = t->encode("a</s>b", {.special = false});
  auto joined = t->encode("a");
  joined.push_back(2);
  for (auto id : t->encode("b")) joined.push_back(id);
  EXPECT_EQ(ids, joined);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 2), 0);
  EXPECT_EQ(t->decode(plain), "a</s>b");
  EXPECT_EQ(t->decode(ids), "a</s> b");
  EXPECT_EQ(t->decode(ids, {.special = false}), "a b");
  auto whole = text::tokenizer_at(path, true)->encode("a"),
       end = text::tokenizer_at(kGolden + "tokenizer_t5.model", true)->encode("a");
  EXPECT_EQ(whole[0], 1);
  EXPECT_EQ(end.back(), 1);
  EXPECT_NE(text::tokenizer_at(path, true)->identity(), t->identity());
  // The ids depend on the library too.
  std::istringstream words(t->identity());
  std::string type, version, digest;
  words >> type >> version >> digest;
  EXPECT_EQ(type, "sentencepiece");
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  EXPECT_EQ(digest.size(), 64U);
}
TEST(SentencePiece, TheConfigurationSaysWhatStandsAroundAText) {
  test::TempFolder temp;
  std::filesystem::path folder = temp.path();
  std::filesystem::copy_file(kGolden + "tokenizer_llama.model", folder / "tokenizer.model");
  auto plain = text::open_tokenizer({"type=sentencepiece", "path=" + kGolden + "tokenizer_llama.model"})->encode("a");
  auto with = [&](std::initializer_list<std::int32_t> first, std::initializer_list<std::int32_t> last) {
    std::vector<std::int32_t> ids(first);
    ids.insert(ids.end(), plain.begin(), plain.end());
    ids.insert(ids.end(), last);
    return ids;
  };
  auto said = [&](const std::string& json) {
    std::ofstream(folder / "tokenizer_config.json") << json;
    return text::tokenizer_at(folder.string(), true)->encode("a");
  };
  EXPECT_EQ(said("{}"), with({1}, {}));
  EXPECT_EQ(said(R"({"add_bos_token": false})"), with({}, {}));
  EXPECT_EQ(said(R"({"add_bos_token": true})"), with({1}, {}));
  EXPECT_EQ(said(R"({"add_eos_token": true})"), with({1}, {2}));
  EXPECT_EQ(said(R"({"add_bos_token": false, "add_eos_token": true})"), with({}, {2}));
}
TEST(SentencePiece, BrokenModels) {
  std::ifstream in(kGolden + "tokenizer_t5.model", std::ios::binary);
  std::string good((std::istreambuf_iterator<char>(in)), {});
  auto error_of_model = [](const std::string& bytes) {
    test::TempFolder temp;
    auto path = temp / "pieces.model";
    std::ofstream(path, std::ios::binary) << bytes;
    auto text = error({"type=sentencepiece", "path=" + path});
    return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
  };
  EXPECT_EQ(error_of_model(good), "no error");
  auto first = good.substr(0, 2 + static_cast<std::size_t>(good[1]));  // piece
  EXPECT_EQ(error_of_model(""), "is empty");
  EXPECT_EQ(error_of_model("{}"), "field 15 is of no known form: this is no SentencePiece model");
  EXPECT_EQ(error_of_model(good.substr(0, good.size() - 3)), "ends within a field");
  EXPECT_EQ(error_of_model(first), "has 0 unknown pieces; expected one");
  EXPECT_EQ(error_of_model(good + first), "'<pad>' is a piece twice");
}
TEST(Folders, VocabularyAndMerges) {
  namespace fs = std::filesystem;
  test::TempFolder temp;
  fs::path folder = temp.path();
  auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  auto good = read_json(file("gpt2"));
  write("vocab.json", good["model"]["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (std::string m : good["model"]["merges"]) merges += m + "\n";
  EXPECT_EQ(error({"type=bpe", "path=" + folder.string()}),
            "tokenizer: " + folder.string() + " has no tokenizer.json, and no vocab.json with merges.txt");
  write("merges.txt", merges);
  write("special_tokens_map.json",
        R"({"eos_token": {"content": "<|endoftext|>", "lstrip": false}, "pad_token": "<pad>"})");
  write("added_tokens.json", R"({"<|endoftext|>": 700})");
  auto t = text::tokenizer_at(folder, false);
  auto expected = text::open_tokenizer({"type=bpe", "path=" + file("gpt2")});
  for (auto& s : texts()) ASSERT_EQ(t->encode(s), expected->encode(s)) << one_line(s);
  EXPECT_EQ(t->end_of_text(), 700);
  EXPECT_EQ(t->padding(), 701);
  auto before = t->identity();
  write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true, "add_bos_token": true,
          "bos_token": "<|endoftext|>"})");
  auto ids = text::tokenizer_at(folder, true)->encode("a");
  EXPECT_EQ(ids, (Ids{700, *expected->id_of("\u0120a")}));
  EXPECT_NE(text::tokenizer_at(folder, false)->identity(), before);
  write("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  EXPECT_NE(error({"type=huggingface", "path=" + folder.string()}).find("tokenizer_class: 'CLIPTokenizer' is not"),
            std::string::npos);
  write("tokenizer_config.json", "{}");
  write("merges.txt", merges + "a b c\n");
  auto line = std::to_string(good["model"]["merges"].size() + 2);
  EXPECT_EQ(error({"type=huggingface", "path=" + folder.string()}),
            (folder / "merges.txt").string() + ":" + line + ": expected two tokens, got 'a b c'");
  EXPECT_EQ(error({"type=bpe", "path=" + file("t5")}),
            file("t5") + ": model: type 'Unigram' is no BPE; type=huggingface reads it");
  write("tokenizer.json", good.dump());
  EXPECT_EQ(text::tokenizer_at(folder, false)->padding(), std::nullopt);
}
TEST(Utf8, EachMaximalPartIsOneReplacement) {
  auto fixed = [](std::string_view s) {
    std::string copy;
    return std::string(text::valid_utf8(s, copy));
  };
  EXPECT_EQ(fixed("a\xe2\x82z\xff\xf0\x9f\x98"), "a�z��");
  EXPECT_EQ(fixed("\xed\xa0\x80|\xf4\x90\x80|\xc0\x80|\xe0\x80"), "���|���|��|��");
  EXPECT_EQ(fixed("\xf1\x80\x80\xe1\x80\xc2"), "���");
}
TEST(Bpe, EveryWordIsItsTokenWhereMergesAreIgnored) {
  auto j = read_json(file("llama3"));
  j["added_tokens"] = json::array();
  j["post_processor"] = nullptr;
  j["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  j["model"]["merges"] = json::array();
  j["model"]["vocab"] = json::object();
  auto& vocabulary = j["model"]["vocab"];
  for (unsigned b = 0; b < 256; ++b) vocabulary[text::byte_character(static_cast<unsigned char>(b))] = b;
  // Words of few different characters, zeros among them, short and long: many have the same hash.
  std::mt19937 draw(8);
  std::map<std::string, std::int32_t> words;
  for (int k = 0; k < 4000; ++k) {
    std::string word, name;
    auto most = k % 3 == 0 ? 2U : 40U;
    for (auto n = 1 + draw() % (k % 2 == 0 ? 4 : 34); n-- > 0;) word += static_cast<char>(draw() % most);
    for (char c : word) name += text::byte_character(static_cast<unsigned char>(c));
    auto next = static_cast<std::int32_t>(vocabulary.size());
    if (!vocabulary.contains(name)) vocabulary[name] = next;
    words[word] = vocabulary[name];
  }
  test::TempFolder temp;
  auto path = temp / "words.json";
  std::ofstream(path) << j.dump();
  auto t = text::open_tokenizer({"type=bpe", "path=" + path});
  for (auto& [word, id] : words) {
    ASSERT_EQ(t->encode(word), Ids{id}) << one_line(word);
    ASSERT_EQ(t->decode(Ids{id}), word);
  }
}
TEST(Bpe, EndOfText) {
  auto end = [](const std::string& name, const std::string& setting = "") {
    return text::open_tokenizer({"type=bpe", "path=" + file(name), "end_of_text=" + setting})->end_of_text();
  };
  EXPECT_EQ(end("gpt2"), 700);
  EXPECT_EQ(end("llama3"), 701);
  EXPECT_EQ(end("llama3", "<|eot_id|>"), 704);
  EXPECT_EQ(end("odd"), std::nullopt);
  EXPECT_EQ(text::open_tokenizer({})->end_of_text(), std::nullopt);
  EXPECT_EQ(error({"type=bpe", "path=" + file("odd"), "end_of_text=<|x|>"}),
            "end_of_text: the tokenizer has no added token '<|x|>'");
}
// Orders of equal pieces, whose sums differ by the rounding of scores alone: ids by `tokenizers` 0.23.3.
TEST(Unigram, ScoresAreReadAsTokenizersReadsThem) {
  auto j = json::parse(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", -9.0],
      ["a", -9.915546141583519], ["aa", -5.467981217887977], ["b", -5.061087382939072]]}})");
  test::TempFolder temp;
  auto path = temp / "scores.json";
  std::ofstream(path) << j.dump();
  auto t = text::open_tokenizer({"type=huggingface", "path=" + path});
  EXPECT_EQ(t->encode("baaaaa"), (Ids{3, 2, 2, 1}));
  EXPECT_EQ(t->encode("bbaaaaa"), (Ids{3, 3, 2, 2, 1}));
  EXPECT_EQ(t->encode("bbbaaa"), (Ids{3, 3, 3, 2, 1}));
  EXPECT_EQ(t->encode("bbbaaaaa"), (Ids{3, 3, 3, 2, 1, 2}));
}

// ---- what is refused ------------------------------------------------------------------------------------------------
TEST(Bpe, FilesThatAreNone) {
  EXPECT_EQ(error({"type=bpe"}), "path: must be the path of a tokenizer.json, got ''");
  EXPECT_EQ(error({"type=bpe", "path=/no/such"}), "tokenizer: no file at /no/such");
  EXPECT_EQ(error({"type=bpe", "path=/proc"}),
            "tokenizer: /proc has no tokenizer.json, and no vocab.json with merges.txt");
  EXPECT_EQ(error({"type=sentencepiece", "path=/proc"}),
            "tokenizer: /proc has no tokenizer.model, spiece.model or other *.model");
  EXPECT_EQ(error({"type=bpe", "path=/dev/null"}), "tokenizer: /dev/null is no regular file");
  EXPECT_EQ(error({"type=bpee"}).substr(0, 62), "command line: type: unknown type 'bpee'; did you mean 'bpe'? t");
  test::TempFolder temp;
  auto fifo = temp / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error({"type=bpe", "path=" + fifo}), "tokenizer: " + fifo + " is no regular file");
}
TEST(Bpe, BrokenJson) {
  EXPECT_EQ(error_of_file(std::string()).substr(0, 48), "broken JSON: parse error at line 1, column 1: sy");
  EXPECT_EQ(error_of_file(std::string("{\"a\": 1\n,, }")).substr(0, 43), "broken JSON: parse error at line 2, column ");
  EXPECT_EQ(error_of_file(std::string("{\"a\": \"\xff\"}")).substr(0, 43),
            "broken JSON: parse error at line 1, column ");
  EXPECT_EQ(error_of_file(std::string("{\"a\": 1e999}")).substr(0, 13), "broken JSON: ");
  EXPECT_EQ(error_of_file(std::string(1 << 20, '[')), "nested deeper than 32 levels");
  EXPECT_EQ(error_of_file(std::string("{\"model\": 1, \"model\": 2}")), "the key 'model' is given twice");
  EXPECT_EQ(error_of_file(std::string("[]")), "expected an object, got array");
  EXPECT_EQ(error_of_file(std::string("{}")), "'model' is missing");
}
TEST(Bpe, WhatIsNotSupportedIsNamed) {
  const auto good = read_json(file("llama3"));
  auto with = [&](const char* place, json value) {
    auto j = good;
    j[json::json_pointer(place)] = std::move(value);
    return error_of_file(j);
  };
  EXPECT_EQ(error_of_file(good), "no error");
  EXPECT_EQ(with("/surprise", 1), "'surprise' is not supported");
  EXPECT_EQ(with("/version", "2.0"), "version: expected \"1.0\", got \"2.0\"");
  EXPECT_EQ(with("/truncation", 5), "truncation: expected an object or null");
  EXPECT_EQ(with("/model/type", "Words"), "model: type 'Words' is not supported; supported: BPE, Unigram, WordPiece");
  EXPECT_EQ(with("/model/dropout", 0.1), "model.dropout: is not supported; set it to null");
  EXPECT_EQ(with("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix: is not supported; set it to null");
  EXPECT_EQ(with("/model/surprise", 1), "model: 'surprise' is not supported");
  EXPECT_EQ(with("/model/ignore_merges", 1), "model.ignore_merges: expected true or false, got number");
  const std::string forms = "null, NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, StripAccents, "
                            "Nmt, Precompiled, BertNormalizer, Sequence";
  EXPECT_EQ(with("/normalizer", {{"type", "NFx"}}), "normalizer: type 'NFx' is not supported; supported: " + forms);
  EXPECT_EQ(
      with("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "BertNormaliser"}}}}}),
      "normalizer.normalizers[1]: type 'BertNormaliser' is not supported; supported: " + forms);
  json empty_match = {{"type", "Replace"}, {"pattern", {{"Regex", "a*"}}}, {"content", ""}};
  EXPECT_EQ(with("/normalizer", empty_match), "normalizer.pattern: a match of nothing is not supported");
  EXPECT_EQ(with("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "?"}}),
            "normalizer.precompiled_charsmap: is not base 64");
  EXPECT_EQ(with("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "BAAAAAAAAAA="}}),
            "normalizer.precompiled_charsmap: the table's trie points outside");
  EXPECT_EQ(with("/pre_tokenizer", {{"type", "UnicodeScripts"}}),
            "pre_tokenizer: type 'UnicodeScripts' is not supported; supported: ByteLevel, Metaspace, Split, Digits, "
            "Whitespace, WhitespaceSplit, Punctuation, BertPreTokenizer, CharDelimiterSplit, Sequence");
  EXPECT_EQ(with("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}),
            "pre_tokenizer.replacement: expected one character, got 'ab'");
  EXPECT_EQ(with("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "_"}, {"add_prefix_space", false}}),
            "pre_tokenizer: add_prefix_space contradicts the prepend_scheme, always");
  EXPECT_EQ(with("/pre_tokenizer/pretokenizers/0", good["pre_tokenizer"]["pretokenizers"][1]),
            "pre_tokenizer.pretokenizers[1]: 'ByteLevel' after ByteLevel is not supported");
  EXPECT_EQ(with("/pre_tokenizer/pretokenizers/0/behavior", "Remove"),
            "pre_tokenizer.pretokenizers[0].behavior: 'Remove' is not supported; there are Isolated, Removed, "
            "MergedWithPrevious, MergedWithNext and Contiguous");
  EXPECT_EQ(with("/pre_tokenizer/pretokenizers/0/pattern", {{"Regex", "(a"}}),
            "pre_tokenizer.pretokenizers[0].pattern: broken regular expression '(a': missing closing parenthesis");
  auto stripped = good;
  stripped["normalizer"] = {{"type", "Strip"}};
  stripped["added_tokens"][0]["content"] = "\n";
  stripped["added_tokens"][0]["normalized"] = true;
  EXPECT_EQ(error_of_file(stripped), "added_tokens[0]: normalization leaves nothing of '\n'; set normalized to false");
  auto alike = good;
  alike["normalizer"] = {{"type", "Lowercase"}};
  for (auto [i, content] : {std::pair{1, "<X>"}, {3, "<x>"}}) {
    alike["added_tokens"][i]["content"] = content;
    alike["added_tokens"][i]["normalized"] = true;
  }
  EXPECT_EQ(error_of_file(alike),
            "added_tokens[3]: '<x>' is '<x>' when it is normalized, as '<X>' is; set normalized to false");
  auto around = good["post_processor"]["processors"][1];
  EXPECT_EQ(with("/post_processor/processors/2", around),
            "post_processor.processors[2]: 'TemplateProcessing' after TemplateProcessing is not supported");
  json pair = {{"type", "BertProcessing"}, {"cls", {"a", 1}}, {"sep", {"b", 2}}};
  EXPECT_EQ(with("/post_processor/processors", {around, pair}),
            "post_processor.processors[1]: 'BertProcessing' after TemplateProcessing is not supported");
  EXPECT_EQ(with("/post_processor/processors", {pair, around}), "no error");
  const std::string decoders = "null, ByteLevel, ByteFallback, Metaspace, Replace, Strip, Fuse, WordPiece, Sequence";
  EXPECT_EQ(with("/decoder/type", "CTC"), "decoder: type 'CTC' is not supported; supported: " + decoders);
  json after_fuse = {{"type", "Sequence"}, {"decoders", {{{"type", "Fuse"}}, {{"type", "ByteFallback"}}}}};
  EXPECT_EQ(with("/decoder", after_fuse),
            "decoder.decoders[1]: 'ByteFallback' after tokens are joined is not supported");
  EXPECT_EQ(
      with("/post_processor", {{"type", "Templates"}}),
      "post_processor: type 'Templates' is not supported; supported: ByteLevel, TemplateProcessing, RobertaProcessing, "
      "BertProcessing, Sequence");
  EXPECT_EQ(with("/post_processor/processors/1/single/1", json::object()),
            "post_processor.processors[1].single[1]: 'SpecialToken' is missing");
  EXPECT_EQ(with("/post_processor/processors/1/single/1/Sequence/id", "B"),
            "post_processor.processors[1].single[1].Sequence: expected the text, A, once");
  EXPECT_EQ(with("/post_processor/processors/1/special_tokens/<|begin_of_text|>/ids/0", 705),
            "post_processor.processors[1].special_tokens.<|begin_of_text|>.ids[0]: id 705 is no token");
  // Unless its tokens are asked for, nobody reads the post-processor.
  auto j = good;
  j["post_processor"] = {{"type", "Templates"}};
  test::TempFolder temp;
  auto path = temp / "post.json";
  std::ofstream(path) << j.dump();
  EXPECT_EQ(error({"type=bpe", "path=" + path}), "no error");
}
TEST(Bpe, RowsOfTheTimeOfSavingAreNotTheReaders) {
  auto j = read_json(file("llama3"));
  j["truncation"] = {{"direction", "Right"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}};
  j["padding"] = {{"strategy", {{"Fixed", 9}}}, {"pad_id", 0}};
  test::TempFolder temp;
  auto path = temp / "rows.json";
  std::ofstream(path) << j.dump();
  EXPECT_EQ(text::open_tokenizer({"type=bpe", "path=" + path})->encode("The ranks meet"),
            text::open_tokenizer({"type=bpe", "path=" + file("llama3")})->encode("The ranks meet"));
}
TEST(Bpe, ContradictionsAreNamed) {
  const auto good = read_json(file("gpt2"));
  auto changed = [&](auto change) {
    auto j = good;
    change(j);
    return error_of_file(j);
  };
  auto vocab = [&](const char* token, json id) { return changed([&](json& j) { j["model"]["vocab"][token] = id; }); };
  EXPECT_EQ(vocab("zz", -1), "model.vocab: the id of 'zz' is -1");
  EXPECT_EQ(vocab("zz", 1.5), "model.vocab: the id of 'zz' is 1.5");
  EXPECT_EQ(vocab("zz", 4000000000), "model.vocab: the id of 'zz' is 4000000000");
  EXPECT_EQ(vocab("zz", 9000), "model.vocab: ids have gaps: 'zz' has id 9000, but there are only 701 tokens");
  EXPECT_EQ(vocab("", 700), "model.vocab: id 700 is an empty token");
  EXPECT_EQ(vocab("zz", 65), "model.vocab: 'b' and 'zz' both have id 65");
  EXPECT_EQ(changed([](json& j) { j["model"].erase("vocab"); }), "model: 'vocab' is missing");
  EXPECT_EQ(changed([](json& j) { j["model"].erase("merges"); }), "model: 'merges' is missing");
  EXPECT_EQ(changed([](json& j) { j["model"]["vocab"].erase("q"); }), "model.vocab: byte 113 has no token ('q')");
  EXPECT_EQ(changed([](json& j) { j["model"]["vocab"] = 3; }),
            "model.vocab: expected an object of tokens and their ids");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"] = 3; }), "model.merges: expected a list, got number");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"][7] = "a"; }), "model.merges[7]: expected two tokens, got 'a'");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"][7] = "a b c"; }),
            "model.merges[7]: expected two tokens, got 'a b c'");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"][7] = {1, 2}; }),
            "model.merges[7]: expected two tokens, got [1,2]");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"][7] = {"q", "xyz"}; }),
            "model.merges[7]: 'xyz' is not in model.vocab");
  EXPECT_EQ(changed([](json& j) { j["model"]["merges"][7] = "q q"; }), "model.merges[7]: 'qq' is not in model.vocab");
  auto added = [&](json token) { return changed([&](json& j) { j["added_tokens"].push_back(token); }); };
  EXPECT_EQ(added({{"id", 701}, {"content", "<x>"}}), "no error");
  const std::string order = ", the next after model.vocab and the added tokens before";
  EXPECT_EQ(added({{"id", 700}, {"content", "<x>"}}), "added_tokens: '<x>' has id 700; expected 701" + order);
  EXPECT_EQ(added({{"id", 702}, {"content", "<x>"}}), "added_tokens: '<x>' has id 702; expected 701" + order);
  EXPECT_EQ(added({{"content", "<x>"}}), "added_tokens[1]: 'id' is missing");
  EXPECT_EQ(added({{"id", 701}, {"content", ""}}), "added_tokens[1]: content has 0 bytes");
  EXPECT_EQ(added({{"id", 701}, {"content", "<|endoftext|>"}}),
            "added_tokens[1]: '<|endoftext|>' is an added token already");
  EXPECT_EQ(added({{"id", 700}, {"content", "q"}}), "added_tokens[1]: 'q' has id 700, but 80 in model.vocab");
  auto e_acute = good["model"]["vocab"]["é"];
  EXPECT_EQ(added({{"id", e_acute}, {"content", "é"}}), "added_tokens[1]: 'é' stands for other bytes in model.vocab");
}
TEST(Pattern, IsWrittenForPcre2) {
  EXPECT_EQ(text::to_pcre2(R"([^\s\w]+|\S*?\d{1,3}\v)", "p"),
            R"([^\p{White_Space}\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]+|\P{White_Space}*?\p{Nd}{1,3}\x0b)");
  EXPECT_EQ(text::to_pcre2(R"(\w\W)", "p"), R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])"
                                            R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])");
  EXPECT_EQ(text::to_pcre2(R"(\p{Han}\p{Lu}\u4e00(?i:'s)(?!\x41))", "p"),
            R"(\p{sc:Han}\p{Lu}\x{4e00}(?i:'s)(?!\x{41}))");
  std::istringstream refused(
      R"(^a a$ a{1,2}+ a{2}? {,3} a{ [[:alpha:]] [a&&b] []a] [a (?<n>a) (?i)a (?m:a) (*FAIL) \b \1 \h
    \R \K \pL \p{^L} \xff \x{} \u12 [\W] (?i:\p{Lu}) (?i:[a]) (?i:ss) (?i:f(?:f)) (?i:é) a) \)");
  for (std::string pattern; refused >> pattern;) {
    auto text = test::error_of<IoError>([&] { text::to_pcre2(pattern, "p"); });
    EXPECT_TRUE(text.starts_with("p: the regular expression has '")) << text;
  }
}
TEST(Pattern, StepsAreLimited) {
  text::Pattern p("(a+)+[bc]", "p");
  std::string s(3000, 'a');
  EXPECT_THROW(p.split(s, [](std::string_view, bool) {}), ValueError);
}
}  // namespace tokenizer_test
