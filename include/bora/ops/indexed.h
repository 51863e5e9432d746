// indexed.h -- reading and writing parts of an array, with a choice of what happens outside and with boolean masks:
// the mode= of JAX's x.at[...]. view() and at() in view.h are the short forms.
//   indexed::get(x, {all(), rows}, {.mode = indexed::Mode::wrap})      indexed::power(x, {mask}, 2)
#pragma once
#include <functional>
#include "bora/ops/special.h"
#include "bora/ops/view.h"

namespace bora::indexed {
using special::Operand;
/// An index Array's position outside of [-n, n), after negative ones are counted from the end: the nearest one; reads
/// give `fill`, writes are dropped; counted modulo n.
enum class Mode : std::uint8_t { clip, fill, wrap };
struct Options {
  Mode mode = Mode::fill;
  std::optional<Scalar> fill = none;  // default: NaN, 0 for integers
};
// A boolean Array among the slices, a mask of the dimensions it stands for, becomes the positions where it holds: it is
// read, which throws TraceError inside transforms. There use where(mask, x, other). Everything else is as in view().
/// The part of x.
Array get(const Array& x, const Slices& slices, const Options& options = {});
// x with the part changed; v is broadcast to it and must fit into x's dtype. Where positions repeat, set keeps the last
// and apply calls f once; the others combine all updates.
Array set(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array add(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array subtract(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array multiply(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array divide(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array power(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array min(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array max(const Array& x, const Slices& slices, const Operand& v, Mode mode = Mode::fill);
Array apply(const Array& x, const Slices& slices, const std::function<Array(const Array&)>& f,
            Mode mode = Mode::fill);
}  // namespace bora::indexed
