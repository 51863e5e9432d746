// pipeline_plan.h -- the number of parts into which a pipeline cuts the rows, and the order of its work.
#pragma once
#include <cstdint>
#include <string_view>

namespace bora::nn {
/// The order of a stage's work where the pipeline computes the losses of microbatches itself (pipeline_loss).
enum class Schedule : std::uint8_t {
  gpipe,                     // the forward passes of all microbatches, then their losses, then the backward passes
  one_forward_one_backward,  // 1F1B: the backward pass of a microbatch as soon as it can be
};
/// By its word in settings: gpipe or 1f1b. Throws ConfigError for another one.
Schedule parse_schedule(std::string_view word);
/// The share of a stage's time in which it has nothing to do: (stages - 1) / (microbatches + stages - 1).
double pipeline_bubble(std::int64_t stages, std::int64_t microbatches);
/// The most parts of the rows, up to 4 a stage, of which each spreads evenly over `ranks`; else the most that divide
/// the rows at all.
std::int64_t default_microbatches(std::int64_t rows, std::int64_t stages, std::int64_t ranks = 1);
}  // namespace bora::nn
