// recurrent.h -- recurrent cells, and a layer that runs one along an axis.
#pragma once
#include "bora/named/transforms.h"
#include "bora/nn/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {
struct LstmState {  // of LstmCell, [rows..., hidden] each
  NamedArray hidden, cell;
};
/// Hochreiter & Schmidhuber 1997: the gates i, f, g, o are parts of input(x) + recurrent(h);
/// c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
struct LstmCell {
  Linear input, recurrent;  // [in] -> [gate:4, hidden]; [<hidden>_before] -> the same, without bias
  static LstmCell init(const Axis& in, const Axis& hidden, const Array& key);
  LstmState start(const Axes& rows) const;  // zeros [rows..., hidden]
  /// gates: input(x).
  LstmState step(const LstmState& state, const NamedArray& gates) const;
};
struct GruState {  // of GruCell, [rows..., hidden]
  NamedArray hidden;
};
/// Cho et al. 2014, as in cuDNN: r, z, n are parts of a = input(x) and b = recurrent(h);
/// r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r b_n), h' = (1 - z) n + z h.
struct GruCell {
  Linear input, recurrent;  // [in] -> [gate:3, hidden]; [<hidden>_before] -> the same
  static GruCell init(const Axis& in, const Axis& hidden, const Array& key);
  GruState start(const Axes& rows) const;
  GruState step(const GruState& state, const NamedArray& gates) const;
};
struct UnrollOptions {   // of unroll
  bool reverse = false;  // from the last position to the first; results stay in place
};
/// auto [y, last] = unroll(cell, x, Time, cell.start(Rows)): the hidden state after each position of x along an axis,
/// [time, rows..., hidden], and the last state. Products with x are made for all positions at once.
template <class Cell, class State> std::pair<NamedArray, State> unroll(const Cell& cell, const NamedArray& x,
                                                                       const AxisNames::One& axis, const State& first,
                                                                       const UnrollOptions& options = {}) {
  auto body = [&](const State& s, const NamedArray& gates) {
    auto next = cell.step(s, gates);
    return std::pair{next, next.hidden};
  };
  auto time = x.axes()[static_cast<std::size_t>(x.position(axis))];
  auto [last, y] = scan(body, time, {.reverse = options.reverse})(first, cell.input(x));
  return {std::move(y), std::move(last)};
}
/// Flax's OptimizedLSTMCell: the gates of LstmCell are parts of one product already.
using OptimizedLstmCell = LstmCell;
using HiddenState = GruState;  // of cells with one array of state
/// h' = activation(input(x) + recurrent(h)) (Elman 1990).
struct SimpleCell {
  Linear input, recurrent;  // [in] -> [gate:1, hidden]; [<hidden>_before] -> the same, without bias
  Activation activation = Activation::tanh;
  static SimpleCell init(const Axis& in, const Axis& hidden, const Array& key,
                         Activation activation = Activation::tanh);
  HiddenState start(const Axes& rows) const;  // zeros [rows..., hidden]
  /// gates: input(x).
  HiddenState step(const HiddenState& state, const NamedArray& gates) const;
};
/// Heck & Salem 2017, as Flax has it: f, n are parts of a = input(x) and b = recurrent(h); f = sigmoid(a_f + b_f),
/// n = tanh(a_n + f b_n), h' = (1 - f) n + f h.
struct MguCell {
  Linear input, recurrent;  // [in] -> [gate:2, hidden]; [<hidden>_before] -> the same
  static MguCell init(const Axis& in, const Axis& hidden, const Array& key);
  HiddenState start(const Axes& rows) const;
  HiddenState step(const HiddenState& state, const NamedArray& gates) const;
};
}  // namespace bora::nn
