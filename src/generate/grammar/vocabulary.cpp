#include "generate/grammar/vocabulary.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include "bora/base/error.h"
#include "bora/text/tokenizer.h"

namespace bora::generate::grammar {
namespace {
constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();

/// The bytes of all tokens; of special ones none.
std::vector<std::string> bytes_of_all(const text::Tokenizer& t) {
  std::vector<std::string> all(static_cast<std::size_t>(t.size()));
  for (std::int32_t id = 0; id < t.size(); ++id) all[static_cast<std::size_t>(id)] = t.bytes_of(id);
  // A special token is left out of a text by decode(); behind another token, where none loses a space.
  auto before = static_cast<std::int32_t>(std::ranges::find(all, "a") - all.begin());
  bora::check<ValueError>(before < t.size(), "JSON: the tokenizer has no token for the letter a alone");
  auto plain = t.decode(std::vector{before}, {.special = false});
  for (std::int32_t id = 0; id < t.size(); ++id)
    if (t.decode(std::vector{before, id}, {.special = false}) == plain) all[static_cast<std::size_t>(id)].clear();
  return all;
}
}  // namespace
Vocabulary::Vocabulary(const text::Tokenizer& t) : Vocabulary(bytes_of_all(t)) {}
Vocabulary::Vocabulary(std::vector<std::string> tokens) : bytes_(std::move(tokens)) {
  for (auto& bytes : bytes_)
    if (bytes.size() > kLongest) bytes.clear();
  grow();
  bool alone[256] = {};
  for (auto& bytes : bytes_)
    if (bytes.size() == 1) alone[static_cast<std::uint8_t>(bytes[0])] = true;
  for (int c = ' '; c <= '~'; ++c)
    bora::check<ValueError>(alone[c], "JSON: the tokenizer has no token for the character ",
                            std::string(1, static_cast<char>(c)), " alone, so it cannot write all texts");
}
void Vocabulary::grow() {
  for (std::int32_t id = 0; id < size(); ++id)
    if (!bytes(id).empty()) order_.push_back(id);
  std::ranges::sort(order_, [&](auto a, auto b) { return bytes(a) != bytes(b) ? bytes(a) < bytes(b) : a < b; });
  nodes_.push_back({});
  std::vector<std::int32_t> path{0};  // to the last node
  auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[static_cast<std::size_t>(path.back())].end = static_cast<std::int32_t>(nodes_.size());
  };
  const std::string* last = nullptr;
  for (std::int32_t i = 0; i < std::ssize(order_); ++i) {
    auto& text = bytes(order_[static_cast<std::size_t>(i)]);
    longest_ = std::max<std::int64_t>(longest_, std::ssize(text));
    std::size_t same = 0;
    while (last && same < std::min(last->size(), text.size()) && (*last)[same] == text[same]) ++same;
    close(same);
    for (auto k = same; k < text.size(); ++k) {
      path.push_back(static_cast<std::int32_t>(nodes_.size()));
      nodes_.push_back({static_cast<std::uint8_t>(text[k]), static_cast<std::uint16_t>(k + 1), 0, i, i});
    }
    nodes_[static_cast<std::size_t>(path.back())].behind = i + 1;
    last = &text;
  }
  close(0);
  nodes_[0].end = static_cast<std::int32_t>(nodes_.size());
}
}  // namespace bora::generate::grammar
