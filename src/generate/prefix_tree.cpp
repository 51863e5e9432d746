#include "generate/prefix_tree.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora::generate::engine {
namespace {
PrefixTree::Tokens key_of(std::span<const std::int32_t> tokens) {
  PrefixTree::Tokens key;
  std::copy_n(tokens.begin(), key.size(), key.begin());
  return key;
}
}  // namespace
PrefixTree::PrefixTree(std::int64_t pages) : pool_(pages), of_page_(static_cast<std::size_t>(pages)) {}
std::optional<std::int32_t> PrefixTree::take() {
  if (auto page = pool_.take()) return page;
  if (leaves_.empty()) return {};
  auto& last = *leaves_.begin()->second;
  leaves_.erase(leaves_.begin());
  auto* before = std::exchange(last.before, nullptr);
  before->after.erase(last.place);
  if (before != &root_ && before->after.empty() && pool_.users(before->page) == 1)
    leaves_.emplace(before->used, before);
  --unused_;
  pool_.release(last.page);
  return pool_.take();
}
void PrefixTree::retain(Node& n) {
  leaves_.erase({n.used, &n});
  n.used = ++now_;
  unused_ -= pool_.users(n.page) == 1 ? 1 : 0;
  pool_.retain(n.page);
}
PrefixTree::Node* PrefixTree::find(std::span<const std::int32_t> tokens, std::int64_t most,
                                   std::vector<std::int32_t>& pages) {
  auto* node = &root_;
  for (std::int64_t i = 0; i < most && (i + 1) * kPage <= static_cast<std::int64_t>(tokens.size()); ++i) {
    auto found = node->after.find(key_of(tokens.subspan(static_cast<std::size_t>(i * kPage))));
    if (found == node->after.end()) break;
    node = found->second;
    retain(*node);
    pages.push_back(node->page);
  }
  return node;
}
PrefixTree::Node* PrefixTree::add(Node* before, std::span<const std::int32_t> tokens, std::int32_t& page) {
  auto [place, entered] = before->after.try_emplace(key_of(tokens), &node(page));
  if (!entered) {
    retain(*place->second);
    release(std::exchange(page, place->second->page));
    return place->second;
  }
  auto& n = node(page);
  n = {.before = before, .place = place, .page = page, .used = ++now_};
  pool_.retain(page);
  if (before != &root_) leaves_.erase({before->used, before});
  return &n;
}
void PrefixTree::release(std::int32_t page) {
  auto left = pool_.release(page);
  auto& n = node(page);
  if (!n.before || left != 1) return;
  ++unused_;
  n.used = ++now_;
  if (n.after.empty()) leaves_.emplace(n.used, &n);
}
void PrefixTree::drop(std::int32_t page) {
  auto& n = node(page);
  if (n.before && pool_.users(page) == 2) forget(n);
  release(page);
}
void PrefixTree::forget(Node& first) {
  first.before->after.erase(first.place);
  std::vector<Node*> all{&first};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& n = *all[i];
    for (auto& [tokens, after] : n.after) all.push_back(after);
    leaves_.erase({n.used, &n});
    unused_ -= pool_.users(n.page) == 1 ? 1 : 0;
    pool_.release(n.page);
    n.before = nullptr;
    n.after.clear();
  }
}
void PrefixTree::clear() {
  for (auto& n : of_page_)
    if (n.before) pool_.release(n.page), n = {};
  root_.after.clear();
  leaves_.clear();
  unused_ = 0;
}
}  // namespace bora::generate::engine
