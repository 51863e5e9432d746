// tasks.h -- the two kinds of Trainable: a model that makes its steps alone, and replicas that make local steps.
#pragma once
#include "bora/train/trainable.h"

namespace bora {
/// Gives every leaf memory of its own (equal constants may share theirs), so that all of them can be donated.
void unshare(tree::Node);
namespace training {
using Params = tree::Any;
using EvaluateFn = std::function<Array(const Params&, const Params& base, const Batch&)>;
using Evaluate = fx::Jitted<EvaluateFn>;
/// Of a task with options.replicas.
std::unique_ptr<Trainable> local_trainable(const Task<Params>&, const StepOptions&);
}  // namespace training
}  // namespace bora
