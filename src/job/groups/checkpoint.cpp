// Rules of checkpoints, and of elastic jobs, which continue from them.
#include "job/facts.h"

namespace bora::job {
void check_group(const bora::training::CheckpointSettings& checkpoint, const Facts& facts) {
  check<ConfigError>(!checkpoint.best || facts.all.eval.every > 0,
                     "checkpoint.best: the validation loss is known only where it is evaluated; set eval.every");
}
void check_group(const ElasticSettings& elastic, const Facts& facts) {
  auto& s = facts.all;
  check<ConfigError>(elastic.max == 0 || s.checkpoint.every > 0,
                     "elastic: after a loss the job goes on from its newest checkpoint; set checkpoint.every");
  check<ConfigError>(elastic.max == 0 || !s.local->on() || s.local->replicas() > 0,
                     "elastic: a run keeps its replicas, whatever the number of ranks; set local.replicas=N");
}
}  // namespace bora::job
