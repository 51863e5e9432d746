// executable_run.h -- the state of a running Executable, and running steps on it.
#pragma once
#include <atomic>
#include <unordered_map>
#include "array/api/given_up.h"
#include "bora/base/trace.h"
#include "ops/api/collective_primitives.h"
#include "compile/run/plan.h"
#include "kernels/api/loop.h"

namespace bora::exec {
/// The table of base pointers and the views that steps hand to kernels. Made once, reused by later runs.
struct State {
  std::vector<char*> base;
  std::vector<InputView> inputs;
  std::vector<OutputView> outputs;
  std::vector<kernels::LoopArgs> loops;
  std::vector<ops::StartedCollective> under_way;
  std::unordered_map<const Node*, std::shared_ptr<const tracing::Label>> labels;  // of nodes that have been traced
  const std::atomic<bool>* given_up = nullptr;  // of the run: null, or a word of `halts`
  MayGiveUp* halts = nullptr;
  State(const Block&, const Table&);
  /// Waits for collectives still in flight and ignores their errors: memory must not be reused while other ranks write
  /// to it.
  void settle() noexcept;
  char* at(Place p) const { return base[static_cast<std::size_t>(p.base)] + p.offset; }
};
/// Runs the steps in order. Adds the primitive, its scope and the user's source line to an error.
void run(const Block&, State&);
/// "dot_general (mlp.up, train.cpp:41)".
std::string where(const Node&);
std::string names_of(const Node&);
}  // namespace bora::exec
