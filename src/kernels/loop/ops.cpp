// ops.cpp -- the operations on the host: names, dtype rules, evaluation of one element.
#include <array>
#include <bit>
#include <map>
#include "bora/base/error.h"
#include "kernels/api/loop.h"
#include "kernels/loop/plan.h"

namespace bora::kernels {
namespace {
constexpr Format kFormatOf[kDtypes] = {
    Format::mask32, Format::u8, Format::i32, Format::i64, Format::u32, Format::bf16, Format::f32, Format::f64,
    {},             {},         {},          Format::i8,  Format::i16, Format::u16,  {},          Format::f16,
    Format::f8};
/// A number of a class such as bfloat16 with these bits.
template <class T, class Bits> float number_of(Bits bits) {
  T x;
  x.bits = bits;
  return x;
}
/// As the processor converts: a NaN keeps its sign and payload and becomes quiet.
float half_to_float(std::uint16_t bits) {
  return number_of<float16>(static_cast<std::uint16_t>((bits & 0x7fffu) > 0x7c00u ? bits | 0x200u : bits));
}
std::string list(const Dtype* in, int arity) {
  std::string s;
  for (int j = 0; j < arity; ++j) s.append(j ? ", " : "").append(dtype_name(in[j]));
  return s;
}
constexpr std::string_view wants(Domain d) {
  switch (d) {
    case Domain::number: return "numbers of one dtype";
    case Domain::floating:
    case Domain::test: return "floats of one dtype";
    case Domain::integer: return "integers of one dtype";
    case Domain::logic: return "bool or integers of one dtype";
    case Domain::choose: return "bool and two values of one dtype";
    default: return "values of one dtype";
  }
}
template <Op Id, int Arity, Domain Dom> Dtype result_of(const Dtype* in) {
  const Dtype d = in[Arity - 1];
  bool ok = d != Dtype::key && !is_complex(d) && accepts(Dom, format_of(computed_as(d), false));
  for (int j = 0; ok && j + 1 < Arity; ++j) ok = in[j] == (Dom == Domain::choose && j == 0 ? boolean : d);
  check<DtypeError>(ok, element_op(Id).name, ": takes ", wants(Dom), ", got (", list(in, Arity), "); cast first");
  return gives_bool(Dom) ? boolean : d;
}
constexpr ElementOp kOpTable[] = {
#define BORA_UNARY(NAME, COST, DOMAIN, ...) {#NAME, 1, COST, result_of<k_##NAME, 1, Domain::DOMAIN>},
#define BORA_BINARY(NAME, COST, DOMAIN, ...) {#NAME, 2, COST, result_of<k_##NAME, 2, Domain::DOMAIN>},
#define BORA_TERNARY(NAME, COST, DOMAIN, ...) {#NAME, 3, COST, result_of<k_##NAME, 3, Domain::DOMAIN>},
#include "kernels/loop/op_list.h"
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_TERNARY
};
KernelTable make_table(Isa isa) {
  KernelTable t;
  if (isa == Isa::v4) {
    v4::add_f32(t), v4::add_f64(t), v4::add_integers(t), v4::add_wide_integers(t), v4::add_blocks(t);
    v4::add_stored(t);
  } else {
    v3::add_f32(t), v3::add_f64(t), v3::add_integers(t), v3::add_wide_integers(t), v3::add_blocks(t);
    v3::add_stored(t);
  }
  return t;
}
}  // namespace

const KernelTable& kernel_table(Isa isa) {
  if (isa == Isa::v4) {
    static const KernelTable t = make_table(Isa::v4);
    return t;
  }
  static const KernelTable t = make_table(Isa::v3);
  return t;
}
Format format_of(Dtype d, bool wide) {
  check<DtypeError>(!is_complex(d) && d != u64, "fused loop: it holds numbers that have kernels, not ", d);
  check<DtypeError>(d != Dtype::key, "fused loop: a key is not a value; read it with random_bits");
  const Format f = kFormatOf[static_cast<int>(d)];
  return f == Format::mask32 && wide ? Format::mask64 : f;
}
OpId find_op(std::string_view name) {
  static const std::map<std::string_view, OpId> index = [] {
    std::map<std::string_view, OpId> m;
    for (OpId i = 0; i < kOps; ++i) m[kOpTable[i].name] = i;
    return m;
  }();
  const auto it = index.find(name);
  check<ValueError>(it != index.end(), "no elementwise operation is named '", name, "'; all_ops() lists them");
  return it->second;
}
const ElementOp& element_op(OpId id) {
  check<ValueError>(id < kOps, "no elementwise operation has the id ", id, " (there are ", static_cast<int>(kOps), ")");
  return kOpTable[id];
}
std::vector<OpId> all_ops() {
  std::vector<OpId> r(kOps);
  for (OpId i = 0; i < kOps; ++i) r[i] = i;
  return r;
}
std::uint64_t to_block(Dtype d, bool wide, std::uint64_t bits) {
  switch (d) {
    case Dtype::boolean: return (bits & 0xff) == 0 ? 0 : wide ? ~std::uint64_t{0} : 0xffffffffull;
    case Dtype::u8: return bits & 0xff;
    case Dtype::bf16: return (bits & 0xffff) << 16;
    case Dtype::i8: return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
    case Dtype::i16: return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
    case Dtype::u16: return bits & 0xffff;
    case Dtype::f16: return std::bit_cast<std::uint32_t>(half_to_float(static_cast<std::uint16_t>(bits)));
    case Dtype::f8_e4m3fn:
      return std::bit_cast<std::uint32_t>(number_of<float8_e4m3fn>(static_cast<std::uint8_t>(bits)));
    default: return dtype_size(d) == 4 ? bits & 0xffffffffull : bits;
  }
}
std::uint64_t from_block(Dtype d, std::uint64_t bits) {
  switch (d) {
    case Dtype::boolean: return bits & 1;
    case Dtype::u8: return bits & 0xff;
    case Dtype::bf16: return bits >> 16 & 0xffff;
    case Dtype::i8: return bits & 0xff;
    case Dtype::i16:
    case Dtype::u16: return bits & 0xffff;
    case Dtype::f16: return float16(std::bit_cast<float>(static_cast<std::uint32_t>(bits))).bits;
    case Dtype::f8_e4m3fn: return float8_e4m3fn(std::bit_cast<float>(static_cast<std::uint32_t>(bits))).bits;
    default: return dtype_size(d) == 4 ? bits & 0xffffffffull : bits;
  }
}
std::uint64_t evaluate_scalar(OpId id, const Dtype* dtypes, const std::uint64_t* bits) {
  const ElementOp& op = element_op(id);
  const Dtype result = op.result(dtypes);
  const Dtype d = dtypes[op.arity - 1];
  check<DtypeError>(!is_stored_only(d), op.name, ": ", d, " has no kernels; cast to ", computed_as(d), " first");
  const bool wide = dtype_size(d) == 8;
  const Format f = format_of(d, wide);
  const KernelTable& t = kernel_table(isa());
  std::uint64_t in[3], out = 0;
  Rows rows[3];
  for (int j = 0; j < op.arity; ++j) {
    in[j] = to_block(dtypes[j], wide, bits[j]);
    rows[j] = {&in[j], 1};
  }
  const RowKernel k = t.op[id][static_cast<int>(f)].by_scalars[0];
  if (k != nullptr) {
    k(rows, {&out, 1}, 1, 1);
  } else {  // bf16: as f32, then rounded
    t.op[id][static_cast<int>(Format::f32)].by_scalars[0](rows, {&out, 1}, 1, 1);
    rows[0] = {&out, 1};
    t.round.by_scalars[0](rows, {&out, 1}, 1, 1);
  }
  return from_block(result, out);
}
std::array<std::uint32_t, 2> threefry(std::array<std::uint32_t, 2> key, std::uint64_t counter) {
  const std::uint32_t ks[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  constexpr int R[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  std::uint32_t x0 = static_cast<std::uint32_t>(counter >> 32) + ks[0],
                x1 = static_cast<std::uint32_t>(counter) + ks[1];
  for (std::uint32_t g = 0; g < 5; ++g) {
    for (int r : R[g & 1]) {
      x0 += x1;
      x1 = (x1 << r | x1 >> (32 - r)) ^ x0;
    }
    x0 += ks[(g + 1) % 3];
    x1 += ks[(g + 2) % 3] + g + 1;
  }
  return {x0, x1};
}
}  // namespace bora::kernels
