// texts.h -- the texts of files, as a tokenizer is trained on them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::app {
/// Calls f with the texts of files, in order, several at a time: of a file whose name ends with .jsonl the field of the
/// object on each line, of others parts of some megabytes, cut where words end. Returns the bytes of the texts. Throws
/// IoError for files that cannot be read, ConfigError "FILE:LINE: .." for lines.
std::int64_t read_texts(const std::vector<std::string>& files, const std::string& field,
                        const std::function<void(const std::vector<std::string_view>&)>& f);
}  // namespace bora::app
