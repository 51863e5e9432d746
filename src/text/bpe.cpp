// bpe.cpp -- byte-level BPE of Hugging Face's tokenizer.json: GPT-2, Llama 3, Qwen 2. The ids are those of the library
// `tokenizers`. Bytes that are not UTF-8, which it does not take, are words of their own.
#include "text/bpe.h"
#include <filesystem>
#include <fstream>
#include "text/added_tokens.h"
#include "text/merges.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(TokenizerJson json, std::optional<std::int32_t> end)
      : json_(std::move(json)), end_(end), merges_(json_) {
    std::vector<AddedToken> in_text, in_normalized;
    for (auto& t : json_.added) {
      (t.normalized ? in_normalized : in_text).push_back(t);
      if (t.normalized && json_.nfc) in_normalized.back().content = nfc(t.content);
    }
    in_text_ = AddedTokens(std::move(in_text));
    in_normalized_ = AddedTokens(std::move(in_normalized));
    json_.merges = {};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(json_.tokens.size()); }
  std::optional<std::int32_t> end_of_text() const override { return end_; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    auto ids = json_.before;
    ids.reserve(text.size() / 3 + 8);
    auto token = [&](std::int32_t id) { ids.push_back(id); };
    auto normalized = [&](std::string_view s) {
      in_normalized_.split(s, [&](std::string_view piece) { encode_piece(piece, 0, ids); }, token);
    };
    auto part = [&](std::string_view s, bool is_utf8) {
      if (!is_utf8) merges_.append(s, ids);
      else if (json_.nfc) normalized(nfc(s));
      else normalized(s);
    };
    in_text_.split(text, [&](std::string_view s) { each_part(s, part); }, token);
    ids.insert(ids.end(), json_.after.begin(), json_.after.end());
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (auto id : ids) {
      check<ValueError>(id >= 0 && id < size(), "decode: id ", id, " is none of ", size());
      text += json_.tokens[static_cast<std::size_t>(id)];
    }
    return text;
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
    return make_bpe(parse_tokenizer_json(read_file(path), path, add_special_tokens), end_of_text);
  }
};
[[maybe_unused]] const bool added = config::add<TokenizerOf<Bpe>>();
}  // namespace

std::shared_ptr<const Tokenizer> make_bpe(TokenizerJson json, const std::string& end_of_text) {
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
  return std::make_shared<BpeTokenizer>(std::move(json), end);
}
}  // namespace bora::text
