// axis.h -- named axes, and argument types that refer to them.
#pragma once
#include "bora/ops/view.h"
#include "bora/tree/tree.h"

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
    template <Text S> One(const S& s) : name(std::string_view(s)) {}
  };
  AxisNames(const Axis& a) : v_{One(a)} {}
  template <Text S> AxisNames(const S& s) : v_{One(s)} {}
  AxisNames(std::initializer_list<One> l) : v_(l) {}
  explicit AxisNames(std::vector<One> v) : v_(std::move(v)) {}
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
  std::size_t size() const { return v_.size(); }
 private:
  std::vector<One> v_;
};
/// {"batch", 3}, {Embed, range(0, 4)}: a slice of one axis.
struct NamedSlice {
  std::string axis;
  Slice slice;
  template <Text S> NamedSlice(const S& a, Slice s) : axis(std::string_view(a)), slice(std::move(s)) {}
  NamedSlice(const Axis& a, Slice s) : axis(a.name), slice(std::move(s)) {}
};
std::string to_string(const std::vector<Axis>&);  // "{batch:32, embed:512}"
Shape shape_of(const std::vector<Axis>&);
/// Position of the axis with this name, -1 if there is none.
std::int64_t find_axis(const std::vector<Axis>&, std::string_view name);
}  // namespace bora
