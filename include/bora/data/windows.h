// windows.h -- a stream of tokens cut into rows.
#pragma once
#include <span>
#include "bora/data/dataset.h"
#include "bora/data/text.h"
#include "bora/text/tokenizer.h"

namespace bora::data {
/// Tokens by position. Reading is safe from any thread.
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual std::int64_t size() const = 0;
  /// n tokens from `begin` (any number >= 0); after its end the stream starts again. IoError.
  virtual void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const = 0;
  /// The tokens, in order, that follow a piece of the text which no token ends: the token before tells nothing of them.
  virtual std::span<const std::int64_t> seams() const { return {}; }
};
/// The bytes of a text, read on demand. A line feed follows each of its pieces that does not end with one.
std::shared_ptr<const Tokens> byte_tokens(Stream);
/// A text whose pieces are encoded each by itself, in memory, 4 bytes a token. Each ends with the tokenizer's end of
/// text, or a newline if it has none; where there is neither (`ids`), pieces meet at seams. ConfigError: a piece that
/// is not UTF-8, which would become other text.
std::shared_ptr<const Tokens> encoded_tokens(const Stream&, const text::Tokenizer&);
/// Tokens in memory.
std::shared_ptr<const Tokens> tokens_of(std::vector<std::int32_t>);

/// Rows of `positions` tokens, with the tokens after each as targets; neighbouring rows share one token. ring: the last
/// row may go on at the stream's beginning, and every pass but the first begins at another token. A target at a seam
/// has weight 0.
std::shared_ptr<const Dataset> windows(std::shared_ptr<const Tokens>, std::int64_t positions, bool ring);
}  // namespace bora::data
