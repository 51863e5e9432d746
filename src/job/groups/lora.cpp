// Rules of adapters with the origin of their base and the mesh.
#include "job/facts.h"

namespace bora::job {
void check_group(const models::LoraSettings& lora, const Facts& facts) {
  if (lora.base.empty()) return;
  auto& from = facts.all.init_from;
  check<ConfigError>(from.only.empty() && from.missing == InitFromSettings::Missing::error, "lora.base: ", lora.base,
                     " needs all numbers of the base from init_from; leave init_from.only and init_from.missing out");
  check<ConfigError>(facts.stages == 1, "lora.base: ", lora.base, ": a layer's integers are on one rank or split along "
                     "other axes than the layers; leave axis 'stage' (", facts.stages, " stages) out of the mesh");
}
}  // namespace bora::job
