// graph.h -- one straight-line block on its way from a Program to steps: which instructions run together, in which order, on which memory.
#pragma once
#include "bora/compile/program.h"

namespace bora::exec {
/// A fused loop before it has addresses.
struct Fused {
  kernels::Loop loop;
  kernels::LoopArgs args = {};  // without pointers
  std::vector<int> operands;    // the variable whose memory each operand is
  Mask stored;
  /// linear[form].base += stride * the value of an i32 scalar: where a block of a random draw begins.
  struct Start {
    int form, var;
    std::int64_t stride;
  };
  std::vector<Start> starts;
  std::vector<PrimitivePtr> members;
};
struct Node {
  enum class Kind : std::uint8_t { eval, loop, copy, start, wait };
  Kind kind = Kind::eval;
  PrimitivePtr primitive;    // of a loop: of its last member
  std::vector<int> in, out;  // variables, with the types the primitive sees
  std::shared_ptr<const Source> source = {};
  std::shared_ptr<const Fused> fused = {};
  std::size_t handle = 0;  // start and wait of one collective have the same
};
struct Graph {
  Types vars;
  std::vector<int> root;  // the variable that owns the memory: views share it
  std::vector<int> in, out;
  std::vector<Node> nodes;
  /// Bits of scalar constants that eval nodes read: they live in the constant pool.
  std::map<int, std::uint64_t> constants;
  std::size_t at(int v) const { return static_cast<std::size_t>(root[static_cast<std::size_t>(v)]); }
  const Type& type(int v) const { return vars[static_cast<std::size_t>(v)]; }
  int fresh(const Type& t) {
    vars.push_back(t);
    root.push_back(static_cast<int>(vars.size()) - 1);
    return root.back();
  }
};
inline std::size_t idx(int v) { return static_cast<std::size_t>(v); }
inline std::size_t idx(std::int64_t v) { return static_cast<std::size_t>(v); }

/// Appends the instructions of `from` to `to`, held calls inlined; its inputs are the variables `in`. Gives the variables of its outputs.
std::vector<int> inline_into(Program& to, const Program& from, const std::vector<int>& in);
/// What is moved out of loops: instructions of scan bodies that read constants of the loop only.
ProgramPtr hoist(const ProgramPtr&);
/// Instructions -> nodes. nested: every output becomes a variable of its own that a node defines. fused: elementwise operations and row
/// reductions are gathered into loops.
Graph lower(const Program&, bool nested, bool fused);
/// Splits collectives into start and wait, and puts them where they overlap with work. The order of collectives stays.
void schedule(Graph&);
}  // namespace bora::exec
