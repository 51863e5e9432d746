#include "models/lm/text_pairs.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/named/reduce.h"
#include "bora/nn/axes.h"
#include "bora/ops/manipulation.h"
#include "models/lm/halves.h"
#include "models/lm/initial.h"

namespace bora::models {
namespace {
using tree::Any;
using training::Example;
constexpr const char* kPartner = "partner";  // the batch's second texts

/// 1 for each pair with two texts: others fill batches.
NamedArray counted_pairs(const Example& e) {
  auto [first, second] = apart(sum(halves_as_rows(e.weights), nn::kPosition));
  return (first > 0.0 && second > 0.0).astype(f32);
}
struct Comparing {
  AnyModelPtr model;
  ModelOptions options;

  /// The vectors of first and second texts, f32 [batch, embed].
  std::pair<NamedArray, NamedArray> vectors(const Any& m, const Example& e, const std::optional<Array>& key) const {
    nn::PipelineOptions layers{.checkpoint = remat::parse(model->checkpoint)};
    Example texts{.tokens = halves_as_rows(e.tokens), .targets = halves_as_rows(e.targets),
                  .weights = halves_as_rows(e.weights)};
    texts.mask = (texts.weights != 0.0).astype(i32);
    auto x = model->hidden(options.policy.cast_to_compute(m), texts, key, layers);
    return apart(x[{nn::kPosition, 0}].astype(f32));
  }
  static NamedArray cosines(const NamedArray& a, const NamedArray& b) {
    auto lengths = sum(a * a, nn::kEmbed) * sum(b * b, nn::kEmbed);
    return sum(a * b, nn::kEmbed) * rsqrt(maximum(lengths, 1e-24));
  }
  /// Products of each first text with all second texts, [batch, partner]; those of fillers are no partners.
  static NamedArray products(const NamedArray& a, const NamedArray& b, const NamedArray& counts) {
    auto partners = [](const NamedArray& x) { return auto_sharded(rename(x, {{nn::kBatch, kPartner}})); };
    auto all = dot(a, partners(b), nn::kEmbed);
    return where(broadcast_to(partners(counts), all.axes()) != 0.0, all, -1e30);
  }
  NamedArray loss(const Any& m, const Example& e, const std::optional<Array>& key) const {
    auto [a, b] = vectors(m, e, key);
    auto counts = counted_pairs(e);
    auto of_rows = e.values ? square(cosines(a, b) - (*e.values)[{nn::kPosition, 0}])
                            : logsumexp(products(a, b, counts), kPartner) - sum(a * b, nn::kEmbed);
    return sum(where(counts != 0.0, of_rows, 0.0));
  }
  /// What is predicted of each row, what stands there, and whether it counts: at the row's first place.
  Array predictions(const Any& m, const Example& e) const {
    auto [a, b] = vectors(m, e, none);
    auto counts = counted_pairs(e);
    auto got = e.values ? cosines(a, b) : argmax(products(a, b, counts), kPartner).astype(f32);
    auto want = e.values ? (*e.values)[{nn::kPosition, 0}] : arange(e.tokens.axis(nn::kBatch)).astype(f32);
    auto axes = e.tokens.axes();
    auto first = broadcast_to(arange(e.tokens.axis(nn::kPosition)), axes) == 0;
    Arrays all;
    for (auto& x : {got, want, counts}) all.push_back(where(first, broadcast_to(x, axes), 0.0).array());
    return stack(all);
  }
};
}  // namespace

TrainTask<Any> text_pairs_task(const AnyModelPtr& model, const ModelOptions& options) {
  Comparing c{model, options};
  return {.init = [model, how = Initial{options.policy, options.integers(), options.drawn}](
                      const Array& key) { return initial(*model, how, key); },
          .loss = [c](const Any& m, const Example& e, const std::optional<Array>& key) { return c.loss(m, e, key); },
          .weights = counted_pairs,
          .predictions = [c](const Any& m, const Example& e) { return c.predictions(m, e); }};
}
}  // namespace bora::models
