// shape.h -- Shape: the sizes of an array. A class of its own so that braces mean sizes and nothing else.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>
#include "bora/base/error.h"

namespace bora {
/// One size, from any integer type, without a narrowing error in braces.
struct Dim {
  std::int64_t n;
  template <std::integral T> constexpr Dim(T v) : n(static_cast<std::int64_t>(v)) {}
};
/// Dimension numbers, offsets, strides: plain lists that rules compute with. User-facing axis arguments are `Axes` (ops).
using Dims = std::vector<std::int64_t>;

class Shape {
 public:
  using value_type = std::int64_t;
  Shape() = default;
  Shape(std::initializer_list<Dim> d) {
    n_.reserve(d.size());
    for (auto x : d) n_.push_back(x.n);
  }
  Shape(Dims v) : n_(std::move(v)) {}
  auto begin() const { return n_.begin(); }
  auto end() const { return n_.end(); }
  auto begin() { return n_.begin(); }
  auto end() { return n_.end(); }
  auto rbegin() const { return n_.rbegin(); }
  auto rend() const { return n_.rend(); }
  std::size_t size() const { return n_.size(); }  // number of dimensions, as std containers count
  bool empty() const { return n_.empty(); }
  std::int64_t operator[](std::size_t i) const { return n_[i]; }
  std::int64_t& operator[](std::size_t i) { return n_[i]; }
  std::int64_t at(std::size_t i) const { return n_.at(i); }
  std::int64_t& at(std::size_t i) { return n_.at(i); }
  std::int64_t back() const { return n_.back(); }
  std::int64_t front() const { return n_.front(); }
  void push_back(std::int64_t n) { n_.push_back(n); }
  void pop_back() { n_.pop_back(); }
  void insert(std::size_t at, std::int64_t n) { n_.insert(n_.begin() + static_cast<std::ptrdiff_t>(at), n); }
  void erase(std::size_t at) { n_.erase(n_.begin() + static_cast<std::ptrdiff_t>(at)); }
  void append(const Shape& s) { n_.insert(n_.end(), s.begin(), s.end()); }
  const Dims& dims() const { return n_; }
  bool operator==(const Shape&) const = default;
 private:
  Dims n_;
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
std::size_t hash_combine(std::size_t seed, std::size_t value);
std::size_t hash_value(const Shape&);
}  // namespace bora
