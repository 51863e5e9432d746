#include "bora/nn/recurrent_cells.h"
#include "nn/gates.h"

namespace bora::nn {
SimpleCell SimpleCell::init(const Axis& in, const Axis& hidden, const Array& key, Activation activation) {
  auto cell = cell_of<SimpleCell>(in, hidden, 1, false, key);
  cell.activation = activation;
  return cell;
}
HiddenState SimpleCell::start(const Axes& rows) const { return {start_of(input, rows)}; }
HiddenState SimpleCell::step(const HiddenState& s, const NamedArray& gates) const {
  auto sum = (gates + of_hidden(recurrent, s.hidden))[{kGate, 0}];
  return {aligned(activate(activation, sum), s.hidden.axes())};
}
MguCell MguCell::init(const Axis& in, const Axis& hidden, const Array& key) {
  return cell_of<MguCell>(in, hidden, 2, true, key);
}
HiddenState MguCell::start(const Axes& rows) const { return {start_of(input, rows)}; }
HiddenState MguCell::step(const HiddenState& s, const NamedArray& gates) const {
  auto own = of_hidden(recurrent, s.hidden);
  auto f = sigmoid(gates[{kGate, 0}] + own[{kGate, 0}]);
  auto n = tanh(gates[{kGate, 1}] + f * own[{kGate, 1}]);
  return {aligned(n + f * (s.hidden - n), s.hidden.axes())};
}

template const bool added<"SimpleCell", cell_samples<SimpleCell>>;
template const bool added<"MguCell", cell_samples<MguCell>>;
}  // namespace bora::nn
