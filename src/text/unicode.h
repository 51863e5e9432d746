// unicode.h -- Unicode characters in UTF-8.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include "bora/base/text.h"

namespace bora::text {
/// Calls f(part, is_utf8) with the longest parts that are UTF-8 and those that are not, in order.
template <class F> void each_part(std::string_view text, F&& f) {
  while (!text.empty()) {
    auto good = std::min(first_not_utf8(text), text.size());
    if (good > 0) f(text.substr(0, good), true);
    text.remove_prefix(good);
    std::size_t bad = 0;
    while (bad < text.size() && first_not_utf8(text.substr(bad, 4)) == 0) ++bad;
    if (bad > 0) f(text.substr(0, bad), false);
    text.remove_prefix(bad);
  }
}
/// Normalization form C of UTF-8.
std::string nfc(std::string_view text);
/// The length of the white space at the end of a text, and at its beginning.
std::size_t space_at_end(std::string_view text);
std::size_t space_at_begin(std::string_view text);
}  // namespace bora::text
