// scoring.h -- the forward pass of a model that was trained over arrays in NumPy's files: bora logits, bora loss.
#pragma once
#include <functional>
#include <string_view>
#include "bora/base/error.h"
#include "bora/job/trained_run.h"

namespace bora {
class Array;
namespace models {
class Scorer;
}  // namespace models
namespace training {
struct Example;
}  // namespace training
}  // namespace bora
namespace bora::job {
/// A run and files of NumPy's with what it is to score.
struct ScoreFiles {
  TrainedRun run = {};
  std::string ids = {}, decoder_ids = {}, mask = {};  // mask, decoder_ids: may be empty
};
/// Reads the files, loads the model on the job's mesh and calls f with the example. `labels`: the file of targets;
/// empty: none. A causal model's targets are the labels of the next position, an
/// encoder's those of its own. Throws ConfigError before the job begins
/// for files that do not fit each other or the model; IoError for files that cannot be read.
int on_example(const ScoreFiles&, const std::string& labels, std::string_view command,
               const std::function<int(models::Scorer&, const training::Example&, const Mesh&)>& f);
/// NaN or infinite scores. on_example says which parameter has such a number (fail_not_finite).
struct NotFiniteResult : ValueError {
  using ValueError::ValueError;
};
/// Scorer::scores as one array on every rank, [batch, position, vocab] with the example's order of axes. Throws
/// NotFiniteResult.
Array all_scores(models::Scorer&, const training::Example&);
/// Scorer::loss over the sum of the example's weights. Throws NotFiniteResult.
double mean_loss(models::Scorer&, const training::Example&);
}  // namespace bora::job
