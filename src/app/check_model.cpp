#include "check_model.h"
#include "app/local_every.h"
#include "bora/train/placement.h"

namespace bora::app {
void check_model(const Settings& settings, const text::Tokenizer& tokenizer, const std::vector<MeshAxis>& axes) {
  auto s = without_auto(settings);
  auto mesh = Mesh::abstract(axes);
  UseMesh on(mesh);
  UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
  s.model->trainable(model_options(s, tokenizer, mesh.shape()))->init(random::key(s.seed));
}
}  // namespace bora::app
