// shape.h -- Shape: the sizes of an array. A class of its own so that braces mean sizes and nothing else.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include "bora/base/error.h"

namespace bora {
/// One size, from any integer type, without a narrowing error in braces.
struct DimSize {
  std::int64_t n;
  template <std::integral T> constexpr DimSize(T v) : n(static_cast<std::int64_t>(v)) {}
};
/// Dimension numbers, offsets, strides: plain lists for rules. User-facing axis arguments are `Axes` (ops).
using Dims = std::vector<std::int64_t>;

/// The sizes of an array's dimensions, {2, 3} or 3; {} is a scalar's. Negative indices count from the end.
class Shape {
 public:
  using value_type = std::int64_t;
  Shape() = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) Shape(T n) : Shape({DimSize(n)}) {}  // zeros(3), as in NumPy
  Shape(std::initializer_list<DimSize> d) {
    auto* to = sized(d.size());
    for (auto x : d) *to++ = x.n;
  }
  Shape(const Dims& v) { std::copy(v.begin(), v.end(), sized(v.size())); }
  Shape(const Shape& s) : size_(s.size_) {
    if (size_ <= kFew) std::memcpy(few_, s.few_, sizeof few_);  // a fixed number of bytes needs no call
    else many_.assign(s.begin(), s.end());
  }
  Shape(Shape&& s) noexcept { take(s); }
  Shape& operator=(Shape s) noexcept {
    take(s);
    return *this;
  }
  const std::int64_t* begin() const { return size_ <= kFew ? few_ : many_.data(); }
  const std::int64_t* end() const { return begin() + size_; }
  std::int64_t* begin() { return size_ <= kFew ? few_ : many_.data(); }
  std::int64_t* end() { return begin() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  std::size_t size() const { return size_; }  // number of dimensions, as std containers count
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const { return begin()[i]; }
  std::int64_t& operator[](std::size_t i) { return begin()[i]; }
  std::int64_t at(std::size_t i) const { return begin()[checked(i)]; }
  std::int64_t& at(std::size_t i) { return begin()[checked(i)]; }
  std::int64_t back() const { return end()[-1]; }
  std::int64_t front() const { return *begin(); }
  void push_back(std::int64_t n) {
    if (size_ == kFew) many_.assign(few_, few_ + kFew);
    sized(size_ + 1)[size_ - 1] = n;
  }
  void pop_back() {
    if (size_-- == kFew + 1) std::copy_n(many_.data(), kFew, few_);
  }
  void insert(std::size_t at, std::int64_t n) {
    push_back(n);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  void append(const Shape& s) {
    for (std::size_t i = 0, n = s.size_; i < n; ++i) push_back(s[i]);
  }
  Dims dims() const { return {begin(), end()}; }
  bool operator==(const Shape& s) const {
    if (size_ != s.size_) return false;
    auto *a = begin(), *b = s.begin();
    for (std::size_t i = 0; i < size_; ++i)  // few sizes: faster than memcmp
      if (a[i] != b[i]) return false;
    return true;
  }
 private:
  static constexpr std::size_t kFew = 6;  // up to this many sizes need no allocation: types are copied often
  std::int64_t* sized(std::size_t n) {
    if (n > kFew) many_.resize(n);
    size_ = n;
    return begin();
  }
  void take(Shape& s) noexcept {  // leaves s with no dimensions
    size_ = std::exchange(s.size_, 0);
    if (size_ <= kFew) std::memcpy(few_, s.few_, sizeof few_);
    else many_ = std::move(s.many_);
  }
  std::size_t checked(std::size_t i) const { return i < size_ ? i : throw std::out_of_range("Shape::at"); }
  std::size_t size_ = 0;
  std::int64_t few_[kFew] = {};
  Dims many_;
};

/// Number of elements; 1 for the scalar shape.
std::int64_t volume(const Shape&);
/// "[2, 3]".
std::string to_string(const Shape&);
std::string to_string(const Dims&);
inline std::ostream& operator<<(std::ostream& o, const Shape& s) { return o << to_string(s); }
/// Row-major strides in elements.
Dims strides_of(const Shape&);
/// NumPy broadcasting of two shapes. Throws ShapeError naming `what` and both shapes.
Shape broadcast_shapes(std::string_view what, const Shape& a, const Shape& b);
/// axis in [-ndim, ndim) -> [0, ndim). Throws IndexError naming `what`.
std::int64_t normalize_axis(std::string_view what, std::int64_t axis, std::int64_t ndim);
std::size_t hash_combine(std::size_t seed, std::size_t value);  // seed with one more value mixed in
std::size_t hash_value(const Shape&);                           // equal shapes give equal numbers
}                                                               // namespace bora
