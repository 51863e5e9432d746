// files.h -- the files of a tokenizer.
#pragma once
#include <string>
#include <string_view>
#include "bora/text/tokenizer.h"

namespace bora::text {
/// A file's bytes. Throws IoError for what is no file, and for more than 256 MiB.
std::string read_file(const std::string& path);
enum class FileForm { any, json, model };
/// The file of a tokenizer: `place`, or, in a folder, the first of tokenizer.json, tokenizer.model, spiece.model, the
/// only *.model, vocab.json beside merges.txt, of this form. Throws IoError for a folder without any.
std::string file_at(const std::string& place, FileForm form);
/// The type and path of a file's tokenizer, or of one that a folder holds. special: encode adds the tokens that its
/// post-processor puts around a text. Throws ConfigError for other files, IoError for a folder without any.
config::Choice<TokenizerKind> tokenizer_kind_at(const std::string& place, bool special);
/// The tokenizer.json that says the same as vocab.json, merges.txt and the files beside them about special tokens, in
/// the way of `transformers`. `bytes` has vocab.json's; those of the others are added. Throws IoError.
std::string tokenizer_json_of(const std::string& vocab, std::string& bytes);
}  // namespace bora::text
