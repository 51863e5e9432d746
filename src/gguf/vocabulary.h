// vocabulary.h -- a GGUF file's tokens. Private.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "gguf/api/gguf.h"

namespace bora::gguf {
/// Types of tokens, with the file's numbers, which are SentencePiece's.
enum class TokenType : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
struct Vocabulary {
  enum class Form { none, json, model };
  Form form = Form::none;
  std::vector<std::string_view> tokens = {};  // without unused ones at the end, which fill the model's table
  std::vector<TokenType> types = {};
  std::optional<std::int64_t> bos = {}, eos = {}, unknown = {}, pad = {};
  bool add_bos = false, add_eos = false;
  std::string text(std::optional<std::int64_t> id) const {
    return id ? std::string(tokens[static_cast<std::size_t>(*id)]) : std::string();
  }
};
/// The form of the tokenizer alone. Throws IoError for one that is not known here.
Vocabulary::Form form_of(const File&);
Vocabulary vocabulary_of(const File&);
/// Pieces of a text for BPE: the way of one of llama.cpp's names (tokenizer.ggml.pre).
struct Words {
  std::vector<std::string_view> names;
  std::vector<std::string_view> patterns;  // one after the other; none: GPT-2's own
  bool ignore_merges = false, bos = false, nfc = false;
};
const Words& words_of(const File&);
}  // namespace bora::gguf
