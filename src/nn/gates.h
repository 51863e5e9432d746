// gates.h -- what recurrent cells share: their products, whose results lie along "gate" and the hidden axis. Private.
#pragma once
#include "nn/support.h"

namespace bora::nn {
inline constexpr const char* kGate = "gate";
inline std::string before(const Axis& hidden) { return hidden.name + "_before"; }
template <class Cell>
Cell cell_of(const Axis& in, const Axis& hidden, std::int64_t gates, bool bias, const Array& key) {
  auto keys = random::split<2>(key);
  Axes out{Axis{kGate, gates}, hidden};
  return {Linear::init(in, out, keys[0]), Linear::init(hidden.alias(before(hidden)), out, keys[1], {.use_bias = bias})};
}
inline NamedArray start_of(const Linear& input, const Axes& rows) {
  auto axes = rows.list();
  axes.push_back(input.out.back());
  return auto_sharded(zeros(axes, input.weight.dtype()));
}
inline NamedArray of_hidden(const Linear& recurrent, const NamedArray& h) {
  auto& hidden = recurrent.out.back();
  return recurrent(rename(h, {{hidden, before(hidden)}}));
}
/// The two samples of each cell: along time and back.
template <class Cell> std::vector<LayerSample> cell_samples() {
  Axis batch{kBatch, 4}, time{kPosition, 3}, in{kEmbed, 5}, hidden{kMlp, 6};
  auto init = [=](const Array& k) { return Cell::init(in, hidden, k); };
  auto forward = [=](const Cell& c, const NamedArray& x) { return unroll(c, x, time, c.start(batch)).first; };
  auto backward = [=](const Cell& c, const NamedArray& x) {
    auto y = unroll(c, x, time, c.start(batch), {.reverse = true});
    return y.first + y.second.hidden;
  };
  return {sample("forward", init, example({batch, time, in}), forward),
          sample("backward, time first", init, example({time, batch, in}), backward)};
}
}  // namespace bora::nn
