// creation.h -- arrays from numbers.
//
// Number literals: fractions give f32 whatever their C++ type (f64 while UseDtype says so), integers i32, bools
// boolean; a dtype argument says otherwise. Memory keeps its type: asarray(std::vector<double>) is f64. Arrays made of
// one number or of positions (zeros, arange, eye, ..) stay symbolic while a function is staged: they are made where,
// and only as far as, they are needed.
#pragma once
#include <array>
#include <functional>
#include <initializer_list>
#include <vector>
#include "bora/array/array.h"

namespace bora {
namespace detail {
/// Row-major numbers of a literal, with the shape of its braces. Braces with numbers of several types build it row by
/// row.
struct Literal {
  Shape shape;
  std::vector<Scalar> numbers;
  Literal() : shape{0} {}  // {} is an empty list
  template <Number T> Literal(T x) : numbers{Scalar(x)} {}
  Literal(std::initializer_list<Literal> rows);  // throws ShapeError for ragged braces
};
template <class T> void gather_literal(Literal& to, const T& x, std::size_t) {
  static_assert(Number<T>, "array: braces hold numbers; stack({a, b}) makes one Array of several, asarray(v) one of a "
                           "std::vector, and there are no Arrays of text");
  if constexpr (Number<T>) to.numbers.push_back(Scalar(x));
}
void enter_literal(Literal& to, std::size_t depth, std::size_t size);  // throws ShapeError for ragged braces
template <class T> void gather_literal(Literal& to, const std::initializer_list<T>& list, std::size_t depth) {
  enter_literal(to, depth, list.size());
  for (const auto& x : list) gather_literal(to, x, depth + 1);
}
Array make_literal(const Literal&, std::optional<Dtype>);
template <class T> Array literal(const T& x, std::optional<Dtype> dtype) {
  Literal l;
  l.shape = {};
  gather_literal(l, x, 0);
  return make_literal(l, dtype);
}
Array from_range(double start, double stop, double step, Dtype);
Array from_integers(std::int64_t start, std::int64_t stop, std::int64_t step, Dtype);
}  // namespace detail

/// A scalar.
template <Number T> Array array(T x, std::optional<Dtype> dtype = none) { return detail::literal(x, dtype); }
/// Nested braces: array({{1., 2.}, {3., 4.}}) is f32[2, 2]. One fraction makes all of them fractions: {1, 2.5} is f32.
/// Throws ShapeError if rows differ in length, ValueError for a number that the dtype cannot hold.
/// (Beside `using namespace std` there are two things called array: write bora::array.)
template <class T> Array array(std::initializer_list<T> x, std::optional<Dtype> dtype = none) {
  return detail::literal(x, dtype);
}
template <class T> Array array(std::initializer_list<std::initializer_list<T>> x, std::optional<Dtype> dtype = none) {
  return detail::literal(x, dtype);
}
template <class T> Array array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> x,
                               std::optional<Dtype> dtype = none) {
  return detail::literal(x, dtype);
}
template <class T>
Array array(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>> x,
            std::optional<Dtype> dtype = none) {
  return detail::literal(x, dtype);
}
inline Array array(const detail::Literal& numbers, std::optional<Dtype> dtype = none) {  // of several types
  return detail::make_literal(numbers, dtype);
}
template <class T>
requires(!Number<T>) Array array(const T&, std::optional<Dtype> = none) {
  static_assert(detail::never<T>,
                "array takes numbers in braces, whose fractions are f32; for a std::vector write asarray(v), which "
                "keeps its type, and asarray(v).astype(f32) for another");
  return {};
}
/// The numbers of a vector (copied), of T's dtype, in `shape` (default: one dimension). Throws ShapeError if the sizes
/// differ.
template <Number T> Array asarray(const std::vector<T>& numbers, std::optional<Shape> shape = none) {
  static_assert(dtype_or_none<T>().has_value(),
                "asarray: no dtype stores this type; use float, double, std::int32_t, std::int64_t, ..");
  auto s = shape ? *shape : Shape{numbers.size()};
  check<ShapeError>(volume(s) == static_cast<std::int64_t>(numbers.size()), "asarray: ", numbers.size(),
                    " numbers do not fill the shape ", s);
  if constexpr (std::is_same_v<T, bool>) {
    auto b = new_buffer({s, boolean});
    for (std::size_t i = 0; i < numbers.size(); ++i) static_cast<bool*>(b.data)[i] = numbers[i];
    return b.done();
  } else {
    return from_bytes({s, dtype_of<T>}, numbers.data());
  }
}
inline Array asarray(const Array& x) { return x; }
template <Number T>
__attribute__((unavailable("numbers in braces: array({..})"))) Array asarray(std::initializer_list<T>);
template <Number T>
__attribute__((unavailable("numbers in braces: array({..})"))) Array
asarray(std::initializer_list<std::initializer_list<T>>);
template <Number T, std::size_t N> Array asarray(const std::array<T, N>& numbers) {
  return asarray(std::vector<T>(numbers.begin(), numbers.end()));
}

Array zeros(const Shape& shape, Dtype dtype = default_float());  // 0 everywhere
Array ones(const Shape& shape, Dtype dtype = default_float());   // 1 everywhere
/// `value` everywhere; default dtype: f32, i32 or boolean, as the number is written.
Array full(const Shape& shape, Scalar value, std::optional<Dtype> dtype = none);
template <std::integral... N>
__attribute__((unavailable("sizes stand in braces: zeros({2, 3})"))) Array zeros(std::int64_t, std::int64_t, N...);
template <std::integral... N>
__attribute__((unavailable("sizes stand in braces: ones({2, 3})"))) Array ones(std::int64_t, std::int64_t, N...);
Array zeros_like(const Array& x);  // 0, in x's shape and dtype
Array ones_like(const Array& x);   // 1, in x's shape and dtype
// Zeros: memory is never handed out uninitialized.
Array empty(const Shape& shape, Dtype dtype = default_float());
Array empty_like(const Array& x);
Array full_of(const Type& type, Scalar value);  // `value` everywhere
/// A scalar of this dtype; Programs print it inline.
Array constant(Scalar value, Dtype dtype);
/// `value` in x's shape; default dtype: x's.
Array full_like(const Array& x, Scalar value, std::optional<Dtype> dtype = none);
/// The value, stretched to `shape` as by broadcast_to.
Array full(const Shape& shape, const Array& value, std::optional<Dtype> dtype = none);
/// f(positions along each dimension), i32 arrays of this shape.
Array fromfunction(const std::function<Array(const Arrays&)>& f, const Shape& shape);

// ---- ranges ---------------------------------------------------------------------------------------------------------
/// start, start + step, .. before stop. Throws ValueError if step is 0.
template <Number T> Array arange(T stop, std::optional<Dtype> dtype = none) {
  if constexpr (std::is_integral_v<T>)
    return detail::from_integers(0, static_cast<std::int64_t>(stop), 1, dtype.value_or(i32));
  else return detail::from_range(0, stop, 1, dtype.value_or(default_float()));
}
template <Number A, Number B, Number C = int>
Array arange(A start, B stop, C step = 1, std::optional<Dtype> dtype = none) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && std::is_integral_v<C>)
    return detail::from_integers(static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop),
                                 static_cast<std::int64_t>(step), dtype.value_or(i32));
  else
    return detail::from_range(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step),
                              dtype.value_or(default_float()));
}
/// n numbers from start to stop, both included.
Array linspace(double start, double stop, std::int64_t n, Dtype dtype = default_float());
struct LinspaceOptions {              // of linspace
  bool endpoint = true;               // stop is the last of the n numbers; else there are n from start, without it
  std::int64_t axis = 0;              // of the result of Arrays
  std::optional<Dtype> dtype = none;  // default: default_float(); of Arrays theirs, f32 for integers
};
/// n numbers from start to stop: linspace(0, 2 * pi, n, {.endpoint = false}). Throws ValueError for a negative n.
Array linspace(double start, double stop, std::int64_t n, const LinspaceOptions& options);
/// The same for each element of start and stop, which broadcast: a new dimension of size n.
Array linspace(const Array& start, const Array& stop, std::int64_t n, const LinspaceOptions& options = {});
/// n numbers from base^start to base^stop, and from start to stop, with equal ratios; both ends included.
Array logspace(double start, double stop, std::int64_t n, double base = 10, Dtype dtype = default_float());
/// n numbers from start to stop with equal ratios, both included.
Array geomspace(double start, double stop, std::int64_t n, Dtype dtype = default_float());
/// i32 0, 1, .. along dim, in the given shape (or another dtype).
Array iota(const Shape& shape, std::int64_t dim, Dtype dtype = i32);
enum class Indexing : std::uint8_t { xy, ij };  // whether meshgrid swaps its first two dimensions (xy)
struct MeshgridOptions {                        // of meshgrid
  Indexing indexing = Indexing::xy;  // xy: the first two dimensions are swapped, as for plots (NumPy's default)
  bool sparse = false;               // each grid has size 1 along the others' dimensions
};
/// Coordinate grids of vectors.
Arrays meshgrid(const Arrays& vectors, const MeshgridOptions& options = {});

// ---- matrices -------------------------------------------------------------------------------------------------------
/// [n, n] (or [rows, columns]) with ones on the diagonal.
Array eye(std::int64_t n, Dtype dtype = default_float());
Array eye(std::int64_t rows, std::int64_t columns, Dtype dtype = default_float());
/// [rows, columns] with ones on the k-th diagonal, above the main one for k > 0.
Array eye(std::int64_t rows, std::int64_t columns, std::int64_t k, Dtype dtype = default_float());
Array identity(std::int64_t n, Dtype dtype = default_float());  // eye(n)
/// [rows, columns] with ones at and below the k-th diagonal.
Array tri(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, Dtype dtype = default_float());
/// x [.., rows, columns] with zeros above (tril) or below (triu) the k-th diagonal.
Array tril(const Array& x, std::int64_t k = 0);
Array triu(const Array& x, std::int64_t k = 0);  // x with zeros below the k-th diagonal

// ---- windows of n numbers, computed in f64; those of SciPy are in windows.h -----------------------------------------
Array bartlett(std::int64_t n, Dtype dtype = default_float());  // a triangle, 0 at both ends
Array blackman(std::int64_t n, Dtype dtype = default_float());  // 0.42 - 0.5 cos t + 0.08 cos 2 t, t from 0 to 2 pi
Array hamming(std::int64_t n, Dtype dtype = default_float());   // 0.54 - 0.46 cos t, t from 0 to 2 pi
Array hanning(std::int64_t n, Dtype dtype = default_float());   // 0.5 - 0.5 cos t, t from 0 to 2 pi
/// I0(beta sqrt(1 - t^2)) / I0(beta), t from -1 to 1 in n steps, computed in f64.
Array kaiser(std::int64_t n, double beta, Dtype dtype = default_float());
}  // namespace bora
