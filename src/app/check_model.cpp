#include "check_model.h"
#include "app/local_every.h"
#include "app/model.h"
#include "app/settings.h"
#include "bora/shard/mesh.h"
#include "bora/train/placement.h"
#include "bora/train/trainable.h"

namespace bora::app {
void check_model(const Settings& settings, const text::Tokenizer& tokenizer, const std::vector<MeshAxis>& axes) {
  auto s = without_auto(settings);
  auto mesh = Mesh::abstract(axes);
  UseMesh on(mesh);
  UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
  (void)trainable_of(s, tokenizer, mesh.shape(), {.init = true});
}
}  // namespace bora::app
