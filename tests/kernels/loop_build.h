// loop_build.h -- small Loops for tests, and what they must give: the same Loop evaluated one element at a time.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>
#include "kernels/api/loop.h"
#include "bora/ops/creation.h"
#include "kernels/loop/plan.h"

namespace bora::kernels::test {
using K = Instr::Kind;
struct Builder {
  Loop loop;
  int operand(Dtype d, bool columns) {
    loop.operands.push_back({d, columns});
    return static_cast<int>(loop.operands.size()) - 1;
  }
  int add(Instr i) {
    loop.code.push_back(i);
    return static_cast<int>(loop.code.size()) - 1;
  }
  Dtype dtype(int v) const { return loop.code[static_cast<std::size_t>(v)].dtype; }
  int load(int k) {
    return add({.kind = K::load,
                .dtype = loop.operands[static_cast<std::size_t>(k)].dtype,
                .imm = static_cast<std::uint64_t>(k)});
  }
  int load(Dtype d, bool columns) { return load(operand(d, columns)); }
  int constant(Dtype d, std::uint64_t bits) { return add({.kind = K::constant, .dtype = d, .imm = bits}); }
  int constant(float x) { return constant(f32, std::bit_cast<std::uint32_t>(x)); }
  int op(OpId id, std::initializer_list<int> in) {
    Instr i{.kind = K::op, .dtype = f32, .op = id};
    Dtype d[kMaxInputs];
    int j = 0;
    for (int v : in) d[j] = dtype(v), i.in[static_cast<std::size_t>(j++)] = static_cast<std::int16_t>(v);
    i.dtype = element_op(id).result(d);
    return add(i);
  }
  int op(std::string_view name, std::initializer_list<int> in) { return op(find_op(name), in); }
  int unary(K kind, Dtype d, int v, std::uint64_t imm = 0) {
    Instr i{.kind = kind, .dtype = d, .imm = imm};
    i.in[0] = static_cast<std::int16_t>(v);
    return add(i);
  }
  int cast(Dtype d, int v) { return unary(K::cast, d, v); }
  int reduce(Reduction r, int v) { return unary(K::reduce, dtype(v), v, static_cast<std::uint64_t>(r)); }
  int store(int k, int v) { return unary(K::store, dtype(v), v, static_cast<std::uint64_t>(k)); }
  int store(int v, bool columns) {
    const int k = operand(dtype(v), columns);
    store(k, v);
    return k;
  }
};
/// Dense arguments: rows x columns, operands given by pointer, row-major, one element per row where not columns.
inline LoopArgs dense(const Loop& loop, std::int64_t rows, std::int64_t columns, const std::vector<void*>& p) {
  LoopArgs a;
  a.ndim = 2;
  a.extent[0] = rows;
  a.extent[1] = columns;
  for (std::size_t k = 0; k < p.size(); ++k) {
    a.pointer[k] = p[k];
    a.stride[k][0] = loop.operands[k].columns ? columns : 1;
    a.stride[k][1] = loop.operands[k].columns ? 1 : 0;
  }
  for (int f = 0; f < loop.linear_forms; ++f) {
    a.linear[f].stride[0] = columns;
    a.linear[f].stride[1] = 1;
  }
  return a;
}
/// One elementwise operation over n elements.
inline void apply(std::string_view name, Dtype d, const std::vector<const void*>& in, void* out, std::int64_t n,
                  Isa which = isa()) {
  Builder b;
  const OpId id = find_op(name);
  const ElementOp& op = element_op(id);
  std::vector<void*> p;
  Instr i{.kind = K::op, .dtype = d, .op = id};
  Dtype types[kMaxInputs];
  for (int j = 0; j < op.arity; ++j) {
    types[j] = name == "select" && j == 0 ? boolean : d;
    i.in[static_cast<std::size_t>(j)] = static_cast<std::int16_t>(b.load(types[j], true));
    p.push_back(const_cast<void*>(in[static_cast<std::size_t>(j)]));
  }
  i.dtype = op.result(types);
  b.store(b.add(i), true);
  p.push_back(out);
  run(*compile_for(b.loop, which), dense(b.loop, 1, n, p));
}
inline std::uint64_t read(Dtype d, const void* p, std::int64_t i) {
  std::uint64_t v = 0;
  std::memcpy(&v, static_cast<const char*>(p) + static_cast<std::size_t>(i) * dtype_size(d), dtype_size(d));
  return v;
}
inline bool is_nan(Dtype d, std::uint64_t v) {
  if (d == f32) return (v & 0x7fffffff) > 0x7f800000;
  if (d == f64) return (v & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
  if (d == bf16) return (v & 0x7fff) > 0x7f80;
  if (d == f16) return (v & 0x7fff) > 0x7c00;
  if (d == f8_e4m3fn) return (v & 0x7f) == 0x7f;
  return false;
}
/// Equal bits; NaN equals NaN whatever its payload.
inline bool same(Dtype d, std::uint64_t a, std::uint64_t b) { return a == b || (is_nan(d, a) && is_nan(d, b)); }
inline bool has_v4() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
}  // namespace bora::kernels::test
