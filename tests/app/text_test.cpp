// Texts that are hard to cut, in runs of one process and of several.
#include "base/api/crc32c.h"
#include "bora/io/checkpoint.h"
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace text_test {
using namespace bora;
namespace {
struct TextCommand : CommandTest {
  std::string out = folder + "/o";
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  std::string ids(int n) const {
    std::string all;
    for (int i = 0; i < n; ++i) all += std::to_string(i % 31) + " ";
    return file("ids" + std::to_string(n), all);
  }
  static std::string small(const std::string& positions) {
    return " batch=6 eval_every=1 model.layers=1 model.embed=8 model.heads=1 model.positions=" + positions;
  }
};
/// A checkpoint as it was written before rows had a form: its note gets a name that nobody reads.
void without_form(const std::string& folder) {
  auto path = folder + "/manifest", bytes = test::slurp(path);
  constexpr std::size_t header = 24;  // magic, version, checksum of what follows, its size
  auto at = bytes.find("rows_form", header);
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 4, "rovs");
  auto crc = crc32c(bytes.data() + header, bytes.size() - header);
  bytes.replace(12, 4, reinterpret_cast<const char*>(&crc), 4);
  std::ofstream(path, std::ios::binary) << bytes;
  ASSERT_FALSE(io::read_manifest(folder).notes.contains("rows_form"));
}
}  // namespace

/// "'232' is no id from 0 to 30" was said of ids from 0 to 30.
TEST_F(TextCommand, IdsOfOneLineAreTheIdsOfTheText) {
  for (auto path : {ids(31), ids(4000)})
    for (std::string hold_out : {"0.25", "0.5"})
      for (std::string start : {"train --out ", "launch -n 3 --out "}) {
        auto words = start + out + (start.starts_with("launch") ? " train " : " ") + "data=" + path +
                     " hold_out=" + hold_out + " tokenizer=ids tokenizer.size=31 steps=2" + small("3");
        auto r = run(words);
        EXPECT_EQ(r.code, 0) << words << r.out << r.err;
        fs::remove_all(out);
      }
  auto r = run("data data=" + ids(4000) + " tokenizer=ids tokenizer.size=1000 --examples 1000 steps=2" + small("16"));
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out.substr(r.out.find("examples (")));
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    + ")) continue;
    std::istringstream numbers(line.substr(6));
    for (int last = -1, n; numbers >> n; last = n, ++seen) {
      EXPECT_LT(n, 31) << line;
      EXPECT_TRUE(last < 0 || n == (last + 1) % 31) << line << ": learnt is what follows in the text";
    }
  }
  EXPECT_GT(seen, 1000);
}
/// A run that an earlier version began says that its rows are others now; where they are the same it says nothing.
TEST_F(TextCommand, ARunOverRowsThatHaveChangedSaysSo) {
  std::string words, ends;
  for (int i = 0; i < 3000; ++i) words += "word" + std::to_string(i) + " ";
  auto one_line = file("one", words), lines = folder + "/text";
  auto entries = "data: {sources: [{type: text, path: " + lines + "}]}\n";
  std::ofstream(folder + "/entries.yaml") << entries;
  for (auto& [settings, differs] :
       {std::pair{"data=" + one_line, true}, {"data=" + lines, false}, {folder + "/entries.yaml", true}}) {
    SCOPED_TRACE(settings);
    auto start = "train --out " + out + " " + settings + small("16") + " ";
    ASSERT_EQ(run(start + "steps=2").code, 0);
    auto warning = "warning: data: this run began with another version, which cut ";
    EXPECT_EQ(run(start + "steps=3").out.find(warning), std::string::npos);
    without_form(out + "/checkpoints/step-3");
    auto r = run(start + "steps=4");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out.find(warning) != std::string::npos, differs) << r.out;
    EXPECT_EQ(run(start + "steps=5").out.find(warning), std::string::npos) << "it was said once";
    fs::remove_all(out);
  }
}
TEST_F(TextCommand, WhatIsNotUtf8IsToldWithItsPlace) {
  std::string good = "{\"text\": \"" + std::string(200, 'a') + "\"}\n";
  auto all = good + good + "{\"text\": \"caf\xe9\"}\n" + good + "{\"text\": \"\\ud83d\"}\n" + good + good;
  auto path = file("l.jsonl", all);
  auto words = " data.type=jsonl data.path=" + path + " data.hold_out=0.4 steps=2 --out " + out;
  is_bad_input("train" + words + small("16"), path + ":3: the field 'text' is not UTF-8: byte 4 is 0xe9");
  auto r = run("train" + words + small("16") + " data.on_error=skip");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("data: " + path + ": 2 malformed records were left out"), r.out.npos) << r.out;
  fs::remove_all(out);
  r = run("train" + words + small("16") + " data.on_error=replace");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.find("left out"), r.out.npos) << r.out;
  auto text = file("latin", "first\nna\xefve\n" + std::string(3000, 'x') + "\n");
  is_bad_input("train-tokenizer --vocab 260 --out " + folder + "/t.json " + text,
               text + ":2: the text is not UTF-8: byte 3 of the line is 0xef");
  is_bad_input("train --out " + out + " data=" + text + " tokenizer=bpe tokenizer.path=" + test::source_dir() +
                   "/tests/golden/tokenizer_gpt2.json steps=2" + small("16"),
               "data: " + text + " is not UTF-8: byte 9 of it belongs to no character");
}
}  // namespace text_test
