// bpe.cpp -- byte-level BPE of Hugging Face's tokenizer.json: GPT-2, Llama 3, Qwen 2. The ids are those of the library
// `tokenizers`.
#include "text/bpe.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include "bora/base/sha256.h"
#include "text/added_tokens.h"
#include "text/merges.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
class BpeDecoder final : public Decoder {
 public:
  BpeDecoder(const std::vector<std::string>& tokens, std::span<const std::int32_t> left_out)
      : tokens_(tokens), left_out_(left_out) {}
  void add(std::int32_t id, std::string& text) override {
    check<ValueError>(id >= 0 && static_cast<std::size_t>(id) < tokens_.size(), "decode: id ", id, " is none of ",
                      tokens_.size());
    if (std::ranges::binary_search(left_out_, id)) return;
    pending_ += tokens_[static_cast<std::size_t>(id)];
    pending_.erase(0, append_utf8(pending_, true, text));
  }
  void finish(std::string& text) override {
    append_utf8(pending_, false, text);
    pending_.clear();
  }

 private:
  const std::vector<std::string>& tokens_;
  std::span<const std::int32_t> left_out_;
  std::string pending_;
};
class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(TokenizerJson json, std::string identity, std::optional<std::int32_t> end)
      : json_(std::move(json)), identity_(std::move(identity)), end_(end), merges_(json_) {
    std::vector<AddedToken> in_text, in_normalized;
    for (auto& t : json_.added) {
      (t.normalized ? in_normalized : in_text).push_back(t);
      if (t.normalized && json_.nfc) in_normalized.back().content = nfc(t.content);
      if (t.special) special_.push_back(t.id);
    }
    std::sort(special_.begin(), special_.end());
    in_text_ = AddedTokens(std::move(in_text));
    in_normalized_ = AddedTokens(std::move(in_normalized));
    json_.merges = {};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(json_.tokens.size()); }
  std::string identity() const override { return identity_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }
  std::optional<std::int32_t> padding() const override {
    for (auto usual : {"<pad>", "<|pad|>", "[PAD]"})
      for (auto& t : json_.added)
        if (t.content == usual) return t.id;
    return {};
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    for (auto& t : json_.added)
      if (t.content == token) return t.id;
    auto found = json_.ids.find(std::string(token));
    return found == json_.ids.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions options) const override {
    std::string copy;
    text = valid_utf8(text, copy);
    auto ids = json_.before;
    ids.reserve(text.size() / 3 + 8);
    auto token = [&](std::int32_t id) { ids.push_back(id); };
    auto normalized = [&](std::string_view s) {
      auto piece = [&](std::string_view p) { encode_piece(p, 0, ids); };
      in_normalized_.split(s, options.special, piece, token);
    };
    auto part = [&](std::string_view s) { json_.nfc ? normalized(nfc(s)) : normalized(s); };
    in_text_.split(text, options.special, part, token);
    ids.insert(ids.end(), json_.after.begin(), json_.after.end());
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions options) const override {
    return std::make_unique<BpeDecoder>(
        json_.tokens, options.special ? std::span<const std::int32_t>() : std::span(special_));
  }

 private:
  /// A piece of UTF-8, from this stage of pre-tokenization on.
  void encode_piece(std::string_view piece, std::size_t stage, std::vector<std::int32_t>& ids) const {
    if (stage == json_.stages.size()) return merges_.append(piece, ids);
    auto& s = json_.stages[stage];
    std::string with_space;
    if (s.prefix_space && !piece.starts_with(' ')) piece = with_space.append(" ").append(piece);
    if (s.pattern.empty()) return encode_piece(piece, stage + 1, ids);
    s.pattern[0].split(piece, [&](std::string_view p) { encode_piece(p, stage + 1, ids); });
  }
  TokenizerJson json_;
  std::string identity_;
  std::vector<std::int32_t> special_;  // in order
  std::optional<std::int32_t> end_;
  Merges merges_;
  AddedTokens in_text_, in_normalized_;
};

std::string read_file(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::uintmax_t most = std::uintmax_t{1} << 28;
  std::error_code error;
  auto status = fs::status(path, error);
  check<IoError>(fs::exists(status), "tokenizer: no file at ", path);
  check<IoError>(fs::is_regular_file(status), "tokenizer: ", path,
                 fs::is_directory(status) ? " is a folder; give its tokenizer.json" : " is no regular file");
  auto bytes = fs::file_size(path, error);
  check<IoError>(!error && bytes <= most, "tokenizer: ", path, ": ",
                 error ? error.message() : "has " + std::to_string(bytes) + " bytes; this is no tokenizer.json");
  std::string text(bytes, 0);
  std::ifstream in(path, std::ios::binary);
  check<IoError>(in.read(text.data(), static_cast<std::streamsize>(bytes)).good(), "tokenizer: cannot read ", path);
  return text;
}

struct Bpe {
  static constexpr std::string_view type = "bpe";
  std::string path = {};
  bool add_special_tokens = false;
  std::string end_of_text = {};
  static constexpr config::Meaning meanings[] = {
      {"path", "a tokenizer.json of byte-level BPE"},
      {"add_special_tokens", "puts the post-processor's tokens around each text"},
      {"end_of_text", "the token between documents; empty: <|endoftext|>, <|end_of_text|> or </s>"}};
  static bool reads(std::string_view file) { return file.ends_with(".json"); }
  void check() const { config::domain(!path.empty(), "path", "''", "the path of a tokenizer.json"); }
  std::shared_ptr<const Tokenizer> open() const {
    auto text = read_file(path);
    return make_bpe(parse_tokenizer_json(text, path, add_special_tokens),
                    "bpe " + sha256(text) + (add_special_tokens ? " with special tokens" : ""), end_of_text);
  }
};
[[maybe_unused]] const bool added = config::add<TokenizerOf<Bpe>>();
}  // namespace

std::shared_ptr<const Tokenizer> make_bpe(TokenizerJson json, std::string identity, const std::string& end_of_text) {
  auto id_of = [&](std::string_view content) -> std::optional<std::int32_t> {
    for (auto& t : json.added)
      if (t.content == content) return t.id;
    return {};
  };
  auto end = id_of(end_of_text);
  bora::check<ConfigError>(end || end_of_text.empty(), "end_of_text: the tokenizer has no added token '", end_of_text,
                           "'");
  for (auto usual : {"<|endoftext|>", "<|end_of_text|>", "</s>"})
    if (!end) end = id_of(usual);
  return std::make_shared<BpeTokenizer>(std::move(json), std::move(identity), end);
}
}  // namespace bora::text
