// fuse_group.h -- properties of each instruction for fusion, and the loop of a set of instructions.
#pragma once
#include "compile/passes/fuse_layout.h"

namespace bora::exec {
struct Item {
  enum class Kind : std::uint8_t {
    other,  // runs alone
    lazy,   // broadcast or iota: computed where it is read
    op,
    cast,
    bitcast,
    reduce,
    sum,  // a reduction over the leading dimensions: over rows, one result per column
    random
  };
  const Instruction* code = nullptr;
  Kind kind = Kind::other;
  std::int64_t elements = 0;  // of the iteration space in which it computes
  std::int64_t columns = 0;   // reduce, sum: elements of a row
  int width = 0;              // bytes of its lanes: 4, 8, or 0 if all are bool
  int to_width = 0;           // cast: of the result
  int cost = 1;
  kernels::OpId op = 0;
  Reduction reduction = Reduction::sum;
  bool crosses() const { return kind == Kind::cast && width && to_width && width != to_width; }
};
/// A variable as an instruction reads it, through broadcasts.
struct Read {
  enum class Kind : std::uint8_t { constant, linear, memory } kind = Kind::memory;
  int root = -1;    // memory: the variable
  int bottom = -1;  // the variable below all broadcasts on which it depends
  Access access;    // memory, linear: base + strides
  std::uint64_t bits = 0;
};
/// A set of instructions that become one loop over `elements`; columns > 0: in rows, which some members reduce or sum.
struct Group {
  std::vector<int> members;   // ascending
  std::vector<bool> per_row;  // of each: its result is one value per row
  std::int64_t elements = 0, columns = 0;
};
/// The block as seen by fusion.
struct Scene {
  const Graph& graph;
  std::vector<Item> items;
  std::vector<int> maker;                 // of each root variable: the item that computes it, or -1
  std::vector<std::vector<int>> readers;  // of each root variable: items that read it, also through broadcasts
  Mask kept;                              // of each root variable: an output, or the source of a broadcast output
  Scene(const Graph&, const std::vector<const Instruction*>&);
  const Read& read(int variable) const;
 private:
  Read find(int variable) const;
  mutable std::vector<std::optional<Read>> reads_;
};
/// The loop of this group, or null if there is none; then `why` is the reason.
std::shared_ptr<Fused> make_loop(const Scene&, const Group&, const char*& why);
}  // namespace bora::exec
