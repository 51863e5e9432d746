#include "generate/pages.h"
#include <numeric>
#include "bora/base/error.h"

namespace bora::generate::engine {
PagePool::PagePool(std::int64_t n) : users_(static_cast<std::size_t>(n)), free_(static_cast<std::size_t>(n)) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}
std::optional<std::int32_t> PagePool::take() {
  if (free_.empty()) return {};
  auto page = free_.back();
  free_.pop_back();
  users_[static_cast<std::size_t>(page)] = 1;
  return page;
}
void PagePool::retain(std::int32_t page) {
  bora::check<ValueError>(users(page) > 0, "pages: page ", page, " is free, and nobody has its keys");
  ++users_[static_cast<std::size_t>(page)];
}
std::int32_t PagePool::release(std::int32_t page) {
  bora::check<ValueError>(users(page) > 0, "pages: page ", page, " is free already");
  auto left = --users_[static_cast<std::size_t>(page)];
  if (left == 0) free_.push_back(page);
  return left;
}
}  // namespace bora::generate::engine
