#include "text/tokenizers/unigram.h"
#include <algorithm>
#include "text/unicode.h"

namespace bora::text {
namespace {
constexpr double kPenalty = 10;  // of an unknown character, below the worst piece
}  // namespace

Unigram::Unigram(UnigramModel model) : model_(std::move(model)), ends_{-1} {
  unknown_score_ = *std::min_element(model_.scores.begin(), model_.scores.end()) - kPenalty;
  for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
    std::uint32_t node = 0;
    for (unsigned char c : model_.pieces[id]) {
      auto& next = next_[std::uint64_t{node} * 256 + c];
      if (next == 0) {
        next = static_cast<std::uint32_t>(ends_.size());
        ends_.push_back(-1);
      }
      node = next;
    }
    ends_[node] = static_cast<std::int32_t>(id);
  }
}
void Unigram::append(std::string_view word, WordCache& cache, std::vector<std::int32_t>& ids) const {
  known(word, cache, ids, [&](auto& out) { best(word, out); });
}
std::int32_t Unigram::find(std::string_view piece) const {
  std::uint32_t node = 0;
  for (unsigned char c : piece) {
    auto next = next_.find(std::uint64_t{node} * 256 + c);
    if (!next) return -1;
    node = *next;
  }
  return ends_[node];
}
void Unigram::best(std::string_view s, std::vector<std::int32_t>& ids) const {
  struct End {
    double score = 0;
    std::size_t begin = std::string_view::npos;  // of the last piece; npos: no path comes here
    std::int32_t id = 0;
  };
  std::vector<End> ends(s.size() + 1);
  for (std::size_t begin = 0; begin < s.size();) {
    auto here = ends[begin].score;
    auto reach = [&](std::size_t end, double score, std::int32_t id) {
      auto& e = ends[end];
      if (e.begin == s.npos || score + here > e.score) e = {score + here, begin, id};
    };
    auto character = character_size(s[begin]);
    bool one = false;  // whether a piece is this character
    std::uint32_t node = 0;
    for (auto i = begin; i < s.size(); ++i) {
      auto next = next_.find(std::uint64_t{node} * 256 + static_cast<unsigned char>(s[i]));
      if (!next) break;
      node = *next;
      if (ends_[node] < 0) continue;
      reach(i + 1, model_.scores[static_cast<std::size_t>(ends_[node])], ends_[node]);
      one = one || i + 1 - begin == character;
    }
    if (!one) reach(begin + character, unknown_score_, model_.unknown);
    begin += character;
  }
  std::vector<std::pair<std::size_t, std::int32_t>> path;  // ends of pieces and their ids, from the last one
  for (auto end = s.size(); end > 0; end = ends[end].begin) path.emplace_back(end, ends[end].id);
  std::size_t begin = 0;
  for (auto i = path.size(); i-- > 0;) {
    auto [end, id] = path[i];
    if (id != model_.unknown) {
      ids.push_back(id);
    } else {
      if (i > 0 && path[i - 1].second == id) continue;  // one token with the next
      unknown(s.substr(begin, end - begin), ids);
    }
    begin = end;
  }
}
void Unigram::unknown(std::string_view part, std::vector<std::int32_t>& ids) const {
  auto whole = find(part);
  if (whole >= 0) return ids.push_back(whole);
  auto id = [&](char b) { return model_.byte_ids[static_cast<unsigned char>(b)]; };
  if (!model_.byte_fallback || !std::all_of(part.begin(), part.end(), [&](char b) { return id(b) >= 0; }))
    return ids.push_back(model_.unknown);
  for (char b : part) ids.push_back(id(b));
}
}  // namespace bora::text
