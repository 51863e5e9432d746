// masks.h -- hidden tokens for an encoder to predict: masked language modelling, Devlin et al. 2018, arXiv:1810.04805,
// as transformers' DataCollatorForLanguageModeling, and with whole words as BERT's second models.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include "bora/data/philox.h"
#include "bora/text/tokenizer.h"

namespace bora::data {
struct MaskOptions {                // of hidden tokens
  double rate = 0.15;               // share of the tokens that are learnt; in (0, 1)
  double masked = 0.8;              // of these: has the mask token in its place
  double random = 0.1;              // has any token of the vocabulary; the rest stays as it is
  bool whole_words = false;         // words are learnt with all of their tokens, or not at all
};
/// What a tokenizer's tokens are to masks.
struct MaskTokens {
  std::int32_t mask = 0;               // stands for a hidden token
  std::vector<bool> special = {};      // by id: it is never hidden
  std::vector<bool> begins_word = {};  // by id: it does not go on with the word before it
  /// mask: the token as the tokenizer's files write it; empty: [MASK] or <mask>. A token begins a word if its bytes
  /// begin with a blank or a punctuation mark. Throws ConfigError if there is no such token.
  static MaskTokens of(const text::Tokenizer&, const std::string& mask = {});
};
/// Hides tokens in place; returns which are learnt, hidden or not. Each token is drawn by itself, or each word; what
/// stands in their places is drawn for each token. Special tokens stay. Throws out_of_range for an id that is none.
std::vector<bool> hide_tokens(std::span<std::int32_t> ids, const MaskOptions&, const MaskTokens&, Philox);
}  // namespace bora::data
