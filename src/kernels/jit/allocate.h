// allocate.h -- register allocation for one section: the value with the furthest next use is spilled; constants and
// row values stay in memory.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>
#include "kernels/loop/recorded.h"

namespace bora::kernels::jit {
/// Registers 0..31 are vectors, then k1 to k7 of AVX-512: k1 holds the lanes of a tail, k6 and k7 belong to the
/// encoder.
inline constexpr int kFirstMask = 32, kRegisters = kFirstMask + 7;
struct Place {
  enum class Kind : std::uint8_t { none, reg, constant, frame, operand } kind = Kind::none;
  int at = 0;              // register; offset in the frame; operand
  std::uint64_t bits = 0;  // of a constant
  bool wide = false;
};
/// One machine instruction, roughly.
struct Machine {
  // move: in[0] -> out; spill: in[0] -> frame offset imm
  enum class What : std::uint8_t { node, move, spill } what = What::node;
  P op{};
  bool wide = false, mask = false;
  std::uint64_t imm = 0;
  int copy = 0, out = -1;
  std::array<Place, 4> in{};
  std::array<int, 3> temp{-1, -1, -1};  // scratch vector registers
};
struct Frame {
  int bytes = 0;
  int take(int n) {
    const int at = bytes;
    bytes += (n + 63) / 64 * 64;
    return at;
  }
};
enum class Mode : std::uint8_t { row, main, single, tail };
struct Task {
  const Graph* graph;
  Mode mode;
  int copies = 1, group = 1;          // copies of the body; how many run in lockstep
  int vector_bytes;
  std::span<const int> slots;         // slot -> offset in the frame
  std::span<const char> lazy;         // per operand: its columns can be read in place
  std::vector<std::pair<int, int>> pins;  // node (constant or slot), register that holds it throughout
  std::vector<int> reserved;          // registers in other use
  bool paired = false;                // 64-bit lanes: copies 2 i and 2 i + 1 share each 32-bit value, a half for each
};
std::vector<Machine> allocate(const Task&, Frame&);
/// From 64-bit lanes to 32-bit ones. With paired copies the second operand is the odd copy's value.
constexpr bool narrows(P op) { return op == P::narrow_float || op == P::whole_to_f32 || op == P::low_word; }
constexpr bool widens(P op) { return op == P::widen_float || op == P::sign_extend || op == P::zero_extend; }

/// Is operand j of the node a constant or slot that the instruction cannot read from memory?
bool wants_register(const Graph&, const Node&, std::size_t j);
/// Nodes whose result is used, effects included.
std::vector<char> needed(const Graph&);
/// Most values live at once in one copy of the body: vectors, masks. Constants and slots do not count.
std::pair<int, int> pressure(const Graph&);
}  // namespace bora::kernels::jit
