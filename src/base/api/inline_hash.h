// inline_hash.h -- hashes of a page's own script and style, as its Content-Security-Policy names them.
#pragma once
#include <string>
#include <string_view>

namespace bora {
/// Bytes in base64 (RFC 4648).
std::string base64_of(std::string_view bytes);
/// 'sha256-..' of what stands between the first `begin` in the text and the next `end`; with the quotes.
std::string inline_hash(std::string_view html, std::string_view begin, std::string_view end);
}  // namespace bora
