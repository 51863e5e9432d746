#include "bora/job/sampling.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::job {
namespace {
Array at_least(const Array& s, const Array& least) { return where(s < least, -1e30, s); }
/// Of scores whose largest one is finite.
Array chosen(const Sampling& how, const Array& scores, const Array& key) {
  if (how.temperature < 1e-6) return argmax(scores, -1);  // the limit; dividing by less overflows f32
  auto s = scores / how.temperature;
  if (how.top_k > 0 && how.top_k < scores.shape()[0]) s = at_least(s, view(top_k(s, how.top_k).values, -1));
  if (how.top_p < 1) {
    auto sorted = sort(s);  // a token stays if those below it and itself have more than 1 - p
    auto kept = where(cumsum(softmax(sorted)) > 1 - how.top_p, sorted, view(sorted, -1));
    s = at_least(s, amin(kept));
  }
  return random::categorical(key, s);
}
}  // namespace
Array Sampling::operator()(const Array& all, const Array& key) const {
  auto scores = tokens > 0 && all.shape()[0] > tokens ? view(all, range(0, tokens)) : all;
  auto token = chosen(*this, scores, key);
  return where(isfinite(amax(scores)), token, kNotFinite);  // a maximum keeps NaN
}
Array draw_key(std::int64_t seed, std::int64_t drawn, std::int64_t position) {
  auto last = array(static_cast<std::int32_t>(position));
  return random::fold_in(random::fold_in(random::key(seed), drawn), last);
}
}  // namespace bora::job
