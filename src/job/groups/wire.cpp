// Rules of sums of gradients: on the wire, and with the same bits on any number of ranks.
#include "bora/optim/kind.h"
#include "job/facts.h"

namespace bora::job {
void check_group(const bora::training::WireSettings& wire, const Facts& facts) {
  if (!wire.carries()) return;
  auto& s = facts.all;
  auto what = wire.low_rank() ? "wire.gradients: powersgd" : "wire.error_feedback: it";
  check<ConfigError>(!s.local->on(), what,
                     " is of sums in every step, replicas of local steps meet after several; leave one of both "
                     "out (local.wire rounds what replicas send)");
  bool dims = !s.mesh.has_layout();
  auto how = dims ? Layout{} : parse_layout(s.mesh.layout);
  check<ConfigError>(!dims && !how.fsdp && !how.tp, what, " needs whole gradients on every rank, but ",
                     dims ? "mesh.rules and dims split" : "layout " + s.mesh.layout + " splits",
                     " parameters; set layout=dp");
  if (!facts.mesh) return;
  auto& mesh = *facts.mesh;
  check<ConfigError>(!facts.has_shares(facts.batch_axes), "wire: residuals and factors stay on their ranks, which "
                     "shares (mesh.shares: ", to_string(s.mesh.shares), ") would move; leave mesh.shares out, or "
                     "wire.error_feedback and powersgd");
  for (auto name : {mesh_axes::kStage, mesh_axes::kContext})
    check<ConfigError>(!mesh.has(AxisName(name)) || mesh.axis_size(AxisName(name)) == 1,
                       "wire: residuals and factors are of gradients that are whole on every rank; leave axis '", name,
                       "' out of the mesh, or wire.error_feedback and powersgd");
}
void check_group(const ReproducibleSettings& reproducible, const Facts& facts) {
  auto& s = facts.all;
  using Gradients = bora::training::WireSettings::Gradients;
  check<ConfigError>(!s.local->on() || reproducible.virtual_ == 0,
                     "reproducible.virtual: replicas of local steps have their own sums; leave one of both out");
  check<ConfigError>(s.wire.gradients == Gradients::f32 || reproducible.virtual_ == 0,
                     "reproducible.virtual: gradients that travel rounded (wire) depend on the ranks that round "
                     "them; set wire=f32");
  check<ConfigError>(!s.optimizer->estimates_hessian() || reproducible.virtual_ == 0,
                     "reproducible.virtual: the optimizer ", s.optimizer->type(), " estimates a Hessian by sums over "
                     "the ranks there are; leave one of both out");
  if (!facts.mesh) return;
  check<ConfigError>(reproducible.virtual_ == 0 || !facts.has_shares(facts.batch_axes),
                     "reproducible.virtual: its parts are equal, but ranks have shares of the batch (mesh.shares: ",
                     to_string(s.mesh.shares), "); leave one of both out");
  bora::training::check_virtual(reproducible.virtual_, facts.mappings, *facts.mesh, s.batch, s.accumulate);
}
}  // namespace bora::job
