// tokenizer.h -- text to ids and back. A tokenizer is one source file: an aggregate of settings whose member open()
// makes it, and one line that adds it to the registry.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "bora/config/choice.h"

namespace bora::text {
struct EncodeOptions {  // of Tokenizer::encode
  /// Whether special tokens that are written in the text are these tokens; otherwise they are text like any other.
  bool special = true;
  /// Bytes [first, second) that somebody says in the text, in order and apart. Nothing in them, nor across their ends,
  /// is a special token, or an added token by which the text around is marked (white space aside): it is text.
  std::span<const std::pair<std::size_t, std::size_t>> said = {};
};
struct DecodeOptions {  // of Tokenizer::decode
  /// Whether special tokens are shown; otherwise they are left out.
  bool special = true;
};
/// Makes the text of ids that come one by one.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Appends the characters that this id completes; often none. Throws ValueError for an id that is none.
  virtual void add(std::int32_t id, std::string& text) = 0;
  /// Appends what is left after the last id. The next id begins another text.
  virtual void finish(std::string& text) = 0;
};

/// Several threads may use a tokenizer at the same time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Number of ids: 0 .. size() - 1.
  virtual std::int64_t size() const = 0;
  /// A short text that differs from that of every tokenizer that may give other ids: type, SHA-256 of files, options.
  virtual std::string identity() const = 0;
  /// The ids of a text. Bytes that are not UTF-8 are read as U+FFFD, one for each maximal part (as Unicode recommends),
  /// unless ids are bytes.
  virtual std::vector<std::int32_t> encode(std::string_view text, EncodeOptions = {}) const = 0;
  virtual std::unique_ptr<Decoder> decoder(DecodeOptions = {}) const = 0;
  /// The text of ids. Throws ValueError for ids outside 0 .. size() - 1.
  std::string decode(std::span<const std::int32_t> ids, DecodeOptions = {}) const;
  /// The bytes that a token adds to a text, not at its beginning; of a part of a character that part. Throws ValueError
  /// for an id outside 0 .. size() - 1.
  virtual std::string bytes_of(std::int32_t id) const;
  /// The id of a token as its files write it: an added or special token, or an entry of the vocabulary.
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  /// The token that separates documents, if there is one.
  virtual std::optional<std::int32_t> end_of_text() const { return {}; }
  /// The tokens between two texts that stand in one row, if the tokenizer has such: [SEP], or </s> twice.
  virtual std::vector<std::int32_t> between() const { return {}; }
  /// The token that fills rows, if there is one.
  virtual std::optional<std::int32_t> padding() const { return {}; }
  /// Whether ids are the bytes of the text: such texts are read from their files as they are needed.
  virtual bool bytes() const { return false; }
};

/// Decodes ids as they come; the texts together are decode() of all ids. No text ends within a UTF-8 character.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> t, DecodeOptions options = {})
      : tokenizer_(std::move(t)), decoder_(tokenizer_->decoder(options)) {}
  /// The characters that this id completes; often empty.
  std::string next(std::int32_t id);
  /// The rest, after the last id.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;  // outlives its decoder
  std::unique_ptr<Decoder> decoder_;
};

/// A type of tokenizer in the settings, with its fields.
struct TokenizerKind : config::Chosen {
  static constexpr std::string_view initial = "bytes";
  /// Throws IoError for files that cannot be used.
  virtual std::shared_ptr<const Tokenizer> open() const = 0;
  /// Whether a file of this name is one of this type, with the keys `path` and `add_special_tokens`.
  virtual bool reads(std::string_view file) const = 0;
};
/// The kind whose settings are T's fields; T has open() and perhaps reads().
template <class T> struct TokenizerOf final : config::Of<T, TokenizerKind> {
  using config::Of<T, TokenizerKind>::Of;
  std::shared_ptr<const Tokenizer> open() const override { return this->fields.open(); }
  bool reads(std::string_view file) const override {
    if constexpr (requires { T::reads(file); }) return T::reads(file);
    else return false;
  }
};
/// The tokenizer of settings such as {"type=bpe", "path=tokenizer.json"}. Throws ConfigError for settings that do not
/// exist, IoError for files.
std::shared_ptr<const Tokenizer> open_tokenizer(const std::vector<std::string>& settings);
/// The tokenizer of a file, of a folder that holds one, or of a type that needs none (bytes). special: encode adds the
/// tokens that its post-processor puts around a text. Throws ConfigError for other words, IoError for files.
std::shared_ptr<const Tokenizer> tokenizer_at(const std::string& place, bool special);
}  // namespace bora::text
