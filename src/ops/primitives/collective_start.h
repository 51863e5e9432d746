// collective_start.h -- a collective primitive being set up and run. Private.
#pragma once
#include "ops/api/collective_primitives.h"

namespace bora::ops {
/// A collective being set up: its primitive may move memory to scratch.
struct Start {
  Communicator& communicator;
  MeshAxes axes;
  CollectiveCall call;
  const InputView& in;
  InputViews all;
  const OutputView& out;
  std::byte* scratch;
  std::size_t size;  // of an element, bytes
  int rounds = 0;
  StartedCollective now(std::function<void()> finish = {}) {
    return {communicator.start(axes, call), std::move(finish)};
  }
  /// Starts a round of a collective that has several: c has its kind, buffers and counts.
  std::shared_ptr<Communicator::Handle> round(CollectiveCall c) {
    c.fingerprint = call.fingerprint + static_cast<std::uint64_t>(++rounds);
    c.describe = call.describe;
    return communicator.start(axes, c);
  }
};

/// p's eval: started and waited for.
void run_collective(const Primitive& p, InputViews in, OutputViews out);
}  // namespace bora::ops
