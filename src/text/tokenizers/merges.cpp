#include "text/tokenizers/merges.h"
#include <algorithm>
#include <queue>
#include "bora/base/error.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
std::uint64_t number_of(std::string_view character) {
  std::uint32_t x = 0;
  std::memcpy(&x, character.data(), character.size());
  return x;
}
/// The first place at `from` or later before a U+2581 that follows another character.
std::size_t next_cut(std::string_view s, std::size_t from) {
  for (auto at = s.find(kMetaspace, from); at != s.npos; at = s.find(kMetaspace, at + kMetaspace.size()))
    if (at > 0 && !s.substr(0, at).ends_with(kMetaspace)) return at;
  return s.size();
}
}  // namespace

Merges::Merges(BpeModel model) : model_(std::move(model)), steps_(model_.merges.size()) {
  std::int32_t rank = 0;
  for (auto& m : model_.merges) steps_[pair_of(m.left, m.right)] = {rank++, m.into};  // of equal pairs the last counts
  auto& words = model_.words;
  for (std::size_t id = 0; id < words.size(); ++id) {
    auto& w = words[id];
    if (w.empty()) continue;
    if (!model_.byte_level && w.size() == character_size(w[0]))
      characters_[number_of(w)] = static_cast<std::int32_t>(id);
    if (!model_.ignore_merges) continue;
    auto& last = words_[WordKey(w).hash >> 1];
    if (last > 0) before_[static_cast<std::int32_t>(id)] = last - 1;
    last = static_cast<std::int32_t>(id) + 1;
  }
  cut_ = !model_.byte_level && !model_.ignore_merges && characters_.find(number_of(kMetaspace)) != nullptr;
  for (auto& m : model_.merges) {
    auto& w = words[static_cast<std::size_t>(m.into)];
    cut_ = cut_ && next_cut(w, 1) == w.size();
  }
  if (!model_.ignore_merges) words.clear();
  model_.merges = {};
}
Merges::Step Merges::step(std::int32_t left, std::int32_t right) const {
  auto found = steps_.find(pair_of(left, right));
  return found ? *found : Step{};
}
std::int32_t Merges::find(std::string_view word) const {
  auto last = words_.find(WordKey(word).hash >> 1);
  auto id = last ? *last - 1 : -1;
  while (id >= 0 && model_.words[static_cast<std::size_t>(id)] != word) {
    auto before = before_.find(id);
    id = before == before_.end() ? -1 : before->second;
  }
  return id;
}
void Merges::append(std::string_view word, WordCache& cache, std::vector<std::int32_t>& ids) const {
  if (model_.byte_level && word.size() == 1) return ids.push_back(model_.byte_ids[static_cast<unsigned char>(word[0])]);
  while (!word.empty()) {
    auto part = word.substr(0, cut_ ? next_cut(word, 1) : word.size());
    known(part, cache, ids, [&](auto& out) { merge(part, out); });
    word.remove_prefix(part.size());
  }
}
void Merges::symbols(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (model_.byte_level) {
    for (char c : word) ids.push_back(model_.byte_ids[static_cast<unsigned char>(c)]);
    return;
  }
  bool waits = false;  // an unknown token, which later ones may join
  for (std::size_t i = 0; i < word.size();) {
    auto c = word.substr(i, character_size(word[i]));
    i += c.size();
    auto known = characters_.find(number_of(c));
    if (known) {
      if (waits) ids.push_back(*model_.unknown);
      waits = false;
      ids.push_back(*known);
      continue;
    }
    auto id = [&](char b) { return model_.byte_ids[static_cast<unsigned char>(b)]; };
    if (model_.byte_fallback && std::all_of(c.begin(), c.end(), [&](char b) { return id(b) >= 0; })) {
      for (char b : c) ids.push_back(id(b));
      continue;
    }
    if (!model_.unknown) continue;
    if (waits && !model_.fuse_unknown) ids.push_back(*model_.unknown);
    waits = true;
  }
  if (waits) ids.push_back(*model_.unknown);
}
void Merges::merge(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (model_.ignore_merges)
    if (auto id = find(word); id >= 0) return ids.push_back(id);
  auto begin = ids.size();
  symbols(word, ids);
  ids.size() - begin <= 32 ? merge_few(ids, begin) : merge_many(ids, begin);
}
void Merges::merge_few(std::vector<std::int32_t>& ids, std::size_t begin) const {
  Step steps[32];
  auto s = ids.begin() + static_cast<std::ptrdiff_t>(begin);
  auto n = ids.size() - begin;
  for (std::size_t i = 0; i + 1 < n; ++i)
    steps[i] = step(s[static_cast<std::ptrdiff_t>(i)], s[static_cast<std::ptrdiff_t>(i + 1)]);
  while (n > 1) {
    std::size_t best = n;
    for (std::size_t i = 0; i + 1 < n; ++i)
      if (steps[i].rank >= 0 && (best == n || steps[i].rank < steps[best].rank)) best = i;
    if (best == n) break;
    auto at = s + static_cast<std::ptrdiff_t>(best);
    *at = steps[best].into;
    std::copy(at + 2, ids.end(), at + 1);
    std::copy(steps + best + 1, steps + n - 1, steps + best);
    ids.pop_back();
    --n;
    if (best + 1 < n) steps[best] = step(at[0], at[1]);
    if (best > 0) steps[best - 1] = step(at[-1], at[0]);
  }
}
void Merges::merge_many(std::vector<std::int32_t>& ids, std::size_t begin) const {
  struct Symbol {
    std::int32_t id;
    std::size_t left, right;  // its neighbours
    Step next;                // its merge with the right neighbour
  };
  struct Candidate {
    std::int32_t rank;
    std::size_t place;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : place > o.place; }
  };
  auto n = ids.size() - begin;
  std::vector<Symbol> symbols(n);
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < n; ++i) symbols[i] = {ids[begin + i], i - 1, i + 1, {}};
  ids.resize(begin);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    symbols[i].next = step(symbols[i].id, symbols[i + 1].id);
    if (symbols[i].next.rank >= 0) found.push_back({symbols[i].next.rank, i});
  }
  std::priority_queue<Candidate> queue({}, std::move(found));
  auto look = [&](std::size_t i) {  // at a symbol's new merge
    auto& s = symbols[i];
    s.next = s.right < n ? step(s.id, symbols[s.right].id) : Step{};
    if (s.next.rank >= 0) queue.push({s.next.rank, i});
  };
  while (!queue.empty()) {
    auto [rank, i] = queue.top();
    queue.pop();
    auto& s = symbols[i];
    if (s.next.rank != rank) continue;  // a neighbour has changed since
    auto& gone = symbols[s.right];
    s.id = s.next.into;
    s.right = gone.right;
    gone.next = {};
    if (s.right < n) symbols[s.right].left = i;
    look(i);
    if (i > 0) look(s.left);
  }
  for (std::size_t i = 0; i < n; i = symbols[i].right) ids.push_back(symbols[i].id);
}
}  // namespace bora::text
