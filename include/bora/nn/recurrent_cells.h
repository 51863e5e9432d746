// recurrent_cells.h -- further cells for unroll (recurrent.h).
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/recurrent.h"

namespace bora::nn {
/// Flax's OptimizedLSTMCell: the gates of LstmCell are parts of one product already.
using OptimizedLstmCell = LstmCell;
using HiddenState = GruState;
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
