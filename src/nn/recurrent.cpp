#include "bora/nn/recurrent.h"
#include "nn/gates.h"

namespace bora::nn {
LstmCell LstmCell::init(const Axis& in, const Axis& hidden, const Array& key) {
  return cell_of<LstmCell>(in, hidden, 4, false, key);
}
LstmState LstmCell::start(const Axes& rows) const { return {start_of(input, rows), start_of(input, rows)}; }
LstmState LstmCell::step(const LstmState& s, const NamedArray& gates) const {
  auto all = gates + of_hidden(recurrent, s.hidden);
  auto gate = [&](int i) { return all[{kGate, i}]; };
  auto c = sigmoid(gate(1)) * s.cell + sigmoid(gate(0)) * tanh(gate(2));
  auto h = sigmoid(gate(3)) * tanh(c);
  return {aligned(h, s.hidden.axes()), aligned(c, s.cell.axes())};
}
GruCell GruCell::init(const Axis& in, const Axis& hidden, const Array& key) {
  return cell_of<GruCell>(in, hidden, 3, true, key);
}
GruState GruCell::start(const Axes& rows) const { return {start_of(input, rows)}; }
GruState GruCell::step(const GruState& s, const NamedArray& gates) const {
  auto own = of_hidden(recurrent, s.hidden);
  auto a = [&](int i) { return gates[{kGate, i}]; };
  auto b = [&](int i) { return own[{kGate, i}]; };
  auto r = sigmoid(a(0) + b(0)), z = sigmoid(a(1) + b(1));
  auto n = tanh(a(2) + r * b(2));
  return {aligned(n + z * (s.hidden - n), s.hidden.axes())};
}

template const bool added<"LstmCell", cell_samples<LstmCell>>;
template const bool added<"GruCell", cell_samples<GruCell>>;
}  // namespace bora::nn
