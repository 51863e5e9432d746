#include "bora/fx/lower.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "fx/retrace.h"

namespace bora {
namespace fx {
CompiledFlat::CompiledFlat(Staged s) : staged_(std::move(s)), executable_(executable(staged_.program)) {}
Arrays CompiledFlat::operator()(Arrays in) const {
  append(in, staged_.captures);
  return run_jit(staged_.program, std::move(in));
}
RunCost CompiledFlat::cost() const { return {executable_->info().flops, executable_->info().moved_bytes}; }
MemoryUse CompiledFlat::memory() const {
  auto& i = executable_->info();
  return {i.input_bytes, i.output_bytes, i.slab_bytes};
}
std::string CompiledFlat::text() const { return executable_->explain(); }
void check_lowered_for(tree::Node want, tree::Node got, std::size_t number) {
  auto difference = tree::first_difference(want, got, tree::Same::types);
  check<ShapeError>(difference.empty(), "a compiled function is called with another argument ", number,
                    " than it was lowered for: ", difference);
}
void check_inputs(const Program& p, const Arrays& in, std::size_t captures) {
  auto want = p.in_types();
  want.resize(want.size() - captures);
  check<ShapeError>(in.size() == want.size(), "a loaded function takes ", want.size(), " arrays, got ", in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    check<ShapeError>(
        in[i].type() == want[i], "a loaded function: ",
        [&] { return i < p.labels.size() && !p.labels[i].empty() ? p.labels[i] : "array " + std::to_string(i); },
        " should be ", want[i], ", got ", in[i].type());
}
}  // namespace fx
Arrays LoadedFunction::run(Arrays leaves) const {
  fx::check_inputs(*staged_.program, leaves, staged_.captures.size());
  fx::append(leaves, staged_.captures);
  return fx::run_jit(staged_.program, std::move(leaves));
}
LoadedFunction load_function(const std::string& path) { return LoadedFunction(read_program(path)); }
}  // namespace bora
