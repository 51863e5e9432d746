#include "base/api/inline_hash.h"
#include "base/api/sha256.h"

namespace bora {
std::string base64_of(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string r;
  r.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      r += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return r;
}
std::string inline_hash(std::string_view html, std::string_view begin, std::string_view end) {
  auto first = html.find(begin) + begin.size();
  auto hex = sha256(html.substr(first, html.find(end, first) - first));
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return "'sha256-" + base64_of(bytes) + "'";
}
}  // namespace bora
