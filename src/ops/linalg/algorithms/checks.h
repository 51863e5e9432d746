// checks.h -- what functions of matrices ask of their inputs. Private.
#pragma once
#include "bora/array/array.h"

namespace bora::linalg {
using Index = std::int64_t;
inline Index rows(const Type& t) { return t.shape[t.shape.size() - 2]; }
inline Index columns(const Type& t) { return t.shape.back(); }
inline Shape batch(const Type& t) {
  Shape s = t.shape;
  s.pop_back();
  s.pop_back();
  return s;
}
inline Type with(const Type& like, std::initializer_list<Index> last) {
  Type t{batch(like), like.dtype};
  for (auto n : last) t.shape.push_back(n);
  return t;
}
inline void check_matrix(std::string_view what, const Type& t) {
  check<ShapeError>(t.ndim() >= 2, what, ": needs matrices [.., m, n], got ", t);
  check<DtypeError>(t.dtype == f32 || t.dtype == f64, what, ": takes f32 or f64, got ", t, "; use astype(f32)");
}
/// Real or complex.
inline void check_numbers(std::string_view what, const Type& t) {
  check_matrix(what, is_complex(t.dtype) ? Type{t.shape, f64} : t);
}
inline void check_square(std::string_view what, const Type& t) {
  check_numbers(what, t);
  check<ShapeError>(rows(t) == columns(t), what, ": the matrix must be square, got ", t);
}
inline void check_system(std::string_view what, const Types& in) {
  check_square(what, in[0]);
  check_numbers(what, in[1]);
  check<DtypeError>(in[0].dtype == in[1].dtype, what, ": dtypes differ: ", in[0], " and ", in[1]);
  check<ShapeError>(batch(in[0]) == batch(in[1]) && rows(in[0]) == rows(in[1]), what, ": a ", in[0], " does not fit b ",
                    in[1], "; b is [.., n, k] with the batches of a, or one vector [n]");
}
}  // namespace bora::linalg
