// reference.h -- what a reference model says of pairs, asked before a run begins (preference.ahead). Private.
#pragma once
#include <string>
#include "bora/data/dataset.h"
#include "bora/job/forward.h"

namespace bora {
class Mesh;
namespace job {
struct Job;
/// The columns of the run's training rows.
data::RowShape row_shape(const Settings&);
/// The rows with what the model that the run begins with says of them: Row::values has, at the first position of each
/// text, the sum of the log-probabilities of its answer's tokens. That model is made for this, and gone afterwards.
/// digest: of its parameters. The numbers stay in data.cache, if there is one, by their rows, the model and its
/// precision. All ranks call it. ConfigError, IoError.
data::Datasets with_reference(data::Datasets, const Job&, const Mesh&, std::string& digest);
}  // namespace job
}  // namespace bora
