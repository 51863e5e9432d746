// kept.h -- the checkpoints that a run keeps, by the settings in its folder.
#pragma once
#include <optional>
#include <string>
#include "io/api/retention.h"

namespace bora::job {
/// The folder below which the checkpoints of a run are on this host: the run's own, or that of checkpoint.local.
std::string kept_below(const std::string& run);
/// What the settings of a run keep; none if it has no settings that can be read.
std::optional<io::Keep> keep_of_run(const std::string& run);
/// The folder of the best checkpoint by checkpoint.keep.best; empty if none is kept for that.
std::string best_kept(const std::string& run);
}  // namespace bora::job
