// named.h -- NamedArray: an Array whose dimensions have names. Operations match axes by name, never by position.
// Binary operations: the axes of one operand must contain those of the other; the result has the larger operand's axes
// in its order (the left one's if they are equal). Axes of size 1 are not broadcast. Errors are AxisErrors that name
// the axes of both operands.
#pragma once
#include "bora/named/axis.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/reduce.h"

namespace bora {
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
  /// x[{"batch", 3}] drops the axis; ranges and 1-dimensional integer Arrays keep it, each independently: x[{{"a", i},
  /// {"b", j}}] has every pair of their positions. For integer NamedArrays see take.
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

/// a with names. Throws AxisError.
inline NamedArray named(const Array& a, const Axes& axes) { return {a, axes.list()}; }
NamedArray zeros(const Axes& axes, Dtype dtype = f32);
NamedArray ones(const Axes& axes, Dtype dtype = f32);
NamedArray full(const Axes& axes, Scalar value, std::optional<Dtype> dtype = none);
NamedArray arange(const Axis& axis, Dtype dtype = i32);
NamedArray zeros_like(const NamedArray& x);
NamedArray ones_like(const NamedArray& x);
NamedArray one_hot(const NamedArray& indices, const Axis& axis, Dtype dtype = f32);

// ---- axes -----------------------------------------------------------------------------------------------------------
/// The same numbers with axes renamed; sizes stay.
struct Renaming {
  std::string from, to;
  template <Text A, Text B> Renaming(const A& a, const B& b) : from(std::string_view(a)), to(std::string_view(b)) {}
  template <Text B> Renaming(const Axis& a, const B& b) : from(a.name), to(std::string_view(b)) {}
  template <Text A> Renaming(const A& a, const Axis& b) : from(std::string_view(a)), to(b.name) {}
  Renaming(const Axis& a, const Axis& b) : from(a.name), to(b.name) {}
};
NamedArray rename(const NamedArray& x, const std::vector<Renaming>& names);
/// The same array with its axes in this order; all must be named.
NamedArray rearrange(const NamedArray& x, const AxisNames& order);
/// x repeated along axes it lacks; the result has exactly `axes`, in that order.
NamedArray broadcast_to(const NamedArray& x, const Axes& axes);
NamedArray flatten_axes(const NamedArray& x, const AxisNames& axes, const Axis& into);
NamedArray unflatten_axis(const NamedArray& x, const AxisNames::One& axis, const Axes& into);
NamedArray concatenate(const Axis& into, const std::vector<NamedArray>& xs);
NamedArray stack(const Axis& axis, const std::vector<NamedArray>& xs);

// ---- contraction ----------------------------------------------------------------------------------------------------
/// Products summed over `axes`; other shared axes are batch axes. Result axes: batch, then a's own, then b's own.
NamedArray dot(const NamedArray& a, const NamedArray& b, const AxisNames& axes);
/// table indexed along `axis`, which the axes of `indices` replace.
NamedArray take(const NamedArray& table, const AxisNames::One& axis, const NamedArray& indices);

// ---- reductions: over all axes, or the named ones, which disappear --------------------------------------------------
NamedArray sum(const NamedArray& x);
NamedArray sum(const NamedArray& x, const AxisNames& axes);
NamedArray mean(const NamedArray& x);
NamedArray mean(const NamedArray& x, const AxisNames& axes);
NamedArray var(const NamedArray& x);
NamedArray var(const NamedArray& x, const AxisNames& axes);
NamedArray prod(const NamedArray& x);
NamedArray prod(const NamedArray& x, const AxisNames& axes);
NamedArray amax(const NamedArray& x);
NamedArray amax(const NamedArray& x, const AxisNames& axes);
NamedArray amin(const NamedArray& x);
NamedArray amin(const NamedArray& x, const AxisNames& axes);
NamedArray all(const NamedArray& x);
NamedArray all(const NamedArray& x, const AxisNames& axes);
NamedArray any(const NamedArray& x);
NamedArray any(const NamedArray& x, const AxisNames& axes);
NamedArray argmax(const NamedArray& x, const AxisNames::One& axis);
NamedArray argmin(const NamedArray& x, const AxisNames::One& axis);
NamedArray cumsum(const NamedArray& x, const AxisNames::One& axis);
NamedArray sort(const NamedArray& x, const AxisNames::One& axis);
NamedArray argsort(const NamedArray& x, const AxisNames::One& axis);
NamedArray softmax(const NamedArray& x, const AxisNames::One& axis);
NamedArray log_softmax(const NamedArray& x, const AxisNames::One& axis);
NamedArray logsumexp(const NamedArray& x, const AxisNames::One& axis);

// ---- elementwise ----------------------------------------------------------------------------------------------------
NamedArray exp(const NamedArray& x);
NamedArray log(const NamedArray& x);
NamedArray log1p(const NamedArray& x);
NamedArray expm1(const NamedArray& x);
NamedArray sqrt(const NamedArray& x);
NamedArray rsqrt(const NamedArray& x);
NamedArray square(const NamedArray& x);
NamedArray abs(const NamedArray& x);
NamedArray sign(const NamedArray& x);
NamedArray floor(const NamedArray& x);
NamedArray round(const NamedArray& x);
NamedArray sin(const NamedArray& x);
NamedArray cos(const NamedArray& x);
NamedArray tanh(const NamedArray& x);
NamedArray erf(const NamedArray& x);
NamedArray erfc(const NamedArray& x);
NamedArray sigmoid(const NamedArray& x);
NamedArray relu(const NamedArray& x);
NamedArray silu(const NamedArray& x);
NamedArray gelu(const NamedArray& x, const Gelu& options = {});
NamedArray stop_gradient(const NamedArray& x);
NamedArray isnan(const NamedArray& x);
NamedArray isfinite(const NamedArray& x);
NamedArray maximum(const NamedArray& a, const NamedArray& b);
NamedArray maximum(const NamedArray& a, Scalar b);
NamedArray minimum(const NamedArray& a, const NamedArray& b);
NamedArray minimum(const NamedArray& a, Scalar b);
NamedArray pow(const NamedArray& a, const NamedArray& b);
NamedArray pow(const NamedArray& a, Scalar b);
NamedArray clip(const NamedArray& x, Scalar lo, Scalar hi);
NamedArray where(const NamedArray& condition, const NamedArray& on_true, const NamedArray& on_false);
NamedArray where(const NamedArray& condition, const NamedArray& on_true, Scalar on_false);
NamedArray where(const NamedArray& condition, Scalar on_true, const NamedArray& on_false);
NamedArray operator-(const NamedArray& x);
NamedArray operator!(const NamedArray& x);
NamedArray operator+(const NamedArray& a, const NamedArray& b);
NamedArray operator+(const NamedArray& a, Scalar b);
NamedArray operator+(Scalar a, const NamedArray& b);
NamedArray operator-(const NamedArray& a, const NamedArray& b);
NamedArray operator-(const NamedArray& a, Scalar b);
NamedArray operator-(Scalar a, const NamedArray& b);
NamedArray operator*(const NamedArray& a, const NamedArray& b);
NamedArray operator*(const NamedArray& a, Scalar b);
NamedArray operator*(Scalar a, const NamedArray& b);
NamedArray operator/(const NamedArray& a, const NamedArray& b);
NamedArray operator/(const NamedArray& a, Scalar b);
NamedArray operator/(Scalar a, const NamedArray& b);
NamedArray operator%(const NamedArray& a, const NamedArray& b);
NamedArray operator%(const NamedArray& a, Scalar b);
NamedArray operator==(const NamedArray& a, const NamedArray& b);
NamedArray operator==(const NamedArray& a, Scalar b);
NamedArray operator!=(const NamedArray& a, const NamedArray& b);
NamedArray operator!=(const NamedArray& a, Scalar b);
NamedArray operator<(const NamedArray& a, const NamedArray& b);
NamedArray operator<(const NamedArray& a, Scalar b);
NamedArray operator<(Scalar a, const NamedArray& b);
NamedArray operator<=(const NamedArray& a, const NamedArray& b);
NamedArray operator<=(const NamedArray& a, Scalar b);
NamedArray operator<=(Scalar a, const NamedArray& b);
NamedArray operator>(const NamedArray& a, const NamedArray& b);
NamedArray operator>(const NamedArray& a, Scalar b);
NamedArray operator>(Scalar a, const NamedArray& b);
NamedArray operator>=(const NamedArray& a, const NamedArray& b);
NamedArray operator>=(const NamedArray& a, Scalar b);
NamedArray operator>=(Scalar a, const NamedArray& b);
NamedArray operator&&(const NamedArray& a, const NamedArray& b);
NamedArray operator||(const NamedArray& a, const NamedArray& b);
template <Number T> T item(const NamedArray& x) { return x.template item<T>(); }

/// at(x, {Batch, 3}).set(0): a new array with some positions changed. The update is broadcast to the positions by name.
class NamedAt {
 public:
  NamedAt(NamedArray x, std::vector<NamedSlice> where) : x_(std::move(x)), where_(std::move(where)) {}
  NamedArray set(const NamedArray& y) const;
  NamedArray set(Scalar y) const;
  NamedArray add(const NamedArray& y) const;
  NamedArray add(Scalar y) const;
  NamedArray multiply(const NamedArray& y) const;
  NamedArray multiply(Scalar y) const;
  NamedArray min(const NamedArray& y) const;
  NamedArray min(Scalar y) const;
  NamedArray max(const NamedArray& y) const;
  NamedArray max(Scalar y) const;
 private:
  NamedArray x_;
  std::vector<NamedSlice> where_;
};
inline NamedAt at(const NamedArray& x, const NamedSlice& s) { return {x, {s}}; }
inline NamedAt at(const NamedArray& x, std::initializer_list<NamedSlice> s) { return {x, std::vector<NamedSlice>(s)}; }
/// x with its axes in `order`, which must be the same set: for carries and results whose order matters.
NamedArray aligned(const NamedArray& x, const std::vector<Axis>& order);
}  // namespace bora
