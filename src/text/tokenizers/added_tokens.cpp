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
std::unordered_set<std::int32_t> AddedTokens::marks(std::string_view s, std::span<const TextRange> said) const {
  std::unordered_set<std::int32_t> found;
  std::size_t begin = 0;
  // Words, and single characters, are no marks.
  auto is_mark = [](std::string_view token) {
    bool other = false;
    for (std::size_t i = 0; i < token.size(); i += character_size(token[i]))
      other = other || (!begins_with_word(token.substr(i)) && space_at_begin(token.substr(i)) == 0);
    return other && character_size(token[0]) < token.size();
  };
  auto look = [&](std::size_t end) {
    for (Match m; find(s.substr(begin, end - begin), {}, m); m.from = m.end)
      if (!m.within_word && is_mark(s.substr(begin + m.begin, m.end - m.begin))) found.insert(m.id);
  };
  for (auto& range : said) {
    look(range.first);
    begin = range.second;
  }
  look(s.size());
  return found;
}
bool AddedTokens::find(std::string_view s, const AddedSearch& how, Match& m) const {
  if (tokens_.empty()) return false;
  auto may_be = [&](const AddedToken& t, const TextRange& at) {
    if (!t.special && !(how.marks && how.marks->contains(t.id))) return true;
    auto next = std::upper_bound(how.said.begin(), how.said.end(), at.first,
                                 [](std::size_t begin, const TextRange& range) { return begin < range.second; });
    return next == how.said.end() || next->first >= at.second;
  };
  for (m.begin = m.from; m.begin < s.size(); ++m.begin) {
    if (!begins_[static_cast<unsigned char>(s[m.begin])]) continue;
    std::int32_t best = -1;
    std::uint32_t node = 0;
    for (auto i = m.begin; i < s.size(); ++i) {
      auto found = next_.find(std::uint64_t{node} * 256 + static_cast<unsigned char>(s[i]));
      if (found == next_.end()) break;
      node = found->second;
      if (ends_[node] >= 0 && may_be(tokens_[static_cast<std::size_t>(ends_[node])], {m.begin, i + 1}))
        best = ends_[node];
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
