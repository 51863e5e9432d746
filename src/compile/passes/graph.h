// graph.h -- one straight-line block between a Program and its steps: which instructions run together, in which order,
// on which memory.
#pragma once
#include <map>
#include <optional>
#include <vector>
#include "compile/program/idx.h"
#include "kernels/api/loop.h"
#include "compile/api/program.h"

namespace bora::ops {
struct BroadcastInDim;
struct Reduce;
struct Scan;
}  // namespace bora::ops

namespace bora::exec {
/// A fused loop before it has addresses.
struct Fused {
  kernels::Loop loop;
  kernels::LoopArgs args = {};  // without pointers
  std::vector<int> operands;    // the variable that each operand reads or writes
  std::vector<std::int64_t> offsets;  // of each operand: the element at which it begins
  Mask stored;
  /// The loop computes the box [begin, end) of its results; empty: all of them. `edges` are loops of the other boxes,
  /// where some operands lie elsewhere or are constants.
  Dims begin, end;
  std::vector<std::shared_ptr<const Fused>> edges;
  /// linear[form].base += stride * the value of an i32 scalar: the start of a block of a random draw.
  struct Start {
    int form, var;
    std::int64_t stride;
  };
  std::vector<Start> starts;
  /// A reduction over the rows of an operand, computed while they are in cache.
  struct Sum {
    Reduction kind;
    std::size_t operand;
    int var;  // of the result
  };
  std::vector<Sum> sums;
  std::size_t unkept = 0;   // this many last stored operands are read by sums only: they have no memory of their own
  bool whole_rows = false;  // with sums: columns cannot be processed separately
  std::vector<PrimitivePtr> members;
  /// An operand that another loop computes or reads too, and the reason why the two loops are not one.
  struct FusionBreak {
    int var;
    const char* why;
  };
  std::vector<FusionBreak> breaks;
  std::int64_t sum_rows = 0;  // of sums: rows that are added up to one row of their results
  std::size_t kept() const { return operands.size() - unkept; }
};
struct Node {
  enum class Kind : std::uint8_t { eval, loop, copy, start, wait };
  /// In the body of a pipelined scan: early nodes belong to the next iteration, late ones to the one before. Of a late
  /// collective that is not split yet, only the wait is late.
  enum class When : std::uint8_t { always, early, late };
  Kind kind = Kind::eval;
  PrimitivePtr primitive;    // of a loop: that of its last member
  std::vector<int> in, out;  // variables, with the types the primitive sees
  std::shared_ptr<const Source> source = {};
  std::shared_ptr<const Fused> fused = {};
  std::size_t handle = 0;  // equal in start and wait of one collective
  When when = When::always;
  int later = -1;  // of a start: the result, if the wait writes it
  /// Of a loop whose edges wait for a collective: the loop of the node that computes them. That node reads the results
  /// of this one, and completes them.
  std::shared_ptr<const Fused> rest = {};
  bool starts_and_waits() const {
    return kind == Kind::eval && when != When::early && primitive->traits.collective && !primitive->traits.holds;
  }
};
/// Additions of a pipelined body to a plain one. Its inputs are followed by the results of collectives started early,
/// for this iteration, then by inputs of the next iteration; its outputs by results for the next iteration.
struct PipelineInput {
  std::vector<std::size_t> results;  // bytes of each
  std::vector<std::size_t> next;     // for each input of the next iteration, the number of that input
  Mask late;                         // of each output: written when the next iteration runs
};
struct Graph {
  Types vars;
  std::vector<int> root;  // the variable that owns the memory: views share it
  std::vector<int> in, out;
  std::vector<Node> nodes;
  /// By root variable: its memory is in use from one iteration to the next.
  Mask stays = {};
  std::shared_ptr<const PipelineInput> ahead = {};
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

/// The parameters of a reduction or a broadcast; null for other instructions.
const ops::Reduce* reduction(const Instruction& i);
const ops::BroadcastInDim* broadcast(const Instruction& i);
bool is_constant(const Instruction& i);

/// Appends the instructions of `from` to `to`, held calls inlined; its inputs are the variables `in`. Returns the
/// variables of its outputs.
std::vector<int> inline_into(Program& to, const Program& from, const std::vector<int>& in);
/// Instructions -> nodes. nested: every output becomes a variable of its own that a node defines. fused: elementwise
/// operations and row reductions are gathered into loops. sections: first instructions of new sections; code in front
/// of the first belongs to the next iteration, code from the last on to the one before; no loop crosses sections.
Graph lower(const Program&, bool nested, bool fused, const std::vector<std::size_t>& sections = {});
/// The body of a scan whose collectives overlap with the compute of other iterations: collectives that read only the
/// scanned inputs start one iteration early, collectives whose results only go to stacked outputs are waited for one
/// iteration late. nullopt if there are none.
std::optional<Graph> pipelined(const ops::Scan&, bool fused);
/// A collective as two nodes; the start has one more output, its scratch memory.
std::pair<Node, Node> start_and_wait(Graph&, const Node& collective, std::size_t handle);
/// Cuts edges that read the result of a collective off the loops that compute them with the rest.
void cut_edges(Graph&);
/// Splits collectives into start and wait, and places them to overlap with work. The order of collectives stays.
void schedule(Graph&);
}  // namespace bora::exec
