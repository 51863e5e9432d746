// array.h -- NamedArray: an Array whose dimensions have names.
#pragma once
#include "bora/named/axis.h"

namespace bora {
/// An Array with an Axis, a name and a size, for each dimension. Operations match axes by name. Copying shares.
class [[nodiscard]] NamedArray {
 public:
  NamedArray() = default;  // empty: any use throws
  /// Throws AxisError if shape and axes differ or a name occurs twice.
  NamedArray(Array a, std::vector<Axis> axes);
  const Array& array() const& { return array_; }
  Array array() && { return std::move(array_); }
  const std::vector<Axis>& axes() const& { return axes_; }
  std::vector<Axis> axes() && { return std::move(axes_); }
  Dtype dtype() const { return array_.dtype(); }
  std::int64_t ndim() const { return array_.ndim(); }
  std::int64_t size() const { return array_.size(); }
  bool defined() const { return array_.defined(); }
  bool has_axis(std::string_view name) const { return find_axis(axes_, name) >= 0; }
  /// The axis with this name. Throws AxisError naming the existing axes.
  const Axis& axis(std::string_view name) const;
  std::int64_t position(const AxisNames::One&) const;
  NamedArray astype(Dtype d) const;
  template <Number T> T item() const { return array_.template item<T>(); }
  template <Number T> std::vector<T> to_vector() const { return array_.template to_vector<T>(); }
  /// x[{"batch", 3}], x[{{"batch", ids}, {"vocab", range(0, 4)}}]. An integer drops its axis; ranges, dslice and
  /// 1-dimensional integer Arrays keep it where it is, each by itself. Integer NamedArrays gather: axes that they share
  /// go together, also with an axis that x keeps (one element for each of its positions), and their axes stand where
  /// the indexed ones stood if those are neighbours, else in front (NumPy's rule; integers count as indexed). Positions
  /// outside: an integer throws IndexError, arrays read the nearest element, dslice reads 0.
  NamedArray operator[](const NamedSlice&) const;
  NamedArray operator[](std::initializer_list<NamedSlice>) const;
  template <std::same_as<bool> B> explicit operator B() const {
    static_assert(detail::never<B>, "a NamedArray is not a condition: use where(c, a, b) or cond(c, f, g, x)");
    return false;
  }
  NamedArray& operator+=(const NamedArray& o);
  NamedArray& operator*=(Scalar s);
 private:
  friend struct tree::Leaf<NamedArray>;
  Array array_;
  std::vector<Axis> axes_;
};
/// A NamedArray is one leaf: its path has no `.array`. Its axes are part of the structure.
template <> struct tree::Leaf<NamedArray> {
  static constexpr bool positional = false;
  static const Array& array(const NamedArray& x) { return x.array_; }
  static NamedArray rebuild(const NamedArray& like, Array a) {
    NamedArray r;  // unchecked: transforms pass tracers of other shapes through here
    r.array_ = std::move(a);
    r.axes_ = like.axes_;
    return r;
  }
  static NamedArray with_axes(Array a, std::vector<Axis> axes) {
    NamedArray r;
    r.array_ = std::move(a);
    r.axes_ = std::move(axes);
    return r;
  }
  static void key(const NamedArray& x, tree::Key& k) {
    for (auto& a : x.axes_) k.add_text(a.name);
  }
  static std::string text(const NamedArray& x) {
    return std::string(x.array_.defined() ? dtype_name(x.array_.dtype()) : "empty") + to_string(x.axes_);
  }
};
std::ostream& operator<<(std::ostream&, const NamedArray&);
}  // namespace bora
