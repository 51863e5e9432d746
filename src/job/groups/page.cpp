// Rules of the page with trackers, whose numbers it shows.
#include <algorithm>
#include "bora/track/tracker.h"
#include "job/facts.h"

namespace bora::job {
void check_group(const bora::training::PageSettings& page, const Facts& facts) {
  auto draws = [](auto& tracker) { return tracker->file() == "metrics.jsonl"; };
  check<ConfigError>(!page.on() || std::ranges::any_of(facts.all.trackers, draws),
                     "page: it shows the numbers of metrics.jsonl; add jsonl to trackers");
}
}  // namespace bora::job
