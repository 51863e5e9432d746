// texts.h -- the texts of files, as a tokenizer is trained on them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::app {
/// Calls f with the texts of files, in order, several at a time. Files are named as sources of data are: folders and
/// patterns, too. Of .jsonl and .csv files (or .gz and .zst of them) a text is a field of each record, of others a
/// document. Returns the bytes of the texts. Throws IoError for files that cannot be read, ConfigError "FILE:LINE: .."
/// for records.
std::int64_t read_texts(const std::vector<std::string>& files, const std::string& field,
                        const std::function<void(const std::vector<std::string_view>&)>& f);
}  // namespace bora::app
