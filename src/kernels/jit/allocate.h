// allocate.h -- registers for one section: furthest next use is spilled, constants and values of the row stay where they lie.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>
#include "kernels/loop/recorded.h"

namespace bora::kernels::jit {
/// Registers 0..31 are vectors, then k1 to k7 of AVX-512: k1 says which lanes a tail has, k6 and k7 are the
/// encoder's.
inline constexpr int kFirstMask = 32, kRegisters = kFirstMask + 7;
struct Place {
  enum class Kind : std::uint8_t { none, reg, constant, frame, operand } kind = Kind::none;
  int at = 0;              // register; offset in the frame; operand
  std::uint64_t bits = 0;  // of a constant
  bool wide = false;
};
/// One machine instruction, more or less.
struct Machine {
  enum class What : std::uint8_t { node, move, spill } what = What::node;  // move: in[0] -> out; spill: in[0] -> frame offset imm
  P op{};
  bool wide = false, mask = false;
  std::uint64_t imm = 0;
  int copy = 0, out = -1;
  std::array<Place, 4> in{};
  std::array<int, 3> temp{-1, -1, -1};  // vector registers that hold nothing
};
struct Frame {
  int bytes = 0;
  int take(int n) {
    const int at = bytes;
    bytes += (n + 63) / 64 * 64;
    return at;
  }
};
enum class Mode : std::uint8_t { row, main, tail };
struct Task {
  const Graph* graph;
  Mode mode;
  int copies = 1, group = 1;          // replicas of the body; how many go in lockstep
  int vector_bytes;
  std::span<const int> slots;         // slot -> offset in the frame
  std::span<const char> lazy;         // per operand: its columns can be read where they lie
  std::vector<std::pair<int, int>> pins;  // node (constant or slot), register that holds it throughout
  std::vector<int> reserved;          // registers that hold something else
};
std::vector<Machine> allocate(const Task&, Frame&);

/// Operand j of the node is a constant or slot that an instruction cannot read where it lies.
bool wants_register(const Graph&, const Node&, std::size_t j);
/// Nodes whose result is used, effects included.
std::vector<char> needed(const Graph&);
/// Most values alive at once in one copy of the body: vectors, masks. Constants and slots do not count.
std::pair<int, int> pressure(const Graph&);
}  // namespace bora::kernels::jit
