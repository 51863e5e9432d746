// `bora train-tokenizer`: its files are tokenizers of the command, and bad input is one line and no file.
#include <nlohmann/json.hpp>
#include "command.h"

namespace fs = std::filesystem;
namespace train_tokenizer_test {
using namespace bora;
using nlohmann::json;
namespace {
struct TrainTokenizerTest : CommandTest {
  std::string write(const std::string& name, const std::string& content) const {
    auto path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string file(const std::string& name) const { return folder + "/" + name; }
  Result train(const std::string& arguments) const { return run("train-tokenizer " + arguments); }
};
}  // namespace

TEST_F(TrainTokenizerTest, WritesATokenizerThatReadsTheText) {
  auto text = slurp(file("text"));
  auto r = train("--vocab 400 --out " + file("t.json") + " " + file("text"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, file("t.json") + ": 400 tokens\n");
  auto j = json::parse(slurp(file("t.json")));
  EXPECT_EQ(j["model"]["vocab"].size(), 400U);
  EXPECT_EQ(j["added_tokens"][0]["content"], "<|endoftext|>");
  auto ids = run("tokenize " + file("t.json") + " < " + file("text"));
  ASSERT_EQ(ids.code, 0) << ids.err;
  write("ids", ids.out);
  EXPECT_EQ(run("detokenize " + file("t.json") + " < " + file("ids")).out, text);
  write("u.json", "what was there before");
  EXPECT_EQ(train("--vocab 400 --out " + file("u.json") + " " + file("text")).code, 0);
  EXPECT_EQ(slurp(file("u.json")), slurp(file("t.json")));
}
TEST_F(TrainTokenizerTest, ReadsJsonLinesAndSeveralFiles) {
  write("a.jsonl", "{\"text\": \"abab abab\"}\n\n{\"text\": \"cdcd\\n\", \"x\": 1}");
  write("b.jsonl", "{\"body\": \"efef\"}\n");
  write("plain", "abab abab");
  write("more", "cdcd\n");
  auto merges = [&](const std::string& arguments) {
    auto r = train("--vocab 300 --special '<a>' --special '<b>' --out " + file("t.json") + " " + arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("these are fewer than --vocab 300: the text has no more pairs of tokens to merge\n"),
              std::string::npos)
        << r.out;
    auto j = json::parse(slurp(file("t.json")));
    EXPECT_EQ(j["added_tokens"].size(), 2U);
    return j["model"]["merges"];
  };
  auto two = merges(file("plain") + " " + file("more"));
  EXPECT_EQ(two.size(), 5U);  // ab abab, with a space; cd cdcd
  EXPECT_EQ(merges(file("a.jsonl")), two);
  EXPECT_EQ(merges("--field body " + file("b.jsonl")).size(), 2U);
  write("t.csv", "id,body\n1,\"abab\nabab\"\n");
  fs::create_directory(file("folder"));
  fs::copy(file("plain"), file("folder/plain"));
  fs::copy(file("more"), file("folder/zmore"));
  EXPECT_EQ(merges("--field body " + file("t.csv")).size(), 2U);
  EXPECT_EQ(merges(file("folder")), two);
  EXPECT_EQ(merges("'" + file("folder/*") + "'"), two);
  ASSERT_EQ(std::system(("gzip -c " + file("a.jsonl") + " > " + file("z.jsonl.gz")).c_str()), 0);
  EXPECT_EQ(merges(file("z.jsonl.gz")), two);
  auto rare = train("--vocab 300 --min-count 5 --out " + file("t.json") + " " + file("plain"));
  EXPECT_NE(
      rare.out.find("257 tokens\nthese are fewer than --vocab 300: the text has no more pairs of tokens that stand "
                    "5 times\n"),
      std::string::npos)
      << rare.out;
  is_bad_input("train-tokenizer --vocab 300 --out " + file("x.json") + " " + file("plain") + " " + file("b.jsonl"),
               file("b.jsonl") + ":1: there is no field 'text'; there are 'body'");
  write("c.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \n");
  is_bad_input("train-tokenizer --vocab 300 --out " + file("x.json") + " " + file("c.jsonl"),
               file("c.jsonl") + ":3: broken JSON");
  write("c.jsonl", "{\"text\": 3}\n");
  is_bad_input("train-tokenizer --vocab 300 --out " + file("x.json") + " " + file("c.jsonl"),
               ":1: the field 'text' is a number");
  EXPECT_FALSE(fs::exists(file("x.json")));
}
TEST_F(TrainTokenizerTest, Unigram) {
  auto out = file("t.model"), again = file("u.model");
  auto r = train("--type unigram --vocab 275 --out " + out + " " + file("text"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, out + ": 275 tokens\n");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(train("--type unigram --vocab 275 --out " + again + " " + file("text")).code, 0);
  EXPECT_EQ(slurp(again), slurp(out));
  write("small", "a few words\n");
  is_bad_input("train-tokenizer --type unigram --vocab 900 --out " + file("x.model") + " " + file("small"),
               "the text has too few pieces for a unigram vocabulary of 900; ");
  EXPECT_FALSE(fs::exists(file("x.model")));
}
TEST_F(TrainTokenizerTest, BadInputIsOneLineAndWritesNothing) {
  auto text = " " + file("text"), out = " --out " + file("x.json"), model = " --out " + file("x.model");
  auto bad = [&](const std::string& arguments, const std::string& part) {
    is_bad_input("train-tokenizer " + arguments, part);
    for (auto name : {"x.json", "x.json.new", "x.model", "x.model.new"})
      EXPECT_FALSE(fs::exists(file(name))) << arguments;
  };
  bad("--vocab 300" + out, "FILES is required");
  bad("--vocab 300" + text, "--out is required");
  bad(out + text, "--vocab is required");
  bad("--vocab x" + out + text, "--vocab");
  bad("--vocab 256" + out + text, "--vocab 256: must be 257 (256 bytes and 1 special token) to 1048576");
  bad("--vocab -1" + out + text, "--vocab -1: must be 257");
  bad("--vocab 2000000" + out + text, "--vocab 2000000: must be 257");
  bad("--vocab 259 --type unigram" + model + text,
      "--vocab 259: must be 261 (256 bytes, <unk>, <s>, </s>, two pieces and 0 special tokens) to 1048576");
  bad("--vocab 300 --type wordpiece" + out + text, "--type: wordpiece not in {bpe,unigram}");
  bad("--vocab 300 --pattern x" + out + text, "--pattern: x not in {gpt2,llama3,qwen2}");
  bad("--vocab 300 --min-count -1" + out + text, "--min-count: must be at least 0, got -1");
  bad("--vocab 300 --type unigram --min-count 2" + model + text, "--pattern and --min-count are for --type bpe");
  bad("--vocab 300" + model + text, "a tokenizer of type bpe is written to a file that ends with .json");
  bad("--vocab 300 --type unigram" + out + text,
      "a tokenizer of type unigram is written to a file that ends with .model");
  bad("--vocab 300 --out " + file("no/x.json") + text, ": there is no folder " + file("no"));
  fs::create_directory(file("folder.json"));
  bad("--vocab 300 --out " + file("folder.json") + text, "folder.json: is a folder");
  bad("--vocab 300" + out + " " + file("missing"), "no file or folder at " + file("missing"));
  write("empty", "");
  bad("--vocab 300" + out + " " + file("empty"), file("empty") + " is empty");
  write("lines", "\n\n");
  bad("--vocab 300 --type unigram" + model + " " + file("lines"), "the texts have only empty lines");
  for (auto [token, why] : {std::pair<std::string, std::string>{"''", "is empty"},
                            {"x", "a byte is a token anyhow"},
                            {"é", "in a tokenizer.json these characters stand for other bytes"},
                            {"\"$(printf 'a\\377')\"", "is no UTF-8"},
                            {"'<a>' --special '<a>'", "it is given twice"}})
    bad("--vocab 300 --special " + token + out + text, why);
  bad("--vocab 300 --type unigram --special 'a,b'" + model + text, "SentencePiece takes none with a comma");
  bad("--vocab 300 --type unigram --special '<s>'" + model + text, "SentencePiece has it anyhow");
  if (::getuid() != 0) {  // root writes anywhere
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    bad("--vocab 300" + out + text, "cannot write");
    fs::permissions(folder, fs::perms::owner_all);
  }
}
}  // namespace train_tokenizer_test
