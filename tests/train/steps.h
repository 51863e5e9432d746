// steps.h -- batches of steps, and the numbers that steps lead to.
#pragma once
#include <cstdint>
#include <vector>
#include "bora/data/dataset.h"
#include "bora/train/trainer.h"

namespace bora::test {
struct Place {  // of a row
  std::int32_t token, target;
  float weight;
};
/// A rank's part of a step's batch; f(i) is what stands at the i-th place of all steps.
template <class F>
GlobalBatch batch_of(std::int64_t step, const Mesh& mesh, std::int64_t batch, std::int64_t positions, const F& f) {
  auto mine = rows_of_rank(batch, mesh);
  auto rows = data::Rows::zeros(mine.begin, mine.end, {positions});
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    Place p = f((step * batch + mine.begin) * positions + static_cast<std::int64_t>(i));
    rows.tokens[i] = p.token, rows.targets[i] = p.target, rows.weights[i] = p.weight;
  }
  return make_batch(rows, batch, mesh);
}
inline void append(std::vector<float>& to, const Array& x) {
  auto v = x.astype(f32).to_vector<float>();
  to.insert(to.end(), v.begin(), v.end());
}
/// All numbers of a tree but random keys.
inline std::vector<float> numbers_of(tree::Node t) {
  std::vector<float> r;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined() && slot.leaf.get().dtype() != Dtype::key) append(r, slot.leaf.get());
  return r;
}
}  // namespace bora::test
