#include "models/lm/head_loss.h"
#include <limits>
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"

namespace bora::models {
NamedArray squared_error(const NamedArray& scores, const NamedArray& values, const NamedArray& weights) {
  auto off = scores.astype(f32)[{nn::kVocab, 0}] - values;
  return sum(where(weights == 0.0, 0.0, weights * off * off));
}
NamedArray span_loss(const NamedArray& scores, const NamedArray& targets, const NamedArray& weights) {
  auto of = [&](int end) {
    auto s = scores.astype(f32)[{nn::kVocab, end}];
    auto weight = weights[{nn::kPosition, end}];
    auto places = broadcast_to(arange(s.axis(nn::kPosition)), s.axes()),
         place = broadcast_to(targets[{nn::kPosition, end}], s.axes());
    auto loss = logsumexp(s, nn::kPosition) - sum(where(places == place, s, 0.0), nn::kPosition);
    return sum(where(weight == 0.0, 0.0, weight * loss));
  };
  return of(0) + of(1);
}
NamedArray likeliest_spans(const NamedArray& scores, const training::Example& e) {
  auto s = scores.astype(f32);
  auto first = s[{nn::kVocab, 0}], last = rename(s[{nn::kVocab, 1}], {{nn::kPosition, nn::kKeyPosition}});
  auto axes = first.axes(), pairs = axes;
  pairs.push_back(last.axis(nn::kKeyPosition));
  auto places = arange(first.axis(nn::kPosition)), ends = rename(places, {{nn::kPosition, nn::kKeyPosition}});
  auto wide = [&](const NamedArray& x) { return broadcast_to(x, pairs); };
  auto allowed = wide(places) <= wide(ends) && (wide(places) == 0) == (wide(ends) == 0);
  if (e.token_types) {
    auto inside = broadcast_to(places, axes) == 0 || aligned(*e.token_types, axes) == 1;
    allowed = allowed && wide(inside) && wide(rename(inside, {{nn::kPosition, nn::kKeyPosition}}));
  }
  auto both = where(allowed, wide(first) + wide(last), -std::numeric_limits<float>::infinity());
  auto begin = argmax(amax(both, nn::kKeyPosition), nn::kPosition),
       end = argmax(amax(both, nn::kPosition), nn::kKeyPosition);
  auto at = broadcast_to(places, axes);
  return where(at == 0, broadcast_to(begin, axes), broadcast_to(end, axes)).astype(f32);
}
}  // namespace bora::models
