#include "generate/lookup.h"
#include <algorithm>

namespace bora::generate::engine {
namespace {
constexpr std::int64_t kFirstPause = 16, kLongestPause = 64;
constexpr std::size_t kFirstSlots = 64, kProbes = 64;
std::uint64_t hash(const std::int32_t* tokens, std::size_t n) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < n; ++i) h = (h ^ static_cast<std::uint32_t>(tokens[i])) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 32);
}
}  // namespace
/// The slot of these tokens, or the empty one where they belong; null: too many others are there.
std::int32_t* Lookup::Places::slot(Text text, const std::int32_t* wanted) {
  auto mask = ends_.size() - 1, first = static_cast<std::size_t>(hash(wanted, n_));
  for (std::size_t i = 0; i < std::min(kProbes, ends_.size()); ++i) {
    auto& end = ends_[(first + i) & mask];
    if (end == 0 || std::equal(wanted, wanted + n_, text.data() + end - n_)) return &end;
  }
  return nullptr;
}
void Lookup::Places::enter(Text text, std::int32_t end) {
  if (static_cast<std::size_t>(end) < n_) return;
  if (2 * (used_ + 1) > ends_.size()) {
    std::vector<std::int32_t> old(std::max(kFirstSlots, 2 * ends_.size()));
    old.swap(ends_);
    for (auto e : old)
      if (auto* place = e > 0 ? slot(text, text.data() + e - n_) : nullptr) *place = e;
  }
  auto* place = slot(text, text.data() + end - n_);
  if (!place) return;
  used_ += *place == 0 ? 1 : 0;
  *place = end;
}
std::int32_t Lookup::Places::find(Text text) {
  if (text.size() < n_ || ends_.empty()) return 0;
  auto* place = slot(text, text.data() + text.size() - n_);
  return place ? *place : 0;
}
std::vector<std::int32_t> Lookup::draft(std::span<const std::int32_t> text, std::int64_t most) {
  size_ = std::ssize(text);
  most = std::min(most, hope_);
  if (most <= 0 || size_ < until_) return {};
  for (; entered_ + 1 < size_; ++entered_) {  // not the text's own end
    three_.enter(text, static_cast<std::int32_t>(entered_ + 1));
    two_.enter(text, static_cast<std::int32_t>(entered_ + 1));
  }
  auto from = three_.find(text);
  if (from == 0) from = two_.find(text);
  if (from == 0) return {};
  std::vector<std::int32_t> tokens;
  // What it repeats may reach its end, and goes on with itself there.
  for (std::int64_t i = from, period = size_ - from; std::ssize(tokens) < most; ++i)
    tokens.push_back(text[static_cast<std::size_t>(i < size_ ? i : size_ - period + (i - size_) % period)]);
  return tokens;
}
void Lookup::verified(std::int64_t drafted, std::int64_t right) {
  if (drafted == 0) return;
  hope_ = right == drafted ? 2 * std::max(hope_, right) : right + 1;
  hope_ = std::min<std::int64_t>(hope_, 1 << 10);
  // A wrong draft costs a third of what a right one saves, or less.
  balance_ = std::min(balance_ + 2 * right - (drafted - right), 2 * kPaid);
  if (balance_ >= kPaid) pause_ = 0;
  if (balance_ >= 0) return;
  balance_ = 0;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  until_ = size_ + 1 + pause_;
}
}  // namespace bora::generate::engine
