// Fused loops against the same Loop evaluated one element at a time: every operation and dtype, casts, reductions,
// random graphs, tails, strides, aliasing, both instruction sets, one and two threads.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/api/reduce.h"
#include "loop_build.h"

namespace bora::kernels::test::loop_test {
namespace {
constexpr Dtype kValues[] = {boolean, u8, i32, i64, u32, bf16, f32, f64};

/// Bits of a random element, with special values now and then.
std::uint64_t random_bits_of(Dtype d, std::mt19937_64& g) {
  const int special = static_cast<int>(g() % 12);
  const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(g())), -61);  // about -4 .. 4
  auto real = [&](double v) -> std::uint64_t {
    if (d == f64) return std::bit_cast<std::uint64_t>(v);
    if (d == f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
    return bfloat16(static_cast<float>(v)).bits;
  };
  if (is_float(d)) {
    constexpr double s[] = {0.,
                            -0.,
                            1.,
                            -1.,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            1e-40,
                            3e9,
                            -5e18,
                            0.5,
                            255.5};
    return real(g() % 4 ? x : s[special]);
  }
  if (d == boolean) return g() & 1;
  std::uint64_t v = special == 0   ? 0
                    : special == 1 ? ~std::uint64_t{0}
                    : special == 2 ? std::uint64_t{1} << (8 * dtype_size(d) - 1)
                    : special < 7  ? g() % 40
                                   : g();
  return dtype_size(d) == 8 ? v : v & ((std::uint64_t{1} << (8 * dtype_size(d))) - 1);
}
struct Buffer {
  Dtype dtype;
  std::vector<unsigned char> bytes;
  Buffer(Dtype d, std::int64_t n) : dtype(d), bytes(static_cast<std::size_t>(n) * dtype_size(d) + 64, 0xa5) {}
  void fill(std::mt19937_64& g, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) set(i, random_bits_of(dtype, g));
  }
  void set(std::int64_t i, std::uint64_t v) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * dtype_size(dtype), &v, dtype_size(dtype));
  }
  std::uint64_t at(std::int64_t i) const { return read(dtype, bytes.data(), i); }
  void* data() { return bytes.data(); }
  bool guard_intact(std::int64_t n) const {
    return std::all_of(bytes.begin() + n * static_cast<std::int64_t>(dtype_size(dtype)), bytes.end(),
                       [](unsigned char c) { return c == 0xa5; });
  }
};
double number(Dtype d, std::uint64_t v) {
  switch (d) {
    case Dtype::f64: return std::bit_cast<double>(v);
    case Dtype::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(v));
    case Dtype::bf16: return std::bit_cast<float>(static_cast<std::uint32_t>(v << 16));
    case Dtype::i32: return static_cast<std::int32_t>(v);
    case Dtype::i64: return static_cast<double>(static_cast<std::int64_t>(v));
    default: return static_cast<double>(v);
  }
}
/// The result that a cast must have, written without the kernels.
std::uint64_t cast_reference(Dtype from, Dtype to, std::uint64_t v) {
  if (from == to) return v;
  if (to == boolean) return is_float(from) ? number(from, v) != 0 : v != 0;
  if (is_float(from) || is_float(to)) {
    const double x = number(from, v);
    if (to == f64) return std::bit_cast<std::uint64_t>(x);
    const float narrow = from == i64 ? static_cast<float>(static_cast<std::int64_t>(v)) : static_cast<float>(x);
    if (to == f32) return std::bit_cast<std::uint32_t>(narrow);
    if (to == bf16) return bfloat16(narrow).bits;
    if (std::isnan(x)) return 0;
    if (to == i32)
      return static_cast<std::uint32_t>(x >= 2147483648.   ? INT32_MAX
                                        : x < -2147483648. ? INT32_MIN
                                                           : static_cast<std::int32_t>(x));
    if (to == u32) return x >= 4294967296. ? UINT32_MAX : x <= 0 ? 0u : static_cast<std::uint32_t>(x);
    if (to == u8) return x >= 256 ? 255u : x <= 0 ? 0u : static_cast<std::uint8_t>(x);
    return static_cast<std::uint64_t>(x >= 9223372036854775808.   ? INT64_MAX
                                      : x < -9223372036854775808. ? INT64_MIN
                                                                  : static_cast<std::int64_t>(x));
  }
  const std::uint64_t wide =
      from == i32 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(v))) : v;
  return dtype_size(to) == 8 ? wide : wide & ((std::uint64_t{1} << (8 * dtype_size(to))) - 1);
}
std::uint64_t scalar(std::string_view name, Dtype d, std::uint64_t a, std::uint64_t b) {
  const Dtype types[] = {d, d, d};
  const std::uint64_t in[] = {a, b, 0};
  return evaluate_scalar(find_op(name), types, in);
}
std::uint64_t identity(Reduction r, Dtype d) {
  const bool low = r == Reduction::max;
  switch (r) {
    case Reduction::sum: return 0;
    case Reduction::prod: return cast_reference(i32, d, 1);
    case Reduction::all: return 1;
    case Reduction::any: return 0;
    default: break;
  }
  const double e = std::numeric_limits<double>::infinity() * (low ? -1 : 1);
  if (d == boolean) return !low;
  return is_float(d) ? cast_reference(f64, d, std::bit_cast<std::uint64_t>(e))
                     : cast_reference(f64, d, std::bit_cast<std::uint64_t>(e));
}
/// 32 partial results, element i into i % 32, then halves; bf16 in f32, rounded once.
std::uint64_t reduce_reference(Reduction r, Dtype d, const std::vector<std::uint64_t>& x) {
  constexpr std::string_view names[] = {"add", "max", "min", "mul", "and", "or"};
  const auto name = names[static_cast<int>(r)];
  const Dtype work = d == bf16 ? f32 : d;
  std::vector<std::uint64_t> part(32, identity(r, work));
  for (std::size_t from = 0; from < x.size(); from += kSegment) {
    std::vector<std::uint64_t> segment(32, identity(r, work));
    for (std::size_t i = from; i < std::min<std::size_t>(x.size(), from + kSegment); ++i)
      segment[i % 32] = scalar(name, work, segment[i % 32], cast_reference(d, work, x[i]));
    for (std::size_t i = 0; i < 32; ++i) part[i] = scalar(name, work, part[i], segment[i]);
  }
  for (std::size_t w = 16; w; w /= 2)
    for (std::size_t j = 0; j < w; ++j) part[j] = scalar(name, work, part[j], part[j + w]);
  return cast_reference(work, d, part[0]);
}
/// The Loop, instruction by instruction, over one row of an array of rows x columns (dense operands).
void evaluate(const Loop& loop, std::int64_t row, std::int64_t columns, std::vector<Buffer>& operands) {
  std::vector<std::vector<std::uint64_t>> value(loop.code.size());
  for (std::size_t k = 0; k < loop.code.size(); ++k) {
    const Instr& i = loop.code[k];
    auto& out = value[k];
    out.resize(static_cast<std::size_t>(columns));
    auto index = [&](std::size_t o, std::int64_t c) { return loop.operands[o].columns ? row * columns + c : row; };
    std::vector<std::uint64_t> all;
    if (i.kind == K::reduce)
      out.assign(out.size(),
                 reduce_reference(static_cast<Reduction>(i.imm), i.dtype, value[static_cast<std::size_t>(i.in[0])]));
    for (std::int64_t c = 0; c < columns; ++c) {
      auto& o = out[static_cast<std::size_t>(c)];
      auto in = [&](int j) {
        return value[static_cast<std::size_t>(i.in[static_cast<std::size_t>(j)])][static_cast<std::size_t>(c)];
      };
      auto type = [&](int j) { return loop.code[static_cast<std::size_t>(i.in[static_cast<std::size_t>(j)])].dtype; };
      const auto linear = static_cast<std::uint64_t>(row * columns + c);
      switch (i.kind) {
        case K::constant: o = i.imm; break;
        case K::load: o = operands[i.imm].at(index(i.imm, c)); break;
        case K::op: {
          Dtype types[kMaxInputs];
          std::uint64_t bits[kMaxInputs];
          for (int j = 0; j < element_op(i.op).arity; ++j) types[j] = type(j), bits[j] = in(j);
          o = evaluate_scalar(i.op, types, bits);
          break;
        }
        case K::cast: o = cast_reference(type(0), i.dtype, in(0)); break;
        case K::bitcast: o = i.dtype == boolean ? in(0) != 0 : in(0); break;
        case K::linear: o = cast_reference(i64, i.dtype, linear); break;
        case K::random_bits: {
          const std::uint64_t key = operands[static_cast<std::size_t>(i.operand)].at(row);
          const auto w = threefry({static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}, linear);
          o = i.dtype == i64 ? std::uint64_t{w[0]} << 32 | w[1] : i.dtype == u32 ? w[0] ^ w[1] : (w[0] ^ w[1]) & 0xff;
          break;
        }
        case K::store:
        case K::reduce: break;
      }
    }
  }
  for (const Instr& i : loop.code)
    if (i.kind == K::store)
      for (std::int64_t c = 0; c < columns; ++c)
        operands[i.imm].set(loop.operands[i.imm].columns ? row * columns + c : row,
                            value[static_cast<std::size_t>(i.in[0])][static_cast<std::size_t>(c)]);
}
/// Runs on both instruction sets and compares every byte with the reference. alias[k] >= 0: operand k is the memory of
/// operand alias[k].
void expect_as_scalar(const Loop& loop, std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                      const std::vector<int>& alias = {}) {
  std::mt19937_64 g(seed);
  std::vector<Buffer> first;
  for (const Operand& o : loop.operands) {
    const auto n = o.columns ? rows * columns : rows;
    first.emplace_back(o.dtype, n);
    if (o.dtype == Dtype::key)
      for (std::int64_t i = 0; i < n; ++i) first.back().set(i, g());
    else first.back().fill(g, n);
  }
  for (std::size_t k = 0; k < alias.size(); ++k)
    if (alias[k] >= 0) first[k] = first[static_cast<std::size_t>(alias[k])];
  auto want = first;
  for (std::int64_t r = 0; r < rows; ++r) evaluate(loop, r, columns, want);
  for (auto [which, code] : {std::pair{Isa::v3, Code::interpreted},
                             {Isa::v3, Code::generated},
                             {Isa::v4, Code::interpreted},
                             {Isa::v4, Code::generated}}) {
    if (which == Isa::v4 && !has_v4()) continue;
    auto got = first;
    std::vector<void*> p;
    for (std::size_t k = 0; k < got.size(); ++k)
      p.push_back(k < alias.size() && alias[k] >= 0 ? got[static_cast<std::size_t>(alias[k])].data() : got[k].data());
    run(*compile_for(loop, which, code), dense(loop, rows, columns, p));
    for (const Instr& i : loop.code) {
      if (i.kind != K::store) continue;
      const auto n = loop.operands[i.imm].columns ? rows * columns : columns > 0 ? rows : 0;
      Buffer& b = i.imm < alias.size() && alias[i.imm] >= 0 ? got[static_cast<std::size_t>(alias[i.imm])] : got[i.imm];
      for (std::int64_t e = 0; e < n; ++e)
        ASSERT_TRUE(same(b.dtype, b.at(e), want[i.imm].at(e)))
            << (which == Isa::v3 ? "v3" : "v4") << (code == Code::generated ? " generated" : "")
            << " rows " << rows << " columns " << columns << " operand " << i.imm
            << " element " << e << ": " << std::hex << b.at(e) << " not " << want[i.imm].at(e) << std::dec << " ("
            << number(b.dtype, b.at(e)) << ", " << number(b.dtype, want[i.imm].at(e)) << ")\n"
            << print(loop);
      ASSERT_TRUE(b.guard_intact(n)) << "wrote past the end\n" << print(loop);
    }
  }
}
TEST(Loop, StoresOverOperandsThatOtherStoresRead) {
  for (Dtype from : {i32, u32, f32, i64, f64, u8, bf16})
    for (Dtype to : {boolean, u8, i8, i16, u16, i32, u32, i64, bf16, f32, f64}) {
      Builder b;
      if (is_stored_only(to) && from != i32) continue;  // cast from it alone
      const int a = b.load(from, true), x = b.load(from, true);
      b.store(b.op("add", {a, a}), true);
      b.store(b.cast(to, x), true);
      for (std::int64_t n : {33, 130, 1024}) expect_as_scalar(b.loop, 2, n, 5, {-1, -1, 1, -1});
    }
}
bool defined(OpId id, Dtype d) {
  const Dtype types[] = {element_op(id).name == "select" ? boolean : d, d, d};
  const Dtype plain[] = {d, d, d};
  try {
    element_op(id).result(element_op(id).arity == 3 ? types : plain);
    return true;
  } catch (const DtypeError&) { return false; }
}

TEST(Loop, EveryOperationEveryDtypeEveryTail) {
  int kernels = 0;
  for (OpId id : all_ops())
    for (Dtype d : kValues) {
      if (!defined(id, d)) continue;
      ++kernels;
      const int arity = element_op(id).arity;
      // Each operand a column, or (but for one of them) one value per row.
      for (unsigned scalars = 0; scalars + 1 < (1u << arity); ++scalars) {
        Builder b;
        Instr i{.kind = K::op, .dtype = d, .op = id};
        Dtype types[kMaxInputs];
        for (int j = 0; j < arity; ++j) {
          types[j] = element_op(id).name == "select" && j == 0 ? boolean : d;
          i.in[static_cast<std::size_t>(j)] = static_cast<std::int16_t>(b.load(types[j], (scalars >> j & 1u) == 0));
        }
        i.dtype = element_op(id).result(types);
        b.store(b.add(i), true);
        for (std::int64_t n : {1, 7, 16, 33, 130}) expect_as_scalar(b.loop, 3, n, id * 8 + n);
        if (HasFatalFailure()) return;
      }
    }
  EXPECT_GT(kernels, 200);
}
TEST(Loop, TailsOneToOneHundredThirty) {
  Builder b;
  const int x = b.load(f32, true), y = b.load(bf16, true), s = b.load(f32, false);
  const int t = b.op("exp", {b.op("sub", {x, s})});
  b.store(b.op("add", {t, b.cast(f32, y)}), true);
  b.store(b.cast(bf16, b.op("mul", {t, s})), true);
  b.store(b.reduce(Reduction::sum, t), false);
  for (std::int64_t n = 1; n <= 130; ++n) {
    expect_as_scalar(b.loop, 3, n, static_cast<std::uint64_t>(n));
    if (HasFatalFailure()) return;
  }
  for (std::int64_t n : {511, 512, 513, 1023, 1024, 1025, 2047, 3000})
    expect_as_scalar(b.loop, 2, n, static_cast<std::uint64_t>(n));
}
TEST(Loop, Casts) {
  for (Dtype from : kValues)
    for (Dtype to : kValues) {
      Builder b;
      b.store(b.cast(to, b.load(from, true)), true);
      b.store(b.cast(to, b.load(from, false)), false);
      expect_as_scalar(b.loop, 5, 203, 11);
      if (HasFatalFailure()) FAIL() << from << " to " << to;
    }
}
TEST(Loop, Bitcasts) {
  const std::pair<Dtype, Dtype> pairs[] = {{f32, i32}, {f32, u32},    {u32, f32},    {i32, u32},  {f64, i64},
                                           {i64, f64}, {boolean, u8}, {u8, boolean}, {bf16, bf16}};
  for (auto [from, to] : pairs) {
    Builder b;
    b.store(b.unary(K::bitcast, to, b.load(from, true)), true);
    expect_as_scalar(b.loop, 2, 77, 12);
  }
}
TEST(Loop, Reductions) {
  for (Dtype d : kValues)
    for (int r = 0; r < 6; ++r) {
      const auto red = static_cast<Reduction>(r);
      const bool logic = red == Reduction::all || red == Reduction::any;
      if (logic != (d == boolean) && !(d == boolean && (red == Reduction::max || red == Reduction::min))) continue;
      Builder b;
      b.store(b.reduce(red, b.load(d, true)), false);
      for (std::int64_t n : {1, 5, 31, 32, 33, 64, 100, 700, 1500})
        expect_as_scalar(b.loop, 3, n, static_cast<std::uint64_t>(n + r));
      if (HasFatalFailure()) FAIL() << d << " reduction " << r;
    }
}
TEST(Loop, ReductionOfARowValueAndOfNothing) {
  Builder b;
  b.store(b.reduce(Reduction::sum, b.load(f32, false)), false);
  b.store(b.reduce(Reduction::max, b.load(f32, true)), false);
  for (std::int64_t n : {3, 700, 1400}) expect_as_scalar(b.loop, 2, n, 1);
  float x = 3, sum = 9, max = 9;
  run(*compile(b.loop), dense(b.loop, 1, 0, {&x, &sum, &x, &max}));
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(max, -std::numeric_limits<float>::infinity());
  run(*compile(b.loop), dense(b.loop, 0, 5, {nullptr, nullptr, nullptr, nullptr}));
}

/// softmax, layer norm: reductions that feed later passes.
Loop softmax() {
  Builder b;
  const int x = b.load(f32, true);
  const int e = b.op("exp", {b.op("sub", {x, b.reduce(Reduction::max, x)})});
  b.store(b.op("div", {e, b.reduce(Reduction::sum, e)}), true);
  return b.loop;
}
Loop layer_norm(float n) {
  Builder b;
  const int x = b.load(f32, true), scale = b.load(f32, true);
  const int mean = b.op("div", {b.reduce(Reduction::sum, x), b.constant(n)});
  const int c = b.op("sub", {x, mean});
  const int variance = b.op("div", {b.reduce(Reduction::sum, b.op("mul", {c, c})), b.constant(n)});
  const int r = b.op("rsqrt", {b.op("add", {variance, b.constant(1e-5f)})});
  b.store(b.op("mul", {b.op("mul", {c, r}), scale}), true);
  b.store(mean, false);
  return b.loop;
}
TEST(Loop, SoftmaxAndLayerNorm) {
  for (std::int64_t n : {1, 5, 128, 192, 500, 777, 1024, 1025, 2600}) {
    expect_as_scalar(softmax(), 5, n, 21);
    expect_as_scalar(layer_norm(static_cast<float>(n)), 5, n, 22);
    if (HasFatalFailure()) return;
  }
}
TEST(Loop, SoftmaxOverItsOwnInput) {
  for (std::int64_t n : {3, 128, 600, 1024, 2500}) expect_as_scalar(softmax(), 4, n, 5, {-1, 0});
}
TEST(Loop, StoresOverLoads) {
  Builder b;  // adamw-like: each output over its own input
  const int p = b.load(f32, true), m = b.load(f32, true), v = b.load(f32, true), g = b.load(f32, true),
            rate = b.load(f32, false);
  const int m2 = b.op("add", {b.op("mul", {m, b.constant(0.9f)}), b.op("mul", {g, b.constant(0.1f)})});
  const int v2 =
      b.op("add", {b.op("mul", {v, b.constant(0.99f)}), b.op("mul", {b.op("mul", {g, g}), b.constant(0.01f)})});
  const int step = b.op("div", {m2, b.op("add", {b.op("sqrt", {v2}), b.constant(1e-8f)})});
  b.store(b.op("sub", {p, b.op("mul", {rate, step})}), true);
  b.store(m2, true);
  b.store(v2, true);
  for (std::int64_t n : {7, 512, 513, 4000}) {
    expect_as_scalar(b.loop, 2, n, 3, {-1, -1, -1, -1, -1, 0, 1, 2});
    expect_as_scalar(b.loop, 2, n, 3, {-1, -1, -1, -1, -1, 2, 0, 1});  // crossed
    expect_as_scalar(b.loop, 2, n, 3, {-1, -1, -1, -1, -1, 3, 2, 0});
    if (HasFatalFailure()) return;
  }
  Builder s;  // two arrays change places
  const int x = s.load(f32, true), y = s.load(f32, true);
  s.store(x, true);
  s.store(y, true);
  for (std::int64_t n : {7, 513, 2000}) expect_as_scalar(s.loop, 3, n, 3, {-1, -1, 1, 0});
  Builder late;  // x is read again after the first result is ready
  const int a = late.load(f32, true), t = late.op("mul", {a, a});
  late.store(t, true);
  late.store(late.op("add", {a, t}), true);
  late.store(late.reduce(Reduction::sum, t), false);
  for (std::int64_t n : {7, 513, 2000}) expect_as_scalar(late.loop, 3, n, 3, {-1, 0, -1, -1});
}
TEST(Loop, MorePointersThanRegisters) {
  Builder b;
  constexpr Dtype types[] = {f32, bf16, u8, i32, boolean};
  int sum = b.cast(f32, b.load(f32, true));
  for (int k = 0; k < 24; ++k) sum = b.op("add", {sum, b.cast(f32, b.load(types[k % 5], k % 4 != 0))});
  b.store(sum, true), b.store(b.cast(bf16, sum), true), b.store(b.cast(u8, sum), true);
  b.store(b.reduce(Reduction::sum, sum), false);
  for (std::int64_t n : {1, 7, 33, 130, 1500}) expect_as_scalar(b.loop, 3, n, 9);
}
TEST(Loop, RandomGraphs) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 g(seed);
    const bool wide = g() % 3 == 0;
    std::vector<Dtype> types =
        wide ? std::vector<Dtype>{f64, i64, boolean} : std::vector<Dtype>{f32, bf16, i32, u32, u8, boolean};
    auto pick = [&](auto& v) -> auto& { return v[g() % v.size()]; };
    Builder b;
    std::vector<int> values;
    std::vector<char> column;
    auto put = [&](int v, bool c) { values.push_back(v), column.push_back(c); };
    for (int k = 0; k < 5; ++k) {
      const bool c = g() % 3 != 0;
      put(b.load(pick(types), c), c);
    }
    if (g() % 2) {
      const Dtype other = wide ? f32 : g() % 2 ? f64 : i64;  // loaded in the other width, cast at once
      put(b.cast(types[g() % 2], b.load(other, true)), true);
    }
    if (g() % 3 == 0) {
      b.loop.linear_forms = 1;
      put(b.add({.kind = K::linear, .dtype = types[wide ? 1 : g() % 5]}), true);
      const int key = b.operand(Dtype::key, false);
      put(b.add({.kind = K::random_bits,
                 .dtype = wide      ? i64
                          : g() % 2 ? u8
                                    : u32,
                 .operand = static_cast<std::int16_t>(key)}),
          true);
    }
    put(b.constant(types[0], random_bits_of(types[0], g)), false);
    const auto ops = all_ops();
    for (int tries = 0; tries < 400 && b.loop.code.size() < 30; ++tries) {
      const auto at = g() % values.size();
      const Dtype d = b.dtype(values[at]);
      const int kind = static_cast<int>(g() % 10);
      if (kind == 0) {
        const bool logic = d == boolean;
        constexpr Reduction numbers[] = {Reduction::sum, Reduction::max, Reduction::min, Reduction::prod},
                            truths[] = {Reduction::all, Reduction::any};
        put(b.reduce(logic ? truths[g() % 2] : numbers[g() % 4], values[at]), false);
        continue;
      }
      if (kind == 1) {
        const Dtype to = types[g() % types.size()];
        put(b.cast(to, values[at]), column[at]);
        continue;
      }
      const OpId id = pick(ops);
      if (!defined(id, d)) continue;
      Instr i{.kind = K::op, .dtype = d, .op = id};
      Dtype in[kMaxInputs];
      bool ok = true, any = false;
      for (int j = 0; j < element_op(id).arity && ok; ++j) {
        in[j] = element_op(id).name == "select" && j == 0 ? boolean : d;
        std::vector<std::size_t> fit;
        for (std::size_t v = 0; v < values.size(); ++v)
          if (b.dtype(values[v]) == in[j]) fit.push_back(v);
        ok = !fit.empty();
        if (!ok) break;
        const auto v = fit[g() % fit.size()];
        i.in[static_cast<std::size_t>(j)] = static_cast<std::int16_t>(values[v]);
        any = any || column[v];
      }
      if (!ok) continue;
      i.dtype = element_op(id).result(in);
      put(b.add(i), any);
    }
    for (int s = 0; s < 4; ++s) {
      const auto at = s == 0 ? values.size() - 1 : g() % values.size();
      b.store(values[at], column[at] || g() % 2);
    }
    for (std::int64_t n : {static_cast<std::int64_t>(1 + g() % 40), static_cast<std::int64_t>(400 + g() % 300),
                           static_cast<std::int64_t>(1025 + g() % 600)})
      expect_as_scalar(b.loop, n < 100 ? 9 : 2, n, seed);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}
TEST(Loop, StridesAndBroadcasting) {
  // [3, 4, 5, 6] with every mixture of kept and repeated outer dimensions, odd pitches included.
  Builder b;
  const int x = b.load(f32, true), y = b.load(f32, true), z = b.load(i32, false);
  b.loop.linear_forms = 1;
  const int n = b.add({.kind = K::linear, .dtype = f32});
  b.store(b.op("add", {b.op("mul", {x, y}), b.op("add", {b.cast(f32, z), n})}), true);
  const std::int64_t extent[] = {3, 4, 5, 6};
  std::mt19937_64 g(1);
  for (int round = 0; round < 60; ++round) {
    LoopArgs a;
    a.ndim = 4;
    std::vector<float> xs(4000), ys(4000), out(360, -1);
    std::vector<std::int32_t> zs(4000);
    for (std::size_t i = 0; i < xs.size(); ++i)
      xs[i] = static_cast<float>(g() % 100), ys[i] = static_cast<float>(g() % 100),
      zs[i] = static_cast<std::int32_t>(g() % 100);
    a.pointer[0] = xs.data(), a.pointer[1] = ys.data(), a.pointer[2] = zs.data(), a.pointer[3] = out.data();
    std::int64_t dense_stride = 1;
    for (int d = 3; d >= 0; --d) {
      a.extent[d] = extent[d];
      a.stride[3][d] = dense_stride;
      a.linear[0].stride[d] = round % 3 ? dense_stride : dense_stride * 2 + d;
      dense_stride *= extent[d];
    }
    a.linear[0].base = 5;
    for (int o = 0; o < 3; ++o) {
      std::int64_t s = o == 2 ? 1 : 6 + static_cast<std::int64_t>(g() % 2);
      a.stride[o][3] = o == 2 ? 0 : 1;
      for (int d = 2; d >= 0; --d) {
        const bool keep = round % 4 == 0 || g() % 2;
        a.stride[o][d] = keep ? s : 0;
        if (keep) s *= extent[d];
      }
    }
    run(*compile(b.loop), a);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 5; ++k)
          for (int l = 0; l < 6; ++l) {
            auto at = [&](int o) {
              return static_cast<std::size_t>(i * a.stride[o][0] + j * a.stride[o][1] + k * a.stride[o][2] +
                                              l * a.stride[o][3]);
            };
            const auto& lin = a.linear[0];
            const auto form = static_cast<float>(lin.base + i * lin.stride[0] + j * lin.stride[1] + k * lin.stride[2] +
                                                 l * lin.stride[3]);
            ASSERT_EQ(out[at(3)], xs[at(0)] * ys[at(1)] + (static_cast<float>(zs[at(2)]) + form)) << round;
          }
  }
}
TEST(Loop, LongRowsReduceAsReduceDoes) {
  const std::int64_t rows = 2, columns = 3 * kSegment + 77;
  std::mt19937_64 g(11);
  for (Dtype d : {f32, bf16, f64, i32, i64, u8})
    for (auto r : {Reduction::sum, Reduction::prod, Reduction::max}) {
      Builder b;
      b.store(b.reduce(r, b.load(d, true)), false);
      Buffer in(d, rows * columns), got(d, rows), want(d, rows);
      for (std::int64_t i = 0; i < rows * columns; ++i)
        in.set(i, is_float(d)
                      ? cast_reference(f64, d, std::bit_cast<std::uint64_t>(static_cast<double>(g() % 2000) / 999 - 1))
                      : random_bits_of(d, g));
      run(*compile(b.loop), dense(b.loop, rows, columns, {in.data(), got.data()}));
      reduce(r, d, in.data(), want.data(), rows, columns, 1);
      for (std::int64_t i = 0; i < rows; ++i) EXPECT_EQ(got.at(i), want.at(i)) << d << " " << static_cast<int>(r);
    }
}
TEST(Loop, StoresOfWhatIsOnePerRowCost) {
  Builder b;
  const int c = b.constant(1.5f);
  b.store(c, true);
  EXPECT_GE(compile(b.loop)->cost, 1);
  std::vector<float> out(5000);
  run(*compile(b.loop), dense(b.loop, 1, 5000, {out.data()}));
  EXPECT_EQ(out, std::vector<float>(5000, 1.5f));
}
TEST(Loop, ThreadsDoNotChangeBits) {
  for (const Loop& loop : {softmax(), layer_norm(192)})
    for (auto [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{2000, 192}, {61, 3000}, {2, 3 * kSegment + 77}}) {
      std::vector<float> x(static_cast<std::size_t>(rows * columns)), w = x, one(x.size()), two(x.size()),
                                                                      stat(static_cast<std::size_t>(rows));
      std::mt19937_64 g(9);
      for (auto& v : x) v = static_cast<float>(g() % 1000) * 0.01f;
      for (auto& v : w) v = static_cast<float>(g() % 1000) * 0.01f;
      auto args = [&](std::vector<float>& out) {
        return loop.operands.size() == 2 ? dense(loop, rows, columns, {x.data(), out.data()})
                                         : dense(loop, rows, columns, {x.data(), w.data(), out.data(), stat.data()});
      };
      const auto k = compile(loop);
      {
        ThreadScope s(1);
        run(*k, args(one));
      }
      set_thread_count(2);
      run(*k, args(two));
      set_thread_count(3);
      std::vector<float> three(x.size());
      run(*k, args(three));
      set_thread_count(0);
      EXPECT_EQ(one, two);
      EXPECT_EQ(one, three);
    }
  Builder b;  // a long row without a reduction is split
  const int x = b.load(f32, true);
  b.store(b.op("tanh", {x}), true);
  std::vector<float> in(300001), one(in.size()), two(in.size());
  std::iota(in.begin(), in.end(), -150000.f);
  for (auto& v : in) v *= 1e-4f;
  const auto k = compile(b.loop);
  {
    ThreadScope s(1);
    run(*k, dense(b.loop, 1, 300001, {in.data(), one.data()}));
  }
  set_thread_count(2);
  run(*k, dense(b.loop, 1, 300001, {in.data(), two.data()}));
  set_thread_count(0);
  EXPECT_EQ(one, two);
}
TEST(Loop, CacheGivesTheSameKernel) {
  EXPECT_EQ(compile(softmax()), compile(softmax()));
  EXPECT_NE(compile(softmax()), compile(layer_norm(3)));
}
}  // namespace
}  // namespace bora::kernels::test::loop_test
