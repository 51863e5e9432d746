#include "bora/base/dtype.h"
#include "bora/base/error.h"

namespace bora {
Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a == Dtype::key || b == Dtype::key)
    fail<DtypeError>("no common dtype of ", a, " and ", b, ": random keys take no part in arithmetic");
  if ((a == Dtype::i32 && b == Dtype::u32) || (a == Dtype::u32 && b == Dtype::i32)) return Dtype::i64;
  if (is_complex(a) || is_complex(b))
    return real_dtype(a) == Dtype::f64 || real_dtype(b) == Dtype::f64 ? Dtype::complex128 : Dtype::complex64;
  auto level = [](Dtype d) {  // position in the lattice; i32 and u32 are incomparable and were handled above
    switch (d) {
      case Dtype::boolean: return 0;
      case Dtype::u8: return 1;
      case Dtype::i32:
      case Dtype::u32: return 2;
      case Dtype::i64: return 3;
      case Dtype::bf16: return 4;
      case Dtype::f32: return 5;
      default: return 6;
    }
  };
  return level(a) > level(b) ? a : b;
}
Dtype parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDtypes; ++i)
    if (dtype_table[i].name == name) return static_cast<Dtype>(i);
  struct Alias {
    std::string_view name;
    Dtype dtype;
  };
  constexpr Alias aliases[] = {{"boolean", Dtype::boolean}, {"uint8", Dtype::u8},   {"int32", Dtype::i32},
                               {"int64", Dtype::i64},       {"uint32", Dtype::u32}, {"bfloat16", Dtype::bf16},
                               {"float32", Dtype::f32},     {"fp32", Dtype::f32},   {"float64", Dtype::f64},
                               {"float", Dtype::f32},       {"full", Dtype::f32},   {"c64", Dtype::complex64},
                               {"c128", Dtype::complex128}};
  for (auto& a : aliases)
    if (a.name == name) return a.dtype;
  fail<DtypeError>("no dtype named '", name, "'; there are bool u8 i32 i64 u32 bf16 f32 f64 key complex64 complex128");
}
void no_such_dtype(std::string_view what, Dtype d) { fail<DtypeError>(what, ": not defined for dtype ", d); }
}  // namespace bora
