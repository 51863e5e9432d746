// arguments.h -- types of arguments that many operations share: axes, options of reductions, lengths of results whose
// number depends on values, numbers beside Arrays.
#pragma once
#include "bora/array/array.h"

namespace bora {
/// Positional axes of an operation: 0, {0, -1}, or none for all of them; {} is no axis, as in NumPy.
class Dimensions {
 public:
  Dimensions(std::nullopt_t) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Dimensions(T a) : axes_{{static_cast<std::int64_t>(a)}} {}
  /// (No int: g++ 12 reads sum(x, {.keepdims = true}) as axis 1 where a list of int is expected.)
  struct One {
    std::int64_t n;
    template <std::integral T>
    requires(!std::same_as<T, bool>) constexpr One(T v) : n(static_cast<std::int64_t>(v)) {}
  };
  Dimensions(std::initializer_list<One> a) : axes_(std::in_place) {
    for (auto d : a) axes_->push_back(d.n);
  }
  Dimensions(Dims a) : axes_(std::move(a)) {}
  /// Sorted, in [0, ndim). Throws IndexError for an axis that does not exist, ValueError for one given twice.
  Dims resolve(std::string_view what, std::int64_t ndim) const;
  /// The same as they were given.
  Dims in_order(std::string_view what, std::int64_t ndim) const;
 private:
  std::optional<Dims> axes_;
};
/// Positions along a dimension, fixed numbers of which negative ones count from the end: one, or a list; of an Array of
/// integers its values are read, which throws TraceError inside transforms.
struct PositionList {
  Dims list;
  bool one = false;  // a number, not a list of one
  template <std::integral T>
  requires(!std::same_as<T, bool>) PositionList(T i) : list{static_cast<std::int64_t>(i)}, one(true) {}
  PositionList(std::initializer_list<Dimensions::One> l) {
    for (auto p : l) list.push_back(p.n);
  }
  PositionList(Dims l) : list(std::move(l)) {}
  PositionList(const Array& a) : one(a.ndim() == 0) {
    check<DtypeError>(is_integer(a.dtype()), "positions must be integers, got ", a.type());
    list = a.astype(i64).to_vector<std::int64_t>();
  }
};
struct ReduceOptions {                // of reductions over axes
  bool keepdims = false;              // reduced dimensions stay, with size 1
  std::optional<Dtype> dtype = none;  // accumulate and return in this dtype
};
/// Results whose number depends on values: without a size it is read from them, which throws TraceError inside
/// transforms; there give {.size = n}. Fewer results are filled up, more are cut off.
struct SizeOptions {
  std::optional<std::int64_t> size = none;
  std::optional<Scalar> fill = none;  // default: positions 0; values the smallest one (0 where there is none)
};
/// The parts of a convolution that are kept: all, as many as the first operand has (in the middle), or those where
/// both operands overlap entirely.
enum class Overlap : std::uint8_t { full, same, valid };
}  // namespace bora

namespace bora::special {
/// An Array, or a number that takes the dtype of the Arrays beside it.
class Operand {
 public:
  Operand(const Array& x) : array_(x) {}
  template <class A>
  requires detail::becomes_array<A> Operand(const A& x) : array_(x) {}
  template <Number T> Operand(T x) : number_(x) {}
  bool is_array() const { return array_.defined(); }
  const Array& array() const { return array_; }
  Scalar number() const { return number_; }
 private:
  Array array_;
  Scalar number_;
};
}  // namespace bora::special
