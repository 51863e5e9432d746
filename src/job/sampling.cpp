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
}  // namespace
Array Sampling::operator()(const Array& all, const Array& key) const {
  auto scores = tokens > 0 && all.shape()[0] > tokens ? view(all, range(0, tokens)) : all;
  if (temperature < 1e-6) return argmax(scores, -1);  // the limit; dividing by less overflows f32
  auto s = scores / temperature;
  if (top_k > 0 && top_k < scores.shape()[0]) s = at_least(s, view(bora::top_k(s, top_k).values, -1));
  if (top_p < 1) {
    auto sorted = sort(s);  // a token stays if those below it and itself have more than 1 - p
    auto kept = where(cumsum(softmax(sorted)) > 1 - top_p, sorted, view(sorted, -1));
    s = at_least(s, amin(kept));
  }
  return random::categorical(key, s);
}
Array draw_key(std::int64_t seed, std::int64_t drawn, std::int64_t position) {
  auto last = array(static_cast<std::int32_t>(position));
  return random::fold_in(random::fold_in(random::key(seed), drawn), last);
}
}  // namespace bora::job
