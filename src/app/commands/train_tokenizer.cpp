// Training a tokenizer.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include "app/commands.h"
#include "base/api/file.h"
#include "bora/text/bpe_train.h"
#include "bora/text/unigram_train.h"
#include "bora/data/training_texts.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
constexpr std::int64_t kMostTokens = 1 << 20;
constexpr const char *kBpe = "bpe", *kUnigram = "unigram";

struct TrainTokenizer {
  static constexpr std::string_view name = "train-tokenizer",
                                    help = "a tokenizer from texts: train-tokenizer --vocab N --out FILE FILES...";
  static constexpr Row row{.place = 68};
  std::vector<std::string> files = {};
  std::string type = kBpe, out = {}, pattern = "gpt2", field = "text";
  std::int64_t vocab = 0, min_count = 0;
  std::vector<std::string> special = {};

  void declare(Flags& flags) {
    flags.add("FILES", files, "text, .jsonl or .csv, also .gz and .zst of these; files, folders, globs")
        .required()
        .names(Names::texts);
    flags.add("--type", type, "bpe: byte-level BPE, a tokenizer.json; unigram: by SentencePiece, a .model")
        .one_of({kBpe, kUnigram});
    flags.add("--vocab", vocab, "number of tokens").required();
    flags.add("--out", out, "the file to write: .json for bpe, .model for unigram")
        .required()
        .names(Names::output);
    flags.add("--special", special, "a special token, several times for several; of bpe <|endoftext|>")
        .one_value()
        .no_default()
        .names(Names::nothing);
    flags.add("--field", field, "of records in .jsonl and .csv: the one with the text").names(Names::nothing);
    flags.add("--pattern", pattern, "bpe: whose regular expression cuts texts into words")
        .one_of({"gpt2", "llama3", "qwen2"});
    flags.add("--min-count", min_count, "bpe: a pair of tokens that stands less often is not merged");
  }
  void settle() {
    bool bpe = type == kBpe;
    std::string_view ending = bpe ? ".json" : ".model";
    check<ConfigError>(out.ends_with(ending) && out.size() > ending.size(), "--out ", out, ": a tokenizer of type ",
                       type, " is written to a file that ends with ", ending);
    check<ConfigError>(bpe || (min_count == 0 && pattern == "gpt2"), "--pattern and --min-count are for --type bpe");
    config::domain(min_count >= 0, "--min-count", min_count, "at least 0");
    if (bpe && special.empty()) special = {"<|endoftext|>"};
    for (auto token = special.begin(); token != special.end(); ++token) {
      auto wrong = bpe ? text::problem_of_bpe_special(*token) : text::problem_of_unigram_special(*token);
      if (std::count(special.begin(), token, *token) > 0) wrong = "it is given twice";
      check<ConfigError>(wrong.empty(), "--special '", *token, "': ", wrong);
    }
    auto least = (bpe ? 256 : 261) + static_cast<std::int64_t>(special.size());
    check<ConfigError>(vocab >= least && vocab <= kMostTokens, "--vocab ", vocab, ": must be ", least, " (",
                       bpe ? "256 bytes" : "256 bytes, <unk>, <s>, </s>, two pieces", " and ", special.size(),
                       " special token", special.size() == 1 ? "" : "s", ") to ", kMostTokens);
  }
  int run() const {
    check_place();
    std::int64_t tokens = vocab;
    if (type == kBpe) {
      text::WordCounts words(text::word_pattern(pattern));
      read([&](auto& texts) { words.add(texts); });
      auto bpe = text::train_bpe(words.words(), {vocab, special, min_count});
      tokens = static_cast<std::int64_t>(bpe.tokens.size());
      write_file(out, text::tokenizer_json_of(bpe, special.size(), pattern));
    } else {
      text::Lines lines;
      read([&](auto& texts) {
        for (auto text : texts) lines.add(text);
      });
      write_file(out, text::train_unigram(lines, {vocab, special}));
    }
    std::printf("%s: %lld tokens\n", out.c_str(), static_cast<long long>(tokens));
    if (tokens == vocab) return 0;
    auto rest = min_count > 1 ? "that stand " + std::to_string(min_count) + " times" : std::string("to merge");
    std::printf("these are fewer than --vocab %lld: the text has no more pairs of tokens %s\n",
                static_cast<long long>(vocab), rest.c_str());
    return 0;
  }

 private:
  /// Errors of the output come before the work.
  void check_place() const {
    std::error_code error;
    auto folder = fs::path(out).parent_path();
    check<ConfigError>(folder.empty() || fs::is_directory(folder, error), "--out ", out, ": there is no folder ",
                       folder.string());
    check<ConfigError>(!fs::is_directory(out, error), "--out ", out, ": is a folder");
  }
  template <class F> void read(F&& f) const {
    auto bytes = data::read_texts(files, field, f);
    check<ConfigError>(bytes > 0, "train-tokenizer: there is no text in ", files[0],
                       files.size() > 1 ? " and the other files" : "");
  }
};
}  // namespace
template const bool added<TrainTokenizer>;
}  // namespace bora::app
