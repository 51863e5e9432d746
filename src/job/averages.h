// averages.h -- the mean of a run's parameters (optimizer.ema) in place of the parameters. Private.
#pragma once
#include <string>
#include "bora/tree/node.h"

namespace bora::io {
struct Place;
}  // namespace bora::io
namespace bora::job {
/// Replaces these parameters, which the checkpoint has below "params", by the mean that the optimizer has kept of them
/// with this decay, divided by what its start from 0 leaves of it. Parameters that were not trained have none, and
/// stay. All ranks. Throws ConfigError if the checkpoint has no mean.
void take_averages(tree::Node parameters, const std::string& folder, double decay, const io::Place&);
}  // namespace bora::job
