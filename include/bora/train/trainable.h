// trainable.h -- a model in training, without its type: state, staged steps and evaluations.
#pragma once
#include <map>
#include "bora/array/rules.h"
#include "bora/named/axis.h"
#include "bora/tree/node.h"

namespace bora {
struct GlobalBatch;
/// A model in training: its state, one update, one evaluation.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual void init(const Array& key) = 0;  // parameters and optimizer state, born in their storage
  virtual tree::Node state() = 0;
  virtual tree::Node parameters() = 0;  // those in the state
  virtual bool trains(const std::string& path) const = 0;  // a parameter of the state, which has a gradient
  virtual tree::Node base() = 0;        // the others, which no checkpoint holds: of a model that adapters stand beside
  /// Whether base() has the parameters that a run begins with, beside which its loss measures the trained ones.
  virtual bool holds_reference() const { return false; }
  virtual tree::Node optimizer_state() = 0;
  virtual Array step(const GlobalBatch&) = 0;      // one update; f32: loss, gradient norm, learning rate, sums of notes
  /// Somebody holds leaves of the state: the next step leaves the memory of its state as it is, and takes new memory
  /// for the next state. A Trainable that does not know this is right as well, with a warning and copies.
  virtual void keep_state() {}
  /// f32 [2 + numbers ..]: sum of losses, number of tokens (TrainTask::weights), sums of the numbers of measured(). A
  /// model of classes or numbers goes on with TrainTask::predictions as a list.
  virtual Array evaluate(const GlobalBatch&) = 0;
  virtual std::vector<std::string> measured() const { return {}; }  // names of numbers beside the loss
  virtual ProgramPtr step_program(const GlobalBatch&) = 0;  // of step(), staged
  virtual Arrays step_arguments(const GlobalBatch&) = 0;
  /// Programs that step() runs beside that, or instead, at meetings of replicas, with their arguments, the state first:
  /// those that need the most memory.
  virtual std::vector<std::pair<ProgramPtr, Arrays>> meeting_programs(const GlobalBatch&) { return {}; }
  /// The program that evaluate() runs, with its arguments, where it may need more memory than step(): rows that a step
  /// takes in parts are evaluated at once.
  virtual std::optional<std::pair<ProgramPtr, Arrays>> evaluation_program(const GlobalBatch&) { return none; }
  /// The axes of the arrays that step() lays out by the current mapping, parameters too; known once it is staged.
  virtual std::vector<std::vector<Axis>> activations() const { return {}; }
  /// Numbers of the meeting of replicas whose result the last step() found: "round", "outer_gradient_norm" and, if
  /// parameters meet in fragments, "fragment"; empty if there was none.
  virtual std::vector<std::pair<std::string, double>> meeting() const { return {}; }
  /// The norms of each trained leaf that the last step() found, of its gradient and, before the step, of itself, by the
  /// leaf's path: "grad/norm/PATH" and "params/norm/PATH". Empty without StepOptions::leaf_norms. All ranks call it.
  virtual std::vector<std::pair<std::string, double>> leaf_norms() const { return {}; }
  /// Of the last step() on rows of several sources: {the sum of losses, the sum of weights} of each; else empty. All
  /// ranks call it.
  virtual std::vector<std::pair<double, double>> losses_by_source() const { return {}; }
  /// The run ends after `step`, though it was to end later: what has to be done once after its last step is done.
  /// Returns whether the parameters that evaluations read have changed.
  virtual bool end(std::int64_t /*step*/) { return false; }
  /// All but the parameters as in a first state, after these were set from outside: the optimizer's state and replicas
  /// follow from them. Where base() is a reference, it was set, and the parameters follow from it too.
  virtual void begin_around_parameters() = 0;
  using Notes = std::map<std::string, std::string>;
  /// Extra key/value notes stored with the checkpoint of `step`; take() reads those of the resumed one. Throws
  /// CheckpointError if its state does not fit these settings.
  virtual Notes notes(std::int64_t /*step*/) const { return {}; }
  virtual void take(const Notes&, std::int64_t /*step*/) {}
};

}  // namespace bora
