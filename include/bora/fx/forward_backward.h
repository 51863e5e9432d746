// forward_backward.h -- a Program's forward and backward pass as two functions whose calls may lie far apart: what the
// first one keeps for the second is a list of values that the caller stores.
#pragma once
#include "bora/array/rules.h"
#include "bora/compile/stage.h"

namespace bora::fx {
class ForwardBackward {
 public:
  /// wrt: the inputs that are differentiated. invariant: inputs that are the same whenever either is called; values
  /// that depend on them alone are computed again rather than kept.
  ForwardBackward(const ProgramPtr& program, const Mask& wrt, const Mask& invariant);
  /// {the Program's results, the kept values}.
  Arrays forward(const Arrays& in) const;
  Types kept() const;
  /// For each input, whether backward() reads it.
  const Mask& reads() const { return reads_; }
  /// The gradient of each input, from the inputs that reads() names, the kept values and the cotangents of the results;
  /// empty where none flows. Empty cotangents are zero.
  Arrays backward(const Arrays& in, const Arrays& kept, const Arrays& ct) const;

 private:
  ProgramPtr program_, forward_, backward_;
  std::vector<int> residual_, ct_, grad_;
  Mask reads_;
};
}  // namespace bora::fx
