// The same model, bit for bit, initialised on any mesh: no rank ever holds the whole model. Ranks are threads of this
// process here; with Mesh::from_environment the same lines run on processes and hosts.
#include <bora/bora.h>
#include <bora/models/gpt2.h>
#include <iostream>
using namespace bora;

int main() {
  models::Gpt2Config config{.layers = 2, .embed = 64, .heads = 4, .positions = 32};
  constexpr std::int64_t vocabulary = 256;
  struct Layout {
    const char* name;
    std::vector<MeshAxis> mesh;
    AxisMapping storage;
  };
  std::vector<Layout> layouts{
      {"1 rank", {{"data", 1}}, {}},
      {"2 ranks, FSDP", {{"data", 2}}, {{"embed", "data"}}},
      {"2 ranks, tensor parallel", {{"model", 2}}, {{"heads", "model"}, {"mlp", "model"}, {"vocab", "model"}}},
      {"3 x 2 ranks, both",
       {{"data", 3}, {"model", 2}},
       {{"embed", "data"}, {"heads", "model"}, {"mlp", "model"}, {"vocab", "model"}}}};
  std::vector<float> first;
  bool same = true;
  for (auto& layout : layouts) {
    local_mesh(layout.mesh, [&](const Mesh& mesh) {
      auto first_values = [&](const Array& key) { return models::Gpt2::init(config, vocabulary, key); };
      auto init = named_jit(first_values, {.out = layout.storage});
      auto model = init(random::key(42));
      std::size_t mine = 0, total = 0;
      std::vector<float> all;
      for (auto& leaf : tree::leaves(model)) {
        mine += local_block(leaf).block.nbytes();
        total += leaf.nbytes();
        auto v = leaf.to_vector<float>();  // gathered, to compare; a real run never does this
        all.insert(all.end(), v.begin(), v.end());
      }
      if (mesh.rank() != 0) return;
      if (first.empty()) first = all;
      same = same && all == first;
      std::cout << layout.name << ": rank 0 holds " << mine << " of " << total << " bytes, "
                << (all == first ? "the same bits" : "OTHER BITS") << "\n";
    });
  }
  return same ? 0 : 1;
}
