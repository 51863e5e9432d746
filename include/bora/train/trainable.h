// trainable.h -- a model in training, without its type: state, staged steps and evaluations.
#pragma once
#include <map>
#include <memory>
#include "bora/io/tree.h"
#include "bora/named/mapping.h"
#include "bora/train/step.h"
#include "bora/tree/any.h"

namespace bora {
/// One global batch; each rank gave the rows it read.
struct Batch {
  training::Example example;
  /// f32 [ranks, notes]: 1 where a rank was asked to stop; then positions of its rows that are no padding, in all and
  /// by source, told by one rank of those that read the same rows.
  Array notes;
};
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void init(const Array& key) = 0;  // parameters and optimizer state, born in their storage
  virtual tree::Node state() = 0;
  virtual tree::Node parameters() = 0;  // those in the state
  virtual bool trains(const std::string& path) const = 0;  // a parameter of the state, which has a gradient
  virtual tree::Node base() = 0;        // the others, which no checkpoint holds: of a model that adapters stand beside
  virtual tree::Node optimizer_state() = 0;
  virtual Array step(const Batch&) = 0;      // one update; f32: loss, gradient norm, learning rate, sums of notes
  virtual Array evaluate(const Batch&) = 0;  // f32 [2]: sum of losses, number of tokens
  virtual ProgramPtr step_program(const Batch&) = 0;  // of step(), staged
  virtual Arrays step_arguments(const Batch&) = 0;
  /// What step() runs beside that, or instead, at meetings of replicas, with its arguments, the state first: those that
  /// need the most memory.
  virtual std::vector<std::pair<ProgramPtr, Arrays>> meeting_programs(const Batch&) { return {}; }
  /// What evaluate() runs, with its arguments, where it may need more memory than step(): rows that a step takes in
  /// parts are evaluated at once.
  virtual std::optional<std::pair<ProgramPtr, Arrays>> evaluation_program(const Batch&) { return none; }
  /// The axes of the arrays that step() lays out by the current mapping, parameters too; known once it is staged.
  virtual std::vector<std::vector<Axis>> activations() const { return {}; }
  /// Of the meeting of replicas whose result the last step() found: "round", "outer_gradient_norm" and, if parameters
  /// meet in fragments, "fragment"; empty if there was none.
  virtual std::vector<std::pair<std::string, double>> meeting() const { return {}; }
  /// All but the parameters as in a first state, after these were set from outside: the optimizer's state and replicas
  /// follow from them.
  virtual void begin_around_parameters() = 0;
  using Notes = std::map<std::string, std::string>;
  /// What a checkpoint after `step` says beside the state; and takes what the one says that this run continues. Throws
  /// CheckpointError if its state does not fit these settings.
  virtual Notes notes(std::int64_t /*step*/) const { return {}; }
  virtual void take(const Notes&, std::int64_t /*step*/) {}
};

namespace training {
/// The same task for a model whose type is known at run time only; it holds a Params.
template <class Params> Task<tree::Any> erased(Task<Params> task) {
  Task<tree::Any> t{
      .init = [f = std::move(task.init)](const Array& key) { return tree::Any(f(key)); },
      .loss = [f = std::move(task.loss)](const tree::Any& p, const Example& e, const std::optional<Array>& key) {
        return f(p.get<Params>(), e, key);
      },
      .weights = std::move(task.weights)};
  if (task.evaluation)
    t.evaluation = [f = std::move(task.evaluation)](const tree::Any& p, const Example& e) {
      return f(p.get<Params>(), e);
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
std::unique_ptr<Trainable> trainable(Task<tree::Any> task, StepOptions options);
template <class Params> std::unique_ptr<Trainable> trainable(Task<Params> task, StepOptions options) {
  return trainable(training::erased(std::move(task)), std::move(options));
}
}  // namespace bora
