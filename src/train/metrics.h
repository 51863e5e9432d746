// metrics.h -- what an evaluation says besides the loss of what a model predicts that is no token.
#pragma once
#include <span>
#include <utility>
#include <vector>
#include "bora/data/dataset.h"
#include "bora/track/tracker.h"

namespace bora::training {
/// What was predicted beside what stands there, in the order of rows.
class Predictions {
 public:
  Predictions() = default;
  /// Of Trainable::evaluate, behind its two sums: positions with a weight of 0 do not count.
  void add(std::span<const float> numbers);
  void add(const Predictions& more);
  /// accuracy and macro_f1 of classes, the mean of the classes' F1 that occur; Spearman's correlation of numbers, with
  /// mean ranks of equal ones; exact_match and f1 of spans, each a mean over rows: whether both ends are the same, and
  /// the harmonic mean of the parts of either span that both share (Rajpurkar et al. 2016), in tokens. Each name begins
  /// with `prefix`; nothing without predictions. Of similarities as of numbers, of partners the accuracy.
  void append(data::Prediction, const std::string& prefix, track::Values& values) const;

 private:
  std::vector<std::pair<float, float>> all_ = {};
};
/// Whether a number of an evaluation grows as the model learns.
bool grows(std::string_view metric);
}  // namespace bora::training
