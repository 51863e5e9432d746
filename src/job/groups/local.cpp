// Rules of local steps with the optimizer, the model, the batch and its mesh.
#include "bora/models/parameter.h"
#include "bora/nn/axes.h"
#include "bora/optim/kind.h"
#include "bora/shard/link_speed.h"
#include "job/facts.h"

namespace bora::job {
void check_group(const bora::training::NormSettings& norms, const Facts& facts) {
  check<ConfigError>(norms.every == 0 || !facts.all.local->on(),
                     "norms: replicas that train alone have no common gradient; leave it out, or local");
}
namespace {
/// Each stack of layers is cut into the fragments.
void check_fragments(const Facts& facts) {
  auto& s = facts.all;
  auto n = s.local->fragments();
  if (n == 1) return;
  for (auto& p : s.model->parameters(facts.vocabulary))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || n <= axis.size, "local.fragments: ", n, " is more than the ",
                         axis.size, " layers of the model (", p.path, ")");
}
}  // namespace
void check_group(const config::Choice<bora::training::LocalKind>& local, const Facts& facts) {
  auto& s = facts.all;
  bool skips = s.optimizer->common.skip_not_finite != 0 || s.precision.loss_scale.dynamic();
  check<ConfigError>(!local->on() || !skips,
                     "local: steps that are left out (optimizer.skip_not_finite, precision.loss_scale=dynamic) "
                     "would differ between replicas; leave these at their defaults");
  check<ConfigError>(!local->on() || !s.optimizer->estimates_hessian(), "optimizer: ", s.optimizer->type(),
                     " estimates a Hessian of the whole batch, and replicas of local steps have their own ones; leave "
                     "local out");
  if (auto link = local->link(); !link.empty()) (void)read_link(link, "local.link");
  if (!facts.mesh) return;
  bora::training::check_local(*local, *facts.mesh, facts.batch_axes, s.batch, s.accumulate);
  check_fragments(facts);
}
}  // namespace bora::job
