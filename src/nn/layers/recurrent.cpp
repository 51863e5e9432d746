#include "bora/nn/recurrent.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/ops/nn.h"
#include "bora/ops/ufuncs.h"

namespace bora::nn {
namespace {
// Cells have products whose results lie along "gate" and the hidden axis.
constexpr const char* kGate = "gate";
std::string before(const Axis& hidden) { return hidden.name + "_before"; }
template <class Cell>
Cell cell_of(const Axis& in, const Axis& hidden, std::int64_t gates, bool bias, const Array& key) {
  auto keys = random::split<2>(key);
  Axes out{Axis{kGate, gates}, hidden};
  return {Linear::init(in, out, keys[0]), Linear::init(hidden.alias(before(hidden)), out, keys[1], {.use_bias = bias})};
}
NamedArray start_of(const Linear& input, const Axes& rows) {
  auto axes = rows.list();
  axes.push_back(input.out.back());
  return auto_sharded(zeros(axes, input.weight.dtype()));
}
NamedArray of_hidden(const Linear& recurrent, const NamedArray& h) {
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
}  // namespace

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
