#include "job/kept.h"
#include <cmath>
#include "base/api/file.h"
#include "base/api/paths.h"
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/optim/kind.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "shard/api/agree.h"
#include "train/api/keep.h"

namespace bora::job {
std::string kept_below(const std::string& run) {
  auto file = run + "/config.yaml";
  return is_there(file) ? parse_settings(read_file<ConfigError>(file), file).checkpoint.below(run) : run;
}
std::optional<io::Keep> keep_of_run(const std::string& run) {
  std::optional<io::Keep> r;
  auto file = run + "/config.yaml";
  (void)error_of([&] {
    r = bora::training::keep_of(parse_settings(read_file<ConfigError>(file), file).checkpoint.keep);
  });
  return r;
}
std::string best_kept(const std::string& run) {
  auto keep = keep_of_run(run);
  if (!keep || keep->best.n == 0) return {};
  std::string folder;
  double least = INFINITY;
  for (auto& seen : io::look_at_checkpoints(kept_below(run) + "/checkpoints")) {
    auto found = seen.kept.metrics.find(keep->best.metric);
    if (!seen.problem.empty() || found == seen.kept.metrics.end()) continue;
    auto value = keep->best.max ? -found->second : found->second;
    if (value < least) least = value, folder = seen.folder;
  }
  return folder;
}
}  // namespace bora::job
