// Records of text, JSON lines and CSV: wherever reading begins, however it is cut into blocks, plain or compressed.
#include <nlohmann/json.hpp>
#include <regex>
#include "bora/base/text.h"
#include "data/corpus.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace bora::data::records_test {
namespace {
struct Records : Corpus {
  /// The records of a file of these bytes, their errors without the file's name.
  std::vector<std::string> texts(const std::string& bytes, Format format, Limits limits = {}) const {
    auto f = file("f", bytes);
    std::vector<std::string> all;
    for (auto& seen : records(f, format, {}, limits))
      all.push_back(seen.line < 0 ? seen.bytes.substr(f.path.size() + 1) : seen.bytes);
    return all;
  }
};
using Texts = std::vector<std::string>;
constexpr Format kFormats[] = {Format::text, Format::jsonl, Format::csv};
/// Files of all kinds of records, good and malformed ones.
std::string sample(Format format, std::mt19937& random) {
  static const std::vector<std::string> parts[] = {
      {"word ", "\n", "\n\n", "%\n", "%\r\n", " %\n", "%%\n", "\r\n", "\u00e4\u8a9e", "\U0001f600", "%"},
      {"{\"a\": 1}", "\n", "\n", "\r\n", "  \n", "{\"text\": \"words\"}\n", "broken", "\t"},
      {"a", ",", ",", "\n", "\r\n", "\"x\ny\"", "\"\"", "\"", "\"q\"\"\",", "\u00e4,b\n", "c,d\n"}};
  auto text = random_text(random, parts[static_cast<int>(format)], 60);
  return (random() % 3 == 0 ? "\xef\xbb\xbf" : "") + (format == Format::csv ? "one,two\n" : std::string()) + text;
}
Record parse(const Layout& layout, const Raw& raw) { return {layout, raw}; }
const Layout kJson{"f", Format::jsonl};
std::string json_error(const std::string& line) {
  Raw raw{line, 7};
  return error_of<ConfigError>([&] { parse(kJson, raw); });
}
}  // namespace

TEST_F(Records, BeginAnywhereAndReadInAnyBlocks) {
  std::mt19937 random(5);
  Limits limits{40, 50, 1 << 10};
  int count = 0;
  for (int round = 0; round < 30; ++round)
    for (auto format : kFormats) {
      auto bytes = sample(format, random);
      auto f = file("f", bytes);
      auto all = records(f, format, {}, limits);
      count += static_cast<int>(all.size());
      for (std::int64_t block : {1, 2, 3, 7, 64}) {
        auto cut = limits;
        cut.block = block;
        ASSERT_EQ(records(f, format, {}, cut), all) << block << "\n" << bytes;
      }
      auto middle = bytes.size() / 2;
      auto members = gzip(bytes.substr(0, middle)) + gzip(bytes.substr(middle));
      auto frames = zstd(bytes.substr(0, middle)) + zstd(bytes.substr(middle));
      auto zipped = file("f.gz", members), framed = file("f.zst", frames);
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto rest = std::vector<Seen>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
        ASSERT_EQ(records(f, format, all[i].behind, limits), rest) << i << "\n" << bytes;
        if (round > 5) continue;
        for (auto& packed : {zipped, framed}) {
          auto others = records(packed, format, all[i].behind, limits);
          ASSERT_EQ(others.size(), rest.size());
          for (std::size_t k = 0; k < rest.size(); ++k) ASSERT_EQ(others[k].behind, rest[k].behind);
        }
      }
      auto good = [](std::vector<Seen> s) {
        std::erase_if(s, [](auto& r) { return r.line < 0; });
        return s;
      };
      EXPECT_EQ(good(records(zipped, format, {}, limits)), good(all));
      EXPECT_EQ(good(records(framed, format, {}, limits)), good(all));
    }
  EXPECT_GT(count, 1000);
}
TEST_F(Records, AReaderOfAllBytesHasTheFilesChecksum) {
  std::mt19937 random(6);
  Limits small{.block = 4096};
  for (auto format : kFormats) {
    std::string bytes = format == Format::csv ? "one,two\n" : "";
    while (bytes.size() < 100000) {
      auto number = std::to_string(random());
      bytes += format == Format::jsonl ? "{\"a\": \"" + number + "\"}\n" : number + ",b\n%\n";
    }
    for (auto& f : {file("f", bytes), file("f.gz", gzip(bytes) + gzip("")), file("f.zst", zstd(bytes))}) {
      SCOPED_TRACE(f.path);
      auto sum_from = [&](Position from) {
        RecordReader reader(f, format, from, small);
        EXPECT_FALSE(f.path.ends_with("/f") && reader.stored_crc()) << "one block was read";
        Raw raw;
        for (bool more = true; more;) try {
            more = reader.next(raw);
          } catch (const ConfigError&) {  // of CSV: the rows of one field
          }
        return reader.stored_crc();
      };
      EXPECT_EQ(sum_from({}), whole_crc(f));
      auto late = sum_from({50000, 2});  // compressed bytes are read to find the place
      bool plain = f.path.ends_with("/f");
      EXPECT_EQ(late.has_value(), !plain);
      EXPECT_EQ(late.value_or(whole_crc(f)), whole_crc(f));
    }
  }
}
TEST_F(Records, APositionBehindTheFileIsAnError) {
  for (auto format : kFormats) {
    auto f = file("f", "one,two\n");
    EXPECT_NE(error_of<IoError>([&] { RecordReader(f, format, {100, 3}); }).find("it has changed"), std::string::npos);
  }
}

TEST_F(Records, Utf16IsNamed) {
  for (auto format : kFormats)
    for (std::string bytes : {"\xff\xfe" "a", "\xfe\xff"}) {
      auto f = file("f", bytes);
      EXPECT_EQ(error_of<ConfigError>([&] { RecordReader(f, format); }),
                "data: " + f.path + " begins as UTF-16 does; write it as UTF-8 (iconv -f utf-16 -t utf-8)");
    }
}
TEST_F(Records, DocumentsOfText) {
  auto texts = [&](const std::string& s, std::int64_t most = 1 << 20) {
    return this->texts(s, Format::text, {.document = most});
  };
  EXPECT_EQ(texts(""), Texts{});
  EXPECT_EQ(texts("one\n\ntwo"), (Texts{"one\n\ntwo"}));
  EXPECT_EQ(texts("\xef\xbb\xbfone"), (Texts{"one"}));
  EXPECT_EQ(texts("a\n%\nb\r\n%\r\n%\nc % d\n%%\n"), (Texts{"a", "b", "c % d\n%%\n"}));
  EXPECT_EQ(texts("%\n%\n"), Texts{});
  EXPECT_EQ(texts("a\n%"), (Texts{"a\n%"})) << "a line that has no end is no mark, as for streams of bytes";
  EXPECT_EQ(texts("aaaa\n\nbb\ncc\ndddd", 12), (Texts{"aaaa\n\nbb\ncc\n", "dddd"})) << "no paragraph behind the half";
  EXPECT_EQ(texts("aaaaa\n\nbb\ncc\ndddd", 12), (Texts{"aaaaa\n\n", "bb\ncc\ndddd"})) << "a paragraph";
  EXPECT_EQ(texts("aaa\nbbbbbbbbbbbbbb", 10), (Texts{"aaa\nbbbbbb", "bbbbbbbb"})) << "a character";
  EXPECT_EQ(texts("0123456789", 10), (Texts{"0123456789"}));
  EXPECT_EQ(texts("012345678\u00e4", 10), (Texts{"012345678", "\u00e4"}));
  EXPECT_EQ(texts("0123456\U0001f600", 10), (Texts{"0123456", "\U0001f600"}));
  EXPECT_EQ(texts("012345678\xff\xff", 10), (Texts{"012345678", "\xff\xff"}));
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {  // nothing is lost but marks, and no document exceeds the limit
    auto all = random_text(random, {"word ", "\n", "\n\n", "\u8a9e", "\U0001f600"}, 100);
    auto most = static_cast<std::int64_t>(8 + random() % 60);
    std::string joined;
    std::int64_t line = 1;
    auto f = file("f", all);
    for (auto& seen : records(f, Format::text, {}, {.document = most})) {
      EXPECT_EQ(seen.line, line);
      line += std::count(seen.bytes.begin(), seen.bytes.end(), '\n');
      EXPECT_LE(seen.bytes.size(), static_cast<std::size_t>(most));
      EXPECT_NE(static_cast<unsigned char>(seen.bytes[0]) & 0xc0, 0x80) << "inside a character";
      joined += seen.bytes;
    }
    EXPECT_EQ(joined, all);
  }
}
TEST_F(Records, LinesOfJson) {
  auto f = file("f", "\xef\xbb\xbf{\"a\": 1}\r\n\n  \t\r\n {} \nbroken\n{\"b\": 2}");
  auto all = records(f, Format::jsonl);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], (Seen{"{\"a\": 1}", 1, {13, 2}}));
  EXPECT_EQ(all[1], (Seen{" {} ", 4, {24, 5}}));
  EXPECT_EQ(all[2].bytes, "broken") << "it is parsed by the caller";
  EXPECT_EQ(all[3], (Seen{"{\"b\": 2}", 6, {39, 6}}));
  EXPECT_EQ(texts("12345\n123456\n\n1\n", Format::jsonl, {.record = 5}),
            (Texts{"12345", "2: the record is longer than 5 B, the most that one may have", "1"}));
}
TEST_F(Records, RowsOfCsv) {
  EXPECT_EQ(texts("a,b\n1,\"x\ny\"\r\n\n\n2,3", Format::csv), (Texts{"1,\"x\ny\"", "2,3"}));
  EXPECT_EQ(records(file("f", "a,b\n1,\"x\ny\"\n\n2,3\n"), Format::csv)[1], (Seen{"2,3", 5, {17, 6}}));
  EXPECT_EQ(texts("a,b\n1,\"x\"y,\nz\n2,\"3", Format::csv),
            (Texts{"2: the quoted field of line 2 is followed by other text; a quote inside it is doubled", "z",
                   "4: the quote of line 4 is not closed"}));
  EXPECT_EQ(texts("a\n\"12\n345\n67\"\n8\n", Format::csv, {.record = 6}),
            (Texts{"2: the record is longer than 6 B, the most that one may have", "67\"", "8"}))
      << "the row ends with the line in which it is too long";
  EXPECT_EQ(texts("", Format::csv), Texts{});
  EXPECT_EQ(texts("\n\na,b\n", Format::csv), Texts{}) << "a header alone";
  EXPECT_EQ(error_of<ConfigError>([&] { records(file("f", "\na,\"b\",b"), Format::csv); }),
            (folder / "f").string() + ":2: the header has the field 'b' twice");
  RecordReader reader(file("f", "\xef\xbb\xbf\"na\"\"me\",,text\r\n1,2,\"a \"\"b\"\"\"\n1,2\n"), Format::csv);
  EXPECT_EQ(reader.layout()->header, (Texts{"na\"me", "", "text"}));
  Raw raw;
  ASSERT_TRUE(reader.next(raw));
  Record row(*reader.layout(), raw);
  EXPECT_EQ(row.text("text"), "a \"b\"");
  EXPECT_EQ(row.number("na\"me"), 1);
  EXPECT_TRUE(row.has(""));
  EXPECT_FALSE(row.has("b"));
  ASSERT_TRUE(reader.next(raw));
  EXPECT_EQ(error_of<ConfigError>([&] { parse(*reader.layout(), raw); }),
            (folder / "f").string() + ":3: the row has 2 fields, and the header has 3");
  EXPECT_FALSE(reader.next(raw));
}
TEST_F(Records, CsvEqualsPython) {
  std::ifstream in(test::source_dir() + "/tests/golden/csv.json");
  auto cases = nlohmann::json::parse(in);
  ASSERT_GT(cases.size(), 400U);
  for (auto& c : cases) {
    auto f = file("f", "x,y\n" + c["text"].get<std::string>());
    RecordReader reader(f, Format::csv);
    auto fits = [&](const nlohmann::json& expected) {
      Raw raw;
      if (expected == "bad") return error_of<ConfigError>([&] { reader.next(raw); }) != "no error";
      if (!reader.next(raw)) return false;
      if (expected.size() != 2) return error_of<ConfigError>([&] { parse(*reader.layout(), raw); }) != "no error";
      Record row(*reader.layout(), raw);
      return row.text("x") == expected[0] && row.text("y") == expected[1];
    };
    for (auto& expected : c["rows"]) EXPECT_TRUE(fits(expected)) << c;
    Raw raw;
    EXPECT_TRUE((!c["rows"].empty() && c["rows"].back() == "bad") || !reader.next(raw)) << c;
  }
}

TEST(Record, GivesTheFieldsOfJson) {
  Raw raw{
      R"( {"a": "x \"y\" \u00e4\ud83d\ude00\n\/", "half": "\ud83d \udc00", "n": -1.5e2,
 "null": null, "o": {"a": ["}"]}, "a b": "",
 "k\u0065y": "v", "n2": "first", "n2": "last", "bytes": ")"
      "\xff\xc3"
      R"("} )",
      3};
  Record r(kJson, raw);
  EXPECT_EQ(r.text("a"), "x \"y\" \u00e4\U0001f600\n/");
  EXPECT_EQ(r.text("a b"), "");
  EXPECT_EQ(r.text("key"), "v");
  EXPECT_EQ(r.text("n2"), "last") << "as in Python and nlohmann's library";
  EXPECT_EQ(error_of<ConfigError>([&] { r.text("half"); }),
            "f:3: the field 'half' has half of a surrogate pair, which stands for no character");
  EXPECT_EQ(error_of<ConfigError>([&] { r.text("bytes"); }),
            "f:3: the field 'bytes' is not UTF-8: byte 1 is 0xff");
  Record replaced(kJson, raw, {.replace = true});
  EXPECT_EQ(replaced.text("half"), "\ufffd \ufffd");
  EXPECT_EQ(replaced.text("bytes"), "\ufffd\ufffd");
  EXPECT_EQ(r.number("n"), -150);
  EXPECT_TRUE(r.has("o"));
  EXPECT_FALSE(r.has("null"));
  EXPECT_FALSE(r.has("x"));
  EXPECT_EQ(error_of<ConfigError>([&] { r.text("x"); }),
            "f:3: there is no field 'x'; there are 'a', 'half', 'n', 'null', 'o', 'a b', 'key', 'n2', 'n2', 'bytes'");
  EXPECT_EQ(error_of<ConfigError>([&] { r.text("n"); }), "f:3: the field 'n' is a number; text is expected");
  EXPECT_EQ(error_of<ConfigError>([&] { r.text("null"); }), "f:3: the field 'null' is null; text is expected");
  EXPECT_EQ(error_of<ConfigError>([&] { r.number("key"); }), "f:3: the field 'key' is '\"v\"'; a number is expected");
  Raw document{"%\n", 1}, empty{"{}", 2};
  const Layout text{"t", Format::text};
  EXPECT_EQ(Record(text, document).text("text"), "%\n");
  EXPECT_EQ(error_of<ConfigError>([&] { Record(kJson, empty).text("a"); }),
            "f:2: there is no field 'a'; the record is empty");
}
TEST(Record, SaysWhereJsonIsBroken) {
  EXPECT_EQ(json_error(R"({"a": 1)"), "f:7: broken JSON at column 8: expected ',' or '}'");
  EXPECT_EQ(json_error(R"({"a" 1})"), "f:7: broken JSON at column 6: expected ':'");
  EXPECT_EQ(json_error(R"({"a": [1, }})"), "f:7: broken JSON at column 11: expected a value");
  EXPECT_EQ(json_error(R"({"a": [1})"), "f:7: broken JSON at column 9: expected ',' or ']'");
  EXPECT_EQ(json_error(R"({"a": "b)"), "f:7: broken JSON at column 7: a string has no end");
  EXPECT_EQ(json_error(R"({"a": "\x"})"), "f:7: broken JSON at column 8: no escape of JSON");
  EXPECT_EQ(json_error("{\"a\": \"\t\"}"), "f:7: broken JSON at column 8: a control character in a string");
  EXPECT_EQ(json_error(R"({"a": 01})"), "f:7: broken JSON at column 8: expected ',' or '}'");
  EXPECT_EQ(json_error(R"({"a": NaN})"), "f:7: broken JSON at column 7: expected a value");
  EXPECT_EQ(json_error(R"({"a": 1} x)"), "f:7: broken JSON at column 10: expected nothing more");
  EXPECT_EQ(json_error(R"({a: 1})"), "f:7: broken JSON at column 2: expected a name in quotes");
  EXPECT_EQ(json_error("[1]"),
            "f:7: expected a JSON object a line, here begins a list; write its items as lines (jq -c '.[]')");
  for (auto other : {"null", "words", "\"a\""})
    EXPECT_EQ(json_error(other), "f:7: expected a JSON object, which begins with '{'") << other;
}
TEST(Record, TakesTurns) {
  auto turns = [](const std::string& list) {
    Raw raw{"{\"t\": " + list + "}", 2};
    return Record(kJson, raw).turns("t");
  };
  auto problem = [&](const std::string& list) { return error_of<ConfigError>([&] { turns(list); }); };
  std::vector<Turn> talk = {{"system", "s"}, {"user", "a\n"}, {"assistant", ""}};
  EXPECT_EQ(turns(R"([{"role": "system", "content": "s"}, {"content": "a\n", "role": "user", "more": [{}]},
 {"role":"assistant","content":""}])"),
            talk);
  EXPECT_EQ(
      turns(R"([{"from": "system", "value": "s"}, {"from": "human", "value": "a\n"}, {"value":"","from":"gpt"}])"),
      talk);
  EXPECT_EQ(turns("[]"), std::vector<Turn>{});
  EXPECT_EQ(problem(R"([{"role": "user"}])"), "f:2: turn 1 of the field 't' has no 'content'");
  EXPECT_EQ(problem(R"([{"from": "gpt"}])"), "f:2: turn 1 of the field 't' has no 'value'");
  EXPECT_EQ(problem(R"([{}])"), "f:2: turn 1 of the field 't' has no 'role'");
  EXPECT_EQ(problem(R"([{"role": "user", "content": "a"}, 5])"),
            "f:2: turn 2 of the field 't' is a number; an object is expected");
  EXPECT_EQ(problem(R"([{"role": "user", "content": null}])"),
            "f:2: 'content' of turn 1 of the field 't' is null; text is expected");
  EXPECT_EQ(problem(R"("words")"), "f:2: the field 't' is text; a list of turns is expected");
  const Layout csv{"c", Format::csv, {"t", "u"}};
  Raw row{R"("[{""role"": ""user"", ""content"": ""a \""b\""""}]",words)", 2};
  Record r(csv, row);
  EXPECT_EQ(r.turns("t"), (std::vector<Turn>{{"user", "a \"b\""}}));
  EXPECT_EQ(error_of<ConfigError>([&] { r.turns("u"); }),
            "c:2: the field 'u' holds no JSON list of turns: at character 1: expected '['");
}
TEST(Record, TakesAnswers) {
  auto answers = [](const std::string& value) {
    Raw raw{"{\"a\": " + value + "}", 2};
    std::string all;
    for (auto& a : Record(kJson, raw).answers("a")) all += a.text + "@" + std::to_string(a.start) + " ";
    return all;
  };
  auto problem = [&](const std::string& value) { return error_of<ConfigError>([&] { answers(value); }); };
  EXPECT_EQ(answers(R"({"text": ["x", "y\u0041"], "answer_start": [3, 7], "more": 1})"), "x@3 yA@7 ");
  EXPECT_EQ(answers(R"({"answer_start": 0, "text": "x"})"), "x@0 ");
  EXPECT_EQ(answers(R"([{"text": "x", "answer_start": 3}, {"text": "y", "answer_start": 4}])"), "x@3 y@4 ");
  for (auto nothing : {"null", "[]", R"({"text": [], "answer_start": []})"}) EXPECT_EQ(answers(nothing), "");
  EXPECT_EQ(problem(R"({"text": ["x"], "answer_start": []})"),
            "f:2: the field 'a' has 1 texts of answers, and 0 places");
  EXPECT_EQ(problem(R"({"text": "x", "answer_start": -1})"),
            "f:2: 'answer_start' of the field 'a' is '-1'; a number of characters is expected");
  EXPECT_EQ(problem(R"({"text": 5, "answer_start": 1})"), "f:2: 'text' of the field 'a' is a number; text is expected");
  EXPECT_EQ(problem(R"("x")"), "f:2: the field 'a' is text; answers are expected: an object with 'text' and "
                               "'answer_start'");
  const Layout csv{"c", Format::csv, {"a", "b"}};
  Raw row{R"("{""text"": [""x""], ""answer_start"": [2]}",words)", 2};
  Record r(csv, row);
  EXPECT_EQ(r.answers("a").at(0).start, 2);
  EXPECT_EQ(error_of<ConfigError>([&] { r.answers("b"); }),
            "c:2: the field 'b' holds no answers in JSON: at character 1: expected a value");
}
TEST(Record, AcceptsWhatNlohmannsLibraryAccepts) {
  std::mt19937 random(11);
  const std::vector<std::string> parts = {
      "{", "}", "[", "]", ",", ":", "\"",   "\\",   " ",  "\"a\"", "\"b\": ", "\\u0041", "\\n", "\\ud83d\\ude00",
      "1", "0", "-", ".", "e", "5", "true", "null", "\t", "{}",    "[]",      "\u00e4",  "\x01"};
  // Half a surrogate pair, a number that no double holds and bytes that are no UTF-8 are refused there.
  const std::regex different("\\\\u[dD][89a-fA-F]|[0-9][eE][+]?[0-9]{3}");
  std::function<nlohmann::json(int)> value = [&](int depth) -> nlohmann::json {
    switch (random() % (depth > 3 ? 4 : 6)) {
      case 0: return static_cast<int>(random() % 2000) - 1000;
      case 1: return random_text(random, {"a", "\"", "\\", "\n", "\u8a9e", "\U0001f600", "/", "\x02"}, 8);
      case 2: return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 100) - 60);
      case 3: return random() % 2 ? nlohmann::json(nullptr) : nlohmann::json(random() % 2 == 0);
      case 4: {
        auto list = nlohmann::json::array();
        for (auto n = random() % 4; n > 0; --n) list.push_back(value(depth + 1));
        return list;
      }
      default: {
        auto object = nlohmann::json::object();
        for (auto n = random() % 4; n > 0; --n)
          object[random_text(random, {"k", "\"", "\u00e4"}, 2)] = value(depth + 1);
        return object;
      }
    }
  };
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto object = nlohmann::json::object();
    for (int k = 0; k < 3; ++k) object["f" + std::to_string(k)] = value(0);
    Raw raw{object.dump(i % 3 == 0 ? 1 : -1, ' ', i % 2 == 0), 1};
    Record r(kJson, raw);
    for (auto& [name, v] : object.items()) {
      EXPECT_EQ(v.is_string() ? r.text(name) : error_of<ConfigError>([&] { r.text(name); }).substr(0, 4),
                v.is_string() ? v.get<std::string>() : "f:1:");
      if (v.is_number()) { EXPECT_EQ(r.number(name), v); }
    }
    for (int change = 0; change < 10; ++change) {
      auto other = raw;
      auto at = random() % other.bytes.size();
      other.bytes.replace(at, random() % 3, parts[random() % parts.size()]);
      auto theirs = nlohmann::json::parse(other.bytes, nullptr, false);
      bool ours = json_error(other.bytes) == "no error";
      bool odd = std::regex_search(other.bytes, different) || first_not_utf8(other.bytes) != std::string::npos;
      if (ours && theirs.is_discarded() && odd) continue;
      EXPECT_EQ(ours, theirs.is_object()) << other.bytes;
      ++(ours ? accepted : refused);
    }
  }
  EXPECT_GT(accepted, 3000);
  EXPECT_GT(refused, 10000);
}

TEST_F(Records, ALineOfTwoGigabytesNeedsNoMemory) {
  auto peak = [] {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
    return 0L;
  };
  auto path = write("big.jsonl", "");
  fs::resize_file(path, std::uintmax_t{2} << 30);  // without blocks on the disk
  std::ofstream(path, std::ios::app) << "\n{\"a\": 1}\n";
  std::ofstream(folder / "bomb.csv.zst", std::ios::binary) << zstd("x,y\n" + std::string(200 << 20, 'z') + "\n1,2\n");
  std::string paragraphs;
  for (int i = 0; paragraphs.size() < 100 << 20; ++i) paragraphs += std::string(300'000, 'w') + "\n\n";
  std::ofstream(folder / "long.txt.zst", std::ios::binary) << zstd(paragraphs);
  std::string().swap(paragraphs);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is from here on
  auto before = peak();
  for (auto [name, format] :
       {std::pair{"big.jsonl", Format::jsonl}, {"big.jsonl", Format::csv}, {"bomb.csv.zst", Format::csv}}) {
    auto listed = list_files((folder / name).string()).at(0);
    std::vector<Seen> all;
    if (format == Format::csv && std::string(name) == "big.jsonl") {
      EXPECT_EQ(error_of<ConfigError>([&] { RecordReader(listed, format); }),
                listed.path + ":1: the record is longer than 64.0 MiB, the most that one may have");
      continue;
    }
    all = records(listed, format);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].bytes, listed.path + (format == Format::csv ? ":2" : ":1") +
                                ": the record is longer than 64.0 MiB, the most that one may have");
    EXPECT_EQ(all[1].bytes, format == Format::csv ? "1,2" : "{\"a\": 1}");
  }
  auto documents = RecordReader(list_files((folder / "long.txt.zst").string()).at(0), Format::text);
  int count = 0;
  for (Raw raw; documents.next(raw); ++count) EXPECT_LE(raw.bytes.size(), 900'006U) << "cut at a paragraph";
  EXPECT_EQ(count, 117);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // which keep freed memory, and more than is used
  constexpr long most = 1 << 20;
#else
  constexpr long most = 100 << 10;
#endif
  EXPECT_LT(peak() - before, most) << "KiB";
}
TEST_F(Records, AFileThatShrinksIsAnError) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  for (auto format : {Format::text, Format::jsonl}) {
    auto f = file("f", lines);
    RecordReader reader(f, format, {}, {.document = 500, .block = 1000});
    Raw raw;
    ASSERT_TRUE(reader.next(raw));
    fs::resize_file(f.path, 5000);
    EXPECT_EQ(error_of<IoError>([&] {
                while (reader.next(raw)) {}
              }),
              f.path + ": it became shorter while it was read: 5000 bytes are left of " + std::to_string(lines.size()));
  }
}
}  // namespace bora::data::records_test
