// bytes.h -- fixed-width numbers and texts in a byte string (little-endian hosts only: the handshake refuses others).
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include "bora/base/error.h"

namespace bora::transport {
class Writer {
 public:
  template <class T> Writer& num(T x) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  Writer& text(std::string_view s) {
    num(static_cast<std::uint64_t>(s.size()));
    bytes_.append(s);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};
/// Reads what Writer wrote. Throws TransportError on bytes that end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T> T num() {
    check<TransportError>(rest_.size() >= sizeof(T), "a control message ends too early");
    // A bool is read through a byte: a bool object may hold only 0 or 1.
    std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T> x;
    std::memcpy(&x, rest_.data(), sizeof x);
    rest_.remove_prefix(sizeof x);
    return static_cast<T>(x);
  }
  std::string text() {
    auto n = num<std::uint64_t>();
    check<TransportError>(n <= rest_.size(), "a control message ends too early");
    std::string s(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return s;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

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
