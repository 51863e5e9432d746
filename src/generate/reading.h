// reading.h -- what the scores of a step say: a token of a prompt, or the next tokens of a choice.
#pragma once
#include <optional>
#include <span>
#include <vector>
#include "generate/live.h"
#include "generate/scheduler.h"

namespace bora::generate::engine {
/// Of one prompt's token, or of a token that has none behind it but drafts. Readings do not depend on each other.
struct Reading {
  Live& live;
  const Part& part;
  std::int64_t position;         // of the first token whose scores these are
  std::span<const float> scores;
  /// One for each token of the scores, up to the first after which a draft is wrong; none: they are not finite.
  std::vector<std::optional<Chosen>> said = {};

  /// width: scores of a token.
  void read(std::size_t width);
};
}  // namespace bora::generate::engine
