// levels.h -- codecs of the wire by array operations: the levels of int4 (base/api/int4.h), and blocks of whole numbers
// q from -127 to 127 as each codec holds and packs them. Private.
#pragma once
#include "base/api/int4.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/base/wire.h"
#include "bora/ops/manipulation.h"

namespace bora::training {
/// The level whose number is the last c with x >= at(c), f32; the first one where there is none, for NaN too.
template <class At> Array level_where(const Array& x, const At& at) {
  auto y = full_like(x, kInt4Levels[0]);
  for (int c = 1; c < static_cast<int>(kInt4Levels.size()); ++c)
    y = where(x >= at(c), static_cast<float>(kInt4Levels[static_cast<std::size_t>(c)]), y);
  return y;
}
/// The nearest levels to whole numbers q, f32; as the transport's codec rounds.
inline Array nearest_levels(const Array& q) { return level_where(q, int4_threshold); }
/// Their codes, whole numbers from 0 to 15, f32; and the levels of codes.
inline Array level_codes(const Array& q) {
  auto codes = zeros_like(q);
  for (int c = 1; c < static_cast<int>(kInt4Levels.size()); ++c)
    codes = codes + (q >= int4_threshold(c)).astype(q.dtype());
  return codes;
}
inline Array levels_of(const Array& codes) {
  return level_where(codes, [](int c) { return c; });
}
/// The numbers that are left of q, f32.
inline Array as_held(Codec codec, const Array& q) { return codec == Codec::int4 ? nearest_levels(q) : q; }
/// q [.., block] as bytes. int4: byte j has the codes of numbers j and j + block / 2.
inline Array packed(Codec codec, const Array& q) {
  if (codec == Codec::int8) return q.astype(i8);
  auto codes = level_codes(q);
  auto block = codes.shape(-1);
  auto low = slice_in_dim(codes, -1, 0, block / 2), high = slice_in_dim(codes, -1, block / 2, block);
  return (low + high * 16.0).astype(u8);
}
/// The numbers of such bytes, f32.
inline Array unpacked(Codec codec, const Array& bytes) {
  auto q = bytes.astype(f32);
  if (codec == Codec::int8) return q;
  auto high = floor(q / 16.0);
  return levels_of(concatenate({q - high * 16.0, high}, -1));
}
}  // namespace bora::training
