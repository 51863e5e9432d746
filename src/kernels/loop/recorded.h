// recorded.h -- one straight-line section of a generated loop: SSA over lanes, traced from the functions in
// functions.h.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>
#include "kernels/api/cpu.h"

namespace bora::kernels::jit {
/// The machine operation of a node. `wide`: on 64-bit lanes; in a narrow Graph all work on 16-bit ones.
/// Masks are vectors with AVX2, k registers with AVX-512.
enum class P : std::uint8_t {
  constant,   // imm: the bits of one lane
  slot,       // imm: a value that is one per row, kept in the frame
  load,       // imm: operand; narrow elements become lanes: zero-extended, i8 and i16 sign-extended, f16 as f32
  key,        // imm: operand * 2 + word of a random key
  form_low,   // imm: linear form; low or high half (wide: all) of its value at the first lane
  form_high,
  add, sub, mul, div, vmin, vmax, scalef, fma, fnma, sqrt,
  round,      // imm: 8 nearest even, 9 floor, 10 ceil, 11 trunc
  to_int, truncate, to_float,
  widen_float, narrow_float, sign_extend, zero_extend, low_word,  // between lanes of 32 and of 64 bits
  whole_to_f32,  // 64-bit integer -> f32, one rounding
  to_half,    // f32 rounded to f16, as f32
  iadd, isub, imul,
  imin, imax, umin, umax,
  umul32,     // low words -> 64 bits
  iand, ior, ixor,
  shl, shr, sar, rotl,  // imm: count
  shlv, shrv, sarv,
  cmp,        // imm: Predicate, of floats
  icmp, ucmp, // of integers
  mand, mor, mxor, mnot,
  select,     // in: mask, yes, no
  host,       // imm: host call; in: mask or none, result where not called, arguments
  store,      // imm: operand; from here on: effects
  accumulate, // imm: reduction of this pass
  set_slot
};
/// As AVX-512 numbers them. Integers on AVX2: equal and greater only.
enum Predicate : std::uint8_t { kEqual = 0, kLess = 1, kLessEqual = 2, kNotEqual = 4, kGreater = 6 };
constexpr bool is_effect(P op) { return op >= P::store; }

struct Node {
  P op;
  bool wide = false, mask = false;  // mask: of the result
  std::array<int, 4> in{-1, -1, -1, -1};
  std::uint64_t imm = 0;
  bool operator==(const Node&) const = default;
};
/// A host function on single lanes, called with all lanes in memory: result and arguments of `lanes` elements of the
/// section's lane type; lanes whose bit is not set in `mask` keep their value in `result`.
struct HostCall {
  void (*call)(std::uint64_t closure, std::uint64_t mask, void* result, const void* a, const void* b, int lanes);
  std::uint64_t closure;
  bool operator==(const HostCall&) const = default;
};

/// Nodes in order of evaluation. Constants are folded where the host computes the same bits; equal nodes are one node.
class Graph {
 public:
  explicit Graph(Isa which, bool lanes_of_16 = false) : isa(which), narrow(lanes_of_16) {}
  int add(Node);
  int constant(std::uint64_t bits, bool wide) { return add({.op = P::constant, .wide = wide, .imm = bits}); }
  std::uint64_t host_call(HostCall);
  Isa isa;
  bool narrow;  // every lane has 16 bits
  std::vector<Node> nodes;
  std::vector<HostCall> host;

 private:
  struct Hash {
    std::size_t operator()(const Node&) const;
  };
  int simplified(const Node&) const;  // an existing node, or -1
  bool as_extreme(Node&) const;       // a choice of the larger or smaller integer as one instruction
  std::unordered_map<Node, int, Hash> seen_;
};
}  // namespace bora::kernels::jit
