// byte_level.h -- tokens of bytes in files: each byte is written as a printable character (GPT-2's bytes_to_unicode).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bora::text {
/// The code point that stands for each byte: printable Latin-1 for itself, the other 68 from U+0100 on, in order.
constexpr std::array<std::uint16_t, 256> byte_characters() {
  std::array<std::uint16_t, 256> to{};
  std::uint16_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    bool printable = (b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad);
    to[b] = printable ? static_cast<std::uint16_t>(b) : next++;
  }
  return to;
}
inline constexpr auto kByteCharacters = byte_characters();

/// A byte's character as UTF-8.
inline std::string byte_character(unsigned char b) {
  auto c = kByteCharacters[b];
  if (c < 0x80) return {static_cast<char>(c)};
  return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
}
/// The bytes of a token; nothing if a character stands for no byte. The token is UTF-8.
inline std::optional<std::string> token_bytes(std::string_view token) {
  static const auto bytes = [] {
    std::array<std::int16_t, 0x800> from;
    from.fill(-1);
    for (int b = 0; b < 256; ++b) from[kByteCharacters[static_cast<std::size_t>(b)]] = static_cast<std::int16_t>(b);
    return from;
  }();
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    auto c = static_cast<unsigned>(static_cast<unsigned char>(token[i]));
    if (c >= 0xe0) return {};
    if (c >= 0xc0) c = (c & 0x1f) << 6 | (static_cast<unsigned>(token[++i]) & 0x3f);
    if (bytes[c] < 0) return {};
    out += static_cast<char>(bytes[c]);
  }
  return out;
}
}  // namespace bora::text
