#include "bora/train/selection.h"
#include <algorithm>
#include "bora/base/error.h"
#include "bora/tree/tree.h"

namespace bora {
namespace {
bool matches(const std::string& pattern, const std::string& path) {
  return tree::matches(pattern, path) || tree::matches(pattern + ".*", path);
}
/// "blocks.layer.attn" -> "blocks.attn".
std::string without_layer(const std::string& path) {
  constexpr std::string_view word = ".layer.";
  auto at = path.find(word);
  return at == path.npos ? path : path.substr(0, at) + "." + path.substr(at + word.size());
}
bool selects(const std::string& pattern, const std::string& path) {
  return matches(pattern, path) || matches(pattern, without_layer(path));
}
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{""};
  for (char c : text)
    if (c == '.' || c == '*') words.emplace_back();
    else words.back() += c;
  std::erase(words, "");
  return words;
}
/// Letters that both have in the same order, as a share of the longer.
double likeness(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (char c : a)
    for (std::size_t j = 0, corner = 0; j < b.size(); ++j) {
      auto above = row[j + 1];
      row[j + 1] = c == b[j] ? corner + 1 : std::max(above, row[j]);
      corner = above;
    }
  return static_cast<double>(row.back()) / static_cast<double>(std::max(a.size(), b.size()));
}
/// The five paths whose words are most like those of the pattern, in their own order.
std::string near(const std::string& pattern, const std::vector<std::string>& paths) {
  std::vector<std::pair<double, std::size_t>> ranked;
  auto wanted = words_of(pattern);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    double score = 0;
    for (auto& word : wanted) {
      double best = 0;
      for (auto& other : words_of(paths[i])) best = std::max(best, likeness(word, other));
      score -= best;
    }
    ranked.emplace_back(score, i);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min<std::size_t>(ranked.size(), 5));
  std::sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.second < b.second; });
  std::string list;
  for (auto& [score, i] : ranked) list += (list.empty() ? "" : ", ") + paths[i];
  return list;
}
}  // namespace

bool Selection::has(const std::string& path) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](auto& pattern) { return selects(pattern, path); });
}
void Selection::check(const std::vector<std::string>& paths) const {
  for (auto& pattern : patterns_)
    bora::check<ConfigError>(std::any_of(paths.begin(), paths.end(), [&](auto& p) { return selects(pattern, p); }),
                             key_, ": nothing matches '", pattern, "'; near it are ", near(pattern, paths));
}
}  // namespace bora
