// text.h -- numbers and messages for people, and numbers from people.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace bora {
/// "812 B", "1.5 KiB", "9216.0 MiB" (MiB up to 10240), "12.3 GiB".
std::string bytes_text(std::int64_t n);
/// Lines that are longer are broken at blanks, and go on 4 columns further to the right.
std::string wrapped(const std::string& text, std::size_t columns = 80);
/// A message as one line. Control characters and bytes that are not UTF-8 become \n or \x1b; the middle of a word or
/// quoted value of more than 200 characters, and of a message of more than 2000, becomes "...".
std::string one_line(std::string_view message);
/// The position of the first byte that is not UTF-8, or npos.
std::size_t first_not_utf8(std::string_view text);
/// The whole text as a bool (true, yes, on, 1; false, no, off, 0) or as a number; none for other texts, and for numbers
/// that T cannot hold.
template <class T> std::optional<T> parse_as(std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    auto is = [&](auto... words) { return ((text == words) || ...); };
    if (is("true", "yes", "on", "1")) return true;
    if (is("false", "no", "off", "0")) return false;
    return std::nullopt;
  } else {
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // from_chars takes no plus
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
}
}  // namespace bora
