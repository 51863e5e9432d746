// text.h -- pieces of JSON and of time for files and sentences.
#pragma once
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

namespace bora::transport {
/// A JSON string. Bytes above 127 pass as they are (UTF-8).
inline std::string quoted(std::string_view s) {
  std::string r = "\"";
  for (char ch : s) {
    auto u = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') r += '\\', r += ch;
    else if (u >= 32) r += ch;
    else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", u);
      r += code;
    }
  }
  return r + '"';
}
}  // namespace bora::transport
