// The law of work over the registry of layers: on a batch that is split each rank computes its rows alone.
#include "nn/core/samples.h"
#include "laws/batch_work.h"

namespace bora::laws::layer_work_test {
namespace {
TEST(LayerWork, OnASplitBatchIsSplit) {
  std::size_t turn = 0, layers = 0;
  for (auto& row : nn::layer_rows())
    for (auto& s : row.samples()) {
      ++layers;
      auto f = [&s](const Arrays& a) {
        return Arrays{s.call(Arrays(a.begin() + 1, a.end()), tree::unflatten(s.x, {a[0]})).array()};
      };
      Batched layer{row.name + " " + s.what, f, {s.x.array().type()}, types_of(s.init(random::key(5)))};
      for (auto& text : broken_batches(layer, turn, 5)) ADD_FAILURE() << text;
    }
  EXPECT_GT(layers, 40u);
}
}  // namespace
}  // namespace bora::laws::layer_work_test
