#include "job/facts.h"
#include "job/placement.h"
#include "bora/job/job.h"
#include "bora/nn/axes.h"
#include "bora/text/tokenizer.h"

namespace bora::job {
Facts::Facts(const Settings& s, const text::Tokenizer& tokenizer, int ranks, std::string_view why)
    : all(s), purpose(why), mesh(resolve_mesh(s.mesh, ranks)) {
  mappings = mappings_of(s, *mesh);
  batch_axes = bora::batch_axes(mappings.compute, *mesh);
  stages = mesh->parts(placement_of({{nn::kLayers, 1}}, mappings.compute, *mesh).spec[0]);
  vocabulary = vocabulary_of(s, tokenizer);
  rows = s.batch / s.accumulate;
}
bool Facts::has_shares(const MeshAxes& axes) const {
  return !mesh->equal(axes) || (all.mesh.shares.automatic() && axes.has(AxisName(mesh_axes::kData)));
}
void check_groups(const Facts& facts) {
  fields::for_each(facts.all, [&](std::string_view, auto& group) {
    if constexpr (requires { check_group(group, facts); }) check_group(group, facts);
  });
}
MeshShape checked_mesh(const Settings& s, const text::Tokenizer& tokenizer, int ranks, std::string_view purpose) {
  Facts facts(s, tokenizer, ranks, purpose);
  check_groups(facts);
  for (auto& at : s.batch_at) {
    auto later = s;
    later.batch = at.batch;
    check_groups(Facts(later, tokenizer, ranks, purpose));
  }
  return *facts.mesh;
}
}  // namespace bora::job
