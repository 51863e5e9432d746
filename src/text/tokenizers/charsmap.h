// charsmap.h -- SentencePiece's table of replacements, a Darts double array with the texts it points to.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
class Charsmap {
 public:
  /// Throws IoError "WHERE: ..." for tables that a search may leave.
  Charsmap(std::string_view table, const std::string& where);
  /// The replacements that Hugging Face's library makes, which differ from SentencePiece's. The text ends soon after
  /// `most` bytes.
  std::string normalize(std::string_view text, std::size_t most) const;

 private:
  /// The replacement for the shortest prefix that has one.
  std::optional<std::string_view> of_prefix(std::string_view) const;
  void check_all(const std::string& where) const;
  std::vector<std::uint32_t> units_;
  std::string texts_;
};
/// The bytes of base 64; nothing if it is none.
std::optional<std::string> from_base64(std::string_view text);
}  // namespace bora::text
