// index.h -- reading and writing parts of named arrays. x[{..}] of array.h reads; here are take, windows and at.
#pragma once
#include "bora/named/array.h"

namespace bora {
/// table indexed along `axis`, which the axes of `indices` replace; x[{axis, indices}], but a position outside gives
/// NaN (0 for integers). An integer drops the axis.
NamedArray take(const NamedArray& table, const AxisNames::One& axis, const NamedArray& indices);
NamedArray take(const NamedArray& table, const AxisNames::One& axis, std::int64_t i);

/// `size` positions of an axis from `start` on, an integer or an integer scalar; as another axis, if one is given.
struct AxisWindow {
  AxisNames::One axis;
  DimSlice start;
  std::int64_t size;
  std::string name = {};  // of the new axis; default: the same
  AxisWindow(const AxisNames::One& a, DimSlice s, std::int64_t n) : axis(a), start(std::move(s)), size(n) {}
  AxisWindow(const AxisNames::One& a, DimSlice s, const Axis& to)
      : axis(a), start(std::move(s)), size(to.size), name(to.name) {}
};
/// slice(x, {{"position", start, 16}, {"embed", 0, Axis{"part", 8}}}): a start that is known must leave room, else
/// IndexError; one that is known later is moved so that the window lies inside.
NamedArray slice(const NamedArray& x, std::initializer_list<AxisWindow> windows);
/// x with `update` written from these starts on: updated_slice(cache, {{"position", seen}}, keys). The update has axes
/// of x, shorter where they have a start; it is repeated along axes that it lacks, and written at one position along
/// those of them with a start. A NamedArray of starts gives each position along its axes (of x) a start of its own. All
/// starts are moved so that the window lies inside; an integer that leaves no room throws IndexError.
NamedArray updated_slice(const NamedArray& x, const std::vector<NamedSlice>& starts, const NamedArray& update);

/// A NamedArray, or a number that takes the dtype of the array beside it.
struct NamedOperand {
  NamedArray array = {};
  Scalar number = {};
  NamedOperand(const NamedArray& x) : array(x) {}
  template <Number T> NamedOperand(T x) : number(x) {}
  NamedOperand(Scalar x) : number(x) {}
};
/// Positions outside of an axis: they are left out (drop, and fill where something is written), or
/// moved to the nearest element (clip); promise_in_bounds says that there are none.
enum class OutOfBounds : std::uint8_t { drop, clip, promise_in_bounds, fill };
struct NamedAtOptions {                  // of writes
  OutOfBounds mode = OutOfBounds::drop;  // of positions outside of the axis
};
struct NamedGetOptions {                    // of NamedAt::get
  OutOfBounds mode = OutOfBounds::clip;     // fill and drop: fill_value
  std::optional<Scalar> fill_value = none;  // default: NaN, 0 for integers
};
/// at(x, {Batch, 3}).set(0): a new array with some positions changed, chosen as by x[..]. The update is broadcast to
/// them by name. Where positions repeat, set keeps the last one; add, multiply, divide, min and max combine all.
class NamedAt {
 public:
  NamedAt(NamedArray x, std::vector<NamedSlice> where) : x_(std::move(x)), where_(std::move(where)) {}
  NamedArray get(const NamedGetOptions& options = {}) const;
  NamedArray set(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  NamedArray add(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  NamedArray multiply(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  NamedArray divide(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  /// x to the power of the product of the updates.
  NamedArray power(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  NamedArray min(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  NamedArray max(const NamedOperand& y, const NamedAtOptions& options = {}) const;
  /// set(f(get())): f is called once with all elements, also where positions repeat.
  template <class F> NamedArray apply(const F& f, const NamedAtOptions& options = {}) const {
    return set(f(get()), options);
  }
 private:
  NamedArray x_;
  std::vector<NamedSlice> where_;
};
inline NamedAt at(const NamedArray& x, const NamedSlice& s) { return {x, {s}}; }  // these positions of x: see NamedAt
inline NamedAt at(const NamedArray& x, std::initializer_list<NamedSlice> s) { return {x, std::vector<NamedSlice>(s)}; }
}  // namespace bora
