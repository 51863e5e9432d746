#include "bora/base/dtype.h"
#include "bora/base/error.h"

namespace bora {
namespace {
constexpr Dtype signed_of(std::size_t size) { return size == 1 ? i8 : size == 2 ? i16 : size == 4 ? i32 : i64; }
Dtype promote_integers(Dtype a, Dtype b) {
  if (a == boolean || b == boolean) return a == boolean ? b : a;
  if (info(a).kind == info(b).kind) return dtype_size(a) > dtype_size(b) ? a : b;
  auto with = info(a).kind == Kind::integer ? a : b, without = with == a ? b : a;  // a sign
  if (dtype_size(with) > dtype_size(without)) return with;
  return without == u64 ? f32 : signed_of(2 * dtype_size(without));
}
}  // namespace
Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a == Dtype::key || b == Dtype::key)
    fail<DtypeError>("no common dtype of ", a, " and ", b, ": random keys take no part in arithmetic");
  if (is_complex(a) || is_complex(b)) return real_dtype(a) == f64 || real_dtype(b) == f64 ? complex128 : complex64;
  if (!is_float(a) && !is_float(b)) return promote_integers(a, b);
  if (!is_float(a) || !is_float(b)) return is_float(a) ? a : b;
  if (is_half(a) && is_half(b)) return f32;
  return dtype_size(a) > dtype_size(b) ? a : b;
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
                               {"c128", Dtype::complex128}, {"int8", Dtype::i8},     {"int16", Dtype::i16},
                               {"uint16", Dtype::u16},      {"uint64", Dtype::u64}, {"float16", Dtype::f16},
                               {"half", Dtype::f16},        {"fp16", Dtype::f16}};
  for (auto& a : aliases)
    if (a.name == name) return a.dtype;
  fail<DtypeError>("no dtype named '", name, "'; there are bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 key "
                   "complex64 complex128");
}
void no_such_dtype(std::string_view what, Dtype d) { fail<DtypeError>(what, ": not defined for dtype ", d); }
}  // namespace bora
