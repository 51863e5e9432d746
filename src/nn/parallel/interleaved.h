// interleaved.h -- the order of 1F1B. Shape letters: S stages, M microbatches. In tick t stage s passes microbatch
// t - s forward and microbatch t - 2 (S - 1) + s back; what the first pass kept lies in a ring of 2 S - 1 slots.
#pragma once
#include "bora/array/communicator.h"
#include "compile/api/program.h"
#include "bora/fx/forward_backward.h"
#include "bora/nn/pipeline.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/same_everywhere.h"

namespace bora::nn::detail {
inline Array i32_of(std::int64_t n) { return constant(n, i32); }
inline Array clamped(const Array& x, std::int64_t last) { return minimum(maximum(x, i32_of(0)), i32_of(last)); }
inline void append(Arrays& to, const Arrays& more) { to.insert(to.end(), more.begin(), more.end()); }
/// The values of a loop, one list after the other.
class Lists {
 public:
  explicit Lists(Arrays all) : all_(std::move(all)), at_(all_.begin()) {}
  Arrays next(std::size_t n) {
    Arrays r(at_, at_ + static_cast<std::ptrdiff_t>(n));
    at_ += static_cast<std::ptrdiff_t>(n);
    return r;
  }
  Array next() { return *at_++; }

 private:
  Arrays all_;
  Arrays::const_iterator at_;
};

class Interleaved {
 public:
  Interleaved(const Pipeline& p, const FlatFn& stage, const RowsLoss& loss);
  Array loss() const;

 private:
  struct Result {
    Array loss;
    Arrays gradients;  // of in_, where wrt_
  };
  struct Passed {
    Array y;      // [S, a microbatch]
    Arrays kept;  // [S, ..]
  };
  struct Back {
    Array x;          // [S, a microbatch]
    Arrays terms;     // of sums over ticks, with dimension S at place_of(..): of leaves and captures
    Arrays of_parts;  // [S, ..] of leaves with rows
  };
  Result work(const Arrays& in, bool gradients) const;
  Passed forward(const Arrays& in, const Array& mine, const Array& tick, bool keep) const;
  Back backward(const Arrays& in, const Arrays& ring, const Array& ct, const Array& tick) const;
  Arrays mapped(const FlatFn& f, const Arrays& in, const Dims& at, const Dims& to) const;
  Array entering(const Arrays& in, const Array& tick, const Array& held) const;
  Array at_stage(std::int64_t stage, const Array& x, const Spec& spec) const;
  Array broadcast(const Array& x) const;
  Arrays written(const Arrays& ring, const Arrays& kept, const Array& tick) const;
  std::pair<Array, Arrays> loss_of(const Arrays& in, const Array& y, const Arrays& rows, bool gradients) const;
  Array of_all_stages(const Array& by_tick) const;
  void arguments(const Arrays& in, const Array& part, Arrays& all, Dims& at) const;
  Array placed(const Array& a, const Spec& spec) const {
    return here().mesh ? ops::constrained(a, spec) : a;
  }
  static std::size_t leaf(std::size_t i) { return 1 + i; }
  /// The number among a stage's inputs of a leaf or capture among in_.
  std::size_t input_of(std::size_t i) const { return i < rows_at_ ? i + 1 : i - stage_at_ + rows_at_ + 1; }
  /// The dimension of the stages in a sum of gradients of in_[i].
  std::int64_t place_of(std::size_t i) const { return i < rows_at_ && at_[i - 1] >= 0 ? at_[i - 1] : 0; }
  bool of_part(std::size_t i) const { return p_.positions_[i] == Pipeline::kOfPart; }

  const Pipeline& p_;
  std::int64_t stages_, parts_, slots_;
  AxisMapping shared_;          // of rows before the first stage and behind the last, which all ranks share
  Spec spec_, whole_, shares_;  // of [S, a microbatch]; of a microbatch in a stage, and as the stages' ranks share it
  Staged stage_, last_;
  Arrays in_;                    // x, leaves, rows, captures of the stage, of the loss
  std::size_t rows_at_, stage_at_, last_at_;
  Dims at_;  // of the stages in each leaf, as stages get it
  Mask wrt_;
  std::optional<fx::ForwardBackward> halves_;
  // Places in in_ of differentiated inputs: a stage's whose gradients are sums over the ticks, those of which each
  // microbatch has its own, and the captures of the loss.
  std::vector<std::size_t> terms_, of_parts_, last_terms_;
};
}  // namespace bora::nn::detail
