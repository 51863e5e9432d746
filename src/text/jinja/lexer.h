// lexer.h -- a template's tokens, with the settings of `transformers`: trim_blocks, lstrip_blocks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text::jinja {
enum class TokenKind { data, output, block, close, name, text, integer, real, sign, end };
struct Token {
  TokenKind kind;
  std::string text = {};  // data, a name, the text of a literal, or the sign
  int line = 1;
  std::int64_t integer = 0;
  double real = 0;
};
/// The tokens; `output` is {{, `block` is {%, `close` ends either. The last one is `end`. Throws ValueError "LINE: ..".
std::vector<Token> tokens_of(std::string_view source);
}  // namespace bora::text::jinja
