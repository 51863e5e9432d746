#include "compile/api/program.h"
#include "bora/fx/forward_backward.h"
#include "fx/call.h"

namespace bora::fx {
ForwardBackward::ForwardBackward(const ProgramPtr& program, const Mask& wrt, const Mask& invariant)
    : program_(program), reads_(program->in.size()) {
  const auto kept = split_vjp(program, wrt, {.invariant = invariant});
  const auto& s = *kept;
  forward_ = s.fwd;
  backward_ = s.bwd;
  residual_ = s.residual;
  ct_ = s.ct;
  grad_ = s.grad;
  for (int r : residual_)
    if (r >= 0) reads_[static_cast<std::size_t>(r)] = true;
}
Arrays ForwardBackward::forward(const Arrays& in) const { return interpret(*forward_, in); }
Types ForwardBackward::kept() const {
  auto t = forward_->out_types();
  t.erase(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(program_->out.size()));
  return t;
}
Arrays ForwardBackward::backward(const Arrays& in, const Arrays& kept, const Arrays& ct) const {
  Arrays all, gradients(program_->in.size());
  std::size_t k = 0;
  for (int r : residual_) all.push_back(r >= 0 ? in[static_cast<std::size_t>(r)] : kept[k++]);
  auto out = program_->out_types();
  for (int i : ct_) all.push_back(or_zero(ct[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i)]));
  auto g = interpret(*backward_, all);
  for (std::size_t i = 0; i < g.size(); ++i) gradients[static_cast<std::size_t>(grad_[i])] = g[i];
  return gradients;
}
}  // namespace bora::fx
