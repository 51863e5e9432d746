// line_filter.h -- lines of stdin, changed by a tokenizer, to stdout.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
/// Prints f(line) and a newline for every line of stdin, in their order; f runs on several threads. Lines before one
/// for which f throws are printed. Throws ConfigError "WHAT: line N: ..", N counted from 1.
void change_lines(std::string_view what, const std::function<std::string(const std::string& line)>& f);
/// All lines of stdin. Throws IoError "WHAT: .." where it cannot be read.
std::vector<std::string> lines_of_stdin(std::string_view what);
/// The text of a JSON string. Throws ValueError.
std::string text_of_json(const std::string& line);
/// The ids of a JSON array. Throws ValueError.
std::vector<std::int32_t> ids_of_json(const std::string& line);
/// A text as a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_of_text(const std::string& text);
}  // namespace bora::text
