#include "text/tokenizers/word_piece.h"
#include <algorithm>
#include "text/unicode.h"

namespace bora::text {
WordPiece::WordPiece(WordPieceModel model) : model_(std::move(model)) {
  for (auto& [piece, id] : model_.pieces) most_bytes_ = std::max(most_bytes_, piece.size());
}
void WordPiece::append(std::string_view word, WordCache& cache, std::vector<std::int32_t>& ids) const {
  known(word, cache, ids, [&](auto& out) { longest(word, out); });
}
void WordPiece::longest(std::string_view word, std::vector<std::int32_t>& ids) const {
  auto begins = [](char c) { return (c & 0xc0) != 0x80; };  // a character
  auto made = ids.size();
  auto unknown = [&] {
    ids.resize(made);
    ids.push_back(model_.unknown);
  };
  if (static_cast<std::size_t>(std::count_if(word.begin(), word.end(), begins)) > model_.most_characters)
    return unknown();
  std::string piece;
  for (std::size_t at = 0; at < word.size();) {
    auto prefix = at > 0 ? std::string_view(model_.prefix) : "";
    auto end = std::min(word.size(), at + most_bytes_);
    auto found = model_.pieces.end();
    for (; end > at; --end) {
      if (end < word.size() && !begins(word[end])) continue;
      piece.assign(prefix).append(word.substr(at, end - at));
      found = model_.pieces.find(piece);
      if (found != model_.pieces.end()) break;
    }
    if (found == model_.pieces.end()) return unknown();
    ids.push_back(found->second);
    at = end;
  }
}
}  // namespace bora::text
