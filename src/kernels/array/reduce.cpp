// reduce.cpp -- reductions over [outer, n, inner].
// Order of a reduction, fixed by the shape alone:
//   inner = 1: element i goes into partial i % 32 of its segment; the partials of the segments are combined from the
//   first on, and the 32 that remain are halved (16, 8, 4, 2, 1), as in a fused loop.
//   inner > 1: rows in blocks of kBlockRows, each summed from its first row on; the blocks' results combined from the
//   first on.
#include "kernels/api/reduce.h"
#include "bora/base/error.h"
#include "kernels/api/complex.h"
#include "kernels/array/reduce_dtype.h"

namespace bora::kernels {
namespace {
/// Calls f(T{}) for the type of d, which has this reduction.
template <class F> void dispatch_reduction(Reduction r, Dtype d, F&& f) {
  bool logical = r == Reduction::all || r == Reduction::any, order = r == Reduction::max || r == Reduction::min;
  check<DtypeError>(!logical || d == boolean, "reduce: all and any take bool, got ", d, "; compare with zero first");
  check<DtypeError>(logical || order || d != boolean,
                    "reduce: sums and products of bool are not defined; cast to i32 first");
  dispatch(d, "reduce", f);
}
template <class T> using Of = reductions::DtypeReductions<T>;
}  // namespace

void reduce(Reduction r, Dtype d, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  if (is_complex(d) && r == Reduction::sum) return reduce(r, real_dtype(d), in, out, outer, n, 2 * inner);
  if (is_complex(d) && r == Reduction::prod) return multiply_complex(d, in, out, outer, n, inner);
  dispatch_reduction(r, d, [&](auto t) {
    using T = decltype(t);
    Of<T>::reduce(r, static_cast<const T*>(in), static_cast<T*>(out), outer, n, inner);
  });
}
std::size_t partial_bytes(Dtype d) { return d == bf16 ? sizeof(float) : dtype_size(d); }
void begin_block(Reduction r, Dtype d, void* partial, std::int64_t columns) {
  dispatch_reduction(r, d, [&](auto t) {
    using R = Of<decltype(t)>;
    R::begin_block(r, static_cast<typename R::A*>(partial), columns);
  });
}
void add_rows(Reduction r, Dtype d, const void* in, void* partial, std::int64_t rows, std::int64_t columns,
              std::int64_t pitch) {
  dispatch_reduction(r, d, [&](auto t) {
    using T = decltype(t);
    using R = Of<T>;
    R::add_rows(r, static_cast<const T*>(in), static_cast<typename R::A*>(partial), rows, columns, pitch);
  });
}
void combine_blocks(Reduction r, Dtype d, const void* partial, void* out, std::int64_t blocks, std::int64_t columns) {
  dispatch_reduction(r, d, [&](auto t) {
    using T = decltype(t);
    using R = Of<T>;
    R::combine_blocks(r, static_cast<const typename R::A*>(partial), static_cast<T*>(out), blocks, columns);
  });
}
}  // namespace bora::kernels
