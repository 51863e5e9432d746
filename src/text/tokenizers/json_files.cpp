// json_files.cpp -- tokenizers as Hugging Face keeps them: tokenizer.json, or vocab.json with merges.txt.
#include "base/api/sha256.h"
#include "text/api/files.h"
#include "text/json_node.h"
#include "text/tokenizers/json_tokenizer.h"

namespace bora::text {
namespace {
constexpr config::Meaning kMeanings[] = {
    {"path", "a tokenizer.json, or a folder with it or with vocab.json and merges.txt"},
    {"add_special_tokens", "puts the post-processor's tokens around each text"},
    {"end_of_text", "the token between documents; empty: <|endoftext|>, <|end_of_text|>, </s> or <eos>"}};

std::shared_ptr<const Tokenizer> open_json(std::string_view type, const std::string& path, bool special,
                                           const std::string& end_of_text) {
  auto file = file_at(path, FileForm::json);
  check<ConfigError>(!file.ends_with(".model"), "tokenizer: ", file, " is SentencePiece's by its name; ",
                     "set tokenizer.type to sentencepiece");
  auto bytes = read_file(file);
  bool vocabulary = file.ends_with("vocab.json");
  auto json = vocabulary ? parse_tokenizer_json(tokenizer_json_of(file, bytes), file, special)
                         : parse_tokenizer_json(bytes, file, special);
  check<IoError>(type != "bpe" || json.bpe, file, ": model: type '", json.unigram ? "Unigram" : "WordPiece",
                 "' is no BPE; type=huggingface reads it");
  auto identity = std::string(type) + " " + sha256(bytes) + (special ? " with special tokens" : "");
  if (!end_of_text.empty()) identity += " end " + end_of_text;
  return make_tokenizer(std::move(json), identity, end_of_text);
}
void check_path(const std::string& path) {
  config::domain(!path.empty(), "path", "''", "the path of a tokenizer.json");
}

struct HuggingFace {
  static constexpr std::string_view type = "huggingface";
  std::string path = {};
  bool add_special_tokens = false;
  std::string end_of_text = {};
  static constexpr auto& meanings = kMeanings;
  static bool reads(std::string_view file) { return file.ends_with(".json"); }
  void check() const { check_path(path); }
  std::shared_ptr<const Tokenizer> open() const { return open_json(type, path, add_special_tokens, end_of_text); }
};
struct Bpe {
  static constexpr std::string_view type = "bpe";
  std::string path = {};
  bool add_special_tokens = false;
  std::string end_of_text = {};
  static constexpr auto& meanings = kMeanings;
  void check() const { check_path(path); }
  std::shared_ptr<const Tokenizer> open() const { return open_json(type, path, add_special_tokens, end_of_text); }
};
}  // namespace
}  // namespace bora::text
template const bool bora::config::added<bora::text::TokenizerOf<bora::text::HuggingFace>>;
template const bool bora::config::added<bora::text::TokenizerOf<bora::text::Bpe>>;
