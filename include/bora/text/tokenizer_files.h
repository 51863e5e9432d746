// tokenizer_files.h -- the files of a tokenizer, and those beside the tensors in a folder of Hugging Face's.
#pragma once
#include <string>
#include <vector>
#include "bora/text/tokenizer.h"

namespace bora::text {
enum class FileForm { any, json, model };  // of a tokenizer's file
/// The file of a tokenizer: `place`, or, in a folder, the first of tokenizer.json, tokenizer.model, spiece.model, the
/// only *.model, vocab.json beside merges.txt, of this form. Throws IoError for a folder without any.
std::string file_at(const std::string& place, FileForm form);
/// The type and path of a file's tokenizer, or of one that a folder holds. special: encode adds the tokens that its
/// post-processor puts around a text. Throws ConfigError for other files, IoError for a folder without any.
config::Choice<TokenizerKind> tokenizer_kind_at(const std::string& place, bool special);
/// The tokenizer whose texts are ids from 0 to size - 1.
config::Choice<TokenizerKind> ids_tokenizer_kind(std::int64_t size);
/// Copies the files of a tokenizer, and for generation, that `from` has into `to`, which is made; without config.json
/// unless `config`. Returns their names. IoError.
std::vector<std::string> copy_companions(const std::string& from, const std::string& to, bool config);
/// Copies a tokenizer's file into the folder `to`, under a name that others look for. Files beside it go with it where
/// its own name is such a one, so that they are its companions. IoError.
void copy_tokenizer(const std::string& path, FileForm form, const std::string& to);
/// The text of a tokenizer.json with these special tokens, whose ids follow all others. Throws ConfigError for a token
/// that is empty, given twice or there already, and for another file; IoError.
std::string with_tokens(const std::string& path, const std::vector<std::string>& tokens);
}  // namespace bora::text
