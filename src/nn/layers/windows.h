// windows.h -- positional functions of windows, [batch.., spatial.., channels], for named axes. Private.
#pragma once
#include "bora/named/operations.h"

namespace bora::nn {
/// f of x's array with the window's axes behind the others and `last` at the end, then in x's order again; `last`
/// becomes `result`, the window's axes have the sizes that f gives them.
template <class F> NamedArray over_windows(std::string_view what, const NamedArray& x, const std::vector<Axis>& window,
                                           const std::string& last, const Axis& result, const F& f) {
  std::vector<Axis> batch, inner;
  for (auto& w : window) {
    check<AxisError>(x.has_axis(w.name), what, ": the input ", to_string(x.axes()), " has no axis '", w.name,
                     "' for the window ", to_string(window));
    inner.push_back(x.axis(w.name));
  }
  for (auto& a : x.axes())
    if (find_axis(window, a.name) < 0 && a.name != last) batch.push_back(a);
  auto order = batch;
  order.insert(order.end(), inner.begin(), inner.end());
  if (!last.empty()) order.push_back(x.axis(last));
  auto moved = aligned(x, order).array();
  auto y = f(last.empty() ? expand_dims(moved, -1) : moved);
  if (last.empty()) y = squeeze(y, -1);
  auto axes = x.axes();
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& mine = axes[static_cast<std::size_t>(x.position(order[i].name))];
    if (order[i].name == last) mine = order[i] = result;
    else mine.size = order[i].size = y.shape(static_cast<std::int64_t>(i));
  }
  return aligned(named(y, order), axes);
}
}  // namespace bora::nn
