// choosing_steps.h -- the functions that change a row of scores before a token is drawn from it: one table, in the
// order in which they are applied.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "bora/generate/choosing.h"

namespace bora::generate {
/// The scores of the tokens that may still be chosen. Minus infinity: it may not, though it is here.
struct Row {
  std::vector<float> scores = {};
  std::vector<std::int32_t> ids = {};  // of these scores, in order; empty: 0, 1, ..
  std::int32_t id(std::size_t at) const { return ids.empty() ? static_cast<std::int32_t>(at) : ids[at]; }
  /// Only these places stay, which are in order.
  void keep(const std::vector<std::int32_t>& places);
};
/// The tokens before the one that is chosen.
struct Before {
  std::unordered_map<std::int32_t, std::int64_t> tokens = {};  // of prompt and answer: how often it is in the answer
  std::vector<std::int32_t> ends = {};                         // tokens that end the answer
  std::int64_t given = 0;                                      // tokens of the answer
  std::span<const std::uint64_t> allowed = {};                 // by the grammar: a bit for each token
  bool whole = false;                                          // what was given is a text of the grammar
};
struct ChoosingStep {
  std::string_view name, meaning;
  bool draws;  // only where a token is drawn: temperature is not 0
  bool (*acts)(const Choosing&);
  void (*apply)(Row&, const Choosing&, const Before&);
};
/// The table. A step before the temperature sees all scores, at the places of their ids.
std::span<const ChoosingStep> choosing_steps();
}  // namespace bora::generate
