// axis.h -- named axes, and argument types that refer to them.
#pragma once
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>
#include "bora/ops/slice.h"
#include "bora/tree/leaf.h"

namespace bora {
/// A name and a size. Arrays that share a name share the size.
struct Axis {
  std::string name;
  std::int64_t size = 0;
  bool operator==(const Axis&) const = default;
  Axis alias(std::string_view other) const { return {std::string(other), size}; }
  Axis resize(std::int64_t n) const { return {name, n}; }
};
inline std::ostream& operator<<(std::ostream& o, const Axis& a) { return o << a.name << ":" << a.size; }
template <> inline constexpr bool is_static<Axis> = true;
template <> inline constexpr bool is_static<std::vector<Axis>> = true;

/// {Batch, Embed}, or one Axis. Not default constructible: zeros({}) is the scalar.
class Axes {
 public:
  Axes(const Axis& a) : v_{a} {}
  Axes(std::vector<Axis> a) : v_(std::move(a)) {}
  template <class... A>
  requires(sizeof...(A) > 0 && (std::same_as<A, Axis> && ...)) Axes(const Axis& first, const A&... rest)
      : v_{first, rest...} {}
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
  std::size_t size() const { return v_.size(); }
  const std::vector<Axis>& list() const { return v_; }
 private:
  std::vector<Axis> v_;
};
/// Axes of an operation by name: Embed, "embed", {Batch, "embed"}. An Axis must have the array's size.
class AxisNames {
 public:
  struct One {
    std::string name;
    std::int64_t size = -1;  // -1: any
    One(const Axis& a) : name(a.name), size(a.size) {}
    template <TextLike S> One(const S& s) : name(std::string_view(s)) {}
  };
  AxisNames(const Axis& a) : v_{One(a)} {}
  AxisNames(const One& a) : v_{a} {}
  template <TextLike S> AxisNames(const S& s) : v_{One(s)} {}
  AxisNames(std::initializer_list<One> l) : v_(l) {}
  explicit AxisNames(std::vector<One> v) : v_(std::move(v)) {}
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
  std::size_t size() const { return v_.size(); }
 private:
  std::vector<One> v_;
};
// `size` positions from `start` on, an integer or an integer scalar that is known later. Negative positions count from
// the end, each by itself. Outside of the axis, reads give 0 and writes are dropped.
struct DynamicWindow {
  DimSlice start;
  std::int64_t size;
};
inline DynamicWindow dslice(DimSlice start, std::int64_t size) { return {std::move(start), size}; }
inline DynamicWindow dslice(DimSlice start, const Axis& size) { return {std::move(start), size.size}; }
inline DynamicWindow ds(DimSlice start, std::int64_t size) { return {std::move(start), size}; }
inline DynamicWindow ds(DimSlice start, const Axis& size) { return {std::move(start), size.size}; }
/// Block i of blocks of this size: dslice(i * size, size).
DynamicWindow dblock(const DimSlice& i, std::int64_t size);
class NamedArray;
/// {"batch", 3}, {Embed, range(0, 4)}, {"vocab", ids}, {"position", ds(i, 16)}: the index of one axis.
struct NamedSlice {
  AxisNames::One axis;
  DimSlice slice;
  std::optional<std::vector<Axis>> axes = none;  // of a NamedArray
  std::optional<std::int64_t> window = none;     // size of a DynamicWindow
  template <class A>
  requires(TextLike<A> || std::same_as<A, Axis>) NamedSlice(const A& a, DimSlice s) : axis(a), slice(std::move(s)) {}
  template <class A>
  requires(TextLike<A> || std::same_as<A, Axis>) NamedSlice(const A& a, const DynamicWindow& w)
      : axis(a), slice(w.start), window(w.size) {}
  template <class A, std::same_as<NamedArray> N>
  requires(TextLike<A> || std::same_as<A, Axis>) NamedSlice(const A& a, const N& index)
      : axis(a), slice(index.array()), axes(index.axes()) {}
};
std::string to_string(const std::vector<Axis>&);  // "{batch:32, embed:512}"
Shape shape_of(const std::vector<Axis>&);         // the sizes, in order
/// Position of the axis with this name, -1 if there is none.
std::int64_t find_axis(const std::vector<Axis>&, std::string_view name);
/// Position of this axis. Throws AxisError, "what: no axis 'x' ..", which names the nearest and lists all, or says that
/// the size differs.
std::int64_t require_axis(std::string_view what, const std::vector<Axis>&, const AxisNames::One& axis);
}  // namespace bora
