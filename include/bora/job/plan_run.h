// plan_run.h -- the needs of a run on a mesh that does not exist.
#pragma once
#include "bora/job/forward.h"
#include "bora/train/plan.h"

namespace bora::job {
struct PlannedRun {                  // its model, and its needs
  Mesh mesh;                         // abstract, of rank 0
  std::shared_ptr<Trainable> model;  // without numbers
  std::vector<RankClass> classes;
  std::string text;                    // plan_text of all ranks
  MeshAxes over = {};                  // mesh axes that split the rows
  std::int64_t parameters = 0, tokens = 0;  // of the model, of a step
  std::int64_t stored = 0;                  // bytes of a checkpoint
};
/// A host like this one, whose job chooses algorithms of collectives as the settings (or their variables) say.
HostModel host_of(const Settings&);
/// Nothing is initialised: each kind of rank is partitioned once, after process() was called. Throws the errors of
/// settings that do not fit.
PlannedRun plan_run(const Settings&, const text::Tokenizer&, const MeshShape&, const MeshLinks&, bool pipeline,
                    const std::function<ProcessBytes()>& process);
/// The stages, the rules that the axes of parameters and of a step's arrays took (placement_text), and host_table.
std::string layout_text(const PlannedRun&, const Settings&);
/// For plan_run: the memory of a process with these threads that began as this one is now. Kernels that one kind of
/// rank has compiled are in the caches of this process for the next one, so the most so far counts.
std::function<ProcessBytes()> process_with(std::int64_t threads);
}  // namespace bora::job
