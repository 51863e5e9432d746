// Rows of a sequence that is split over ranks.
#include "bora/models/contract.h"
#include "bora/nn/ring_attention.h"

namespace bora::models {
training::Example in_context(const training::Example& e) {
  auto ranks = nn::context_ranks();
  if (ranks == 1 || e.zigzag == ranks) return e;
  bora::check<ValueError>(e.zigzag == 1, "in_context: the rows are in the order of ", e.zigzag, " ranks, not of ",
                          ranks);
  bora::check<ValueError>(!e.mask && !e.inputs, "in_context: positions split over ", ranks, " ranks have no ",
                          e.mask ? "padding mask" : "encoder", "; leave the mesh axis context out");
  auto turned = [&](const NamedArray& x) { return auto_sharded(nn::zigzag(x, ranks)); };
  training::Example r{turned(e.tokens), turned(e.targets), turned(e.weights)};
  if (e.segments) r.segments = turned(*e.segments);
  if (e.token_types) r.token_types = turned(*e.token_types);
  if (e.values) r.values = turned(*e.values);
  r.filled = e.filled;
  r.positions = turned(e.positions ? *e.positions : arange(e.tokens.axis(nn::kPosition)));
  r.zigzag = ranks;
  return r;
}
}  // namespace bora::models
