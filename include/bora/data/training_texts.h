// training_texts.h -- the texts of files, as a tokenizer is trained on them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::data {
/// Calls f with the texts of files, in order, several at a time: of files whose names end with .jsonl or .csv the field
/// of each record, of others their documents; .gz and .zst of each. A pattern is a file, a folder or a glob. Returns
/// the bytes of the texts. Throws IoError and ConfigError, for records "FILE:LINE: ..".
std::int64_t read_texts(const std::vector<std::string>& patterns, const std::string& field,
                        const std::function<void(const std::vector<std::string_view>&)>& f);
}  // namespace bora::data
