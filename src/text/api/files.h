// files.h -- reads the files of a tokenizer.
#pragma once
#include <string>
#include <string_view>
#include "bora/text/tokenizer_files.h"

namespace bora::text {
/// A file's bytes. Throws IoError for what is no file, and for more than 256 MiB.
std::string read_file(const std::string& path);
/// The tokenizer.json that says the same as vocab.json, merges.txt and the files beside them about special tokens, in
/// the way of `transformers`. `bytes` has vocab.json's; those of the others are added. Throws IoError.
std::string tokenizer_json_of(const std::string& vocab, std::string& bytes);
}  // namespace bora::text
