// hash.h -- a hash of numbers, lists and texts that is the same on every host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bora::transport {
/// 64-bit FNV-1a over everything added.
class Hash {
 public:
  Hash& add(const void* data, std::size_t n) {
    auto p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < n; ++i) h_ = (h_ ^ p[i]) * 0x100000001b3ull;
    return *this;
  }
  template <class T> Hash& num(T x) { return add(&x, sizeof x); }
  template <class T> Hash& list(const std::vector<T>& v) { return num(v.size()).add(v.data(), v.size() * sizeof(T)); }
  Hash& text(std::string_view s) { return num(s.size()).add(s.data(), s.size()); }
  std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325ull;
};
}  // namespace bora::transport
