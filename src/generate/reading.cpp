#include "generate/reading.h"

namespace bora::generate::engine {
void Reading::read(std::size_t width) {
  if (live.of_prompt(position)) return said.push_back(live.of_prompt(position, scores));
  // Each token is chosen from its own scores, as without drafts: a draft says only whether these are there already.
  for (std::size_t i = 0; (i + 1) * width <= scores.size(); ++i) {
    said.push_back(live.choose(part.key.second, scores.subspan(i * width, width)));
    if (!said.back() || i >= part.drafts.size() || said.back()->id != part.drafts[i]) return;
    if (live.over(part.key.second)) return;
  }
}
}  // namespace bora::generate::engine
