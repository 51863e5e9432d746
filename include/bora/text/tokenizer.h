// tokenizer.h -- text to ids and back. A tokenizer is one source file: an aggregate of settings whose member open()
// makes it, and one line that adds it to the registry.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "bora/config/choice.h"

namespace bora::text {
/// Several threads may use a tokenizer at the same time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Number of ids: 0 .. size() - 1.
  virtual std::int64_t size() const = 0;
  /// The ids of a text, which may be any bytes.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The text of ids. Throws ValueError for ids outside 0 .. size() - 1.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// The token that separates documents, if there is one.
  virtual std::optional<std::int32_t> end_of_text() const { return {}; }
  /// Whether ids are the bytes of the text: such texts are read from their files as they are needed.
  virtual bool bytes() const { return false; }
};

/// Decodes ids as they come; the texts together are decode() of all ids. No text ends within a UTF-8 character.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> t) : tokenizer_(std::move(t)) {}
  /// The characters that this id completes; often empty.
  std::string next(std::int32_t id);
  /// The rest, after the last id: bytes of an incomplete character.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::int32_t> window_;  // the ids since the last whole text, and one before as their context
  std::size_t given_ = 0;             // bytes of the window's text that were returned
};

/// What settings choose: a type of tokenizer, with its fields.
struct TokenizerKind : config::Chosen {
  static constexpr std::string_view initial = "bytes";
  /// Throws IoError for files that cannot be used.
  virtual std::shared_ptr<const Tokenizer> open() const = 0;
  /// Whether a file of this name is one of this type, with the keys `path` and `add_special_tokens`.
  virtual bool reads(std::string_view file) const = 0;
};
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
