// task.h -- a task with its state as a Trainable.
#pragma once
#include "bora/train/batch.h"
#include "bora/train/step.h"
#include "bora/train/trainable.h"
#include "bora/tree/any_base.h"

namespace bora {
namespace training {
/// The same task for a model whose type is known at run time only; it holds a Params.
template <class Params> TrainTask<tree::Any> erased(TrainTask<Params> task) {
  TrainTask<tree::Any> t{
      .init = [f = std::move(task.init)](const Array& key) { return tree::Any(f(key), tree::unsaved); },
      .loss = [f = std::move(task.loss)](const tree::Any& p, const Example& e, const std::optional<Array>& key) {
        return f(p.get<Params>(), e, key);
      },
      .weights = std::move(task.weights)};
  if (task.evaluation)
    t.evaluation = [f = std::move(task.evaluation)](const tree::Any& p, const Example& e) {
      return f(p.get<Params>(), e);
    };
  if (task.predictions)
    t.predictions = [f = std::move(task.predictions)](const tree::Any& p, const Example& e) {
      return f(p.get<Params>(), e);
    };
  if (task.loss_beside)
    t.loss_beside = [f = std::move(task.loss_beside)](const tree::Any& p, const tree::Any& beside, const Example& e,
                                                      const std::optional<Array>& key) {
      return f(p.get<Params>(), beside.get<Params>(), e, key);
    };
  t.measured = std::move(task.measured);
  t.by_row = task.by_row;
  if (task.measures)
    t.measures = [f = std::move(task.measures)](const tree::Any& p, const tree::Any& beside, const Example& e) {
      return f(p.get<Params>(), beside.get<Params>(), e);
    };
  return t;
}
/// The options of the step's local part, with its storage and its choice of parameters.
local::Options local_options(const StepOptions&);
/// The rules of storage for a state of replicas.
AxisMapping with_replicas(const AxisMapping& storage);
/// A key for each replica; that of a single one is the run's own.
Array key_of_each(const Array& key, const Axis& replica);
/// The rows of each replica: [replica, batch, ..], replica m those from m * batch / replicas on. Every rank keeps its
/// rows.
Example of_each(Example, const Axis& replica);
}  // namespace training
/// The task with its state: of one model or, with options.replicas, of models that make local steps.
std::unique_ptr<Trainable> trainable(TrainTask<tree::Any> task, StepOptions options);
template <class Params> std::unique_ptr<Trainable> trainable(TrainTask<Params> task, StepOptions options) {
  return trainable(training::erased(std::move(task)), std::move(options));
}
}  // namespace bora
