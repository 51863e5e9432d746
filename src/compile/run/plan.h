// plan.h -- steps with addresses. An address is an entry of one table of base pointers and an offset; between
// iterations a loop changes entries of the table and nothing else.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include "kernels/api/gemm.h"
#include "compile/passes/graph.h"
#include "kernels/api/loop.h"
#include "compile/api/control.h"

namespace bora::exec {
struct Place {
  int base = -1;
  std::size_t offset = 0;
};
/// Bytes by kind of producer.
using Arena = std::map<std::string, std::size_t>;
struct Block;
using BlockPtr = std::unique_ptr<const Block>;

struct EvalStep {
  PrimitivePtr primitive;
  Types in_types, out_types;
  std::vector<Place> in, out;
  std::size_t first_in = 0, first_out = 0;  // its views in the State
  std::optional<kernels::Gemm> gemm = {};   // a plain product: called directly
};
struct LoopStep {
  std::shared_ptr<const Fused> fused;
  kernels::LoopKernelPtr kernel;
  std::vector<Place> operands;  // kept ones only
  std::vector<Place> starts;
  std::size_t args = 0;  // in the State
  std::vector<Place> sums = {};
  Place partials = {};  // of the sums
  std::vector<LoopStep> edges = {};  // the rest of its results
  std::optional<kernels::LoopArgs> gaps = {};  // with edges: run first, it may overwrite their results
};
struct CopyStep {
  Place from, to;
  std::size_t bytes;
};
/// A value handed from one iteration to the next. In place: both slots of the body are the memory of the result. Else
/// the iterations alternate between the result and `other`.
struct Carry {
  int in_slot, out_slot;
  Place init, result, other;
  std::size_t bytes;
  bool in_place;
};
struct Bound {  // a slot of a held block with a fixed place
  int slot;
  Place place;
};
struct Slice {  // a slot that moves along a stacked array
  int slot;
  Place place;
  std::size_t stride;
  int ahead = 0;  // iterations ahead
};
/// The result of a collective that one iteration starts and the next one reads: double buffered.
struct Handed {
  int now, next;  // slots
  Place first, second;
};
struct ScanStep {
  BlockPtr body;
  Place workspace;
  std::int64_t length;
  bool reverse;
  std::vector<Bound> consts;
  std::vector<Carry> carries;
  std::vector<CopyStep> copies;  // of xs whose slices are overwritten by those of ys: nothing where the memory is one
  std::vector<Slice> slices;     // xs and ys
  std::vector<Handed> handed = {};
  std::vector<std::int64_t> steps = {};  // a body of one loop: bytes by which each operand advances; else empty
};
struct CondStep {
  BlockPtr on_true, on_false;
  Place workspace, predicate;
  std::vector<Bound> bound_true, bound_false;  // operands and results
};
struct WhileStep {
  BlockPtr cond, body;
  Place workspace_cond, workspace_body, predicate;
  int predicate_slot;
  std::vector<Bound> consts;
  std::vector<Carry> carries;   // in_slot, out_slot: of the body
  std::vector<int> cond_slots;  // of the same carries
};
struct StartStep {
  EvalStep call;
  std::shared_ptr<const std::string> words;  // of the collective
  Place scratch;
  std::size_t handle;  // in the State
};
struct WaitStep {
  std::size_t handle;
};
using Step = std::variant<EvalStep, LoopStep, CopyStep, ScanStep, CondStep, WhileStep, StartStep, WaitStep>;
/// Calls f with each block that the step holds and its name in a report.
template <class F> void each_block(const ScanStep& s, const F& f) {
  f(*s.body, "body, " + std::to_string(s.length) + (s.reverse ? " times backwards" : " times"));
}
template <class F> void each_block(const CondStep& s, const F& f) {
  f(*s.on_true, "true");
  f(*s.on_false, "false");
}
template <class F> void each_block(const WhileStep& s, const F& f) {
  f(*s.cond, "while");
  f(*s.body, "do");
}
template <class S, class F> void each_block(const S&, const F&) {}

/// A planned block: its slots in the table are slab, inputs, outputs, in this order.
struct Block {
  int slab = 0, in = 0, out = 0;
  std::size_t bytes = 0;  // of its slab
  Arena arena;            // contents of the slab at its peak
  std::vector<Step> steps;
  std::vector<Node::When> when;          // of each step, in a pipelined body
  std::shared_ptr<const PipelineInput> ahead;    // of a pipelined body
  std::size_t stays = 0;                 // bytes of `bytes` that are held from one iteration to the next
  std::vector<Node> nodes;  // the node of each step, for errors and explain
  Types vars;
  std::vector<Place> places;  // of each variable
  std::vector<int> in_vars, out_vars;
  /// For each output, the input whose memory it takes (donation, carries in place), or -1.
  std::vector<int> out_input;
  Mask overwritten;  // of each input: another value is written to its memory
  /// For each output, an output before it with the same memory, or -1.
  std::vector<int> out_same;
};

/// Values of `may_take`: an input may be overwritten never, or by any output (a number: by that output; the value of
/// any_from(n): by any output from n on).
inline constexpr int kNever = -1, kAnyOutput = -2;
constexpr int any_from(std::size_t n) { return kAnyOutput - 1 - static_cast<int>(n); }

/// Shared by all blocks of an Executable while they are planned.
struct Table {
  CompileOptions options = {};
  int bases = 1;  // entry 0: the constant pool
  std::vector<std::uint64_t> pool;
  std::size_t inputs = 0, outputs = 0, loops = 0, handles = 0;
  Place constant(std::uint64_t bits);
};
BlockPtr plan(Graph, const std::vector<int>& may_take, Table&);
/// lower, schedule, plan.
BlockPtr compile_block(const Program&, bool nested, const std::vector<int>& may_take, Table&);
/// The same for the body of a scan, which may be pipelined.
BlockPtr compile_body(const ops::Scan&, std::vector<int> may_take, Table&);
}  // namespace bora::exec
