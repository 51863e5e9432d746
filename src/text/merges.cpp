#include "text/merges.h"
#include <algorithm>
#include <queue>

namespace bora::text {
namespace {
constexpr std::size_t kMostBytes = 128, kMostWords = 2048;  // of a known word; known words, of one of the maps
std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}
}  // namespace

Merges::Merges(const TokenizerJson& json) : byte_ids_(json.byte_ids) {
  steps_.reserve(json.merges.size());
  std::int32_t rank = 0;
  for (auto& m : json.merges)
    steps_[pair_of(m.left, m.right)] = {rank++, m.into};  // of equal pairs the last one counts
  if (!json.ignore_merges) return;
  for (std::int32_t id = 0; id < json.words; ++id) words_.emplace(json.tokens[static_cast<std::size_t>(id)], id);
}
Merges::Step Merges::step(std::int32_t left, std::int32_t right) const {
  auto found = steps_.find(pair_of(left, right));
  return found == steps_.end() ? Step{} : found->second;
}
void Merges::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.size() == 1) return ids.push_back(byte_ids_[static_cast<unsigned char>(word[0])]);
  if (word.size() > kMostBytes) return merge(word, ids);
  auto& known = known_[Hash()(word) >> 58];
  {
    std::lock_guard lock(known.mutex);
    if (auto found = known.words.find(word); found != known.words.end())
      return void(ids.insert(ids.end(), found->second.begin(), found->second.end()));
  }
  auto begin = static_cast<std::ptrdiff_t>(ids.size());
  merge(word, ids);
  std::lock_guard lock(known.mutex);
  if (known.words.size() >= kMostWords) known.words.clear();
  known.words.try_emplace(std::string(word), ids.begin() + begin, ids.end());
}
void Merges::merge(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (auto whole = words_.find(word); whole != words_.end()) return ids.push_back(whole->second);
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
  auto n = word.size();
  std::vector<Symbol> symbols(n);
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < n; ++i) symbols[i] = {byte_ids_[static_cast<unsigned char>(word[i])], i - 1, i + 1, {}};
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
