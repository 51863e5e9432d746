#include "text/tokenizers/added_tokens.h"
#include "text/unicode.h"

namespace bora::text {
AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), ends_{-1} {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    std::uint32_t node = 0;
    begins_[static_cast<unsigned char>(tokens_[i].content[0])] = true;
    for (unsigned char c : tokens_[i].content) {
      auto [at, is_new] = next_.try_emplace(std::uint64_t{node} * 256 + c, static_cast<std::uint32_t>(ends_.size()));
      if (is_new) ends_.push_back(-1);
      node = at->second;
    }
    if (ends_[node] < 0) ends_[node] = static_cast<std::int32_t>(i);
  }
}
bool AddedTokens::find(std::string_view s, Match& m) const {
  if (tokens_.empty()) return false;
  for (m.begin = m.from; m.begin < s.size(); ++m.begin) {
    if (!begins_[static_cast<unsigned char>(s[m.begin])]) continue;
    std::int32_t best = -1;
    std::uint32_t node = 0;
    for (auto i = m.begin; i < s.size(); ++i) {
      auto found = next_.find(std::uint64_t{node} * 256 + static_cast<unsigned char>(s[i]));
      if (found == next_.end()) break;
      node = found->second;
      if (ends_[node] >= 0) best = ends_[node];
    }
    if (best < 0) continue;
    auto& t = tokens_[static_cast<std::size_t>(best)];
    m.end = m.begin + t.content.size();
    m.space_before = t.lstrip ? space_at_end(s.substr(0, m.begin)) : 0;
    m.space_after = t.rstrip ? space_at_begin(s.substr(m.end)) : 0;
    m.id = t.id;
    m.special = t.special;
    m.lstrip = t.lstrip;
    m.within_word = t.single_word && (ends_with_word(s.substr(0, m.begin)) || begins_with_word(s.substr(m.end)));
    return true;
  }
  return false;
}
}  // namespace bora::text
