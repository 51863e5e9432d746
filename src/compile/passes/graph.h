// graph.h -- one straight-line block on its way from a Program to steps: which instructions run together, in which order, on which memory.
#pragma once
#include "bora/compile/control.h"

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
  /// A reduction over the rows of an operand, done while they are in cache.
  struct Sum {
    Reduction kind;
    std::size_t operand;
    int var;  // of the result
  };
  std::vector<Sum> sums;
  std::size_t unkept = 0;   // the last so many stored operands are read by sums only: they have no memory of their own
  bool whole_rows = false;  // with sums: columns do not stand alone
  std::vector<PrimitivePtr> members;
  /// An operand that another loop makes or reads too, and why the two are not one.
  struct Apart {
    int var;
    const char* why;
  };
  std::vector<Apart> apart;
  std::size_t kept() const { return operands.size() - unkept; }
};
struct Node {
  enum class Kind : std::uint8_t { eval, loop, copy, start, wait };
  /// In the body of a pipelined scan: belongs to the next iteration or to the one before. A collective that is not split yet and is late:
  /// its wait is.
  enum class When : std::uint8_t { always, early, late };
  Kind kind = Kind::eval;
  PrimitivePtr primitive;    // of a loop: of its last member
  std::vector<int> in, out;  // variables, with the types the primitive sees
  std::shared_ptr<const Source> source = {};
  std::shared_ptr<const Fused> fused = {};
  std::size_t handle = 0;  // start and wait of one collective have the same
  When when = When::always;
  int later = -1;  // of a start: the result, where the wait is what writes it
};
/// What a pipelined body has beyond a plain one. Behind its inputs stand results of collectives started early, as this iteration reads
/// them, then the inputs of the next iteration; behind its outputs the results for the next iteration.
struct Ahead {
  std::vector<std::size_t> results;  // bytes of each
  std::vector<std::size_t> next;     // the input that each input of the next iteration is of
  Mask late;                         // of each output: written when the next iteration runs
};
struct Graph {
  Types vars;
  std::vector<int> root;  // the variable that owns the memory: views share it
  std::vector<int> in, out;
  std::vector<Node> nodes;
  /// By root variable: its memory holds something from one iteration to the next.
  Mask stays = {};
  std::shared_ptr<const Ahead> ahead = {};
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
/// Scans, branches and loops without what they compute for nobody.
ProgramPtr prune(const ProgramPtr&);
/// What is moved out of loops: instructions of scan bodies that read constants of the loop only.
ProgramPtr hoist(const ProgramPtr&);
/// Instructions -> nodes. nested: every output becomes a variable of its own that a node defines. fused: elementwise operations and row
/// reductions are gathered into loops. sections: the instructions at which new ones begin, of the next iteration up to the first, of the
/// one before from the last on; no loop crosses them.
Graph lower(const Program&, bool nested, bool fused, const std::vector<std::size_t>& sections = {});
/// The body of a scan with its collectives beside the compute of other iterations: those that read only what is scanned over start one
/// iteration early, those whose results only go to stacked outputs are waited for one iteration late. Nothing where there are none.
std::optional<Graph> pipelined(const ops::Scan&, bool fused);
/// A collective as two nodes; the start has one more output, its scratch memory.
std::pair<Node, Node> start_and_wait(Graph&, const Node& collective, std::size_t handle);
/// Splits collectives into start and wait, and puts them where they overlap with work. The order of collectives stays.
void schedule(Graph&);
}  // namespace bora::exec
