// plan_run.h -- the needs of a run on a mesh that does not exist.
#pragma once
#include "bora/job/forward.h"
#include "bora/train/plan.h"

namespace bora::job {
struct PlannedRun {
  Mesh mesh;                           // abstract, of rank 0
  std::shared_ptr<Trainable> model;    // without numbers
  std::vector<RankClass> classes;
  std::string text;                    // plan_text of all ranks
  std::int64_t parameters = 0, tokens = 0;  // of the model, of a step
};
/// A host like this one, whose job chooses algorithms of collectives as the settings (or their variables) say.
HostModel host_of(const Settings&);
/// Nothing is initialised: each kind of rank is partitioned once, after process() was called. Throws the errors of
/// settings that do not fit.
PlannedRun plan_run(const Settings&, const text::Tokenizer&, const MeshShape&, const Links&, bool pipeline,
                    const std::function<ProcessBytes()>& process);
}  // namespace bora::job
