// passes.h -- the table of the passes between a staged Program and its steps, in their order.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bora {
struct CompileOptions;
struct Program;
namespace exec {
/// One rewrites a whole Program; those without a function work on each block, within compile_block (run/plan.h).
struct Pass {
  std::string_view name;
  std::shared_ptr<const Program> (*run)(const std::shared_ptr<const Program>&);
  bool CompileOptions::*option;  // without it the pass is left out; null: it always runs
  std::string_view text;
};
std::span<const Pass> passes();
/// "Program" or "block".
std::string_view scope_of(const Pass&);
/// The name of its option; empty: it has none.
std::string_view option_of(const Pass&);
/// The table of docs/architecture.md.
std::string pass_table();
}  // namespace exec
}  // namespace bora
