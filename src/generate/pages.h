// pages.h -- the pages of keys and values, and how many use each of them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace bora::generate::engine {
inline std::int64_t size_of(const auto& v) { return static_cast<std::int64_t>(v.size()); }

/// Pages 0 .. n - 1. It knows numbers alone: the model has their memory.
class PagePool {
 public:
  explicit PagePool(std::int64_t n);
  /// A free page, which has one user then.
  std::optional<std::int32_t> take();
  void retain(std::int32_t page);
  /// The number of users that it still has; with none it is free.
  std::int32_t release(std::int32_t page);
  std::int32_t users(std::int32_t page) const { return users_[static_cast<std::size_t>(page)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(users_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  std::vector<std::int32_t> users_;
  std::vector<std::int32_t> free_;  // the last one goes first: its memory was touched before
};
}  // namespace bora::generate::engine
