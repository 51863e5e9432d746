// fuse_group.h -- properties of each instruction for fusion, and the loop of a set of instructions.
#pragma once
#include "compile/passes/fuse/fuse_layout.h"

namespace bora::exec {
struct Item {
  enum class Kind : std::uint8_t {
    other,  // runs alone
    lazy,   // broadcast, iota, window (slice, pad, concatenation, ..): computed where it is read
    op,
    cast,
    bitcast,
    reduce,
    sum,  // a reduction over dimensions before the last: over rows, one result per column
    random
  };
  const Instruction* code = nullptr;
  Kind kind = Kind::other;
  std::int64_t elements = 0;  // of the iteration space in which it computes
  std::int64_t columns = 0;   // reduce, sum: elements of a row
  std::int64_t rows = 0;      // sum: rows that are added up to one row of the result
  int width = 0;              // bytes of its lanes: 4, 8, or 0 if all are bool
  int to_width = 0;           // cast: of the result
  int cost = 1;
  kernels::OpId op = 0;
  Reduction reduction = Reduction::sum;
};
/// The source of elements.
struct Origin {
  enum class Kind : std::uint8_t { constant, linear, memory, pieces } kind = Kind::memory;
  int root = -1;  // memory: the variable
  Access access;  // memory, linear: base + strides; pieces: dimensions alone
  std::uint64_t bits = 0;
  bool operator==(const Origin&) const = default;
};
struct Box {
  Dims begin, end;
};
/// A box of a variable. The access of its origin takes coordinates in the variable.
struct Piece {
  Box box;
  Origin origin;
};
using Pieces = std::vector<Piece>;
/// A variable as an instruction reads it, through broadcasts and windows.
struct Read : Origin {
  std::vector<int> bottoms;  // the variables below all lazy instructions on which it depends
  Pieces pieces;             // kind pieces: they tile the variable
  const Origin& origin_at(const Dims&) const;  // itself, if it is not in pieces
  bool is_direct() const { return kind == Kind::memory && bottoms.size() == 1 && bottoms[0] == root; }
};
/// A set of instructions that become one loop over `elements`; columns > 0: in rows, which some members reduce or sum.
struct Group {
  std::vector<int> members;   // ascending
  std::vector<bool> per_row;  // of each: its result is one value per row
  std::int64_t elements = 0, columns = 0;
};
/// Boxes of variables with dimensions `dims`, in each of which every operand of a loop has one origin: first the
/// largest, then the one with most operands in memory.
struct Regions {
  Dims dims;
  Mask cut;  // of each dimension: no box has all of it
  std::vector<Box> boxes;
};
/// The block as seen by fusion.
struct Scene {
  const Graph& graph;
  std::vector<Item> items;
  std::vector<int> maker;                 // of each root variable: the item that computes it, or -1
  std::vector<std::vector<int>> readers;  // of each root variable: items that read it, also through lazy ones
  Mask kept;                              // of each root variable: an output, or the source of a lazy output
  Scene(const Graph&, const std::vector<const Instruction*>&);
  const Read& read(int variable) const;

 private:
  void find_windows();
  Read find(int variable) const;
  /// Over the dimensions of its type; nullopt if an origin has no strides over them.
  const std::optional<Pieces>& pieces(int variable) const;
  std::optional<Pieces> find_pieces(int variable) const;
  mutable std::vector<std::optional<Read>> reads_;
  mutable std::vector<std::optional<std::optional<Pieces>>> pieces_;
};
/// Is it a slice, flip, pad, concatenation or change of a part whose elements loops can read where they lie?
/// joined: its result is read only by what joins it with others.
bool is_window(const Graph&, const Instruction&, bool joined);
bool joins(const Graph&, const Instruction&);  // a pad, concatenation or change of a part
/// Elements along a row between two that a loop reads: a cache line holds several of them.
inline constexpr std::int64_t kFarthest = 8;
/// Loops read memory element after element along their rows, forward, backward or with small steps, or one element all
/// the time.
bool is_readable(const Piece&);
/// The pieces of the result of a broadcast or window, from those of its operands; none if they are too many.
Pieces pieces_through(const Graph&, const Instruction&, const std::vector<Pieces>& in);
/// No boxes: nothing is read in pieces. nullopt: there are too many, or operands differ in their dimensions.
std::optional<Regions> regions_of(const Scene&, const Group&);
/// The loop of this group, or null if there is none; then `why` is the reason. Not `whole`: only its first two boxes,
/// which nearly always tell.
std::shared_ptr<Fused> make_loop(const Scene&, const Group&, const char*& why, bool whole);
}  // namespace bora::exec
