// pass_list.h -- the passes between a staged Program and its steps, in their order.
#pragma once
#include <span>
#include <string>
#include "compile/api/executable.h"

namespace bora::exec {
/// One rewrites a whole Program; those without a function work on each block, within compile_block (run/plan.h).
struct Pass {
  std::string_view name;
  ProgramPtr (*run)(const ProgramPtr&);
  bool CompileOptions::*option;  // without it the pass is left out; null: it always runs
  std::string_view text;
};
std::span<const Pass> passes();
/// The table of docs/architecture.md.
std::string pass_table();

ProgramPtr prune(const ProgramPtr&);
ProgramPtr hoist(const ProgramPtr&);
ProgramPtr push_slices(const ProgramPtr&);
ProgramPtr push_windows(const ProgramPtr&);
ProgramPtr split_reductions(const ProgramPtr&);
ProgramPtr components(const ProgramPtr&);
ProgramPtr sums_into_scans(const ProgramPtr&);
ProgramPtr elementwise_into_scans(const ProgramPtr&);
}  // namespace bora::exec
