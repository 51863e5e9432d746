// around.h -- the tokens that a tokenizer puts around each text.
#pragma once
#include <cstdint>
#include <vector>
#include "bora/text/tokenizer.h"

namespace bora::data {
/// The tokens that a tokenizer puts around each text (add_special_tokens), for texts that are encoded in parts.
class Around {
 public:
  explicit Around(const text::Tokenizer&);
  /// Without what stands before it, or behind it.
  std::vector<std::int32_t> without_begin(std::vector<std::int32_t> ids) const;
  std::vector<std::int32_t> without_end(std::vector<std::int32_t> ids) const;
  const std::vector<std::int32_t>& before() const { return before_; }
  const std::vector<std::int32_t>& after() const { return after_; }
  /// What stands between two texts: the tokenizer's tokens there, else those behind a text, else the end of a document.
  const std::vector<std::int32_t>& between() const { return between_; }
  /// Appends the token that ends documents, unless the tokenizer has put it there; a newline if the tokenizer has none.
  void append_end(std::vector<std::int32_t>& ids) const;

 private:
  std::vector<std::int32_t> before_, after_, end_, between_;
};
}  // namespace bora::data
