// Tables and ids as others write them (tests/golden/make_tables.py): the same rows whatever file they are in, from any
// row on; and nothing but an error of one line for bytes that are damaged.
#include <nlohmann/json.hpp>
#include "data/corpus.h"
#include "data/tables/table.h"
#include "laws/effort.h"
#include "support/files.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace bora::data::tables_test {
namespace {
using Json = nlohmann::json;
const std::string kGolden = test::source_dir() + "/tests/golden/tables/";
const std::vector<std::string> kTables{
    "none_v1.parquet",   "none_v2.parquet", "snappy_v1.parquet",        "snappy_v2.parquet",
    "gzip_v1.parquet",   "gzip_v2.parquet", "zstd_v1.parquet",          "zstd_v2.parquet",
    "plain.parquet",     "stream.arrow",    "delta_byte_array.parquet", "delta_length_byte_array.parquet",
    "file.arrow",        "large.arrow"};
const std::vector<std::string> kIds{"nano.bin",   "llmc.bin",   "llama3.bin", "ids_u2.npy", "ids_i4.npy",
                                    "ids_i8.npy", "ids.jsonl", "ids.parquet", "ids.arrow"};

RecordReader open(const std::string& path, Position from = {}, const Selection& s = {}) {
  return RecordReader(file_at(path), *format_of(path), from, {}, s);
}
/// A row of a table as an object.
Json object_of(const Layout& layout, const Raw& raw) {
  if (layout.format == Format::jsonl) return Json::parse(raw.bytes);
  Json row;
  std::string_view rest = raw.bytes;
  for (auto& name : layout.header) {
    auto value = tables::take_value(rest);
    row[name] = value.json ? Json::parse(value.bytes) : Json(std::string(value.bytes));
  }
  EXPECT_TRUE(rest.empty());
  return row;
}
struct Read {
  std::vector<Json> rows = {};
  std::vector<Position> behind = {};
};
Read read(const std::string& path, Position from = {}, const Selection& s = {}) {
  Read all;
  auto reader = open(path, from, s);
  for (Raw raw; reader.next(raw);) {
    all.rows.push_back(object_of(*reader.layout(), raw));
    all.behind.push_back(reader.position());
    EXPECT_EQ(raw.line + 1, reader.position().line) << "the number of a line or a row";
  }
  return all;
}
std::vector<std::vector<double>> documents(const std::string& path, Position from = {}) {
  std::vector<std::vector<double>> all;
  auto reader = open(path, from, {.columns = {"input_ids"}, .end = 50256, .wide = path.ends_with("wide.bin")});
  for (Raw raw; reader.next(raw);) all.push_back(Record(*reader.layout(), raw).numbers("input_ids"));
  return all;
}
struct Tables : Corpus {
  /// What opening and reading a file says; with HERE for its path.
  std::string problem(const std::string& path, const Selection& s = {}) const {
    auto text = error_of([&] {
      auto reader = open(path, {}, s);
      for (Raw raw; reader.next(raw);) {}
    });
    auto at = text.find(path);
    return at == text.npos ? text : text.replace(at, path.size(), "HERE");
  }
};
}  // namespace

TEST_F(Tables, EveryFormHasTheRowsOfTheLines) {
  auto want = read(kGolden + "rows.jsonl").rows;
  ASSERT_EQ(want.size(), 120U);
  for (auto& name : kTables) {
    SCOPED_TRACE(name);
    auto got = read(kGolden + name);
    ASSERT_EQ(got.rows.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got.rows[i], want[i]) << i;
    EXPECT_EQ(got.behind.back().offset, file_at(kGolden + name).bytes);
  }
}
TEST_F(Tables, ReadingGoesOnAtAnyRow) {
  for (auto& name : kTables) {
    SCOPED_TRACE(name);
    auto all = read(kGolden + name);
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
      if (!laws::tried(i, 5)) continue;
      auto rest = read(kGolden + name, all.behind[i]);
      ASSERT_EQ(rest.rows, std::vector<Json>(all.rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.rows.end()));
      for (std::size_t k = 0; k < rest.behind.size(); ++k) ASSERT_EQ(rest.behind[k], all.behind[i + 1 + k]);
    }
    EXPECT_NE(error_of<IoError>([&] { open(kGolden + name, {0, 122}); }).find("it has changed"), std::string::npos);
  }
}
TEST_F(Tables, AFileOfFeatherIsArrow) {
  auto rows = read(kGolden + "file.arrow").rows;
  EXPECT_EQ(read(write("file.feather", test::slurp(kGolden + "file.arrow"))).rows, rows);
  EXPECT_NE(error_of<Error>([&] { open(write("old.feather", "FEA1 and more bytes FEA1")); }).find("old.feather"),
            std::string::npos);
}
TEST_F(Tables, OnlyTheColumnsThatAreAskedForAreRead) {
  auto lines = read(kGolden + "rows.jsonl").rows;
  for (auto& name : kTables)
    for (auto& [column, value] : lines[0].items()) {
      auto got = read(kGolden + name, {}, {.columns = {column, "sure"}}).rows;
      for (std::size_t i = 0; i < lines.size(); ++i)
        ASSERT_EQ(got[i], (Json{{column, lines[i][column]}, {"sure", lines[i]["sure"]}})) << name << " " << column;
    }
}
TEST_F(Tables, RecordsOfTablesAreThoseOfLines) {
  for (auto& name : kTables) {
    SCOPED_TRACE(name);
    auto table = open(kGolden + name), lines = open(kGolden + "rows.jsonl");
    for (Raw a, b; table.next(a);) {
      ASSERT_TRUE(lines.next(b));
      Record one(*table.layout(), a), other(*lines.layout(), b);
      auto both = [&](auto f) {
        auto say = [&](const Record& r) {
          std::string text;
          auto error = error_of([&] { text = f(r); });
          return text.empty() ? error.substr(error.rfind(": ") == error.npos ? 0 : error.rfind(": ")) : text;
        };
        ASSERT_EQ(say(one), say(other));
      };
      auto list = [](const std::vector<double>& v) { return Json(v).dump(); };
      for (std::string field : {"text", "n", "x", "ids", "messages", "ok", "sure", "pair"}) {
        both([&](const Record& r) { return std::string(r.has(field) ? "yes" : "no"); });
        both([&](const Record& r) { return r.text(field); });
        auto number = [&](const Record& r) {
          std::string text = "none";
          (void)error_of([&] { text = Json(r.number(field)).dump(); });
          return text;
        };
        both(number);
        both([&](const Record& r) { return list(r.numbers(field)); });
        both([&](const Record& r) {
          std::string said = "-";
          for (auto& [role, content] : r.turns(field)) said += role + ": " + content + "\n";
          return said;
        });
      }
    }
  }
}
TEST_F(Tables, IdsAreTheSameInEveryFile) {
  auto want = documents(kGolden + "ids.jsonl");
  ASSERT_GT(want.size(), 10U);
  for (auto& name : kIds) {
    SCOPED_TRACE(name);
    EXPECT_EQ(documents(kGolden + name), want);
    auto reader = open(kGolden + name, {}, {.columns = {"input_ids"}, .end = 50256});
    std::size_t i = 0;
    for (Raw raw; reader.next(raw);)
      ASSERT_EQ(documents(kGolden + name, reader.position()),
                std::vector(want.begin() + static_cast<std::ptrdiff_t>(++i), want.end()));
  }
  EXPECT_EQ(documents(kGolden + "wide.bin"), want);
  EXPECT_EQ(problem(kGolden + "wide.bin"), "HERE: every second id is 0, as if ids had four bytes; set width: u32");
  auto rows = documents(kGolden + "grid.npy");
  ASSERT_EQ(rows.size(), 59U + 15U) << "rows, and ends in them";
  // A document has at most so many bytes of ids; the next one goes on there.
  RecordReader small(file_at(kGolden + "nano.bin"), Format::ids, {}, {.document = 40});
  std::vector<double> joined, whole;
  for (Raw raw; small.next(raw);) {
    auto some = Record(*small.layout(), raw).numbers("input_ids");
    EXPECT_LE(some.size(), 10U);
    joined.insert(joined.end(), some.begin(), some.end());
  }
  for (auto& d : want) whole.insert(whole.end(), d.begin(), d.end());
  EXPECT_EQ(joined, whole);
}
TEST_F(Tables, WhatIsNotReadIsNamed) {
  EXPECT_EQ(problem(kGolden + "split.parquet"),
            "HERE: column 'x', page 1 of row group 1: its values are encoded by BYTE_STREAM_SPLIT, which is not read; "
            "write it with dictionaries or plain (use_dictionary=True)");
  EXPECT_EQ(problem(kGolden + "split.parquet", {.columns = {"text"}}), "no error") << "another column";
  EXPECT_EQ(problem(kGolden + "brotli.parquet"),
            "HERE: the column 'x' is compressed by Brotli, which is not read; write it with snappy, zstd or gzip");
  EXPECT_EQ(problem(kGolden + "brotli.parquet", {.columns = {"text"}}), "no error");
  for (std::string name : {"times.parquet", "times.arrow"}) {
    EXPECT_EQ(problem(kGolden + name), "no error") << "columns that nobody asks for";
    EXPECT_EQ(problem(kGolden + name, {.columns = {"at"}}),
              "HERE: the column 'at' holds timestamps, which are not read");
    EXPECT_EQ(problem(kGolden + name, {.columns = {"d"}}), "HERE: the column 'd' holds dates, which are not read");
    EXPECT_EQ(problem(kGolden + name, {.columns = {"money"}}),
              "HERE: the column 'money' holds decimals, which are not read");
    auto reader = open(kGolden + name, {}, {.columns = {"text", "nothing"}});
    Raw raw;
    ASSERT_TRUE(reader.next(raw));
    Record r(*reader.layout(), raw);
    EXPECT_FALSE(r.has("nothing"));
    EXPECT_EQ(error_of([&] { r.text("nothing"); }),
              kGolden + name + ":1: there is no field 'nothing'; there are 'text', 'at', 'd', 'money'");
    EXPECT_EQ(error_of([&] { r.text("at"); }),
              kGolden + name + ":1: the field 'at' holds timestamps, which are not read");
  }
  EXPECT_EQ(problem(kGolden + "packed.arrow"),
            "HERE: its batches are compressed by zstd, which is not read in Arrow files; write it without "
            "(compression=None), or as Parquet");
  EXPECT_EQ(problem(write("a.parquet", "no table, but long enough")),
            "HERE is not a Parquet file: it does not begin with PAR1");
  auto whole = test::slurp(kGolden + "tiny.parquet");
  EXPECT_EQ(problem(write("b.parquet", whole.substr(0, whole.size() - 1))),
            "HERE: it does not end with PAR1; the file is incomplete");
  auto arrow = test::slurp(kGolden + "tiny_file.arrow");
  EXPECT_EQ(problem(write("b.arrow", arrow.substr(0, arrow.size() - 1))),
            "HERE: it does not end with ARROW1; the file is incomplete");
  EXPECT_EQ(problem(write("odd.bin", "123")),
            "HERE: its 3 bytes are no whole number of ids of 2 bytes; are they of four (width: u32)?");
  auto llmc = test::slurp(kGolden + "llmc.bin");
  EXPECT_EQ(problem(write("cut.bin", llmc.substr(0, llmc.size() - 2))),
            "HERE: its header says 599 ids of 2 bytes, and 1196 bytes follow; the file is incomplete");
}
/// A page of the second form that says another number of values, nulls or rows than it has is an error; when reading
/// begins behind it, so that it was passed over as it says, it is one, or the rows are the true ones.
TEST_F(Tables, PagesThatLieAreFoundOut) {
  auto name = std::string("pages_v2.parquet"), whole = test::slurp(kGolden + name);
  auto want = read(kGolden + name).rows;
  ASSERT_EQ(want.size(), 40U);
  std::vector<std::size_t> heads;  // places of the number of values in each header; of nulls and rows behind it
  for (auto at = whole.find("\x5c\x15"); at != whole.npos; at = whole.find("\x5c\x15", at + 1))
    if (whole[at + 3] == 0x15 && whole[at + 5] == 0x15 && whole[at + 7] == 0x15) heads.push_back(at + 2);
  ASSERT_EQ(heads.size(), 24U) << "five pages of each of n, t and s, and nine of l";
  enum Said { values, nulls = 2, rows = 4 };
  auto lie = [](std::string& file, std::size_t head, const std::vector<Said>& about, int more) {
    for (auto at : about) file[head + at] = static_cast<char>(file[head + at] + 2 * more);
  };
  /// What reading from each of some rows on gives.
  auto look = [&](const std::string& bytes, const std::string& what) {
    auto path = write(name, bytes);
    for (std::int64_t from : {0, 3, 9, 10, 16, 23, 33, 39}) {
      SCOPED_TRACE(what + " from row " + std::to_string(from));
      std::vector<Json> got;
      auto error = error_of([&] { got = read(path, {0, from + 1}).rows; });
      if (error == "no error") {
        EXPECT_GT(from, 0) << "nothing was found";
        EXPECT_EQ(got, std::vector<Json>(want.begin() + from, want.end()));
      } else EXPECT_TRUE(error.starts_with(path + ": column '")) << error;
    }
  };
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (int more : {-1, 1}) {
      auto page = "page " + std::to_string(h) + (more < 0 ? " less " : " more ");
      for (auto& [what, about] : std::vector<std::pair<std::string, std::vector<Said>>>{
               {"values", {values}}, {"rows", {rows}}, {"values and rows", {values, rows}}, {"nulls", {nulls}}}) {
        if (more < 0 && what == "nulls" && whole[heads[h] + nulls] == 0) continue;
        auto lied = whole;
        lie(lied, heads[h], about, more);
        look(lied, page + what);
      }
      // A lie that the next page makes good; a dictionary's page may have indices that only fill its last run up.
      bool last = h == 4 || h == 9 || h == 14 || h == 23, indices = h >= 10 && h < 15;
      if (last || indices) continue;
      auto lied = whole;
      lie(lied, heads[h], {values, rows}, more), lie(lied, heads[h + 1], {values, rows}, -more);
      look(lied, page + "and made good");
    }
  auto more = whole;
  lie(more, heads[0], {values, rows}, 1);
  auto path = write(name, more);
  EXPECT_EQ(problem(path), "HERE: column 'n', page 1 of row group 1: it ends before its last value");
  EXPECT_EQ(error_of([&] { read(path, {0, 31}); }),
            path + ": column 'n', page 5 of row group 1: the column has more rows than its row group");
}
/// Files of which bytes are lost or others: rows, or an error of one line that begins with the file.
TEST_F(Tables, DamageIsAnErrorOfOneLine) {
  std::map<std::string, int> errors;
  auto look = [&](const std::string& path) {
    try {
      auto reader = open(path, {}, {.columns = {}, .end = 50256});
      std::size_t rows = 0;
      for (Raw raw; rows < 1000; ++rows) try {
          if (!reader.next(raw)) break;
          Record r(*reader.layout(), raw);
          for (auto& name : reader.layout()->header) {
            auto text = error_of([&] { r.text(name); }), numbers = error_of([&] { r.numbers(name); }),
                 turns = error_of([&] { r.turns(name); });
            for (auto& e : {text, numbers, turns}) EXPECT_TRUE(e == "no error" || e.starts_with(path + ":")) << e;
          }
        } catch (const ConfigError& e) {
          EXPECT_TRUE(std::string(e.what()).starts_with(path)) << e.what();
          if (reader.position() == Position{}) break;
        }
      return false;
    } catch (const Error& e) {
      std::string text = e.what();
      EXPECT_TRUE(text.starts_with(path)) << text;
      EXPECT_EQ(text.find('\n'), text.npos);
      return true;
    }
  };
  for (std::string name : {"tiny.parquet", "tiny_v2.parquet", "tiny_none.parquet", "tiny.arrow", "tiny_file.arrow",
                           "llmc.bin", "ids_u2.npy"}) {
    SCOPED_TRACE(name);
    auto whole = test::slurp(kGolden + name);
    if (name == "llmc.bin") whole = whole.substr(0, 1100);
    auto place = (folder / name).string();
    int wrong = 0;
    for (std::size_t n = 0; n < whole.size(); ++n) wrong += look(write(name, whole.substr(0, n)));
    auto prefixes = wrong;
    bool may_end = name == "tiny.arrow" || name == "llmc.bin";  // behind a batch; two bytes are an id
    if (!may_end) { EXPECT_EQ(static_cast<std::size_t>(wrong), whole.size()) << "a prefix is incomplete"; }
    auto damaged = whole;
    std::size_t turn = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (int flip : {1, 4, 64, 128, 255}) {
        if (!laws::tried(++turn, 6)) continue;  // another flip in each byte
        damaged[i] = static_cast<char>(whole[i] ^ flip);
        wrong += look(write(name, damaged));
        damaged[i] = whole[i];
      }
    EXPECT_GT(wrong, prefixes);
  }
}
}  // namespace bora::data::tables_test
