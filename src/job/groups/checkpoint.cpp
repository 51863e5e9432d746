// Rules of checkpoints with evaluations, and of elastic jobs, which continue from them.
#include "job/facts.h"

namespace bora::job {
void check_group(const bora::training::CheckpointSettings& checkpoint, const Facts& facts) {
  auto watcher = checkpoint.needs_evaluations();
  check<ConfigError>(watcher.empty() || facts.all.eval.every > 0, watcher,
                     ": the validation loss is known only where it is evaluated; set eval.every");
  auto& eval = facts.all.eval;
  check<ConfigError>(eval.metric == "loss" || checkpoint.best || eval.patience > 0, "eval.metric: nothing watches '",
                     eval.metric, "'; set eval.patience or checkpoint.best, or leave it out");
}
void check_group(const ElasticSettings& elastic, const Facts& facts) {
  auto& s = facts.all;
  check<ConfigError>(elastic.max == 0 || s.checkpoint.every > 0 || s.checkpoint.minutes > 0,
                     "elastic: after a loss the job goes on from its newest checkpoint; set checkpoint.every "
                     "or checkpoint.minutes");
  check<ConfigError>(elastic.max == 0 || !s.local->on() || s.local->replicas() > 0,
                     "elastic: a run keeps its replicas, whatever the number of ranks; set local.replicas=N");
}
}  // namespace bora::job
