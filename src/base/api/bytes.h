// bytes.h -- fixed-width numbers and texts in a byte string (little-endian hosts only: the handshake refuses others).
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include "bora/base/error.h"

namespace bora {
class ByteWriter {
 public:
  template <class T> ByteWriter& num(T x) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  ByteWriter& text(std::string_view s) {
    num(static_cast<std::uint64_t>(s.size()));
    bytes_.append(s);
    return *this;
  }
  ByteWriter& texts(const std::vector<std::string>& all) {
    num(static_cast<std::uint64_t>(all.size()));
    for (auto& s : all) text(s);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};
/// Reads the bytes of a ByteWriter. Throws TransportError, which begins with `name`, if they end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes, std::string_view name = "a control message")
      : rest_(bytes), name_(name) {}
  template <class T> T num() {
    check<TransportError>(rest_.size() >= sizeof(T), name_, " ends too early");
    // A bool is read through a byte: a bool object may hold only 0 or 1.
    std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T> x;
    std::memcpy(&x, rest_.data(), sizeof x);
    rest_.remove_prefix(sizeof x);
    return static_cast<T>(x);
  }
  std::string text() {
    auto n = num<std::uint64_t>();
    check<TransportError>(n <= rest_.size(), name_, " ends too early");
    std::string s(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return s;
  }
  std::vector<std::string> texts() {
    auto n = num<std::uint64_t>();
    check<TransportError>(n <= rest_.size() / sizeof n, name_, " ends too early");
    std::vector<std::string> all(n);
    for (auto& s : all) s = text();
    return all;
  }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_, name_;
};
}  // namespace bora
