#include "compile/passes/pass_list.h"
#include "bora/compile/stage.h"

namespace bora::exec {
namespace {
constexpr Pass kPasses[] = {
    {"flatten", flatten, nullptr, "inlines held calls, checkpoints too, and what operations are composed of"},
    {"prune", prune, nullptr, "drops results of scans, branches and loops that nobody reads"},
    {"hoist", hoist, nullptr, "moves what depends on a loop's constants alone in front of the loop"},
    {"push_slices", push_slices, nullptr, "computes values of which only a part is read in that part alone"},
    {"push_windows", push_windows, nullptr, "computes cheap values where windows of them are read"},
    {"split_reductions", split_reductions, nullptr, "makes a reduction over several axes one for each run of axes"},
    {"components", components, nullptr, "reduces arrays of short vectors component by component"},
    {"narrow_moves", narrow_moves, nullptr, "makes elements smaller before they are moved between ranks, not after"},
    {"sums_into_scans", sums_into_scans, &CompileOptions::pipeline,
     "moves sums over ranks of stacked results into the scans"},
    {"elementwise_into_scans", elementwise_into_scans, &CompileOptions::fuse,
     "moves elementwise work on stacked results into the scans"},
    {"coalesce", coalesce, nullptr, "packs small neighbouring collectives into one"},
    {"lower", nullptr, nullptr, "makes nodes: views share memory, constants go to the pool"},
    {"fuse", nullptr, &CompileOptions::fuse, "gathers elementwise work and row reductions into loops"},
    {"pipelined", nullptr, &CompileOptions::pipeline,
     "lowers a scan's body so that its collectives overlap with other iterations"},
    {"cut_edges", nullptr, nullptr, "computes the edges of a loop apart if only they wait for a collective"},
    {"schedule", nullptr, nullptr, "splits collectives into start and wait, and moves the starts up"},
    {"plan", nullptr, nullptr, "gives every value a place and lets results reuse memory"},
};
}  // namespace

std::span<const Pass> passes() { return kPasses; }
std::string_view scope_of(const Pass& p) { return p.run ? "Program" : "block"; }
std::string_view option_of(const Pass& p) {
  return p.option == nullptr ? "" : p.option == &CompileOptions::fuse ? "fuse" : "pipeline";
}
std::string pass_table() {
  std::string r = "| pass | of | option | what it does |\n|---|---|---|---|\n";
  for (auto& p : kPasses) {
    std::string_view option = option_of(p), quote = option.empty() ? "" : "`";
    r.append("| `").append(p.name).append("` | ").append(scope_of(p)).append(" | ");
    r.append(quote).append(option).append(quote).append(" | ").append(p.text).append(" |\n");
  }
  return r;
}
}  // namespace bora::exec
